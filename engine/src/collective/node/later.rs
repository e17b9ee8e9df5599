//! Forms as blocking operations, and as operations that go on beside others.
//!
//! A form is a future: it waits at a few points, and everything between two of them is done
//! at once. A blocking operation waits where it stands ([`at_once`]). A nonblocking or
//! persistent one ([`Later`]) is left there, and goes on when somebody finds that what it
//! waits for has come. It is the same form, so its results have the same bits. Where members
//! can do the work of each other (`helped`), one that has nothing else to do goes on with that.
//!
//! Blocking operations of a communicator share one block, which counts them. Others have
//! *places* ([`Places`]): seats at blocks of their own. The k-th nonblocking operation of a
//! communicator uses the k-th place, and begins there when this member's part of the one
//! before it at that place is over; all members start them in one order. A persistent
//! operation has a place to itself, for it may be started in any order.

use super::block::Until;
use super::reach::{Plain, Reach, Reaches, Room};
use super::seat::{Seat, Wait};
use super::{forms, helped, large};
use crate::collective::Operation;
use crate::memory::copy::Chooser;
use crate::Result;
use std::future::Future;
use std::ops::Deref;
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
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
#[inline(always)]
pub fn at_once<T>(form: impl Future<Output = T>) -> T {
    match pin!(form).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => unreachable!("a blocking wait ends when what it waits for has come"),
    }
}

/// Whether a long operation had better be one message: then both ranks may copy, and the sender is
/// told as soon as its buffer is read. So it is too where one can do the work of the other.
fn is_message(seat: &Seat, operation: &Operation) -> bool {
    seat.size == 2 && matches!(operation, Operation::Broadcast { .. }) && !helped::wants(seat)
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
    /// [`Until::words`].
    until: (AtomicU32, AtomicU64),
    /// The form may take pieces of others: once.
    idle: AtomicBool,
    driver: AtomicPtr<()>,
}

impl Stand {
    /// Waits until `until` holds, by stopping there.
    pub fn wait<'a>(&'a self, seat: &'a Seat, until: Until) -> impl Future<Output = Result<()>> + Unpin + 'a {
        std::future::poll_fn(move |_| match seat.block().holds(until) {
            true => Poll::Ready(Ok(())),
            false => self.stop(until),
        })
    }

    /// As [`Wait::idle`], by stopping there.
    fn idle<'a>(&'a self, seat: &'a Seat, epoch: u64) -> impl Future<Output = Result<bool>> + 'a {
        std::future::poll_fn(move |_| {
            let may_help = self.idle.swap(false, Relaxed);
            if seat.block().is_done(epoch) {
                return Poll::Ready(Ok(false));
            }
            match may_help && seat.block().has_pieces(epoch) {
                true => Poll::Ready(Ok(true)),
                false => self.stop(Until::Work(epoch)),
            }
        })
    }

    fn stop<T>(&self, until: Until) -> Poll<T> {
        let (kind, epoch) = until.words();
        self.until.0.store(kind, Relaxed);
        self.until.1.store(epoch, Relaxed);
        Poll::Pending
    }

    fn until(&self, seat: &Seat) -> Until {
        let words = (self.until.0.load(Relaxed), self.until.1.load(Relaxed));
        // Before it has stopped anywhere it may begin.
        Until::of_words(words, seat.size).unwrap_or(Until::All(0))
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

    fn idle<'a>(&'a self, seat: &'a Seat, epoch: u64) -> impl Future<Output = Result<bool>> + 'a {
        self.stand.idle(seat, epoch)
    }
}

impl<By: Deref<Target: Reach>> Reach for Beside<By> {
    fn reaches(&self, seat: &Seat) -> Reaches {
        self.by.reaches(seat)
    }

    fn widen(&self, seat: &Seat) -> bool {
        self.by.widen(seat)
    }

    fn lend(&self, seat: &Seat, memory: (*const u8, u64), readers: u32) -> Plain {
        self.by.lend(seat, memory, readers)
    }

    fn room(&self, seat: &Seat, bytes: u64) -> Option<Room> {
        self.by.room(seat, bytes)
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
        copies: &Chooser,
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
        copies: &Chooser,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.by.write(seat, member, address, source, bytes, copies) }
    }

    unsafe fn write_there(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        bytes: u64,
        make: impl FnOnce(*mut u8) -> Result<()>,
    ) -> Option<Result<()>> {
        // SAFETY: passed on.
        unsafe { self.by.write_there(seat, member, address, bytes, make) }
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
            if !large::wants(&place, &operation) || !large::can(&place, &operation, &by).await? {
                return Ok(false);
            }
            if is_message(&place, &operation) {
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
        self.stand.until(&self.seat)
    }

    /// Whether it can go on.
    pub fn is_due(&self) -> bool {
        match self.until() {
            Until::Work(epoch) => self.seat.block().is_done(epoch),
            until => self.seat.block().holds(until),
        }
    }

    /// Whether it can go on, or this member could do something for another.
    pub fn has_something(&self) -> bool {
        self.seat.block().holds(self.until())
    }

    /// Whether this member could do a piece of the work of another.
    pub fn can_help(&self) -> bool {
        matches!(self.until(), Until::Work(epoch) if self.seat.block().has_pieces(epoch))
    }

    /// This member has nothing better to do: when it goes on next, it does such a piece.
    pub fn help(&mut self) {
        self.stand.idle.store(true, Relaxed);
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
