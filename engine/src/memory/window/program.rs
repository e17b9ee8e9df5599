//! Memory of the main program: its variables, and the heap of libc's malloc.

use super::layout::PAGE;
use super::system;
use std::ffi::CStr;
use std::ops::Range;
use std::sync::OnceLock;

/// Whether all of some pages are the main program's variables, or all of them memory of its heap: private memory, of
/// which nothing depends on where the kernel has it.
pub fn has(pages: &Range<usize>) -> bool {
    let within = |range: Range<usize>| range.start <= pages.start && pages.end <= range.end;
    within(variables()) || within(heap())
}

/// The pages of its variables that it may write.
fn variables() -> Range<usize> {
    let (mut found, mut read_only) = (0..0, 0);
    each_part(|part, header| match header.p_type {
        libc::PT_LOAD if header.p_flags & libc::PF_W != 0 && part.len() > found.len() => found = part,
        libc::PT_GNU_RELRO => read_only = part.end & !(PAGE - 1),
        _ => {}
    });
    (found.start & !(PAGE - 1)).max(read_only)..found.end.next_multiple_of(PAGE)
}

/// The pages that malloc has from `brk`.
fn heap() -> Range<usize> {
    static START: OnceLock<usize> = OnceLock::new();
    let start = *START.get_or_init(|| system::start_of_heap().unwrap_or(usize::MAX & !(PAGE - 1)));
    // SAFETY: asks where the heap ends.
    let end = unsafe { libc::sbrk(0) } as usize;
    start.next_multiple_of(PAGE)..end & !(PAGE - 1)
}

/// Does something with each part of the main program that its headers name: where it lies, in bytes, and the header.
pub fn each_part(mut each: impl FnMut(Range<usize>, &libc::Elf64_Phdr)) {
    each_object(&mut |object| {
        // SAFETY: the linker's table, of so many entries.
        let headers = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum as usize) };
        for header in headers {
            let begin = (object.dlpi_addr + header.p_vaddr) as usize;
            each(begin..begin + header.p_memsz as usize, header);
        }
        true // the first object is the main program
    });
}

/// Whether a library is loaded whose file has a name that begins so.
pub fn has_loaded(names: &[&str]) -> bool {
    let mut found = false;
    each_object(&mut |object| {
        // SAFETY: null, or a C string of the linker.
        let path = (!object.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(object.dlpi_name) });
        let file = path.and_then(|path| path.to_bytes().rsplit(|&byte| byte == b'/').next());
        found |= file.is_some_and(|file| names.iter().any(|name| file.starts_with(name.as_bytes())));
        found
    });
    found
}

/// Shows what the dynamic linker has loaded, until `each` has seen enough.
fn each_object(mut each: &mut dyn FnMut(&libc::dl_phdr_info) -> bool) {
    // SAFETY: the function gets `each`, and is called before this returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut each).cast()) };
}

unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _: usize, each: *mut libc::c_void) -> libc::c_int {
    // SAFETY: as the dynamic linker calls it, with what `each_object` has given.
    let (object, each) =
        unsafe { (&*object, &mut *each.cast::<&mut dyn FnMut(&libc::dl_phdr_info) -> bool>()) };
    each(object).into()
}
