//! The origin's side where a target's memory is out of reach: it asks the target's servant, and waits for the answer.

use crate::device::MemoryKind;
use crate::engine::server::UnderWay;
use crate::engine::Engine;
use crate::message::{Buffer, Envelope, Mode};
use crate::onesided::{
    Ask, Element, Elements, Entry, Exposure, Lock, LockOf, Many, Region, Servant, HEAD_BYTES, MOST_BYTES,
};
use crate::reduce::{Builtin, Factor};
use crate::transport::{Means, OfferedMemory};
use crate::{Class, Error, JobRank, Result};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

/// Tag of what is asked, in the context of the exposure.
pub(super) const ASKED: i32 = 3;
/// Tags of answers begin here.
const ANSWERED: u32 = 16;
const ANSWERS: u32 = 1 << 28;
/// The first byte of an answer that tells in words what went wrong, and how many of them there are.
pub(super) const WITH_WORDS: u8 = 2;
pub(super) const MOST_WORDS: usize = 500;
/// Parts of a long operation that a server does at a time.
const AT_A_TIME: usize = 8;

impl Engine {
    /// Who is asked to do something for a member.
    pub(super) fn servant_of(&self, exposure: &Exposure, member: u32) -> Servant {
        let job_rank = exposure.group().job_rank(member);
        Servant {
            context: exposure.communicator.context(),
            me: exposure.rank(),
            member,
            job_rank,
            node: exposure.has_servers.load(Ordering::Relaxed).then(|| self.node_of(job_rank)),
        }
    }

    /// Whether memory of a region that is not direct has to be asked for.
    pub(super) fn is_served(&self, region: &Region) -> bool {
        !region.own
            && !region.for_server
            && region.device.is_none()
            && (region.kind != MemoryKind::HOST || self.is_out_of_reach(region.peer))
    }

    /// Whether memory of a member is.
    pub(super) fn is_out_of_reach(&self, peer: Option<JobRank>) -> bool {
        let Some(peer) = peer else { return true };
        !matches!(self.lanes.at(0).lock().transport.means(peer), Means::Direct | Means::CrossMemory)
    }

    /// Asks a servant, with some data, and waits for the answer, which is as long as `answer`.
    ///
    /// # Errors
    /// Of the messages; what the servant says.
    pub(super) fn ask(&self, servant: Servant, ask: Ask, data: &[u8], answer: &mut [u8]) -> Result<()> {
        if let Some(node) = servant.node {
            let under_way = self.begin_to_ask_server(node, servant, (ask, data), answer.len())?;
            return self.wait_for_server(under_way, answer);
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let tag = (ANSWERED + NEXT.fetch_add(1, Ordering::Relaxed) % ANSWERS) as i32;
        let mut message = Vec::with_capacity(HEAD_BYTES + data.len());
        message.extend(ask.words(tag).iter().flat_map(|word| word.to_ne_bytes()));
        message.extend_from_slice(data);
        let mut room = vec![0u8; 8 + answer.len().max(MOST_WORDS)];
        let wanted = Envelope { context: servant.context, source: servant.member as i32, tag };
        let asked = Envelope { context: servant.context, source: servant.me as i32, tag: ASKED };
        let request = self.start_receive(wanted, Some(servant.job_rank), buffer(&mut room))?;
        self.send(servant.job_rank, asked, buffer(&mut message), Mode::Buffered)?;
        let status = match ask {
            // Whoever has it may have failed.
            Ask::Lock(..) => self.wait_for_word(servant.context, request)?,
            _ => self.wait(request)?.0,
        };
        if let Some(error) = status.error {
            return Err(error);
        }
        let (code, rest) = room[..status.bytes as usize].split_at_checked(8).unwrap_or((&[1], &[]));
        match code.iter().all(|&byte| byte == 0) && rest.len() == answer.len() {
            true => {
                answer.copy_from_slice(rest);
                Ok(())
            }
            false if code[0] == WITH_WORDS => Err(failed_there(servant.member, rest)),
            false => Err(refused(servant.member)),
        }
    }

    /// Asks a servant for several things, none of which needs the one before. A server does some at a time.
    ///
    /// # Errors
    /// As [`Engine::ask`]; the first.
    fn ask_for_all<'a>(
        &self,
        servant: Servant,
        mut asks: impl Iterator<Item = (Ask, &'a [u8], &'a mut [u8])>,
    ) -> Result<()> {
        let Some(node) = servant.node else {
            return asks.try_for_each(|(ask, data, answer)| self.ask(servant, ask, data, answer));
        };
        let (mut under_way, mut outcome) = (VecDeque::with_capacity(AT_A_TIME), Ok(()));
        let end_one = |under_way: &mut VecDeque<(UnderWay, &mut [u8])>| match under_way.pop_front() {
            Some((one, answer)) => self.wait_for_server(one, answer),
            None => Ok(()),
        };
        for (ask, data, answer) in asks {
            if under_way.len() == AT_A_TIME {
                outcome = outcome.and(end_one(&mut under_way));
            }
            if outcome.is_err() {
                break;
            }
            // Where there is no server, this fails for the first, and nothing is under way.
            let one = self.begin_to_ask_server(node, servant, (ask, data), answer.len())?;
            under_way.push_back((one, answer));
        }
        // Servers still write to what is under way.
        while !under_way.is_empty() {
            outcome = outcome.and(end_one(&mut under_way));
        }
        outcome
    }

