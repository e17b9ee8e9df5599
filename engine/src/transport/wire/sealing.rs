//! What goes to a group in one datagram: a head, proof that a rank of the job has sent it, and a piece.
//!
//! ```text
//! 0..8    the job
//! 8..16   the group
//! 16..20  epoch
//! 20..24  index
//! 24..32  the first bytes of HMAC-SHA-256 over all else, with a key that is made of the job's
//! ```
//!
//! What is not for this group of this job is told by its first words, before anything is computed.

use crate::job::node_card::JobKey;
use crate::transport::multicast::Piece;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes before a piece.
pub const HEAD: usize = 32;
const PROOF: usize = 8;
const SEALED: usize = HEAD - PROOF;

/// Seals what goes to a group, and proves what comes.
#[derive(Clone)]
pub struct Seal {
    of: [u8; 16],
    keyed: Hmac<Sha256>,
}

impl Seal {
    /// Of a group of the job that has this key.
    pub fn new(key: JobKey, group: u64) -> Seal {
        let mut of = [0; 16];
        of[..8].copy_from_slice(&key.digest(b"serried multicast job")[..8]);
        of[8..].copy_from_slice(&group.to_le_bytes());
        let keyed = Hmac::new_from_slice(&key.digest(b"serried multicast proof"));
        Seal { of, keyed: keyed.unwrap_or_else(|_| unreachable!("a key may have any length")) }
    }

    /// What stands before a piece.
    pub fn head(&self, piece: Piece<'_>) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..16].copy_from_slice(&self.of);
        head[16..20].copy_from_slice(&piece.epoch.to_le_bytes());
        head[20..24].copy_from_slice(&piece.index.to_le_bytes());
        let proof = self.proof(&head[..SEALED], piece.bytes);
        head[SEALED..].copy_from_slice(&proof);
        head
    }

    /// Whether a rank of this job has sent a datagram to this group.
    pub fn proves(&self, datagram: &[u8]) -> bool {
        let Some((head, bytes)) = datagram.split_at_checked(HEAD) else { return false };
        if head[..16] != self.of {
            return false;
        }
        self.over(&head[..SEALED], bytes).verify_truncated_left(&head[SEALED..]).is_ok()
    }

    fn proof(&self, head: &[u8], bytes: &[u8]) -> [u8; PROOF] {
        let whole = self.over(head, bytes).finalize().into_bytes();
        std::array::from_fn(|at| whole[at])
    }

    fn over(&self, head: &[u8], bytes: &[u8]) -> Hmac<Sha256> {
        let mut keyed = self.keyed.clone();
        keyed.update(head);
        keyed.update(bytes);
        keyed
    }
}

/// The piece in a datagram that is proven.
pub fn piece_of(datagram: &[u8]) -> Option<Piece<'_>> {
    let (head, bytes) = datagram.split_at_checked(HEAD)?;
    let number = |at: usize| Some(u32::from_le_bytes(head[at..at + 4].try_into().ok()?));
    Some(Piece { epoch: number(16)?, index: number(20)?, bytes })
}

impl std::fmt::Debug for Seal {
    /// Nobody shall read its key in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(seal: &Seal, bytes: &[u8]) -> Vec<u8> {
        let piece = Piece { epoch: 7, index: 9, bytes };
        [&seal.head(piece)[..], bytes].concat()
    }

    #[test]
    fn what_was_sealed_is_opened_and_nothing_else() {
        let key = JobKey([3; 32]);
        let seal = Seal::new(key, 40);
        let datagram = sealed(&seal, b"a piece");
        assert!(seal.proves(&datagram));
        assert_eq!(piece_of(&datagram), Some(Piece { epoch: 7, index: 9, bytes: b"a piece" }));
        for at in 0..datagram.len() {
            let mut flipped = datagram.clone();
            flipped[at] ^= 1;
            assert!(!seal.proves(&flipped), "bit of byte {at}");
            assert!(!seal.proves(&datagram[..at]), "cut at {at}");
        }
        assert!(!Seal::new(key, 42).proves(&datagram), "of another group");
        assert!(!Seal::new(JobKey([4; 32]), 40).proves(&datagram), "of another job");
    }
}
