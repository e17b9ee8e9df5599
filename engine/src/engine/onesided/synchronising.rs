//! Epochs that all or some members take part in: fences, post and start (MPI-5.0 §12.5.1, §12.5.2).
//!
//! Members of a group tell each other by empty messages in the context of the exposure that they have
//! posted and completed.

use crate::collective::Operation;
use crate::engine::reason::Reason;
use crate::engine::Engine;
use crate::message::{Buffer, Envelope, Mode};
use crate::onesided::{Assertions, Exposure};
use crate::request::{RequestId, Status};
use crate::world::Group;
use crate::{Class, Error, Result};
use std::sync::atomic::{fence, Ordering};
use std::sync::Arc;

/// Tag of the word that memory is posted for accesses.
const POSTED: i32 = 1;
/// Tag of the word that they are complete.
const COMPLETED: i32 = 2;

/// Epochs of all members.
impl Engine {
    /// `MPI_Win_fence`. Collective.
    ///
    /// # Errors
    /// `RmaSync` within an epoch of another kind.
    pub fn fence(&self, exposure: &Exposure, assertions: Assertions) -> Result<()> {
        exposure.epochs.check_fence()?;
        fence(Ordering::SeqCst);
        self.run_collective(&exposure.communicator, &Operation::Barrier)?;
        fence(Ordering::SeqCst);
        exposure.epochs.fenced(assertions);
        Ok(())
    }
}

/// Epochs of some members.
impl Engine {
    /// Lets the members of a group access the own segment (`MPI_Win_post`). Waits for nobody.
    ///
    /// # Errors
    /// `RmaSync` when one is exposed already, `Group` for processes that are no members.
    pub fn post_exposure(&self, exposure: &Exposure, group: &Arc<Group>, _: Assertions) -> Result<()> {
        let ranks = members_of(exposure, group)?;
        let mut groups = exposure.epochs.groups();
        if groups.posted.is_some() {
            let sentence = "memory is exposed to a group already: wait for its accesses before another post";
            return Err(Error::new(Class::RmaSync, sentence));
        }
        fence(Ordering::SeqCst);
        let completions = ranks.iter().map(|&rank| self.await_word(exposure, rank, COMPLETED));
        groups.posted = Some(completions.collect::<Result<_>>()?);
        drop(groups);
        ranks.iter().try_for_each(|&rank| self.send_word(exposure, rank, POSTED))
    }

    /// Begins to access the segments of a group (`MPI_Win_start`); waits until they have posted.
    ///
    /// # Errors
    /// `RmaSync` within another epoch, `Group` for processes that are no members.
    pub fn start_access(&self, exposure: &Exposure, group: &Arc<Group>, _: Assertions) -> Result<()> {
        exposure.epochs.check_start()?;
        let ranks = members_of(exposure, group)?;
        let posts = ranks.iter().map(|&rank| self.await_word(exposure, rank, POSTED));
        let posts = posts.collect::<Result<Vec<_>>>()?;
        self.wait_for_words(exposure, &posts)?;
        fence(Ordering::SeqCst);
        exposure.epochs.start(ranks);
        Ok(())
    }

    /// Ends what [`Engine::start_access`] began (`MPI_Win_complete`).
    ///
    /// # Errors
    /// `RmaSync` when it did not.
    pub fn complete_access(&self, exposure: &Exposure) -> Result<()> {
        let ranks = exposure.epochs.complete()?;
        fence(Ordering::SeqCst);
        ranks.into_iter().try_for_each(|rank| self.send_word(exposure, rank, COMPLETED))
    }

    /// Waits until all of the group of [`Engine::post_exposure`] have completed (`MPI_Win_wait`).
    ///
    /// # Errors
    /// `RmaSync` when nothing was posted.
    pub fn wait_for_accesses(&self, exposure: &Exposure) -> Result<()> {
        let Some(completions) = exposure.epochs.groups().posted.take() else { return Err(not_posted()) };
        self.wait_for_words(exposure, &completions)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Whether they have; then the epoch is over (`MPI_Win_test`).
    ///
    /// # Errors
    /// As [`Engine::wait_for_accesses`].
    pub fn test_for_accesses(&self, exposure: &Exposure) -> Result<bool> {
        let Some(mut completions) = exposure.epochs.groups().posted.take() else { return Err(not_posted()) };
        while let Some(&last) = completions.last() {
            match self.test(last)? {
                Some((status, _)) => status.error.map_or(Ok(()), Err)?,
                None => {
                    self.all_members_go_on(&exposure.communicator)?;
                    exposure.epochs.groups().posted = Some(completions);
                    return Ok(false);
                }
            }
            completions.pop();
        }
        fence(Ordering::SeqCst);
        Ok(true)
    }

    fn send_word(&self, exposure: &Exposure, rank: u32, tag: i32) -> Result<()> {
        let envelope =
            Envelope { context: exposure.communicator.context(), source: exposure.rank() as i32, tag };
        self.send(exposure.group().job_rank(rank), envelope, NOTHING, Mode::Buffered)
    }

    fn await_word(&self, exposure: &Exposure, rank: u32, tag: i32) -> Result<RequestId> {
        let wanted = Envelope { context: exposure.communicator.context(), source: rank as i32, tag };
        self.start_receive(wanted, Some(exposure.group().job_rank(rank)), NOTHING)
    }

    fn wait_for_words(&self, exposure: &Exposure, words: &[RequestId]) -> Result<()> {
        let context = exposure.communicator.context();
        words.iter().try_for_each(|&word| self.wait_for_word(context, word).map(|_| ()))
    }

    /// Waits for a message of a member that may not come because another one has failed.
    pub(super) fn wait_for_word(&self, context: u64, word: RequestId) -> Result<Status> {
        let lane = self.lane_of(word);
        let request = lane.lock().requests.check(word)?;
        self.waits_for_peer_of(lane, request);
        let status = self.wait_until(lane, Reason::Word(context, request), |core| {
            core.settled(request).then(|| core.collect(request))
        })?;
        match status.error {
            Some(error) => Err(error),
            None => Ok(status),
        }
    }
}

/// A message that carries nothing.
const NOTHING: Buffer = Buffer::Dense { address: std::ptr::null_mut(), bytes: 0 };

/// The ranks of the processes of a group in an exposure.
fn members_of(exposure: &Exposure, group: &Group) -> Result<Vec<u32>> {
    let rank_of = |job_rank| {
        exposure.group().rank_of(job_rank).ok_or_else(|| {
            let sentence =
                format!("the group has a process (job rank {job_rank}) that is no member of the window");
            Error::new(Class::Group, sentence)
        })
    };
    group.iter().map(rank_of).collect()
}

#[cold]
fn not_posted() -> Error {
    Error::new(Class::RmaSync, "no memory is exposed to a group: post it first")
}
