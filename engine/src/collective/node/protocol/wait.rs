//! How a member waits for others.

use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::until::Until;
use crate::Result;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// How a member waits. A blocking operation waits while the future is made, when the engine drives
/// everything, or in its first poll. An operation that goes on beside others is polled again.
pub trait Wait {
    /// Is ready when `until` holds at the control block of `member`; fails with what progress reports.
    fn wait<'a>(&'a self, member: &'a Member, until: Until) -> impl Future<Output = Result<()>> + Unpin + 'a;

    /// Is ready when the parts of all members in the work of an epoch are over (`false`), or when
    /// there is a piece to be had and this member has nothing better to do (`true`).
    fn idle<'a>(&'a self, member: &'a Member, epoch: u64) -> impl Future<Output = Result<bool>> + 'a {
        async move {
            self.wait(member, Until::Work(epoch)).await?;
            Ok(!member.control_block().is_done(epoch))
        }
    }
}

/// Runs an operation whose waits end where they begin: a blocking one.
///
/// # Panics
/// When a wait has not ended.
#[inline(always)]
pub fn at_once<T>(operation: impl Future<Output = T>) -> T {
    match pin!(operation).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => unreachable!("a blocking wait ends when what it waits for has come"),
    }
}
