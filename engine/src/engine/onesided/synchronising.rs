//! Epochs that all or some members take part in: fences, post and start (MPI-5.0 §12.5.1, §12.5.2).
//!
//! Members of a group tell each other that they have posted and completed: in shared memory where all members of the
//! exposure are on one node, else by empty messages in its context.

use crate::collective::Operation;
use crate::engine::reason::Reason;
use crate::engine::waiting::Beside;
use crate::engine::Engine;
use crate::message::{Buffer, Envelope, Mode};
use crate::onesided::{Assertions, Awaited, Exposure, GroupWord};
use crate::request::{RequestId, Status};
use crate::transport::node::doorbell_of;
use crate::world::Group;
use crate::{Class, Error, Result};
use std::sync::atomic::{fence, Ordering};
use std::sync::Arc;

/// Epochs of all members.
impl Engine {
    /// `MPI_Win_fence`. Collective.
    ///
    /// # Errors
    /// `RmaSync` within an epoch of another kind.
    pub fn fence(&self, exposure: &Exposure, assertions: Assertions) -> Result<()> {
        exposure.epochs.check_fence()?;
        // Whatever has become of this member's operations, the others wait for it.
        let settled = self.settle_accesses(exposure.settled(None));
        fence(Ordering::SeqCst);
        self.run_collective(&exposure.communicator, &Operation::Barrier)?;
        fence(Ordering::SeqCst);
        exposure.epochs.fenced(assertions);
        settled
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
        groups.posted = Some(self.await_words(exposure, &ranks, GroupWord::Completed)?);
        drop(groups);
        ranks.iter().try_for_each(|&rank| self.tell(exposure, rank, GroupWord::Posted))
    }

    /// Begins to access the segments of a group (`MPI_Win_start`); waits until they have posted.
    ///
    /// # Errors
    /// `RmaSync` within another epoch, `Group` for processes that are no members.
    pub fn start_access(&self, exposure: &Exposure, group: &Arc<Group>, _: Assertions) -> Result<()> {
        exposure.epochs.check_start()?;
        let ranks = members_of(exposure, group)?;
        let posts = self.await_words(exposure, &ranks, GroupWord::Posted)?;
        self.wait_for_words(exposure, &posts, GroupWord::Posted)?;
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
        let settled = self.settle_accesses(exposure.settled(None));
        fence(Ordering::SeqCst);
        ranks.into_iter().try_for_each(|rank| self.tell(exposure, rank, GroupWord::Completed))?;
        settled
    }

    /// Waits until all of the group of [`Engine::post_exposure`] have completed (`MPI_Win_wait`).
    ///
    /// # Errors
    /// `RmaSync` when nothing was posted.
    pub fn wait_for_accesses(&self, exposure: &Exposure) -> Result<()> {
        let Some(completions) = exposure.epochs.groups().posted.take() else { return Err(not_posted()) };
        self.wait_for_words(exposure, &completions, GroupWord::Completed)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Whether they have; then the epoch is over (`MPI_Win_test`).
    ///
    /// # Errors
    /// As [`Engine::wait_for_accesses`].
    pub fn test_for_accesses(&self, exposure: &Exposure) -> Result<bool> {
        let Some(mut completions) = exposure.epochs.groups().posted.take() else { return Err(not_posted()) };
        if !self.have_come(exposure, &mut completions, GroupWord::Completed)? {
            self.all_members_go_on(&exposure.communicator)?;
            exposure.epochs.groups().posted = Some(completions);
            return Ok(false);
        }
        fence(Ordering::SeqCst);
        Ok(true)
    }
}

/// What members of a group tell each other.
impl Engine {
    fn tell(&self, exposure: &Exposure, rank: u32, word: GroupWord) -> Result<()> {
        let (peer, me) = (exposure.group().job_rank(rank), exposure.rank());
        if exposure.is_spread {
            return self.send(peer, exposure.word_of(me, word), NOTHING, Mode::Buffered);
        }
        self.goes_on(peer)?;
        exposure.control.told(rank).say(me, word);
        if let Some(local) = self.job.local(peer) {
            doorbell_of(&self.job.node, local).ring();
        }
        Ok(())
    }

