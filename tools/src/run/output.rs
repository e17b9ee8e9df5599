//! The ranks' output: whole lines, never one inside another.
//!
//! A line goes out when it is complete. The unfinished end of a stream goes
//! out when the stream ends. Rank 0, which alone reads what the user types,
//! may also show a prompt: an unfinished line goes out after a quiet moment,
//! if it cannot be the cut-off end of a full stdio buffer.
//!
//! Pure but for [`Sink::write_some`]: bytes in, bytes out, time as an argument.

use super::descriptors;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// A quiet moment.
const QUIET: Duration = Duration::from_millis(50);
/// What the C library collects before it writes.
const STDIO_BUFFER: usize = 4096;
/// A longer line may be cut.
const LONGEST_LINE: usize = 4 << 20;
/// What may wait for a slow reader; beyond it the ranks wait.
const QUEUE: usize = 1 << 20;

/// One output stream of one rank.
#[derive(Debug)]
pub struct Stream {
    /// What stands before each line.
    label: Vec<u8>,
    /// Whether unfinished lines are shown after a quiet moment.
    prompts: bool,
    pending: Vec<u8>,
    last_read: Option<Instant>,
    /// Bytes that came since the last quiet moment.
    burst: usize,
}

/// Where lines go: the launcher's standard output or error.
#[derive(Debug)]
pub struct Sink {
    descriptor: RawFd,
    queue: Vec<u8>,
    written: usize,
    /// The stream whose unfinished line was shown last.
    unfinished: Option<usize>,
    broken: bool,
}

impl Stream {
    /// A stream whose lines begin with `label`.
    pub fn new(label: Vec<u8>, prompts: bool) -> Stream {
        Stream { label, prompts, pending: Vec::new(), last_read: None, burst: 0 }
    }

    /// Takes what came; passes on the lines that are complete. `index` is the
    /// number of this stream.
    pub fn take(&mut self, bytes: &[u8], index: usize, sink: &mut Sink, now: Instant) {
        if self.last_read.is_none_or(|last| now.duration_since(last) > QUIET) {
            self.burst = 0;
        }
        self.burst += bytes.len();
        self.last_read = Some(now);
        let known = self.pending.len();
        self.pending.extend_from_slice(bytes);
        if let Some(newline) = bytes.iter().rposition(|&byte| byte == b'\n') {
            self.pass_on(known + newline + 1, index, sink);
        } else if self.prompts {
            // A progress bar goes back to the beginning of its line.
            let before_last = &self.pending[..self.pending.len() - 1];
            if let Some(back) = before_last.iter().rposition(|&byte| byte == b'\r').filter(|&back| back > 0) {
                self.pass_on(back, index, sink);
            }
        }
        if self.pending.len() > LONGEST_LINE {
            self.pass_on(self.pending.len(), index, sink);
        }
    }

    /// When an unfinished line is to be shown, if it is.
    pub fn deadline(&self) -> Option<Instant> {
        let shows = self.prompts && !self.pending.is_empty() && self.burst < STDIO_BUFFER;
        self.last_read.filter(|_| shows).map(|last| last + QUIET)
    }

    /// Shows the unfinished line if its time has come.
    pub fn tick(&mut self, index: usize, sink: &mut Sink, now: Instant) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.pass_on(self.pending.len(), index, sink);
        }
    }

    /// The stream has ended: everything goes out.
    pub fn end(&mut self, index: usize, sink: &mut Sink) {
        self.pass_on(self.pending.len(), index, sink);
    }

    fn pass_on(&mut self, count: usize, index: usize, sink: &mut Sink) {
        if count == 0 {
            return;
        }
        let continues = sink.unfinished == Some(index);
        if sink.unfinished.is_some() && !continues {
            sink.queue.push(b'\n');
        }
        let text = &self.pending[..count];
        if self.label.is_empty() {
            sink.queue.extend_from_slice(text);
        } else {
            for (number, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
                if number > 0 || !continues {
                    sink.queue.extend_from_slice(&self.label);
                }
                sink.queue.extend_from_slice(line);
            }
        }
        sink.unfinished = (text[count - 1] != b'\n').then_some(index);
        self.pending.drain(..count);
    }
}

