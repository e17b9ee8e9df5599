//! What the dynamic linker has loaded: the main program first, then its libraries.

use std::ffi::CStr;
use std::ops::Range;

/// One of them, as long as it is looked at.
#[derive(Clone, Copy)]
pub struct LoadedObject<'a>(&'a libc::dl_phdr_info);

impl<'a> LoadedObject<'a> {
    /// The path of its file; that of the main program is empty.
    pub fn path(self) -> Option<&'a CStr> {
        // SAFETY: a C string of the linker's, if it is there.
        (!self.0.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(self.0.dlpi_name) })
    }

    /// The parts that can be written when they are loaded. What becomes read-only once it is linked belongs to them.
    pub fn writable_parts(self) -> impl Iterator<Item = &'a libc::Elf64_Phdr> {
        let can_be_written =
            |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0;
        self.headers().iter().filter(can_be_written)
    }

    /// Where a part of it lies, in bytes.
    pub fn place(self, header: &libc::Elf64_Phdr) -> Range<usize> {
        let begin = (self.0.dlpi_addr + header.p_vaddr) as usize;
        begin..begin + header.p_memsz as usize
    }

    /// The same without its beginning, if that becomes read-only.
    pub fn variables(self, header: &libc::Elf64_Phdr) -> Range<usize> {
        let range = self.place(header);
        let sealed = self.headers().iter().find(|header| header.p_type == libc::PT_GNU_RELRO);
        match sealed.map(|sealed| self.place(sealed)) {
            Some(sealed) if sealed.start <= range.start && sealed.end > range.start => {
                sealed.end.min(range.end)..range.end
            }
            _ => range,
        }
    }

    fn headers(self) -> &'a [libc::Elf64_Phdr] {
        // SAFETY: the linker's table, of so many entries.
        unsafe { std::slice::from_raw_parts(self.0.dlpi_phdr, self.0.dlpi_phnum as usize) }
    }
}

/// What `visit` gives of the first object of which it gives something.
pub fn find<T>(mut visit: impl FnMut(LoadedObject) -> Option<T>) -> Option<T> {
    let mut found = None;
    let mut look_at = |object: &libc::dl_phdr_info| {
        found = visit(LoadedObject(object));
        found.is_some()
    };
    let mut given: &mut Visit = &mut look_at;
    // SAFETY: the function gets `given`, and is called before this returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut given).cast()) };
    found
}

type Visit<'a> = dyn FnMut(&libc::dl_phdr_info) -> bool + 'a;

unsafe extern "C" fn look(
    object: *mut libc::dl_phdr_info,
    _: usize,
    visit: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: as the dynamic linker calls it, with what `find` has given.
    let (object, visit) = unsafe { (&*object, &mut *visit.cast::<&mut Visit>()) };
    visit(object).into()
}
