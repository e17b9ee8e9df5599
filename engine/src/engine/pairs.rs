//! By what means the ranks reach each other's memory: tried, for people.

use super::Engine;
use crate::memory::window::{self, policy, Window};
use crate::message::{Buffer, Envelope, Mode};
use crate::transport::{AccessDescriptor, Means, OfferedMemory};
use crate::{JobRank, Result};

/// Big enough for a message that the receiver copies, wherever that crossover lies.
const BYTES: usize = 512 << 10;
/// So often each pair is tried: descriptors of memory files come with the
/// second message.
const ROUNDS: i32 = 3;
/// Nothing else goes on in a job that tries its pairs.
const CONTEXT: u64 = 2;

/// How this rank reads memory of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The owner.
    pub peer: u32,
    /// Memory in the owner's window is mapped; if not, why not.
    pub windows: std::result::Result<(), String>,
    /// How other memory is read.
    pub rest: Means,
    /// Why not by better means; may be empty.
    pub why: String,
    /// The owner is reached over a network alone.
    pub is_far: bool,
}

impl Engine {
    /// Exchanges messages with all other ranks and says how each can be read.
    /// All ranks call it, and nothing else goes on meanwhile.
    ///
    /// # Errors
    /// What goes wrong on the way.
    pub fn try_pairs(&self) -> Result<Vec<Reached>> {
        let mut plain = vec![1u8; BYTES];
        let mut into = vec![0u8; BYTES];
        let shared = window::take(BYTES, 4096).unwrap_or(std::ptr::null_mut());
        let off = Window::of_process().off().map_or(0, |why| why as u32);
        let mut mine = [shared as u64, u64::from(off)];
        let mut theirs = vec![[0u64; 2]; self.size() as usize];
        for distance in 1..self.size() {
            let (me, size) = (self.rank(), self.size());
            let (right, left) = ((me + distance) % size, (me + size - distance) % size);
            let place = bytes_of(theirs[left as usize].as_mut_ptr().cast(), 16);
            self.pass(right, left, 0, bytes_of(mine.as_mut_ptr().cast(), 16), place)?;
            for round in 1..=ROUNDS {
                let out = bytes_of(plain.as_mut_ptr(), BYTES);
                self.pass(right, left, round, out, bytes_of(into.as_mut_ptr(), BYTES))?;
            }
        }
        let others = (0..self.size()).filter(|&peer| peer != self.rank());
        let found = others.map(|peer| self.reached(JobRank(peer), theirs[peer as usize])).collect();
        self.settle(&[CONTEXT])?;
        // Not given back: others may be looking at it still.
        Ok(found)
    }

    fn reached(&self, peer: JobRank, [address, off]: [u64; 2]) -> Reached {
        let mut core = self.lane(CONTEXT).lock();
        let windows = match policy::Off::from_raw(off as u32) {
            Some(why) => Err(why.text().to_owned()),
            None if core.transport.direct(peer, AccessDescriptor::host(address, BYTES as u64)).is_some() => {
                Ok(())
            }
            None if !self.is_near(peer) => Err("SERRIED_NODES puts it on another node".to_owned()),
            None => {
                Err(Window::of_process().off().map_or("it could not be mapped", policy::Off::text).to_owned())
            }
        };
        let rest = core.transport.means(peer);
        let why = core.transport.why_not_better(peer);
        Reached { peer: peer.0, windows, rest, why, is_far: core.transport.is_far(peer) }
    }

    fn pass(&self, to: u32, from: u32, tag: i32, out: Buffer, into: Buffer) -> Result<()> {
        let sent = Envelope { context: CONTEXT, source: self.rank() as i32, tag };
        let request = self.start_send(JobRank(to), sent, out, Mode::Standard)?;
        let wanted = Envelope { context: CONTEXT, source: from as i32, tag };
        self.receive(wanted, Some(JobRank(from)), into)?;
        self.wait(request).map(|_| ())
    }

    /// Brings a text of every rank to rank 0; empty elsewhere. All ranks call it.
    ///
    /// # Errors
    /// What goes wrong on the way.
    pub fn gather_texts(&self, text: &str) -> Result<Vec<String>> {
        let mut mine = text.as_bytes().to_vec();
        if self.rank() > 0 {
            let envelope = Envelope { context: CONTEXT, source: self.rank() as i32, tag: ROUNDS + 1 };
            let bytes = mine.len();
            self.send(JobRank(0), envelope, bytes_of(mine.as_mut_ptr(), bytes), Mode::Standard)?;
            return Ok(Vec::new());
        }
        let mut texts = vec![text.to_owned()];
        for source in 1..self.size() as i32 {
            let wanted = Envelope { context: CONTEXT, source, tag: ROUNDS + 1 };
            let mut theirs = vec![0; self.probe(wanted, Some(JobRank(source as u32)))?.bytes as usize];
            let bytes = theirs.len();
            self.receive(wanted, Some(JobRank(source as u32)), bytes_of(theirs.as_mut_ptr(), bytes))?;
            texts.push(String::from_utf8_lossy(&theirs).into_owned());
        }
        Ok(texts)
    }
}

fn bytes_of(address: *mut u8, bytes: usize) -> Buffer {
    Buffer::Dense { address, bytes: bytes as u64 }
}
