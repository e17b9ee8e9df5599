//! The variables of the program and its libraries: the writable part of each object that is loaded.

use std::ffi::CStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

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
}

impl Object {
    /// Whether some bytes lie within it.
    pub fn has(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.address);
        offset < self.bytes && bytes <= self.bytes - offset
    }
}

/// Those that are loaded now, by address.
pub fn loaded() -> Vec<Object> {
    let mut found: Vec<Object> = Vec::new();
    // SAFETY: the function gets `found`, and is called before this returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found.sort_by_key(|object| object.address);
    found
}

/// Adds the writable segments of an object. What becomes read-only once it is linked is left out.
unsafe extern "C" fn look(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    found: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: as the dynamic linker calls it, with what `loaded` has given.
    let (object, found) = unsafe { (&*object, &mut *found.cast::<Vec<Object>>()) };
    // SAFETY: the linker's table, of so many entries.
    let headers = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum as usize) };
    // SAFETY: a C string, if it is there.
    let name = (!object.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(object.dlpi_name) });
    let range = |header: &libc::Elf64_Phdr| {
        let begin = object.dlpi_addr + header.p_vaddr;
        begin..begin + header.p_memsz
    };
    let sealed = headers.iter().filter(|header| header.p_type == libc::PT_GNU_RELRO).map(range).next();
    let writable =
        |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0;
    for (number, header) in headers.iter().filter(writable).enumerate() {
        let range = without(range(header), sealed.as_ref());
        let mut hasher = DefaultHasher::new();
        (name, number, header.p_vaddr, header.p_memsz).hash(&mut hasher);
        let bytes = range.end - range.start;
        if bytes > 0 {
            found.push(Object { key: hasher.finish(), address: range.start, bytes });
        }
    }
    0
}

/// What of a range comes after another one with which it begins.
fn without(range: Range<u64>, sealed: Option<&Range<u64>>) -> Range<u64> {
    match sealed {
        Some(sealed) if sealed.start <= range.start && sealed.end > range.start => {
            sealed.end.min(range.end)..range.end
        }
        _ => range,
    }
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
