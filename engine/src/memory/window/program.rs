//! Memory of the main program: its variables, and the heap of libc's malloc.

use super::layout::PAGE;
use super::system;
use crate::memory::loaded_objects::{self, LoadedObject};
use std::ops::Range;
use std::sync::OnceLock;

/// Whether all of some pages are the main program's variables, or all of them memory of its heap: private memory, of
/// which nothing depends on where the kernel has it.
pub fn has(pages: &Range<usize>) -> bool {
    let within = |range: Range<usize>| range.start <= pages.start && pages.end <= range.end;
    within(heap()) || has_variables(within)
}

/// Whether the pages of some variables of it are such.
fn has_variables(within: impl Fn(Range<usize>) -> bool) -> bool {
    let is_such = |part: Range<usize>| within(part.start & !(PAGE - 1)..part.end.next_multiple_of(PAGE));
    let program =
        |object: LoadedObject| Some(object.writable_parts().any(|header| is_such(object.variables(header))));
    loaded_objects::find(program).unwrap_or(false)
}

/// The pages that malloc has from `brk`.
fn heap() -> Range<usize> {
    static START: OnceLock<usize> = OnceLock::new();
    let start = *START.get_or_init(|| system::start_of_heap().unwrap_or(usize::MAX & !(PAGE - 1)));
    // SAFETY: asks where the heap ends.
    let end = unsafe { libc::sbrk(0) } as usize;
    start.next_multiple_of(PAGE)..end & !(PAGE - 1)
}

/// Whether a library is loaded whose file has a name that begins so.
pub fn has_loaded(names: &[&str]) -> bool {
    let is_one = |object: LoadedObject| {
        let file = object.path()?.to_bytes().rsplit(|&byte| byte == b'/').next()?;
        names.iter().any(|name| file.starts_with(name.as_bytes())).then_some(())
    };
    loaded_objects::find(is_one).is_some()
}
