//! Whether the end of a rank is a failure of the job. Pure.

use super::pmi_server;
use serried_engine::job::exit_status;
use serried_engine::observe::{Page, State};
use std::sync::atomic::Ordering::Relaxed;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ended {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// How far a rank has come in MPI, by its page or else by PMI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage {
    /// It has not called MPI.
    Outside,
    /// It is inside MPI_Init.
    Starting,
    /// It is between MPI_Init and MPI_Finalize.
    Inside,
    /// It was in MPI, but nothing stands on its page any more.
    Overwritten,
    /// It has finalized.
    Finalized,
    /// It has called MPI_Abort with this code.
    Aborted(i32),
    /// It has ended the job with this status.
    Ended(i32),
}

/// Why a rank failed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cause {
    /// Killed by this signal.
    Killed(i32),
    /// Ended with this status, not 0.
    Exited(i32),
    /// Ended with status 0 between MPI_Init and MPI_Finalize.
    NoFinalize,
    /// Ended without MPI while others wait for it in MPI.
    NoInit,
    /// Called MPI_Abort with this code.
    Abort(i32),
    /// Ended the job with this status, which is no failure if it is 0.
    End(i32),
    /// Met an error that nobody handles, and told it; the code is its class.
    Error(i32),
}

/// A failure of the job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// The rank that failed.
    pub rank: u32,
    /// Why.
    pub cause: Cause,
    /// Whether the others get a moment to end by themselves.
    pub patient: bool,
}

impl Ended {
    /// Reads the status that `waitpid` gives.
    pub fn from_wait(status: i32) -> Ended {
        if libc::WIFEXITED(status) {
            return Ended::Exited(libc::WEXITSTATUS(status));
        }
        Ended::Killed(libc::WTERMSIG(status))
    }
}

impl Stage {
    /// Of a rank with this page and this PMI conversation, where all ranks are known to have claimed
    /// their pages, or not.
    pub fn of(page: &Page, pmi: pmi_server::Stage, all_claimed: bool) -> Stage {
        match page.state() {
            State::Starting => Stage::Starting,
            State::Running => Stage::Inside,
            State::Finalized => Stage::Finalized,
            State::Aborted => Stage::Aborted(page.identity.exit_code.load(Relaxed)),
            State::Ended => Stage::Ended(page.identity.exit_code.load(Relaxed)),
            State::Unused if all_claimed => Stage::Overwritten,
            State::Unused => match pmi {
                pmi_server::Stage::Silent => Stage::Outside,
                pmi_server::Stage::Running => Stage::Inside,
                pmi_server::Stage::Finalized => Stage::Finalized,
            },
        }
    }

    /// Whether the others can be waiting for this rank.
    pub fn takes_part(self) -> bool {
        matches!(self, Stage::Starting | Stage::Inside | Stage::Overwritten)
    }
}

impl Failure {
    /// The exit status of a job that ends by this failure.
    pub fn status(&self) -> i32 {
        match self.cause {
            Cause::Killed(signal) => 128 + signal,
            Cause::Exited(status) => status,
            Cause::NoFinalize | Cause::NoInit => 1,
            Cause::Abort(code) | Cause::Error(code) => exit_status(code),
            Cause::End(status) => status & 0xff,
        }
    }
}

/// Judges the end of a rank; `None` if it is no failure.
pub fn judge(rank: u32, ended: Ended, stage: Stage) -> Option<Failure> {
    let cause = match (stage, ended) {
        (Stage::Aborted(code), _) => Cause::Abort(code),
        (Stage::Ended(status), _) => Cause::End(status),
        (_, Ended::Killed(signal)) => Cause::Killed(signal),
        (stage, Ended::Exited(0)) if stage.takes_part() => Cause::NoFinalize,
        (_, Ended::Exited(0)) => return None,
        (_, Ended::Exited(status)) => Cause::Exited(status),
    };
    Some(Failure { rank, cause, patient: stage == Stage::Finalized })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(ended: Ended, stage: Stage) -> Option<Cause> {
        judge(0, ended, stage).map(|failure| failure.cause)
    }

    #[test]
    fn status_0_is_good_before_mpi_and_after_it_but_not_within() {
        assert_eq!(cause(Ended::Exited(0), Stage::Outside), None);
        assert_eq!(cause(Ended::Exited(0), Stage::Finalized), None);
        assert_eq!(cause(Ended::Exited(0), Stage::Inside), Some(Cause::NoFinalize));
    }

    #[test]
    fn a_page_on_which_nothing_stands_is_overwritten_once_all_are_claimed() {
        let stage = |all_claimed| Stage::of(&Page::blank(), pmi_server::Stage::Silent, all_claimed);
        assert_eq!([stage(false), stage(true)], [Stage::Outside, Stage::Overwritten]);
        assert_eq!(cause(Ended::Exited(0), Stage::Overwritten), Some(Cause::NoFinalize));
        assert!(Stage::Overwritten.takes_part());
    }

    #[test]
    fn an_abort_counts_however_the_process_ended() {
        for ended in [Ended::Exited(0), Ended::Exited(42), Ended::Killed(15)] {
            assert_eq!(cause(ended, Stage::Aborted(7)), Some(Cause::Abort(7)));
        }
    }

    #[test]
    fn a_bad_status_after_finalize_leaves_the_others_a_moment() {
        assert!(judge(1, Ended::Exited(3), Stage::Finalized).unwrap().patient);
        assert!(!judge(1, Ended::Exited(3), Stage::Inside).unwrap().patient);
    }

    #[test]
    fn the_status_of_the_job_is_that_of_the_failure() {
        let status = |ended, stage| judge(0, ended, stage).unwrap().status();
        assert_eq!(status(Ended::Killed(9), Stage::Inside), 137);
        assert_eq!(status(Ended::Exited(3), Stage::Outside), 3);
        assert_eq!(status(Ended::Exited(0), Stage::Aborted(0)), 1);
        assert_eq!([0, 3].map(|code| status(Ended::Exited(code), Stage::Ended(code))), [0, 3]);
    }
}
