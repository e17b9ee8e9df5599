//! The servant: what a member does for others that cannot reach into its memory, whenever it makes progress,
//! and while it computes (`servant_thread`).
//!
//! It never waits, and never runs other work of its rank: such work may be code of the program, or the next servant.
//!
//! It changes elements as its own operations do: words by atomic instructions where the memory is direct for those
//! who can, all others under the lock of its elements. So it makes no difference to anybody who does it.

use super::asking::{buffer, ASKED, MOST_WORDS, WITH_WORDS};
use super::locking::no_such_lock;
use super::served::Served;
use crate::core::Background;
use crate::engine::background::Master;
use crate::engine::Engine;
use crate::message::work::Work;
use crate::message::{Envelope, Mode, ANY_SOURCE};
use crate::onesided::{Ask, Entry, Exposure, Kind, Lock, LockOf, Numbered, Queued, Region};
use crate::request::RequestId;
use crate::world::BootstrapChannel;
use crate::{Class, Result};
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};

impl Engine {
    /// Serves the other members from now on, until the exposure is freed.
    pub(super) fn serve_others_too(&self, exposure: &Arc<Exposure>) -> Result<()> {
        match exposure.size() == 1 || exposure.is_served.swap(true, Ordering::SeqCst) {
            true => Ok(()),
            false => self.begin_to_serve(exposure),
        }
    }

    fn begin_to_serve(&self, exposure: &Arc<Exposure>) -> Result<()> {
        self.need_servant_thread();
        let lane = self.lane(exposure.communicator.context());
        let request = lane.lock().requests.insert(Work::Background)?;
        let (master, exposure) = (Master::of(self), Arc::downgrade(exposure));
        let mut coming = None;
        let poll = Box::new(move |_: &dyn BootstrapChannel| {
            let engine: &Engine = &master;
            let is_over = engine.serve(&exposure, &mut coming);
            if is_over {
                engine.lane_at(request).lock().requests[request].detached = true;
            }
            Ok(is_over.then_some(0))
        });
        lane.lock().background.push(Background { is_servant: true, ..Background::new(request, poll) });
        Ok(())
    }

    /// Nobody needs the servant any more: it goes when it is looked at next.
    pub(super) fn end_to_serve(&self, exposure: &Exposure) {
        exposure.is_over.store(true, Ordering::Relaxed);
        if exposure.is_served.swap(false, Ordering::Relaxed) {
            self.leave_servant_thread();
        }
        self.lane(exposure.communicator.context()).lock().epoch += 1;
    }

    /// Answers what has been asked; whether that was all for ever.
    fn serve(&self, exposure: &Weak<Exposure>, coming: &mut Option<Coming>) -> bool {
        let Some(exposure) = exposure.upgrade() else { return true };
        if exposure.is_over.load(Ordering::Relaxed) {
            return true;
        }
        // What went wrong with a message is told at the next wait of this rank.
        while let Ok(true) = self.serve_one(&exposure, coming) {}
        false
    }

    /// Begins to receive what comes next, if there is something.
    fn receive_next(&self, exposure: &Exposure) -> Result<Option<Coming>> {
        let context = exposure.communicator.context();
        let wanted = Envelope { context, source: ANY_SOURCE, tag: ASKED };
        let message = {
            let mut core = self.lane(context).lock();
            self.drive(&mut core)?;
            core.take_message(wanted)?
        };
        let Some(message) = message else { return Ok(None) };
        let mut asked = vec![0u8; message.status().bytes as usize];
        let from = message.status().source as u32;
        let request = self.start_matched_receive(message, buffer(&mut asked))?;
        Ok(Some(Coming { request, from, asked: ManuallyDrop::new(asked) }))
    }

    /// Does what has come; `false`: nothing has, or not all of it.
    fn serve_one(&self, exposure: &Exposure, coming: &mut Option<Coming>) -> Result<bool> {
        if coming.is_none() {
            *coming = self.receive_next(exposure)?;
        }
        let Some(Coming { request, .. }) = *coming else { return Ok(false) };
        let has_come = self.has_come(request);
        if matches!(has_come, Ok(false)) {
            return Ok(false);
        }
        let Some(Coming { from, asked, .. }) = coming.take() else { return Ok(false) };
        has_come?;
        let asked = ManuallyDrop::into_inner(asked);
        let (ask, tag, data) = Ask::read(&asked)?;
        match ask {
            Ask::Lock(kind, mutex) => self.queue(exposure, (kind, mutex), (from, tag))?,
            Ask::TryLock(mutex) => {
                let tried = self.try_for(exposure, mutex, from);
                self.answer_to(exposure, (from, tag), tried)?;
            }
            Ask::Unlock(kind, mutex) => {
                self.leave_lock(exposure, kind, mutex);
                self.answer_to(exposure, (from, tag), Ok(Vec::new()))?;
            }
            _ => {
                let done = self.obey(&OwnMemory(exposure), ask, data);
                self.answer_to(exposure, (from, tag), done)?;
            }
        }
        Ok(true)
    }

