//! What a lane knows of buffers of collective operations that ranks could not fetch from devices.

use super::wire::Unfetched;
use crate::JobRank;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many this process has been told of whose operations have not ended here.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// Whether there are any.
#[inline]
pub(crate) fn any() -> bool {
    KEPT.load(Relaxed) != 0
}

/// Which operation of a communicator it is, by its context; and its number.
pub(super) type Which = (u64, u64);

/// What has been told, and who has not answered.
#[derive(Default)]
pub(crate) struct UnfetchedBuffers {
    told: Vec<(Which, Unfetched)>,
    /// In which context who has been told of a buffer of this rank.
    unheard: Vec<(u64, JobRank)>,
}

impl UnfetchedBuffers {
    /// A peer is told of a buffer of this rank.
    pub(super) fn tell(&mut self, context: u64, peer: JobRank) {
        self.unheard.push((context, peer));
    }

    /// It has heard.
    pub(super) fn heard(&mut self, context: u64, peer: JobRank) {
        if let Some(place) = self.unheard.iter().position(|one| *one == (context, peer)) {
            self.unheard.swap_remove(place);
        }
    }

    /// Whether all that are left have heard of it; `has_failed` says who is not there any more.
    pub(crate) fn have_heard(&mut self, context: u64, has_failed: impl Fn(JobRank) -> bool) -> bool {
        self.unheard.retain(|one| one.0 != context || !has_failed(one.1));
        self.unheard.iter().all(|one| one.0 != context)
    }

    /// A rank has told of its buffer.
    pub(super) fn keep(&mut self, which: Which, told: Unfetched) {
        self.told.push((which, told));
        KEPT.fetch_add(1, Relaxed);
    }

    /// Whether nothing was told.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// Takes what was told of a round of an operation: the lowest of the ranks.
    pub(super) fn take(&mut self, which: Which, round: u32) -> Option<u32> {
        let is_it = |one: &(Which, Unfetched)| one.0 == which && one.1.round == round;
        let lowest = self.told.iter().filter(|one| is_it(one)).map(|one| one.1.rank).min();
        self.keep_those(|one| !is_it(one));
        lowest
    }

    /// Forgets what was told of a communicator that is not there any more.
    pub(crate) fn forget(&mut self, context: u64) {
        self.keep_those(|one| one.0 .0 != context);
    }

    fn keep_those(&mut self, stays: impl Fn(&(Which, Unfetched)) -> bool) {
        let before = self.told.len();
        self.told.retain(stays);
        KEPT.fetch_sub(before - self.told.len(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_taken_with_its_operation_and_round() {
        let mut buffers = UnfetchedBuffers::default();
        let told = |rank, round| Unfetched { peer: JobRank(rank), rank, round };
        [((8, 5), told(3, 0)), ((8, 5), told(2, 0)), ((8, 5), told(1, 7)), ((10, 5), told(0, 0))]
            .into_iter()
            .for_each(|(which, told)| buffers.keep(which, told));
        assert!(any());
        assert_eq!((buffers.take((8, 5), 1), buffers.take((8, 4), 0)), (None, None));
        assert_eq!((buffers.take((8, 5), 0), buffers.take((8, 5), 0)), (Some(2), None));
        assert_eq!(buffers.take((8, 5), 7), Some(1));
        buffers.forget(10);
        assert!(buffers.is_empty() && !any());
    }

    #[test]
    fn who_has_failed_is_not_waited_for() {
        let mut buffers = UnfetchedBuffers::default();
        (0..3).for_each(|peer| buffers.tell(8, JobRank(peer)));
        buffers.tell(10, JobRank(0));
        buffers.heard(8, JobRank(1));
        assert!(!buffers.have_heard(8, |_| false));
        assert!(!buffers.have_heard(8, |peer| peer == JobRank(2)));
        buffers.heard(8, JobRank(0));
        assert!(buffers.have_heard(8, |_| false) && !buffers.have_heard(10, |_| false));
    }
}
