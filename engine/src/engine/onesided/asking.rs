//! The origin's side where a target's memory is out of reach: it asks the target's servant, and waits for the answer.

use super::lines::key_of;
use super::request::{all_of, Add, Request};
use crate::device::MemoryKind;
use crate::engine::server::{body_of, UnderWay, What};
use crate::engine::Engine;
use crate::message::{Buffer, Envelope, Mode};
use crate::onesided::{
    Ask, Batch, Element, Elements, Entry, Exposure, FarPiece, Lock, LockOf, Many, Region, Rows, Servant,
    HEAD_BYTES,
};
use crate::reduce::{Builtin, Factor};
use crate::transport::{Means, OfferedMemory};
use crate::{Class, Error, JobRank, Result};
use std::sync::atomic::{AtomicU32, Ordering};

/// Tag of what is asked, in the context of the exposure.
pub(super) const ASKED: i32 = 3;
/// Tags of answers begin here.
const ANSWERED: u32 = 16;
const ANSWERS: u32 = 1 << 28;
/// The first byte of an answer that tells in words what went wrong, and how many of them there are.
pub(super) const WITH_WORDS: u8 = 2;
pub(super) const MOST_WORDS: usize = 500;

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
            may_answer_late: exposure.may_answer_late.load(Ordering::Relaxed),
            takes_blocks: false,
            takes_long: self.servers_take_long(),
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
        if servant.node.is_some() {
            let under_way = self.begin_to_ask(servant, (ask, data), answer.len())?;
            return self.wait_for_server(under_way, answer);
        }
        self.have_lock(key_of(servant))?;
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

    /// Asks a server, after all that it has been asked for before; the answer will be so long.
    pub(super) fn begin_to_ask(
        &self,
        servant: Servant,
        (ask, data): (Ask, &[u8]),
        answer: usize,
    ) -> Result<UnderWay> {
        self.send_what_is_held(servant)?;
        let what = if matches!(ask, Ask::Lock(..)) { What::Lock } else { What::Operation };
        self.begin_to_ask_server(servant, (what, body_of(servant, ask, data)), answer)
    }

    /// # Safety
    /// `local` can be written for `bytes` bytes, until the origin settles.
    pub(super) unsafe fn ask_to_read(
        &self,
        region: &Region,
        there: u64,
        local: *mut u8,
        bytes: u64,
    ) -> Result<()> {
        let most = region.servant.most_bytes();
        (0..bytes).step_by(most as usize).try_for_each(|at| {
            let length = most.min(bytes - at);
            let to = std::iter::once((local.wrapping_add(at as usize), length));
            // SAFETY: by the caller.
            unsafe { self.ask_into(region.servant, &Request::bare(Ask::Read(there + at, length)), to) }
        })
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
        let most = region.servant.most_bytes();
        (0..bytes).step_by(most as usize).try_for_each(|at| {
            let length = most.min(bytes - at) as usize;
            // SAFETY: by the caller.
            let data = unsafe { std::slice::from_raw_parts(local.add(at as usize), length) };
            let request = Request { ask: Ask::Write(there + at), bytes: length, add: &all_of(data) };
            // SAFETY: there is no answer.
            unsafe { self.ask_into(region.servant, &request, std::iter::empty()) }
        })
    }

    /// As `Engine::change`, at the target; how many elements were changed.
    ///
    /// # Safety
    /// As there; the result may be written until the origin settles.
    pub(super) unsafe fn ask_to_change(
        &self,
        region: &Region,
        elements: &Elements,
        (offset, count): (u64, usize),
        (origin, result): (*const u8, *mut u8),
    ) -> Result<usize> {
        let element = elements.element();
        let count = count.min((region.servant.most_bytes() as usize / element.size()).max(1));
        let bytes = count * element.size();
        let (address, tell) = (region.address + offset, !result.is_null());
        let ask = Ask::Change { address, count: count as u64, builtin: elements.builtin(), element, tell };
        let nothing = elements.only_reads();
        // SAFETY: by the caller.
        let data = if nothing { &[] } else { unsafe { std::slice::from_raw_parts(origin, bytes) } };
        let to = tell.then_some((result, bytes as u64)).into_iter();
        let request = Request { ask, bytes: data.len(), add: &all_of(data) };
        // SAFETY: by the caller.
        unsafe { self.ask_into(region.servant, &request, to)? };
        Ok(count)
    }

    /// Writes rows of pieces, whose data begin at `from`.
    ///
    /// # Safety
    /// The data can be read here.
    pub(super) unsafe fn ask_to_write_rows(
        &self,
        region: &Region,
        rows: &Rows,
        from: *const u8,
    ) -> Result<()> {
        // SAFETY: by the caller; there is no answer.
        unsafe {
            let add = &all_of(bytes_of((from.cast_mut(), rows.bytes())));
            self.ask_many(region, Many::Write, (rows.heads(), rows.bytes(), add), std::iter::empty())
        }
    }

    /// Reads rows of pieces to `to`.
    ///
    /// # Safety
    /// It can be written, until the origin settles.
    pub(super) unsafe fn ask_to_read_rows(&self, region: &Region, rows: &Rows, to: *mut u8) -> Result<()> {
        let place = std::iter::once((to, rows.bytes()));
        // SAFETY: by the caller.
        unsafe { self.ask_many(region, Many::Read, (rows.heads(), 0, &|_| ()), place) }
    }

    /// Changes the elements of rows of pieces, and puts what they were to `result`, unless that is null.
    ///
    /// # Safety
    /// The origin can be read here, unless nothing is changed, and the result written, until the origin settles.
    pub(super) unsafe fn ask_to_change_rows(
        &self,
        region: &Region,
        rows: &Rows,
        elements: &Elements,
        (origin, result): (*const u8, *mut u8),
    ) -> Result<()> {
        let tell = !result.is_null();
        let what = Many::Change { builtin: elements.builtin(), element: elements.element(), tell };
        let given = if elements.only_reads() { 0 } else { rows.bytes() };
        let to = tell.then_some((result, rows.bytes())).into_iter();
        // SAFETY: by the caller.
        unsafe {
            let data = if given == 0 { &[] } else { bytes_of((origin.cast_mut(), given)) };
            self.ask_many(region, what, (rows.heads(), given, &all_of(data)), to)
        }
    }

    /// Writes many pieces.
    ///
    /// # Safety
    /// They can be read here.
    pub(super) unsafe fn ask_to_write_many(&self, region: &Region, batch: &Batch) -> Result<()> {
        let add = |to: &mut Vec<u8>| {
            // SAFETY: by the caller.
            batch.places().for_each(|place| to.extend_from_slice(unsafe { bytes_of(place) }));
        };
        // SAFETY: there is no answer.
        unsafe {
            self.ask_many(region, Many::Write, (batch.heads(), batch.bytes(), &add), std::iter::empty())
        }
    }

    /// Reads many pieces.
    ///
    /// # Safety
    /// They can be written here, until the origin settles.
    pub(super) unsafe fn ask_to_read_many(&self, region: &Region, batch: &Batch) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.ask_many(region, Many::Read, (batch.heads(), 0, &|_| ()), batch.places()) }
    }

    /// Adds the elements of many pieces, times a factor.
    ///
    /// # Safety
    /// As [`Engine::ask_to_write_many`]; the factor is of the same type.
    pub(super) unsafe fn ask_to_add_many(
        &self,
        region: &Region,
        batch: &Batch,
        (element, factor): (Element, Option<Factor>),
    ) -> Result<()> {
        let add = |to: &mut Vec<u8>| {
            for &FarPiece { here, bytes, .. } in batch.pieces() {
                let at = to.len();
                // SAFETY: by the caller.
                to.extend_from_slice(unsafe { bytes_of((here, bytes)) });
                if let Some(factor) = factor {
                    // SAFETY: by the caller; the copy is as long.
                    unsafe { factor.apply(here, to[at..].as_mut_ptr(), bytes as usize / element.size()) };
                }
            }
        };
        let what = Many::Change { builtin: Builtin::Sum, element, tell: false };
        // SAFETY: there is no answer.
        unsafe { self.ask_many(region, what, (batch.heads(), batch.bytes(), &add), std::iter::empty()) }
    }

    /// Asks for something with many pieces: the words that say where they lie, and so many bytes of data, which are added to
    /// these.
    ///
    /// # Safety
    /// As `ask_into`.
    unsafe fn ask_many(
        &self,
        region: &Region,
        what: Many,
        (heads, bytes, add_data): (&[u64], u64, Add),
        to: impl Iterator<Item = (*mut u8, u64)>,
    ) -> Result<()> {
        let add = |to: &mut Vec<u8>| {
            heads.iter().for_each(|word| to.extend_from_slice(&word.to_ne_bytes()));
            add_data(to);
        };
        let (ask, bytes) = (Ask::Many(what, heads.len() as u64), 8 * heads.len() + bytes as usize);
        // SAFETY: by the caller.
        unsafe { self.ask_into(region.servant, &Request { ask, bytes, add: &add }, to) }
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

/// What lies in a place here.
///
/// # Safety
/// It can be read.
unsafe fn bytes_of<'a>((here, bytes): (*mut u8, u64)) -> &'a [u8] {
    // SAFETY: by the caller.
    unsafe { std::slice::from_raw_parts(here, bytes as usize) }
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
