//! An allocator that counts what a server holds: bytes that were asked for while a server was at work, and not given back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    static HELD: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
pub struct Counting;

fn count(bytes: i64) {
    if IS_INSIDE.get() {
        HELD.set(HELD.get() + bytes);
        MOST.set(MOST.get().max(HELD.get()));
    }
}

// SAFETY: it is the system's, which is asked for the same.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: by the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Does something and counts it.
pub fn inside<T>(work: impl FnOnce() -> T) -> T {
    IS_INSIDE.set(true);
    let result = work();
    IS_INSIDE.set(false);
    result
}

/// Does something in the middle of that, and does not count it.
pub fn outside<T>(work: impl FnOnce() -> T) -> T {
    let was = IS_INSIDE.replace(false);
    let result = work();
    IS_INSIDE.set(was);
    result
}

/// Bytes held now, and the most since the count began.
pub fn held() -> (i64, i64) {
    (HELD.get(), MOST.get())
}

/// Begins to count anew.
pub fn begin() {
    HELD.set(0);
    MOST.set(0);
}
