//! What a process tells others of memory of a device, so that they map it.

use crate::memory::system_calls;
use std::sync::OnceLock;

/// Bytes of a driver's handle.
pub const HANDLE_BYTES: usize = 64;
/// Bytes of a secret.
pub const SECRET_BYTES: usize = 16;

/// Memory with a secret in it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Proof {
    /// By this it is mapped.
    pub handle: [u8; HANDLE_BYTES],
    /// This is in it.
    pub secret: [u8; SECRET_BYTES],
}

/// Pieces of memory at most in which a message may lie.
pub const MOST_PIECES: usize = 16;

/// How others get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Way(u64);

impl Way {
    /// By the handle that stands beside.
    pub const HANDLE: Way = Way(0);
    /// By a descriptor, which the owner passes to who asks.
    pub const DESCRIPTOR: Way = Way(1);
}

/// An allocation, in memory that others read.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Lent {
    /// A number of its process, by chance.
    pub owner: u64,
    /// The number of the allocation there.
    pub number: u64,
    /// Where it begins there.
    pub first: u64,
    /// Its length.
    pub bytes: u64,
    /// The device, as all processes know it.
    pub device: [u8; 16],
    /// By this it is mapped.
    pub handle: [u8; HANDLE_BYTES],
    /// What shows that mappings are right.
    pub proof: Proof,
    /// How it is got.
    pub way: Way,
    /// Of memory in pieces: 1 + where the next one is described, in the owner's blocks area; 0: it is not.
    pub next: u64,
}

impl Default for Lent {
    fn default() -> Lent {
        let proof = Proof { handle: [0; HANDLE_BYTES], secret: [0; SECRET_BYTES] };
        Lent {
            owner: own_number(),
            number: 0,
            first: 0,
            bytes: 0,
            device: [0; 16],
            handle: [0; HANDLE_BYTES],
            proof,
            way: Way::HANDLE,
            next: 0,
        }
    }
}

fn own_number() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let mut bytes = [0; 8];
        assert_eq!(system_calls::random(&mut bytes, 0), 8, "the system has no random bytes");
        u64::from_ne_bytes(bytes)
    })
}
