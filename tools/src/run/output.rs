//! The ranks' output: whole lines, never one inside another.
//!
//! A line goes out when it is complete. The unfinished end of a stream goes
//! out when the stream ends. Rank 0, which alone reads what the user types,
//! may also show a prompt: an unfinished line goes out after a quiet moment,
//! if it cannot be the cut-off end of a full stdio buffer.
//!
//! Output that cannot be written is lost, and [`Sink`] says why; its owner tells it.
//!
//! Pure but for what [`Sink`] writes: bytes in, bytes out, time as an argument.

use super::descriptors;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// A quiet moment.
const QUIET: Duration = Duration::from_millis(50);
/// What the C library collects before it writes.
const STDIO_BUFFER: usize = 4096;
/// A longer line may be cut.
const LONGEST_LINE: usize = 4 << 20;
/// What may wait for a slow reader; beyond it the ranks wait.
const QUEUE: usize = 1 << 20;

/// What goes out when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flow {
    /// Whole lines.
    Lines,
    /// Whole lines, and unfinished ones after a quiet moment.
    Prompts,
    /// Everything at once: nobody else writes there.
    Bytes,
}

/// One output stream of one rank.
#[derive(Debug)]
pub struct Stream {
    /// What stands before each line.
    label: Vec<u8>,
    flow: Flow,
    pending: Vec<u8>,
    last_read: Option<Instant>,
    /// Bytes that came since the last quiet moment.
    burst: usize,
}

/// Where lines go: the launcher's standard output or error, or a file.
#[derive(Debug)]
pub struct Sink {
    /// What people call it.
    name: String,
    descriptor: RawFd,
    /// Keeps the descriptor open, where it is ours.
    _file: Option<File>,
    queue: Vec<u8>,
    written: usize,
    /// The stream whose unfinished line was shown last.
    unfinished: Option<usize>,
}

