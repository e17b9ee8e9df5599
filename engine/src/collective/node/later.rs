//! Forms as blocking operations, and as operations that go on beside others.
//!
//! A form is a future: it waits at a few points, and everything between two of them is done
//! at once. A blocking operation waits where it stands ([`at_once`]). A nonblocking or
//! persistent one ([`Later`]) is left there, and goes on when somebody finds that what it
//! waits for has come. It is the same form, so its results have the same bits.
//!
//! Blocking operations of a communicator share one block, which counts them. Others have
//! *places* ([`Places`]): seats at blocks of their own. The k-th nonblocking operation of a
//! communicator uses the k-th place, and begins there when this member's part of the one
//! before it at that place is over; all members start them in one order. A persistent
//! operation has a place to itself, for it may be started in any order.

use super::block::Until;
use super::reach::{Reach, Reaches};
use super::seat::{Seat, Wait};
use super::{forms, large};
use crate::collective::Operation;
use crate::memory::copy::Chooser;
use crate::Result;
use std::future::Future;
use std::ops::Deref;
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

/// The most places of a communicator.
pub const MOST_PLACES: usize = 4;
/// Larger communicators have none.
pub const MOST_MEMBERS_WITH_PLACES: u32 = 64;
/// Nonblocking operations of a communicator that go by messages before it asks for places.
pub const FIRST_WITHOUT_PLACES: u32 = 2;

/// Runs a form whose waits end where they begin: a blocking operation.
///
/// # Panics
/// When a wait has not ended.
#[inline]
pub fn at_once<T>(form: impl Future<Output = T>) -> T {
    match pin!(form).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => unreachable!("a blocking wait ends when what it waits for has come"),
    }
}

/// Whether a long operation had better be one message: then both ranks may copy, and the sender is
/// told as soon as its buffer is read.
fn is_message(seat: &Seat, operation: &Operation) -> bool {
    seat.size == 2 && matches!(operation, Operation::Broadcast { .. })
}

/// The places of a communicator, or of a persistent operation.
#[derive(Debug, Default)]
pub struct Places(OnceLock<Box<[Arc<Seat>]>>);

impl Places {
    /// Settles which there are, once; none: messages do it.
    pub fn settle(&self, seats: Box<[Arc<Seat>]>) {
        let _ = self.0.set(seats);
    }

    /// Those that there are; `None` while that is not settled.
    pub fn seats(&self) -> Option<&[Arc<Seat>]> {
        self.0.get().map(|seats| &**seats)
    }
}

/// What a form waits for, and by what it is driven.
#[derive(Debug, Default)]
pub struct Stand {
    /// 0: all members; else 1 + the one.
    member: AtomicU32,
    epoch: AtomicU64,
    driver: AtomicPtr<()>,
}

impl Stand {
    /// Waits until `until` holds, by stopping there.
    pub fn wait<'a>(&'a self, seat: &'a Seat, until: Until) -> impl Future<Output = Result<()>> + Unpin + 'a {
        std::future::poll_fn(move |_| match seat.block().holds(until) {
            true => Poll::Ready(Ok(())),
            false => {
                let (member, epoch) = match until {
                    Until::All(epoch) => (0, epoch),
                    Until::Member(member, epoch) => (1 + member, epoch),
                };
                self.member.store(member, Relaxed);
                self.epoch.store(epoch, Relaxed);
                Poll::Pending
            }
        })
    }

    fn until(&self) -> Until {
        let epoch = self.epoch.load(Relaxed);
        match self.member.load(Relaxed) {
            0 => Until::All(epoch),
            member => Until::Member(member - 1, epoch),
        }
    }

    /// What [`Later::go_on`] was given last.
    pub fn driver(&self) -> *const () {
        self.driver.load(Relaxed).cast_const()
    }
}

/// Waits by stopping, and reaches as `by` does.
struct Beside<By> {
    stand: Arc<Stand>,
    by: By,
}