    fn await_words(&self, exposure: &Exposure, ranks: &[u32], word: GroupWord) -> Result<Awaited> {
        if !exposure.is_spread {
            return Ok(Awaited::InMemory(ranks.to_vec()));
        }
        let receive = |&rank: &u32| {
            let wanted = exposure.word_of(rank, word);
            self.start_receive(wanted, Some(exposure.group().job_rank(rank)), NOTHING)
        };
        Ok(Awaited::Messages(ranks.iter().map(receive).collect::<Result<_>>()?))
    }

    fn wait_for_words(&self, exposure: &Exposure, words: &Awaited, word: GroupWord) -> Result<()> {
        let context = exposure.communicator.context();
        match words {
            Awaited::InMemory(ranks) => self.wait_in_memory(exposure, ranks, word),
            Awaited::Messages(requests) => {
                requests.iter().try_for_each(|&request| self.wait_for_word(context, request).map(drop))
            }
        }
    }

    fn wait_in_memory(&self, exposure: &Exposure, ranks: &[u32], word: GroupWord) -> Result<()> {
        let told = exposure.control.told(exposure.rank());
        let beside = ForWords { exposure, ranks, word };
        if !beside.holds() {
            let single = || <[u32; 1]>::try_from(ranks).ok().map(|[rank]| exposure.group().job_rank(rank));
            self.crowd.wait_for(|| self.page_of(single()?));
            let reason = Reason::Group(exposure, ranks, word);
            let lane = self.lane(exposure.communicator.context());
            self.wait_beside(lane, reason, &beside, |_| beside.holds().then_some(()))?;
        }
        ranks.iter().for_each(|&rank| told.take(rank, word));
        Ok(())
    }

    /// Whether all words have come; those that have are waited for no more.
    fn have_come(&self, exposure: &Exposure, words: &mut Awaited, word: GroupWord) -> Result<bool> {
        match words {
            Awaited::InMemory(ranks) => {
                let told = exposure.control.told(exposure.rank());
                while let Some(&last) = ranks.last() {
                    if !told.has_said(last, word) {
                        // Whoever tests again and again does for others what they need it for.
                        self.look(self.lane(exposure.communicator.context()), |_| ())?;
                        self.polled(Reason::Group(exposure, ranks, word))?;
                        return Ok(false);
                    }
                    told.take(last, word);
                    ranks.pop();
                }
            }
            Awaited::Messages(requests) => {
                while let Some(&last) = requests.last() {
                    let Some((status, _)) = self.test(last)? else { return Ok(false) };
                    status.error.map_or(Ok(()), Err)?;
                    requests.pop();
                }
            }
        }
        Ok(true)
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

impl GroupWord {
    /// The tag of its message.
    fn tag(self) -> i32 {
        match self {
            GroupWord::Posted => 1,
            GroupWord::Completed => 2,
        }
    }
}

impl Exposure {
    /// A word of a member, as a message.
    fn word_of(&self, rank: u32, word: GroupWord) -> Envelope {
        Envelope { context: self.communicator.context(), source: rank as i32, tag: word.tag() }
    }

    /// For observers: the words of members that have not come.
    pub(in crate::engine) fn missing_words<'a>(
        &'a self,
        ranks: &'a [u32],
        word: GroupWord,
    ) -> impl Iterator<Item = Envelope> + 'a {
        let told = self.control.told(self.rank());
        ranks
            .iter()
            .filter(move |&&rank| !told.has_said(rank, word))
            .map(move |&rank| self.word_of(rank, word))
    }
}

/// A wait for words in shared memory.
struct ForWords<'a> {
    exposure: &'a Exposure,
    ranks: &'a [u32],
    word: GroupWord,
}

impl Beside for ForWords<'_> {
    #[inline]
    fn holds(&self) -> bool {
        let told = self.exposure.control.told(self.exposure.rank());
        self.ranks.iter().all(|&rank| told.has_said(rank, self.word))
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