impl Stream {
    /// A stream whose lines begin with `label`.
    pub fn new(label: Vec<u8>, flow: Flow) -> Stream {
        Stream { label, flow, pending: Vec::new(), last_read: None, burst: 0 }
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
        if self.flow == Flow::Bytes {
            self.pass_on(self.pending.len(), index, sink);
        } else if let Some(newline) = bytes.iter().rposition(|&byte| byte == b'\n') {
            self.pass_on(known + newline + 1, index, sink);
        } else if self.flow == Flow::Prompts {
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
        let shows = self.flow == Flow::Prompts && !self.pending.is_empty() && self.burst < STDIO_BUFFER;
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
    /// A sink that writes to `descriptor`, which stays open.
    pub fn new(name: &str, descriptor: RawFd) -> Sink {
        let name = name.to_owned();
        Sink { name, descriptor, _file: None, queue: Vec::new(), written: 0, unfinished: None }
    }

    /// A sink that writes to a file.
    pub fn to_file(name: &str, file: File) -> Sink {
        let sink = Sink::new(name, file.as_raw_fd());
        Sink { _file: Some(file), ..sink }
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What to poll for room to write, if anything waits.
    pub fn wants_to_write(&self) -> Option<RawFd> {
        (self.written < self.queue.len()).then_some(self.descriptor)
    }

    /// Whether streams should wait before they bring more.
    pub fn is_full(&self) -> bool {
        self.queue.len() - self.written > QUEUE
    }

    /// Writes what goes out without waiting; call when `poll` says there is
    /// room (a pipe then takes at least a page).
    ///
    /// # Errors
    /// What the system says; all that waited is lost then, but what comes later
    /// is tried again.
    pub fn write_some(&mut self) -> io::Result<()> {
        let page = if descriptors::is_regular(self.descriptor) { usize::MAX } else { libc::PIPE_BUF };
        let rest = &self.queue[self.written..];
        let mut result = Ok(());
        match descriptors::write(self.descriptor, &rest[..rest.len().min(page)]) {
            Ok(count) => self.written += count,
            Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(cause) => {
                self.written = self.queue.len();
                result = Err(cause);
            }
        }
        if self.written == self.queue.len() {
            self.queue.clear();
            self.written = 0;
        } else if self.written > QUEUE {
            self.queue.drain(..self.written);
            self.written = 0;
        }
        result
    }

    /// Writes all that waits, and waits for room itself. Some file systems say
    /// only when a file is closed that they had no room for it, so it is closed,
    /// by a second descriptor.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(&mut self) -> io::Result<()> {
        while let Some(descriptor) = self.wants_to_write() {
            descriptors::wait_for_room(descriptor);
            self.write_some()?;
        }
        match descriptors::is_regular(self.descriptor) {
            true => descriptors::close_another(self.descriptor),
            false => Ok(()),
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
        let (mut sink, now) = (Sink::new("test", 1), Instant::now());
        let (mut one, mut two) = (Stream::new(vec![], Flow::Prompts), Stream::new(vec![], Flow::Lines));
        one.take(b"half of ", 0, &mut sink, now);
        two.take(b"two\npart", 1, &mut sink, now);
        one.take(b"one\n", 0, &mut sink, now);
        assert_eq!(text(&sink), "two\nhalf of one\n");
        two.end(1, &mut sink);
        assert_eq!(text(&sink), "two\nhalf of one\npart");
    }

    #[test]
    fn every_line_has_its_label_once() {
        let (mut sink, now) = (Sink::new("test", 1), Instant::now());
        let mut stream = Stream::new(b"[3] ".to_vec(), Flow::Prompts);
        stream.take(b"a\nb\n? ", 0, &mut sink, now);
        stream.tick(0, &mut sink, now + QUIET);
        stream.take(b"yes\nc\n", 0, &mut sink, now + QUIET);
        assert_eq!(text(&sink), "[3] a\n[3] b\n[3] ? yes\n[3] c\n");
    }

    #[test]
    fn a_prompt_shows_after_a_quiet_moment_and_not_before() {
        let (mut sink, now) = (Sink::new("test", 1), Instant::now());
        let mut stream = Stream::new(vec![], Flow::Prompts);
        stream.take(b"Name? ", 0, &mut sink, now);
        stream.tick(0, &mut sink, now + QUIET / 2);
        assert_eq!(text(&sink), "");
        stream.tick(0, &mut sink, stream.deadline().unwrap());
        assert_eq!(text(&sink), "Name? ");
        Stream::new(vec![], Flow::Lines).take(b"other\n", 1, &mut sink, now);
        assert_eq!(text(&sink), "Name? \nother\n");
    }

    #[test]
    fn the_end_of_a_full_stdio_buffer_is_no_prompt() {
        let (mut sink, now) = (Sink::new("test", 1), Instant::now());
        let mut stream = Stream::new(vec![], Flow::Prompts);
        stream.take(&[b'x'; STDIO_BUFFER], 0, &mut sink, now);
        assert_eq!(stream.deadline(), None);
    }

    #[test]
    fn what_has_a_place_for_itself_goes_out_at_once() {
        let (mut sink, now) = (Sink::new("test", 1), Instant::now());
        let mut stream = Stream::new(vec![], Flow::Bytes);
        stream.take(b"half of ", 0, &mut sink, now);
        assert_eq!(text(&sink), "half of ");
        stream.take(b"a line\n", 0, &mut sink, now);
        assert_eq!(text(&sink), "half of a line\n");
    }

    #[test]
    fn what_cannot_be_written_is_said_and_what_comes_later_is_tried_again() {
        let full = File::options().append(true).open("/dev/full").unwrap();
        let mut sink = Sink::to_file("full", full);
        for _ in 0..2 {
            sink.say("lost\n");
            assert_eq!(sink.finish().unwrap_err().raw_os_error(), Some(libc::ENOSPC));
            assert!(sink.wants_to_write().is_none() && sink.finish().is_ok());
        }
    }

    #[test]
    fn a_progress_bar_moves_without_newlines() {
        let (mut sink, now) = (Sink::new("test", 1), Instant::now());
        let mut stream = Stream::new(vec![], Flow::Prompts);
        stream.take(b"\r10 %", 0, &mut sink, now);
        stream.take(b"\r20 %", 0, &mut sink, now);
        assert_eq!(text(&sink), "\r10 %");
    }
}