    /// # Safety
    /// `local` can be written for `bytes` bytes.
    pub(super) unsafe fn ask_to_read(
        &self,
        region: &Region,
        there: u64,
        local: *mut u8,
        bytes: u64,
    ) -> Result<()> {
        let part = |at: u64| {
            let length = MOST_BYTES.min(bytes - at);
            // SAFETY: by the caller; no two parts overlap.
            let answer = unsafe { std::slice::from_raw_parts_mut(local.add(at as usize), length as usize) };
            (Ask::Read(there + at, length), &[][..], answer)
        };
        self.ask_for_all(region.servant, (0..bytes).step_by(MOST_BYTES as usize).map(part))
    }

    /// # Safety
    /// `local` can be read for `bytes` bytes.
    pub(super) unsafe fn ask_to_write(
        &self,
        region: &Region,
        there: u64,
        local: *const u8,
        bytes: u64,
    ) -> Result<()> {
        let part = |at: u64| {
            let length = MOST_BYTES.min(bytes - at);
            // SAFETY: by the caller.
            let data = unsafe { std::slice::from_raw_parts(local.add(at as usize), length as usize) };
            (Ask::Write(there + at), data, &mut [][..])
        };
        self.ask_for_all(region.servant, (0..bytes).step_by(MOST_BYTES as usize).map(part))
    }