impl<By> Wait for Beside<By> {
    fn wait<'a>(&'a self, seat: &'a Seat, until: Until) -> impl Future<Output = Result<()>> + Unpin + 'a {
        self.stand.wait(seat, until)
    }
}

impl<By: Deref<Target: Reach>> Reach for Beside<By> {
    fn reaches(&self, seat: &Seat) -> Reaches {
        self.by.reaches(seat)
    }

    fn widen(&self, seat: &Seat) -> bool {
        self.by.widen(seat)
    }

    fn lend(&self, seat: &Seat, address: *const u8, bytes: u64) -> (u64, u64) {
        self.by.lend(seat, address, bytes)
    }

    fn is_shared(&self, seat: &Seat, address: *const u8, bytes: u64) -> bool {
        self.by.is_shared(seat, address, bytes)
    }

    fn direct(&self, seat: &Seat, member: u32, address: u64, bytes: u64) -> Option<*const u8> {
        self.by.direct(seat, member, address, bytes)
    }

    unsafe fn read(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        target: *mut u8,
        bytes: usize,
        copies: &mut Chooser,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.by.read(seat, member, address, target, bytes, copies) }
    }

    unsafe fn write(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        source: *const u8,
        bytes: usize,
        copies: &mut Chooser,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.by.write(seat, member, address, source, bytes, copies) }
    }
}

/// An operation under way at a place.
///
/// The buffers of the program that the operation names must stay valid while it runs.
pub struct Later {
    form: Pin<Box<dyn Future<Output = Result<bool>>>>,
    seat: Arc<Seat>,
    stand: Arc<Stand>,
    /// Others know for what this member sleeps.
    lies: bool,
}

// SAFETY: the raw addresses in a form are of buffers that the program lends to the operation
// until it is done, from whichever thread it goes on, and of memory that the form owns; no
// guard of a lock lives across a wait; `go_on` takes `&mut self`.
unsafe impl Send for Later {}

impl Later {
    /// The operation, not yet begun, at a place that nobody else uses meanwhile.
    pub fn new<By>(seat: &Arc<Seat>, operation: Arc<Operation>, stand: &Arc<Stand>, by: By) -> Later
    where
        By: Deref<Target: Reach> + 'static,
    {
        let place = Arc::clone(seat);
        let by = Beside { stand: Arc::clone(stand), by };
        let form = async move {
            if forms::fits(&place, &operation) {
                forms::run_later(&place, &operation, &by).await?;
                return Ok(true);
            }
            if is_message(&place, &operation) || !large::wants(&place, &operation) {
                return Ok(false);
            }
            if !large::can(&place, &operation, &by).await? {
                return Ok(false);
            }
            large::run(&place, &operation, &by).await?;
            Ok(true)
        };
        Later { form: Box::pin(form), seat: Arc::clone(seat), stand: Arc::clone(stand), lies: false }
    }

    /// Goes on as far as it can now; `driver` is told to the waits and reaches of the form.
    /// Ready with `false`: nothing was done, for it has to go by messages, at all members.
    pub fn go_on(&mut self, driver: *const ()) -> Poll<Result<bool>> {
        self.stand.driver.store(driver.cast_mut(), Relaxed);
        self.form.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Where it is.
    pub fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    /// What it waits for.
    pub fn until(&self) -> Until {
        self.stand.until()
    }

    /// Whether it can go on.
    pub fn is_due(&self) -> bool {
        self.seat.block().holds(self.until())
    }

    /// This rank may sleep from now on: who brings what is waited for rings. It has to look
    /// once more then.
    pub fn lie_down(&mut self) {
        if !self.lies {
            self.lies = true;
            self.seat.block().lie_down(self.seat.rank, self.until());
        }
    }

    /// Whether those who can bring what is waited for know that this rank may sleep.
    pub fn lies(&self) -> bool {
        self.lies
    }

    /// Nobody needs to ring any more.
    pub fn get_up(&mut self) {
        if std::mem::take(&mut self.lies) {
            self.seat.block().get_up(self.seat.rank);
        }
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        self.get_up();
    }
}
