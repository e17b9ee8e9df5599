//! What servers of other nodes are asked for and need not have done when a call returns.
//!
//! A network's way there and back is long, so nobody waits for each operation. What is written is copied, but for long blocks
//! (`whole_blocks`); where it goes to and what an answer brings is known to the server of this node alone until the origin
//! *settles*: at a flush, at the end of an epoch, at a quiet or a fence. Errors are told then.
//!
//! Each member of each exposure has a line of its own. The first request of a line leaves at once, unless it takes a lock with
//! it. If the exposure is used in epochs, those behind it are *held*: they gather in one message, which leaves when it is full,
//! when nothing else of its line is under way, or when the origin settles. So a single operation is as quick as can be,
//! and of many each costs a copy. Other faces promise that what is put arrives without another call, so nothing that they
//! write is held.
//!
//! Whatever is held leaves when the program waits, polls or flushes anything: perhaps for what another rank does once that has
//! come. The queue of waiters in mpi4py's `Mutex` adds itself to the one before, flushes nothing, and calls `MPI_Win_sync` until
//! its turn has come.
//!
//! A lock of a member on another node goes with the first requests under it, and is given back with the last ones
//! (`line_locks`).
//!
//! All requests of a line are done in the order of the calls, for a server does those of one rank in the order in which it
//! asks. What leaves for a rank is preceded by what other lines hold for it: several faces may use the same memory.

use super::block::Block;
use super::lines::{key_of, store, Key, Line, Lines, Message, Place, MOST_UNDER_WAY};
use super::request::Request;
use crate::engine::server::{lock_in_body, What};
use crate::engine::Engine;
use crate::lock_order::{self, Level, Ordered};
use crate::onesided::{Exposure, Region, Servant};
use crate::{JobRank, Result};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Mutex;

/// All lines of a rank.
#[derive(Default)]
pub(in crate::engine) struct Deferred {
    lines: Mutex<Lines>,
    /// How many there are, for those who look whether there is anything.
    number: AtomicUsize,
    /// How many answers have been taken.
    pub(super) taken: AtomicU64,
    /// Exposures of several nodes of which this process holds the locks of all members.
    pub(super) all_locked: AtomicUsize,
}

/// What is settled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Settled {
    /// Everything that this rank has asked for.
    All,
    /// What it has asked of all members, or of a rank, in a context.
    Of(u64, Option<JobRank>),
}

impl Settled {
    fn has(self, key: Key) -> bool {
        match self {
            Settled::All => true,
            Settled::Of(context, rank) => key.1 == context && rank.is_none_or(|rank| key.0 == rank),
        }
    }
}

/// Asking.
impl Engine {
    /// Asks for something whose answer, if it has any, goes to pieces of own memory: a server later, a servant now.
    ///
    /// # Safety
    /// The pieces can be written until the origin settles.
    pub(super) unsafe fn ask_into(
        &self,
        servant: Servant,
        request: &Request,
        pieces: impl Iterator<Item = (*mut u8, u64)>,
    ) -> Result<()> {
        let places: Vec<Place> = pieces.map(|(at, bytes)| (at as usize, bytes as usize)).collect();
        let answer = places.iter().map(|place| place.1).sum();
        if servant.node.is_some() {
            return self.ask_later(servant, request, (&places, answer));
        }
        let (mut room, mut data) = (vec![0; answer], Vec::with_capacity(request.bytes));
        (request.add)(&mut data);
        self.ask(servant, request.ask, &data, &mut room)?;
        // SAFETY: by the caller.
        unsafe { store(&places, &room) };
        Ok(())
    }

    fn ask_later(
        &self,
        servant: Servant,
        request: &Request,
        (places, answer): (&[Place], usize),
    ) -> Result<()> {
        let mut lines = self.lines_with_room(servant, (request.bytes, answer))?;
        let may_wait = servant.may_answer_late || answer > 0;
        if lines.line(servant).has_no_room(request.bytes, answer) {
            self.send_held(&mut lines, servant)?;
        }
        lines.held(servant).add(request, places.iter().copied());
        let line = lines.line(servant);
        let is_idle = line.sent.is_empty() && line.lock.is_none();
        if !may_wait || is_idle || line.has_no_room(0, 0) {
            self.send_held(&mut lines, servant)?;
        }
        self.count_lines(&lines);
        Ok(())
    }