    /// As `Engine::change`, at the target; how many elements were changed.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn ask_to_change(
        &self,
        region: &Region,
        elements: &Elements,
        (offset, count): (u64, usize),
        (origin, result): (*const u8, *mut u8),
    ) -> Result<usize> {
        let element = elements.element();
        let count = count.min((MOST_BYTES as usize / element.size()).max(1));
        let bytes = count * element.size();
        let (address, tell) = (region.address + offset, !result.is_null());
        let ask = Ask::Change { address, count: count as u64, builtin: elements.builtin(), element, tell };
        let nothing = elements.only_reads();
        // SAFETY: by the caller.
        let data = if nothing { &[] } else { unsafe { std::slice::from_raw_parts(origin, bytes) } };
        let mut old = vec![0u8; if tell { bytes } else { 0 }];
        self.ask(region.servant, ask, data, &mut old)?;
        if tell {
            // SAFETY: by the caller.
            unsafe { std::ptr::copy(old.as_ptr(), result, bytes) };
        }
        Ok(count)
    }

    /// Writes many pieces.
    ///
    /// # Safety
    /// They can be read here for `bytes` bytes each.
    pub(super) unsafe fn ask_to_write_many(
        &self,
        region: &Region,
        batch: &[(*mut u8, u64)],
        bytes: u64,
    ) -> Result<()> {
        // SAFETY: by the caller.
        let pieces =
            batch.iter().map(|&(here, _)| unsafe { std::slice::from_raw_parts(here, bytes as usize) });
        let ask = Ask::Many { what: Many::Write, number: batch.len() as u64, bytes };
        self.ask(region.servant, ask, &with_addresses(batch, pieces), &mut [])
    }

    /// Reads many pieces.
    ///
    /// # Safety
    /// They can be written here for `bytes` bytes each.
    pub(super) unsafe fn ask_to_read_many(
        &self,
        region: &Region,
        batch: &[(*mut u8, u64)],
        bytes: u64,
    ) -> Result<()> {
        let ask = Ask::Many { what: Many::Read, number: batch.len() as u64, bytes };
        let mut answer = vec![0u8; batch.len() * bytes as usize];
        self.ask(region.servant, ask, &with_addresses(batch, std::iter::empty::<&[u8]>()), &mut answer)?;
        for (&(here, _), piece) in batch.iter().zip(answer.chunks_exact(bytes as usize)) {
            // SAFETY: by the caller.
            unsafe { std::ptr::copy(piece.as_ptr(), here, piece.len()) };
        }
        Ok(())
    }

    /// Adds the elements of many pieces, times a factor.
    ///
    /// # Safety
    /// As [`Engine::ask_to_write_many`]; the factor is of the same type.
    pub(super) unsafe fn ask_to_add_many(
        &self,
        region: &Region,
        batch: &[(*mut u8, u64)],
        bytes: u64,
        (element, factor): (Element, Option<Factor>),
    ) -> Result<()> {
        let multiplied = |&(here, _): &(*mut u8, u64)| {
            let mut piece = vec![0u8; bytes as usize];
            // SAFETY: by the caller.
            unsafe {
                match factor {
                    Some(factor) => factor.apply(here, piece.as_mut_ptr(), bytes as usize / element.size()),
                    None => std::ptr::copy_nonoverlapping(here, piece.as_mut_ptr(), bytes as usize),
                }
            }
            piece
        };
        let what = Many::Change { builtin: Builtin::Sum, element, tell: false };
        let ask = Ask::Many { what, number: batch.len() as u64, bytes };
        self.ask(region.servant, ask, &with_addresses(batch, batch.iter().map(multiplied)), &mut [])
    }

    /// Changes the elements of many pieces, which lie here one behind the other, and puts what they were to `result` in the same
    /// order, unless that is null.
    ///
    /// # Safety
    /// The pieces can be read here, unless nothing is changed, and the result written, for `bytes` bytes each.
    pub(super) unsafe fn ask_to_change_many(
        &self,
        region: &Region,
        batch: &[(*mut u8, u64)],
        bytes: u64,
        (elements, result): (&Elements, *mut u8),
    ) -> Result<()> {
        let (number, tell) = (batch.len(), !result.is_null());
        let what = Many::Change { builtin: elements.builtin(), element: elements.element(), tell };
        let given = if elements.only_reads() { 0 } else { number };
        // SAFETY: by the caller.
        let piece = |&(here, _): &(*mut u8, u64)| unsafe { std::slice::from_raw_parts(here, bytes as usize) };
        let data = with_addresses(batch, batch.iter().take(given).map(piece));
        let mut old = vec![0u8; if tell { number * bytes as usize } else { 0 }];
        self.ask(region.servant, Ask::Many { what, number: number as u64, bytes }, &data, &mut old)?;
        if tell {
            // SAFETY: by the caller.
            unsafe { std::ptr::copy(old.as_ptr(), result, old.len()) };
        }
        Ok(())
    }

    /// A lock of a member whose words are out of reach.
    pub(super) fn ask_to_lock(
        &self,
        exposure: &Exposure,
        kind: Lock,
        lock: LockOf,
        take: bool,
    ) -> Result<()> {
        let ask = if take { Ask::Lock(kind, lock.mutex) } else { Ask::Unlock(kind, lock.mutex) };
        self.ask(self.servant_of(exposure, lock.member), ask, &[], &mut [])
    }

    /// The piece of attached memory of a member in which an address lies.
    pub(super) fn ask_to_find(
        &self,
        exposure: &Exposure,
        rank: u32,
        (address, bytes): (u64, u64),
    ) -> Result<Option<Entry>> {
        let mut answer = [0u8; 32];
        self.ask(self.servant_of(exposure, rank), Ask::Find(address, bytes), &[], &mut answer)?;
        let word = |at: usize| u64::from_ne_bytes(answer[at..at + 8].try_into().expect("8 bytes"));
        let (kind, lent) = (word(16), word(24));
        let entry = Entry { address: word(0), bytes: word(8), kind, lent, ..Entry::default() };
        Ok((entry.address != 0).then_some(entry))
    }
}

/// The addresses of pieces there, and what lies in them here.
fn with_addresses(batch: &[(*mut u8, u64)], pieces: impl Iterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
    let mut data: Vec<u8> = batch.iter().flat_map(|&(_, there)| there.to_ne_bytes()).collect();
    pieces.for_each(|piece| data.extend_from_slice(piece.as_ref()));
    data
}

pub(super) fn buffer(bytes: &mut [u8]) -> Buffer {
    Buffer::Dense { address: bytes.as_mut_ptr(), bytes: bytes.len() as u64 }
}

#[cold]
fn failed_there(member: u32, words: &[u8]) -> Error {
    let words = String::from_utf8_lossy(words);
    Error::new(Class::Other, format!("rank {member} could not do what it was asked for: {words}"))
}

#[cold]
pub(in crate::engine) fn refused(member: u32) -> Error {
    let sentence = format!("rank {member} could not do what it was asked for: is its memory still exposed?");
    Error::new(Class::RmaRange, sentence)
}