    /// Whether a message has come; it is asked once more only if not.
    fn has_come(&self, id: RequestId) -> Result<bool> {
        let mut core = self.lane_of(id).lock();
        let request = core.requests.check(id)?;
        if !core.settled(request) {
            return Ok(false);
        }
        match core.collect(request).error {
            Some(error) => Err(error),
            None => Ok(true),
        }
    }

    /// Answers a member: 0 and what it gets; what its memory's device says; or 1.
    fn answer_to(&self, exposure: &Exposure, (rank, tag): (u32, i32), done: Result<Vec<u8>>) -> Result<()> {
        let (code, rest) = match done {
            Ok(told) => (0, told),
            Err(error) if error.class() == Class::Other => {
                let words = error.message().as_bytes();
                (WITH_WORDS, words[..words.len().min(MOST_WORDS)].to_vec())
            }
            Err(_) => (1, Vec::new()),
        };
        let mut answer = vec![code; 8];
        answer.extend(rest);
        let envelope =
            Envelope { context: exposure.communicator.context(), source: exposure.rank() as i32, tag };
        self.send(exposure.group().job_rank(rank), envelope, buffer(&mut answer), Mode::Buffered)
    }
}

/// A message that a servant receives. If the servant goes before it has come, its memory stays.
struct Coming {
    request: RequestId,
    from: u32,
    asked: ManuallyDrop<Vec<u8>>,
}

/// What this member exposes.
struct OwnMemory<'a>(&'a Exposure);

impl Served for OwnMemory<'_> {
    fn region(&self, engine: &Engine, there: (u64, u64)) -> Result<Region> {
        let OwnMemory(exposure) = *self;
        Ok(match exposure.kind {
            Kind::Dynamic => engine.find_region(exposure, exposure.rank(), self.find(engine, there)?),
            _ => engine.region_of(exposure, exposure.rank()).clone(),
        })
    }

    fn find(&self, _: &Engine, (address, bytes): (u64, u64)) -> Result<Entry> {
        Ok(self.0.attached.find(address, bytes).unwrap_or_default())
    }
}

/// The own locks, where others cannot reach their words.
impl Engine {
    /// Another member asks for one.
    fn queue(&self, exposure: &Exposure, (kind, mutex): (Lock, Option<u32>), who: (u32, i32)) -> Result<()> {
        match self.own_lock(exposure, mutex) {
            Some(found) => {
                let ticket = found.lock.ask();
                let queued = Queued { mutex, kind, ticket, who };
                exposure.queue.lock().unwrap_or_else(PoisonError::into_inner).push(queued);
                self.let_in(exposure, mutex);
                Ok(())
            }
            None => self.answer_to(exposure, who, Err(no_such_lock())),
        }
    }

    fn own_lock<'a>(&self, exposure: &'a Exposure, mutex: Option<u32>) -> Option<Numbered<'a>> {
        exposure.lock_of(LockOf { member: exposure.rank(), mutex })
    }

    /// Another member takes one if nobody has it: 8 bytes that are not 0 if it has got it.
    fn try_for(&self, exposure: &Exposure, mutex: Option<u32>, who: u32) -> Result<Vec<u8>> {
        let found = self.own_lock(exposure, mutex).ok_or_else(no_such_lock)?;
        let ticket = found.lock.try_to_ask();
        if let Some(ticket) = ticket {
            found.lock.enter(Lock::Exclusive, ticket, who);
        }
        Ok(u64::from(ticket.is_some()).to_ne_bytes().to_vec())
    }

    /// It is given back, by whomever.
    pub(super) fn leave_lock(&self, exposure: &Exposure, kind: Lock, mutex: Option<u32>) {
        if let Some(found) = self.own_lock(exposure, mutex) {
            found.lock.leave(kind);
            self.let_in(exposure, mutex);
        }
    }

    /// Tells those whose turn it is that they have it.
    pub(super) fn let_in(&self, exposure: &Exposure, mutex: Option<u32>) {
        let Some(found) = self.own_lock(exposure, mutex) else { return };
        loop {
            let mut queue = exposure.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let is_turn = |one: &Queued| one.mutex == mutex && found.lock.is_turn(one.kind, one.ticket);
            let Some(next) = queue.iter().position(is_turn).map(|place| queue.remove(place)) else { break };
            drop(queue);
            found.lock.enter(next.kind, next.ticket, next.who.0);
            // An error of a message comes again when this rank waits next.
            let _ = self.answer_to(exposure, next.who, Ok(Vec::new()));
        }
        self.turned(exposure, found);
        if exposure.has_servers.load(Ordering::Relaxed) {
            self.tell_server_of_turn();
        }
    }
}
