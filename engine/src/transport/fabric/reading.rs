//! Reading memory of peers: long messages go so, straight from the memory of one program into that of another.

use super::domain::Memory;
use super::endpoint::Handed;
use super::fabric_port::Port;
use super::message_buffers::{About, Context};
use super::remote_reads::{Fetch, Part, To, STRAIGHT};
use super::structures::{MEMORY_LOCAL, READ, REMOTE_READ};
use crate::transport::network::framing::LONGEST;
use crate::transport::{AccessDescriptor, MemoryKind, Told};
use crate::Result;
use std::ffi::c_void;

/// Where memory begins for peers whose provider counts from its beginning: a descriptor without an address cannot be reached.
const ORIGIN: u64 = 1 << 62;

impl Port {
    /// Lets peers read memory; what they have to know for that.
    pub fn offer(&mut self, address: *const u8, bytes: u64) -> AccessDescriptor {
        // SAFETY: the memory is there until it is withdrawn, and the port is dropped with what it has offered.
        let memory = unsafe { self.endpoint.register((address, bytes as usize), REMOTE_READ) };
        let key = memory.as_ref().map_or(u64::MAX, Memory::key);
        let Ok(memory) = memory else { return AccessDescriptor::unreachable(bytes) };
        if key == u64::MAX || self.reads.offered.contains_key(&key) {
            return AccessDescriptor::unreachable(bytes);
        }
        self.reads.offered.insert(key, memory);
        let start = self.endpoint.remote_address(address as u64);
        let address = if start == 0 { ORIGIN } else { start };
        // A key of 0 means memory that is not registered.
        AccessDescriptor { address, bytes, key: key + 1, kind: MemoryKind::HOST }
    }

    /// Peers may read it no more.
    pub fn withdraw_memory(&mut self, memory: AccessDescriptor) {
        self.reads.offered.remove(&memory.key.wrapping_sub(1));
    }

    /// Begins to fetch memory of a partner.
    ///
    /// # Errors
    /// `Intern` for memory that was not registered.
    ///
    /// # Safety
    /// As for [`RemoteMemory::fetch`](crate::transport::RemoteMemory::fetch).
    pub unsafe fn fetch(
        &mut self,
        partner: usize,
        memory: AccessDescriptor,
        pieces: &[(usize, usize)],
        told: Told,
    ) -> Result<()> {
        memory.check_fetch(pieces)?;
        if memory.bytes == 0 {
            self.told(told, "");
            return Ok(());
        }
        let pieces: Box<[_]> = pieces.iter().copied().filter(|piece| piece.1 > 0).collect();
        let counts_from_start = self.endpoint.remote_address(u64::MAX) == 0;
        let fetch = Fetch {
            partner,
            address: if counts_from_start { memory.address - ORIGIN } else { memory.address },
            key: memory.key - 1,
            left: memory.bytes,
            is_straight: memory.bytes / pieces.len() as u64 >= STRAIGHT,
            pieces,
            cursor: (0, 0),
            under_way: 0,
            told,
            error: None,
        };
        self.reads.last += 1;
        self.reads.fetches.insert(self.reads.last, fetch);
        self.reads.waiting.push_back(self.reads.last);
        self.read_on();
        Ok(())
    }

    /// Asks for what is wanted, as far as there is room for it.
    pub fn read_on(&mut self) {
        for _ in 0..self.reads.waiting.len() {
            let Some(&number) = self.reads.waiting.front() else { return };
            while self.wants_more(number) {
                match self.ask(number) {
                    Handed::Over => {}
                    Handed::NoRoom => break,
                    Handed::Refused(code) => self.has_failed(number, code),
                }
            }
            self.reads.waiting.pop_front();
            if self.wants_more(number) {
                self.reads.waiting.push_back(number);
            } else {
                self.end_if_over(number);
            }
        }
    }

    fn wants_more(&self, number: u64) -> bool {
        self.reads.fetches.get(&number).is_some_and(|fetch| fetch.left > 0 && fetch.error.is_none())
    }

    fn has_failed(&mut self, number: u64, code: isize) {
        let domain = self.endpoint.domain();
        if let Some(fetch) = self.reads.fetches.get_mut(&number) {
            let rank = self.partners[fetch.partner].rank;
            let why = domain.library.describe(code);
            let provider = &domain.provider;
            fetch.error =
                Some(format!("libfabric's provider {provider} cannot read memory of rank {rank}: {why}"));
        }
    }

    /// Asks for the next part of a fetch.
    fn ask(&mut self, number: u64) -> Handed {
        let Some(slot) = self.reads.free_number() else { return Handed::NoRoom };
        let fetch = self.reads.fetches.get(&number).expect("a fetch that wants more");
        let Some(peer) = self.partners[fetch.partner].address else { return Handed::NoRoom };
        let (bytes, cursor) = (fetch.next_bytes(self.endpoint.longest), fetch.cursor);
        let (address, key, is_straight) = (fetch.address, fetch.key, fetch.is_straight);
        let straight = fetch.pieces[cursor.0].0 + cursor.1;
        let target = match is_straight {
            true => self.straight(straight as *mut u8, bytes),
            false => self.buffers.take(&self.endpoint, LONGEST).map(|buffer| {
                let (place, descriptor) = self.buffers.memory(buffer);
                (place, descriptor, To::Buffer(buffer, cursor))
            }),
        };
        let Ok((place, descriptor, to)) = target else { return Handed::NoRoom };
        let mut context = Context::new(About::Reading(slot));
        // SAFETY: the place is the program's, for these bytes, or a buffer; it and the context stay until it is complete.
        let handed =
            unsafe { self.endpoint.read(peer, (place, bytes), descriptor, (address, key), context.raw()) };
        if handed == Handed::Over {
            self.reads.under_way[slot] = Some(Part { context, fetch: number, bytes, to });
            let fetch = self.reads.fetches.get_mut(&number).expect("it was there");
            fetch.go_on(bytes);
            fetch.under_way += 1;
        } else if let To::Buffer(buffer, _) = to {
            self.buffers.give(buffer);
        }
        handed
    }

    /// A place of the program's, and how the provider knows it, where it wants to.
    fn straight(&self, place: *mut u8, bytes: usize) -> Result<(*mut u8, *mut c_void, To)> {
        if !self.endpoint.domain().wants(MEMORY_LOCAL) {
            return Ok((place, std::ptr::null_mut(), To::Place(None)));
        }
        // SAFETY: the program leaves it alone until the fetch is complete.
        let memory = unsafe { self.endpoint.register((place, bytes), READ)? };
        let descriptor = memory.descriptor();
        Ok((place, descriptor, To::Place(Some(memory))))
    }

    /// A read is complete.
    pub fn has_read(&mut self, slot: usize, error: Option<isize>) {
        let Some(part) = self.reads.under_way[slot].take() else { return };
        let Part { context, fetch: number, bytes, to } = part;
        drop(context);
        let fetch = self.reads.fetches.get_mut(&number).expect("a fetch that has reads under way");
        fetch.under_way -= 1;
        if let To::Buffer(buffer, cursor) = to {
            if error.is_none() {
                fetch.scatter(cursor, &self.buffers.bytes(buffer)[..bytes]);
            }
            self.buffers.give(buffer);
        }
        if let Some(code) = error {
            self.has_failed(number, code);
        }
        self.end_if_over(number);
    }

    fn end_if_over(&mut self, number: u64) {
        if self.reads.fetches.get(&number).is_some_and(Fetch::is_over) {
            let Fetch { told, error, .. } = self.reads.fetches.remove(&number).expect("it is there");
            self.told(told, &error.unwrap_or_default());
        }
    }
}
