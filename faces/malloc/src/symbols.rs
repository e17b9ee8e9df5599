//! malloc and its relatives: big blocks come from the window of this rank (see
//! `memory::window` in the engine), all others from libc. A process that is no
//! rank has no window, and so has libc's functions with one comparison more.
//!
//! A program may bring functions of its own with these names (an allocator linked
//! in, a sanitizer). Then all of this process has to use those, this library as
//! well; so none of them may be built into its callers (`inline(never)`), and they
//! do not call each other.

use serried_engine::memory::window::heap::Birth;
use serried_engine::memory::window::Window;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Blocks from this size on come from the window.
const BIG: usize = 64 << 10;

extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// The window of this library, for other libraries of ours in the process.
#[no_mangle]
pub extern "C" fn serried_window() -> *const Window {
    Window::of_library()
}

/// The window that a block lies in.
#[inline]
fn window_of(block: *mut c_void) -> Option<&'static Window> {
    Window::in_use().filter(|window| window.contains(block as usize))
}

/// A block of the window, unless it is too small or there is none: its address,
/// and whether it reads as zero.
#[inline]
fn big(bytes: usize, alignment: usize) -> Option<(*mut c_void, bool)> {
    if bytes < BIG {
        return None;
    }
    let block = Window::of_process().allocate(bytes, alignment, Birth::Private)?;
    Some((block.address.cast(), block.zero))
}

/// `malloc` of C.
#[no_mangle]
#[inline(never)]
pub extern "C" fn malloc(bytes: usize) -> *mut c_void {
    allocate(bytes)
}

#[inline]
fn allocate(bytes: usize) -> *mut c_void {
    match big(bytes, 1) {
        Some((block, _)) => block,
        // SAFETY: any size is allowed.
        None => unsafe { __libc_malloc(bytes) },
    }
}

/// `calloc` of C.
#[no_mangle]
#[inline(never)]
pub extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    let whole = count.checked_mul(bytes).unwrap_or(0);
    match big(whole, 1) {
        Some((block, true)) => block,
        Some((block, false)) => {
            // SAFETY: a block of that size, which nobody else has yet.
            unsafe { std::ptr::write_bytes(block.cast::<u8>(), 0, whole) };
            block
        }
        // SAFETY: any numbers are allowed.
        None => unsafe { __libc_calloc(count, bytes) },
    }
}

/// `free` of C.
///
/// # Safety
/// As C has it.
#[no_mangle]
#[inline(never)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: by the caller.
    unsafe { release(block) };
}

/// # Safety
/// As `free`.
#[inline]
unsafe fn release(block: *mut c_void) {
    // SAFETY: by the caller.
    unsafe {
        match window_of(block) {
            None => __libc_free(block),
            Some(window) => keeping_errno(|| window.free(block.cast())),
        }
    }
}

/// `realloc` of C.
///
/// # Safety
/// As C has it.
#[no_mangle]
#[inline(never)]
pub unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    if block.is_null() {
        return allocate(bytes);
    }
    // SAFETY: by the caller.
    unsafe {
        match window_of(block) {
            None if bytes < BIG => __libc_realloc(block, bytes),
            None => {
                let old = of_libc(block);
                // Big already: it came from libc for a reason, and libc moves pages.
                if old >= BIG || Window::of_process().off().is_some() {
                    return __libc_realloc(block, bytes);
                }
                move_to(allocate(bytes), block, old.min(bytes))
            }
            Some(_) if bytes == 0 => {
                release(block);
                std::ptr::null_mut()
            }
            Some(window) if bytes >= BIG / 2 && keeping_errno(|| window.resize(block.cast(), bytes)) => block,
            Some(window) => move_to(allocate(bytes), block, window.usable(block.cast()).min(bytes)),
        }
    }
}

/// Moves a block's contents and frees it; null stays null, and frees nothing.
unsafe fn move_to(target: *mut c_void, block: *mut c_void, bytes: usize) -> *mut c_void {
    if !target.is_null() {
        // SAFETY: two blocks, both of at least that length.
        unsafe {
            std::ptr::copy_nonoverlapping(block.cast::<u8>(), target.cast::<u8>(), bytes);
            release(block);
        }
    }
    target
}

/// `memalign` of glibc.
#[no_mangle]
#[inline(never)]
pub extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    aligned(alignment, bytes)
}

fn aligned(alignment: usize, bytes: usize) -> *mut c_void {
    match big(bytes, alignment.checked_next_power_of_two().unwrap_or(usize::MAX)) {
        Some((block, _)) => block,
        // SAFETY: any numbers are allowed.
        None => unsafe { __libc_memalign(alignment, bytes) },
    }
}

/// `aligned_alloc` of C11.
#[no_mangle]
#[inline(never)]
pub extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    aligned(alignment, bytes)
}

/// `posix_memalign` of POSIX.
///
/// # Safety
/// `place` must be a place for an address.
#[no_mangle]
#[inline(never)]
pub unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    if !alignment.is_power_of_two() || alignment < std::mem::size_of::<usize>() {
        return libc::EINVAL;
    }
    let block = aligned(alignment, bytes);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: by the caller.
    unsafe { place.write(block) };
    0
}

/// `malloc_usable_size` of glibc.
///
/// # Safety
/// `block` must be null or a block in use.
#[no_mangle]
#[inline(never)]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    // SAFETY: by the caller.
    unsafe {
        match window_of(block) {
            Some(window) => window.usable(block.cast()),
            None => of_libc(block),
        }
    }
}

/// libc's `malloc_usable_size`, for a block of libc.
unsafe fn of_libc(block: *mut c_void) -> usize {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let mut function = FOUND.load(Ordering::Relaxed);
    if function.is_null() {
        // SAFETY: the name is a C string; libc has this function.
        function = unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc_usable_size".as_ptr()) };
        FOUND.store(function, Ordering::Relaxed);
    }
    if function.is_null() {
        return 0;
    }
    // SAFETY: the function of that name in libc; the caller vouches for the block.
    unsafe {
        let size: unsafe extern "C" fn(*mut c_void) -> usize = std::mem::transmute(function);
        size(block)
    }
}

/// Work behind the program's back leaves its error number alone.
#[inline]
fn keeping_errno<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the address of this thread's error number.
    unsafe {
        let place = libc::__errno_location();
        let before = *place;
        let result = work();
        *place = before;
        result
    }
}
