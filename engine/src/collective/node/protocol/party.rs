//! One party of an operation: a member, how it waits, and how it reaches the memory of the others.

use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::until::Until;
use crate::collective::node::protocol::wait::Wait;
use crate::Result;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

/// One party of an operation. It is as good as its member.
pub struct Party<'a, Waits, Memory> {
    /// The member.
    pub member: &'a Member,
    /// How it waits ([`Wait`]).
    pub waits: &'a Waits,
    /// How it reaches the memory of the others (`PeerMemory`).
    pub memory: &'a Memory,
}

impl<Waits, Memory> Deref for Party<'_, Waits, Memory> {
    type Target = Member;

    #[inline(always)]
    fn deref(&self) -> &Member {
        self.member
    }
}

impl<'a, Waits: Wait, Memory> Party<'a, Waits, Memory> {
    /// Waits until something holds.
    #[inline]
    pub(crate) fn wait(
        &self,
        until: Until,
    ) -> impl Future<Output = Result<()>> + Unpin + use<'a, Waits, Memory> {
        self.waits.wait(self.member, until)
    }

    /// Waits until all members have arrived.
    #[inline(always)]
    pub(crate) fn wait_for_all(
        &self,
        epoch: u64,
    ) -> impl Future<Output = Result<()>> + use<'a, Waits, Memory> {
        All { member: self.member, epoch, waiting: self.unless_known(epoch) }
    }

    /// Waits until another member has arrived.
    #[inline]
    pub(crate) fn wait_for(
        &self,
        member: u32,
        epoch: u64,
    ) -> impl Future<Output = Result<()>> + use<'a, Waits, Memory> {
        self.wait(Until::Member(member, epoch))
    }

    /// Takes a place for `bytes` bytes of payload of an epoch, and waits until nobody reads what lies there (rule 2 of
    /// the control block). A member that has payload now and then only, as roots that take turns, hardly waits.
    #[inline]
    pub(crate) fn wait_until_free(
        &self,
        epoch: u64,
        bytes: u64,
    ) -> impl Future<Output = Result<()>> + use<'a, Waits, Memory> {
        self.wait_for_all(self.member.take_place(epoch, bytes))
    }

    /// Goes on to the next epoch when all others do.
    pub(crate) async fn meet(&self) -> Result<()> {
        let epoch = self.arrive_at_next();
        self.wait_for_all(epoch).await
    }

    #[inline]
    fn unless_known(
        &self,
        epoch: u64,
    ) -> Option<impl Future<Output = Result<()>> + Unpin + use<'a, Waits, Memory>> {
        let is_known = self.member.known.load(Relaxed) >= epoch;
        (!is_known).then(|| self.wait(Until::All(epoch)))
    }
}

/// A wait for all members. Written out, because it has to be inlined.
struct All<'a, Waiting> {
    member: &'a Member,
    epoch: u64,
    waiting: Option<Waiting>,
}

impl<Waiting: Future<Output = Result<()>> + Unpin> Future for All<'_, Waiting> {
    type Output = Result<()>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if let Some(waiting) = &mut self.waiting {
            match Pin::new(waiting).poll(context) {
                Poll::Ready(Ok(())) => self.member.known.store(self.epoch, Relaxed),
                other => return other,
            }
        }
        Poll::Ready(Ok(()))
    }
}