impl Sink {
    /// A sink that writes to `descriptor`.
    pub fn new(descriptor: RawFd) -> Sink {
        Sink { descriptor, queue: Vec::new(), written: 0, unfinished: None, broken: false }
    }

    /// What to poll for room to write, if anything waits.
    pub fn wants_to_write(&self) -> Option<RawFd> {
        (self.written < self.queue.len()).then_some(self.descriptor)
    }

    /// Whether streams should wait before they bring more.
    pub fn is_full(&self) -> bool {
        self.queue.len() - self.written > QUEUE
    }

    /// Whether the reader has gone.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Writes what goes out without waiting; call when `poll` says there is
    /// room (a pipe then takes at least a page).
    pub fn write_some(&mut self) {
        let page = if descriptors::is_regular(self.descriptor) { usize::MAX } else { libc::PIPE_BUF };
        let rest = &self.queue[self.written..];
        match descriptors::write(self.descriptor, &rest[..rest.len().min(page)]) {
            Ok(count) => self.written += count,
            Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => {
                self.broken = true;
                self.written = self.queue.len();
            }
        }
        if self.written == self.queue.len() {
            self.queue.clear();
            self.written = 0;
        } else if self.written > QUEUE {
            self.queue.drain(..self.written);
            self.written = 0;
        }
    }

    /// Ends an unfinished line, so that the launcher's own words begin a line.
    pub fn finish_line(&mut self) {
        if self.unfinished.take().is_some() {
            self.queue.push(b'\n');
        }
    }

    /// Says something in the launcher's own name.
    pub fn say(&mut self, text: &str) {
        self.finish_line();
        self.queue.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sink: &Sink) -> &str {
        std::str::from_utf8(&sink.queue).unwrap()
    }

    #[test]
    fn lines_go_out_whole_and_never_inside_one_another() {
        let (mut sink, now) = (Sink::new(1), Instant::now());
        let (mut one, mut two) = (Stream::new(vec![], true), Stream::new(vec![], false));
        one.take(b"half of ", 0, &mut sink, now);
        two.take(b"two\npart", 1, &mut sink, now);
        one.take(b"one\n", 0, &mut sink, now);
        assert_eq!(text(&sink), "two\nhalf of one\n");
        two.end(1, &mut sink);
        assert_eq!(text(&sink), "two\nhalf of one\npart");
    }

    #[test]
    fn every_line_has_its_label_once() {
        let (mut sink, now) = (Sink::new(1), Instant::now());
        let mut stream = Stream::new(b"[3] ".to_vec(), true);
        stream.take(b"a\nb\n? ", 0, &mut sink, now);
        stream.tick(0, &mut sink, now + QUIET);
        stream.take(b"yes\nc\n", 0, &mut sink, now + QUIET);
        assert_eq!(text(&sink), "[3] a\n[3] b\n[3] ? yes\n[3] c\n");
    }

    #[test]
    fn a_prompt_shows_after_a_quiet_moment_and_not_before() {
        let (mut sink, now) = (Sink::new(1), Instant::now());
        let mut stream = Stream::new(vec![], true);
        stream.take(b"Name? ", 0, &mut sink, now);
        stream.tick(0, &mut sink, now + QUIET / 2);
        assert_eq!(text(&sink), "");
        stream.tick(0, &mut sink, stream.deadline().unwrap());
        assert_eq!(text(&sink), "Name? ");
        Stream::new(vec![], false).take(b"other\n", 1, &mut sink, now);
        assert_eq!(text(&sink), "Name? \nother\n");
    }

    #[test]
    fn the_end_of_a_full_stdio_buffer_is_no_prompt() {
        let (mut sink, now) = (Sink::new(1), Instant::now());
        let mut stream = Stream::new(vec![], true);
        stream.take(&[b'x'; STDIO_BUFFER], 0, &mut sink, now);
        assert_eq!(stream.deadline(), None);
    }

    #[test]
    fn a_progress_bar_moves_without_newlines() {
        let (mut sink, now) = (Sink::new(1), Instant::now());
        let mut stream = Stream::new(vec![], true);
        stream.take(b"\r10 %", 0, &mut sink, now);
        stream.take(b"\r20 %", 0, &mut sink, now);
        assert_eq!(text(&sink), "\r10 %");
    }
}
