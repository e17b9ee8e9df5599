//! What is proven with the secret that all ranks of a job share.

use crate::job::node_card::JobKey;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Of a proof.
pub const PROOF_BYTES: usize = 32;
/// By which a job is told from others.
pub const JOB_BYTES: usize = 16;

/// By which the job of a key is told from others. It says nothing of the key.
pub fn job_of(key: &JobKey) -> [u8; JOB_BYTES] {
    key.digest(b"serried job")[..JOB_BYTES].try_into().expect("a digest is longer")
}

/// What only one who has the key can say of these parts. The parts of all proofs have the same lengths.
pub fn proof(key: &JobKey, parts: &[&[u8]]) -> [u8; PROOF_BYTES] {
    over(&key.0, parts).finalize().into_bytes().into()
}

/// Whether a proof is right, in a time that does not depend on where it is wrong.
pub fn is_proof(key: &JobKey, parts: &[&[u8]], proof: &[u8]) -> bool {
    over(&key.0, parts).verify_slice(proof).is_ok()
}

fn over(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_told_apart_by_what_says_nothing_of_their_keys() {
        let (one, other) = (JobKey([1; 32]), JobKey([2; 32]));
        assert_ne!(job_of(&one), job_of(&other));
        assert!(!job_of(&one).windows(4).any(|bytes| bytes == [1; 4]));
    }

    #[test]
    fn proofs_are_those_of_rfc_4231() {
        // The key of its test case 1.
        let mac = over(&[0x0b; 20], &[b"Hi ", b"There"]).finalize().into_bytes();
        assert_eq!(mac[..8], [0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53]);
        let key = JobKey([7; 32]);
        let whole = proof(&key, &[b"Hi ", b"There"]);
        assert!(is_proof(&key, &[b"Hi There"], &whole) && !is_proof(&key, &[b"Hi there"], &whole));
        assert!(!is_proof(&key, &[b"Hi There"], &whole[..31]));
    }
}
