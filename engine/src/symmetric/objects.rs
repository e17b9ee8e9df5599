//! The variables of the program and its libraries: the writable part of each object that is loaded.

use crate::memory::loaded_objects;
use crate::memory::window::Opened;
use crate::onesided::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The writable part of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Object {
    /// What it is known by in all ranks: its file, which part, and how long.
    pub key: u64,
    /// Where it lies in a rank.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// The part of it that all ranks of the node reach directly.
    pub opened: Opened,
}

impl Object {
    /// As a piece of attached memory.
    pub fn entry(&self) -> Entry {
        Entry { address: self.address, bytes: self.bytes, opened: self.opened, ..Entry::default() }
    }

    /// Whether some bytes lie within it.
    pub fn has(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.address);
        offset < self.bytes && bytes <= self.bytes - offset
    }
}

/// Those that are loaded now, by address.
pub fn loaded() -> Vec<Object> {
    let mut found: Vec<Object> = Vec::new();
    loaded_objects::find(|object| {
        for (number, header) in object.writable_parts().enumerate() {
            let range = object.variables(header);
            let mut hasher = DefaultHasher::new();
            (object.path(), number, header.p_vaddr, header.p_memsz).hash(&mut hasher);
            if !range.is_empty() {
                found.push(Object {
                    key: hasher.finish(),
                    address: range.start as u64,
                    bytes: range.len() as u64,
                    opened: Opened::default(),
                });
            }
        }
        None::<()>
    });
    found.sort_by_key(|object| object.address);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    static WITH_A_VALUE: AtomicU64 = AtomicU64::new(7);
    static ZERO: AtomicU64 = AtomicU64::new(0);

    #[test]
    fn variables_of_the_program_are_found_and_locals_are_not() {
        let objects = loaded();
        let find = |address: u64| objects.iter().find(|object| object.has(address, 8));
        let local = 7u64;
        for word in [&raw const WITH_A_VALUE as u64, &raw const ZERO as u64] {
            assert!(find(word).is_some(), "{word:#x} in {objects:x?}");
        }
        assert!(find(&raw const local as u64).is_none());
        assert!(find(Box::into_raw(Box::new(7u64)) as u64).is_none());
        assert_eq!(objects, loaded());
    }
}
