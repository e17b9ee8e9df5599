//! What the supervisor hears: its ranks over PMI, and signals.

use super::across::orders::Order;
use super::descriptors;
use super::ending::Reason;
use super::guard::Passed;
use super::pmi_server::Action;
use super::supervisor::Supervisor;
use super::verdict::{Cause, Failure, Stage};
use crate::system::signals;
use serried_engine::job::voicing::Said;
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
                self.hear_pmi(rank, &buffer[..count])
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => speaker.socket = None,
        }
    }

    /// A rank has said this over PMI.
    pub(super) fn hear_pmi(&mut self, rank: u32, bytes: &[u8]) {
        self.ranks[rank as usize].heard.extend_from_slice(bytes);
        while let Some(end) = self.ranks[rank as usize].heard.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.ranks[rank as usize].heard.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            match Said::read(&line) {
                Some(said) => self.hear_said(rank, &said),
                None => self.pmi.line(rank, &line).into_iter().for_each(|action| self.act(action)),
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
            Action::Reply(rank, text) => match &mut self.agents {
                Some(agents) => {
                    let node = agents.node_of(rank);
                    agents.crew.send(node, &Order::Reply { rank, text });
                }
                None => self.ranks[rank as usize].answer(&text),
            },
            Action::Abort { rank, code, by_error } => {
                // MPICH gives words to MPI_Abort too; a page says that it is our library.
                let cause = match self.stage(rank) {
                    Stage::Ended(status) => Cause::End(status),
                    Stage::Aborted(_) if by_error => Cause::Error(code),
                    _ => Cause::Abort(code),
                };
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
        self.asked_to_end |= said.is_some_and(|passed| signals::asks_to_end(passed.signal));
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
                self.begin_to_end(Reason::Signal(signal));
            }
        }
    }

    /// The user has stopped the job from the terminal: the ranks stop too, and
    /// go on when the launcher does.
    fn pause(&mut self) {
        self.order_all(&Order::Paused(true));
        if !self.job.shares_terminal {
            self.pass_on(libc::SIGSTOP);
        }
        signals::send(std::process::id() as i32, libc::SIGSTOP);
        if !self.job.shares_terminal {
            self.pass_on(libc::SIGCONT);
        }
        self.order_all(&Order::Paused(false));
    }
}
