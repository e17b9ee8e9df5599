//! Checksums of a file (hint `serried_checksum`), in a file beside it.
//!
//! They are CRC-32C of blocks of [`BLOCK`] bytes. While a file is being replaced ([`super::replacement`]) there is a
//! moment at which nobody can say whether the old or the new one is there, so the sums of both are kept then; which of
//! them belong to the file shows when it is read.

use super::failure::failed;
use super::replacement::beside;
use crate::{Class, Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of a block.
pub(super) const BLOCK: u64 = 256 << 10;
const ENDING: &str = ".serried-sums";
const MAGIC: &[u8; 16] = b"serried sums v1\n";

/// The sums of one state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    /// Bytes of the file.
    pub size: u64,
    /// Of each block, the last one maybe short.
    pub blocks: Vec<u32>,
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = (value >> 1) ^ (0x82f6_3b78 & (value & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

fn by_table(begin: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(begin, |sum, byte| (sum >> 8) ^ TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize])
}

/// # Safety
/// The processor must have SSE 4.2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
unsafe fn by_instruction(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(u64::from(u32::MAX), |sum, word| {
        std::arch::x86_64::_mm_crc32_u64(sum, u64::from_le_bytes(*word))
    });
    by_table(sum as u32, rest)
}

/// The CRC-32C of some bytes.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: just asked for.
        return !unsafe { by_instruction(bytes) };
    }
    !by_table(u32::MAX, bytes)
}

/// Where the sums of a file are.
pub(super) fn path_of(file: &Path) -> PathBuf {
    beside(file, ENDING)
}

/// Keeps sums beside a file; those that were there are gone in the same step.
///
/// # Errors
/// What the file system says.
pub(super) fn keep(file: &Path, states: &[Sums]) -> Result<()> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((states.len() as u64).to_le_bytes());
    for sums in states {
        bytes.extend(sums.size.to_le_bytes());
        bytes.extend(sums.blocks.iter().flat_map(|sum| sum.to_le_bytes()));
    }
    bytes.extend(crc32c(&bytes).to_le_bytes());
    let (path, new) = (path_of(file), beside(&path_of(file), ".new"));
    let kept = fs::write(&new, bytes).and_then(|()| fs::rename(&new, &path));
    kept.map_err(|error| failed("keep the checksums of", &file.to_string_lossy(), &error))
}

/// Forgets the sums of a file that is going to change.
pub(super) fn forget(file: &Path) {
    let _ = fs::remove_file(path_of(file)); // mostly there are none
}

/// The sums beside a file, if there are any.
///
/// # Errors
/// `Io` where they are damaged; what the file system says.
pub(super) fn find(file: &Path) -> Result<Option<Vec<Sums>>> {
    let name = path_of(file);
    let bytes = match fs::read(&name) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read the checksums of", &file.to_string_lossy(), &error)),
    };
    let damaged = || {
        let message =
            format!("{} is damaged: the file {} cannot be verified", name.display(), file.display());
        Error::new(Class::Io, message)
    };
    parse(&bytes).map(Some).ok_or_else(damaged)
}

/// A number at the beginning of some bytes, and what is behind it.
fn word(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (word, behind) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*word), behind))
}

fn parse(bytes: &[u8]) -> Option<Vec<Sums>> {
    let (body, sum) = bytes.split_last_chunk::<4>()?;
    let rest = body.strip_prefix(MAGIC)?;
    if crc32c(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let (states, mut left) = word(rest)?;
    let mut found = Vec::new();
    for _ in 0..states {
        let (size, behind) = word(left)?;
        let (blocks, behind) = behind.split_at_checked(4 * size.div_ceil(BLOCK) as usize)?;
        let blocks = blocks.as_chunks::<4>().0.iter().map(|sum| u32::from_le_bytes(*sum)).collect();
        found.push(Sums { size, blocks });
        left = behind;
    }
    left.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_standard() {
        // RFC 3720, appendix B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(!by_table(u32::MAX, b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn sums_that_are_kept_are_found_and_damage_is_told() {
        let folder = std::env::temp_dir().join(format!("unit-test-sums-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("data");
        let states = [Sums { size: BLOCK + 1, blocks: vec![1, 2] }, Sums { size: 0, blocks: vec![] }];
        assert_eq!(find(&file).unwrap(), None);
        keep(&file, &states).unwrap();
        assert_eq!(find(&file).unwrap().as_deref(), Some(&states[..]));
        let mut bytes = fs::read(path_of(&file)).unwrap();
        bytes[30] ^= 1;
        fs::write(path_of(&file), bytes).unwrap();
        assert_eq!(find(&file).unwrap_err().class(), Class::Io);
        forget(&file);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(&folder).unwrap();
    }
}
