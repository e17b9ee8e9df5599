//! A toy: ranks are threads of one process, and what is sent lies in queues.
//!
//! It reaches into no memory, shares no tasks and knows of no withdrawals, so it has what the traits
//! give by themselves. Packets come late: every second look finds nothing. It passes the conformance
//! suite, `engine/src/transport/conformance`.

use crate::progress::Doorbell;
use crate::transport::*;
use crate::Result;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::Mutex;

/// Packets that a rank has room for.
const ROOM: usize = 64;
/// Kind of a packet that stands for a long payload; its own payload is the payload's number.
const LOADED: u8 = OWN_KINDS;

/// What is on its way, or has come.
struct Parcel {
    kind: u8,
    header: [u64; 2],
    payload: Vec<u8>,
    is_long: bool,
}

/// A lane of a rank, as all threads see it.
#[derive(Default)]
struct Inbox {
    parcels: Mutex<VecDeque<Parcel>>,
    /// Parcels that have not been advanced over.
    waiting: AtomicU64,
    is_room_wanted: AtomicBool,
    short_only: AtomicBool,
}

/// A rank, as all threads see it.
#[derive(Default)]
struct Rank {
    doorbell: Doorbell,
    lanes: [Inbox; 2],
}

/// The transport of a lane of a rank.
pub struct Toy {
    job: &'static [Rank],
    me: usize,
    lane: usize,
    /// The parcel that was looked at last.
    current: Option<Parcel>,
    /// Whether the next look finds nothing.
    is_late: bool,
    /// Loaded payloads by number, and the packets that they will be.
    loaded: HashMap<u32, Parcel>,
    loads: u32,
}

impl Toy {
    /// The transports of the ranks of a job. Its memory lives as long as the process.
    pub fn job(ranks: u32) -> Vec<Toy> {
        let job: Vec<Rank> = (0..ranks).map(|_| Rank::default()).collect();
        let job: &'static [Rank] = job.leak();
        (0..job.len()).map(|me| Toy::of(job, me, 0)).collect()
    }

    /// The second lane of the same rank.
    pub fn beside(&self) -> Toy {
        Toy::of(self.job, self.me, 1)
    }

    fn of(job: &'static [Rank], me: usize, lane: usize) -> Toy {
        Toy { job, me, lane, current: None, is_late: false, loaded: HashMap::new(), loads: 0 }
    }

    fn inbox(&self, peer: usize) -> &'static Inbox {
        &self.job[peer].lanes[self.lane]
    }

    /// What a letter brings.
    fn parcel(&mut self, letter: &Letter<'_>) -> Parcel {
        if letter.kind == LOADED {
            let number: [u8; 4] = letter.payload.try_into().expect("the number of a payload");
            return self.loaded.remove(&u32::from_ne_bytes(number)).expect("loaded, and pushed once");
        }
        let mut payload = Vec::with_capacity(letter.payload.len().max(INLINE_BYTES));
        payload.extend_from_slice(letter.payload);
        Parcel { kind: letter.kind, header: letter.header, payload, is_long: false }
    }
}

impl Reaches for Toy {
    type Peer = u32;
}

impl Packets for Toy {
    fn push(&mut self, peer: u32, letter: &Letter<'_>) -> Result<bool> {
        let inbox = self.inbox(peer as usize);
        let mut parcels = inbox.parcels.lock().expect("no thread has panicked");
        if parcels.len() >= ROOM {
            return Ok(false);
        }
        parcels.push_back(self.parcel(letter));
        inbox.waiting.fetch_add(1, SeqCst);
        drop(parcels);
        self.job[peer as usize].doorbell.ring();
        Ok(true)
    }

    fn takes_letter(&mut self, peer: u32, bytes: usize) -> Result<bool> {
        Ok(bytes <= LONG_LETTER_BYTES && !self.inbox(peer as usize).short_only.load(SeqCst))
    }

    fn take_long_letters(&mut self, take: bool) {
        self.inbox(self.me).short_only.store(!take, SeqCst);
    }

    fn peek(&mut self) -> Option<Arrival> {
        if self.current.is_none() {
            self.is_late = !self.is_late;
            if self.is_late {
                return None;
            }
            self.current = self.inbox(self.me).parcels.lock().expect("no thread has panicked").pop_front();
        }
        let Parcel { kind, header, payload, is_long } = self.current.as_ref()?;
        let bytes = payload.len() as u32;
        Some(Arrival { kind: *kind, is_long: *is_long, bytes, header: *header, payload: payload.as_ptr() })
    }

    fn advance(&mut self, _: &Arrival) {
        self.current = None;
        let inbox = self.inbox(self.me);
        inbox.waiting.fetch_sub(1, SeqCst);
        if inbox.is_room_wanted.swap(false, SeqCst) {
            self.job.iter().for_each(|rank| rank.doorbell.ring());
        }
    }

    fn arrivals(&self) -> Arrivals {
        let mut arrivals = Arrivals::default();
        arrivals.add(&self.inbox(self.me).waiting, 0);
        arrivals
    }

    fn want_room(&mut self, peer: u32) {
        self.inbox(peer as usize).is_room_wanted.store(true, SeqCst);
    }

    fn doorbell(&self) -> &Doorbell {
        &self.job[self.me].doorbell
    }
}

impl Payloads for Toy {
    fn longest_payload(&self) -> usize {
        64 << 10
    }

    unsafe fn load(&mut self, _: u32, load: Load<'_>) -> Result<Option<Packet>> {
        let mut payload = vec![0; load.bytes.max(INLINE_BYTES)];
        match load.source {
            // SAFETY: the block is readable for so many bytes, by the caller.
            Source::Block(block) => unsafe { block.copy_to(payload.as_mut_ptr(), load.bytes) },
            Source::Packed(pack) => pack(payload.as_mut_ptr()),
        }
        payload.truncate(load.bytes);
        self.loads += 1;
        let parcel = Parcel { kind: load.kind, header: load.header, payload, is_long: true };
        self.loaded.insert(self.loads, parcel);
        Ok(Some(Packet::with(LOADED, [0; 2], &self.loads)))
    }

    fn unload(&mut self, packet: &Packet) {
        if packet.kind == LOADED {
            self.loaded.remove(&packet.read::<u32>());
        }
    }

    fn want_load(&mut self) -> bool {
        true
    }

    fn retain(&mut self, arrival: &Arrival) -> Retained {
        let current = self.current.as_mut().expect("the packet that was looked at last");
        let kept = std::mem::take(&mut current.payload).into_boxed_slice();
        let payload = Box::into_raw(kept).cast::<u8>();
        Retained { payload, bytes: u64::from(arrival.bytes), token: 0 }
    }

    fn release(&mut self, retained: Retained) {
        let kept = std::ptr::slice_from_raw_parts_mut(retained.payload.cast_mut(), retained.bytes as usize);
        // SAFETY: `retain` has made it of a box of this length, and it is released once.
        drop(unsafe { Box::from_raw(kept) });
    }
}

impl RemoteMemory for Toy {}
impl OfferedMemory for Toy {}
impl Offers for Toy {}
impl SharedTasks for Toy {}
