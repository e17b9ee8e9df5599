//! What the supervisor hears: its ranks over PMI, and signals.

use super::descriptors;
use super::ending::{Ending, Reason};
use super::guard::Passed;
use super::pmi_server::Action;
use super::supervisor::Supervisor;
use super::verdict::{Cause, Failure, Stage};
use crate::system::signals;
use std::os::fd::AsRawFd;
use std::time::Instant;

/// A rank that sends more without a newline is not talking PMI.
const LONGEST_LINE: usize = 1 << 16;

impl Supervisor {
    /// Reads what a rank says over PMI, and answers.
    pub(super) fn listen(&mut self, rank: u32) {
        let speaker = &mut self.ranks[rank as usize];
        let Some(socket) = &speaker.socket else { return };
        let mut buffer = [0; 4096];
        match descriptors::read(socket.as_raw_fd(), &mut buffer) {
            Ok(count) if count > 0 && speaker.heard.len() < LONGEST_LINE => {
                speaker.heard.extend_from_slice(&buffer[..count]);
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::WouldBlock => return,
            _ => {
                speaker.socket = None;
                return;
            }
        }
        while let Some(end) = self.ranks[rank as usize].heard.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.ranks[rank as usize].heard.drain(..=end).collect();
            for action in self.pmi.line(rank, &String::from_utf8_lossy(&line)) {
                self.act(action);
            }
        }
    }

    /// Reads what a rank that has ended had still said.
    pub(super) fn hear_pmi_out(&mut self, rank: u32) {
        self.listen(rank);
        self.ranks[rank as usize].socket = None;
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Reply(rank, text) => {
                let Some(socket) = &self.ranks[rank as usize].socket else { return };
                // SAFETY: `text` is valid for its length; a rank that has gone is an error, not a signal.
                let sent = unsafe {
                    libc::send(socket.as_raw_fd(), text.as_ptr().cast(), text.len(), libc::MSG_NOSIGNAL)
                };
                if sent != text.len() as isize {
                    self.ranks[rank as usize].socket = None; // it has died, or does not read its answers
                }
            }
            Action::Abort { rank, code, by_error } => {
                // MPICH gives words to MPI_Abort too; a page says that it is our library.
                let ours = matches!(self.stage(rank), Stage::Aborted(_));
                let cause = if by_error && ours { Cause::Error(code) } else { Cause::Abort(code) };
                let failure = Failure { rank, cause, patient: false };
                self.hear_out(rank);
                self.first_bad.get_or_insert(failure.status());
                self.fail(failure);
            }
        }
    }

    /// Obeys the guard's signals.
    pub(super) fn take_signals(&mut self) {
        // The ends of children are looked for at every turn; what was sent to
        // us as to our group, the guard passes on.
        while self.signals.next().is_some() {}
    }

    /// The guard passes a signal on, or has died.
    pub(super) fn listen_to_guard(&mut self) {
        let next = self.guard.next();
        self.follow(next);
    }

    /// Does what the guard has said: a signal, or nothing, for it has died.
    pub(super) fn follow(&mut self, said: Option<Passed>) {
        match said {
            None => self.guard_has_died(),
            Some(passed) if passed.signal == libc::SIGTSTP => self.pause(),
            Some(passed) => {
                if !(passed.from_terminal && self.job.shares_terminal) {
                    self.obey(passed.signal);
                }
            }
        }
    }

    fn obey(&mut self, signal: i32) {
        self.pass_on(signal);
        if matches!(signal, libc::SIGUSR1 | libc::SIGUSR2) {
            return;
        }
        let now = Instant::now();
        match &mut self.ending {
            Some(ending) if signal == libc::SIGINT => ending.hurry(now),
            Some(_) => {}
            None => {
                let text = format!("serried: received {}; the job is ended\n", signals::name(signal));
                self.say(&text);
                self.ending = Some(Ending::begin(Reason::Signal(signal), now));
            }
        }
    }

    /// The user has stopped the job from the terminal: the ranks stop too, and
    /// go on when the launcher does.
    fn pause(&self) {
        if !self.job.shares_terminal {
            self.pass_on(libc::SIGSTOP);
        }
        signals::send(std::process::id() as i32, libc::SIGSTOP);
        if !self.job.shares_terminal {
            self.pass_on(libc::SIGCONT);
        }
    }
}