    /// Asks for a block to be moved whole, behind all that was asked for before.
    pub(super) fn ask_to_move(&self, servant: Servant, block: Block) -> Result<()> {
        self.have_lock(key_of(servant))?;
        let mut lines = self.lines_with_room(servant, (0, 0))?;
        self.send_held(&mut lines, servant)?;
        let message = Message::new(servant, lines.number());
        lines.bytes += self.begin_block(lines.line(servant), message, block)?;
        self.count_lines(&lines);
        Ok(())
    }

    /// The lines, once a member may be asked for more: data and an answer of so many bytes.
    fn lines_with_room(&self, servant: Servant, needed: (usize, usize)) -> Result<Ordered<'_, Lines>> {
        loop {
            let mut lines = self.deferred_lines();
            self.reap(&mut lines, key_of(servant));
            if lines.bytes > MOST_UNDER_WAY {
                self.reap_all(&mut lines);
            }
            lines.check_lock(key_of(servant))?;
            let Some(first) = lines.in_the_way(servant, needed) else { return Ok(lines) };
            drop(lines);
            self.await_server(&first)?;
        }
    }

    /// What is held for a rank leaves, before that is asked for something that is waited for.
    pub(super) fn send_what_is_held(&self, servant: Servant) -> Result<()> {
        match self.has_deferred() {
            true => self.send_held(&mut self.deferred_lines(), servant),
            false => Ok(()),
        }
    }

    /// Whatever is held leaves.
    #[inline]
    pub(in crate::engine) fn send_all_held(&self) -> Result<()> {
        match self.has_deferred() {
            true => self.send_found(),
            false => Ok(()),
        }
    }

    #[cold]
    fn send_found(&self) -> Result<()> {
        let mut lines = self.deferred_lines();
        let held = lines.of.values().filter(|line| line.held.is_some()).map(|line| line.servant);
        let held: Vec<Servant> = held.collect();
        held.into_iter().try_for_each(|servant| self.send_held(&mut lines, servant))
    }

    /// What is held for a rank leaves, that of the own line last: other faces may have asked before for the same memory.
    pub(super) fn send_held(&self, lines: &mut Lines, servant: Servant) -> Result<()> {
        let (own, rank) = (key_of(servant), servant.job_rank);
        for (_, line) in lines.of.range_mut((rank, 0)..=(rank, u64::MAX)).filter(|(&key, _)| key != own) {
            lines.bytes += self.send_line(line)?;
        }
        if let Some(line) = lines.of.get_mut(&own) {
            lines.bytes += self.send_line(line)?;
        }
        Ok(())
    }

    /// What a line holds leaves, unless a lock has to be had before; how many bytes are under way for that.
    pub(super) fn send_line(&self, line: &mut Line) -> Result<usize> {
        match line.take_held() {
            Some(message) => self.send_message(line, message),
            None => Ok(0),
        }
    }

    /// A message leaves; how many bytes are under way for it.
    pub(super) fn send_message(&self, line: &mut Line, mut message: Message) -> Result<usize> {
        let mut body = std::mem::take(&mut message.body);
        lock_in_body(&mut body, message.locking);
        let (what, most) = match message.locking.take {
            None => (What::Operation, message.answer),
            Some(_) => (What::Locked, 1 + message.answer),
        };
        let under_way = self.begin_to_ask_server(line.servant, (what, body), most)?;
        let bytes = message.bytes + message.answer;
        line.sent.push_back((under_way, message));
        Ok(bytes)
    }

    pub(super) fn deferred_lines(&self) -> Ordered<'_, Lines> {
        lock_order::lock(&self.deferred.lines, Level::DEFERRED)
    }

    pub(super) fn count_lines(&self, lines: &Lines) {
        self.deferred.number.store(lines.of.len(), Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn has_deferred(&self) -> bool {
        self.deferred.number.load(Ordering::Relaxed) != 0
    }

    pub(super) fn reap_all(&self, lines: &mut Lines) {
        let keys: Vec<Key> = lines.of.keys().copied().collect();
        keys.into_iter().for_each(|key| self.reap(lines, key));
    }

    /// Takes the answers that have come in a line.
    pub(super) fn reap(&self, lines: &mut Lines, key: Key) {
        let Lines { of, bytes: all, .. } = lines;
        let Some(line) = of.get_mut(&key) else { return };
        while let Some((under_way, message)) = line.sent.front() {
            // Asked once, and first: how it has ended must not be seen by one of the questions below and missed by another.
            if !self.is_over(under_way) {
                return;
            }
            if let Some(block) = message.block.filter(|_| self.is_cut(under_way)) {
                let (number, bytes) = (message.number, message.bytes);
                line.sent.pop_front();
                *all -= bytes;
                match self.cut(line, number, block) {
                    Ok(bytes) => *all += bytes,
                    Err(error) => line.failed = line.failed.take().or(Some(error)),
                }
                continue;
            }
            if message.locking.take.is_some() {
                match self.end_of_asking(line) {
                    Ok((less, more)) => *all = *all - less + more,
                    Err(error) => line.failed = line.failed.take().or(Some(error)),
                }
                continue;
            }
            let failed = match self.outcome(under_way) {
                None => return,
                Some(Ok(answer)) if message.deliver(answer) => None,
                Some(Ok(_)) => Some(super::refused(line.servant.member)),
                Some(Err(error)) => message.failed(error),
            };
            *all -= message.bytes + message.answer;
            line.failed = line.failed.take().or(failed);
            line.sent.pop_front();
            self.deferred.taken.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Settling.
impl Engine {
    /// Waits until what has been asked for is done, and its answers are there.
    ///
    /// # Errors
    /// The first of those that could not be done; what progress reports.
    #[inline]
    pub(in crate::engine) fn settle_accesses(&self, what: Settled) -> Result<()> {
        match self.has_deferred() {
            true => self.settle_found(what, |_| true),
            false => Ok(()),
        }
    }

    /// The same for answers alone: what is only written may still be under way.
    ///
    /// # Errors
    /// As [`Engine::settle_accesses`].
    #[inline]
    pub(in crate::engine) fn settle_answers(&self, what: Settled) -> Result<()> {
        match self.has_deferred() {
            true => self.settle_found(what, Line::has_answers),
            false => Ok(()),
        }
    }

    /// The same for blocks that go whole: servers do not order them with what they are asked for.
    ///
    /// # Errors
    /// As [`Engine::settle_accesses`].
    pub(super) fn settle_blocks(&self, what: Settled) -> Result<()> {
        match self.has_deferred() {
            true => self.settle_found(what, |line| line.sent.iter().any(|sent| sent.1.lends)),
            false => Ok(()),
        }
    }

    #[cold]
    fn settle_found(&self, what: Settled, is_wanted: impl Fn(&Line) -> bool) -> Result<()> {
        let mut outcome = Ok(());
        let mut is_sent = false;
        loop {
            let mut lines = self.deferred_lines();
            let wanted =
                |(key, line): (&Key, &Line)| (what.has(*key) && is_wanted(line)).then_some(line.servant);
            let servants: Vec<Servant> = lines.of.iter().filter_map(wanted).collect();
            if !is_sent {
                servants.iter().try_for_each(|&servant| self.send_held(&mut lines, servant))?;
                is_sent = true;
            }
            let mut next = None;
            for servant in servants {
                let key = key_of(servant);
                self.reap(&mut lines, key);
                let Some(line) = lines.of.get_mut(&key) else { continue };
                outcome = outcome.and(line.failed.take().map_or(Ok(()), Err));
                next = next.or_else(|| line.sent.front().map(|sent| sent.0.clone()));
                if line.is_over() {
                    lines.of.remove(&key);
                }
            }
            self.count_lines(&lines);
            drop(lines);
            match next {
                Some(next) => self.await_server(&next)?,
                None => return outcome,
            }
        }
    }

    /// All that was got so far is there.
    ///
    /// # Errors
    /// As [`Engine::order_accesses`].
    #[inline]
    pub fn have_all_answers(&self) -> Result<()> {
        self.settle_answers(Settled::All)
    }

    /// What was asked of the owner of a region is there. The server itself has regions of no such owner, and never comes
    /// to the lines of its rank.
    #[inline]
    pub(super) fn have_answers(&self, region: &Region) -> Result<()> {
        match region.servant {
            Servant { node: None, .. } => Ok(()),
            Servant { context, job_rank, .. } => self.settle_answers(Settled::Of(context, Some(job_rank))),
        }
    }

    /// The same where answers may not come later.
    #[inline]
    pub(super) fn have_answers_now(&self, region: &Region) -> Result<()> {
        match region.servant.may_answer_late {
            true => Ok(()),
            false => self.have_answers(region),
        }
    }
}

impl Exposure {
    /// All of it, or a member of it.
    pub(in crate::engine) fn settled(&self, member: Option<u32>) -> Settled {
        Settled::Of(self.communicator.context(), member.map(|member| self.group().job_rank(member)))
    }
}
