//! The driver's functions, by the names of their present interfaces: a bare name can be an old one.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::ptr::NonNull;

/// What every function returns.
pub(super) type Answer = c_int;
/// `CUdeviceptr`.
pub(super) type Address = u64;
/// `CUcontext`, `CUstream`.
pub(super) type Handle = *mut c_void;

const LIBRARY: &CStr = c"libcuda.so.1";

/// The library, if this process has it.
pub(super) fn library() -> Option<NonNull<c_void>> {
    // SAFETY: looks a library up that is there already, and keeps it there.
    NonNull::new(unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) })
}

/// The library, loaded if it was not.
pub(super) fn load() -> Option<NonNull<c_void>> {
    // SAFETY: the driver's library does nothing when it is loaded but to look at its environment.
    NonNull::new(unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY) })
}

macro_rules! entry_points {
    ($($field:ident $name:literal ($($argument:ty),*);)*) => {
        /// The functions that all of this needs.
        pub(super) struct EntryPoints {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> Answer,)*
        }

        impl EntryPoints {
            /// Looks them up; `None` if one is not there.
            pub fn of(library: NonNull<c_void>) -> Option<EntryPoints> {
                Some(EntryPoints {
                    $($field: {
                        let found = find(library, $name)?;
                        // SAFETY: the types are those of the driver's documentation for these names.
                        unsafe {
                            std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($argument),*) -> Answer>(found)
                        }
                    },)*
                })
            }
        }
    };
}

entry_points! {
    pointer_attributes "cuPointerGetAttributes" (c_uint, *const c_int, *const *mut c_void, Address);
    set_pointer_attribute "cuPointerSetAttribute" (*const c_void, c_int, Address);
    push_context "cuCtxPushCurrent_v2" (Handle);
    pop_context "cuCtxPopCurrent_v2" (*mut Handle);
    retain_primary "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    create_stream "cuStreamCreate" (*mut Handle, c_uint);
    copy "cuMemcpyAsync" (Address, Address, usize, Handle);
    synchronize "cuStreamSynchronize" (Handle);
    error_name "cuGetErrorName" (Answer, *mut *const c_char);
    error_text "cuGetErrorString" (Answer, *mut *const c_char);
}

fn find(library: NonNull<c_void>, name: &str) -> Option<NonNull<c_void>> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: an open library and a string.
    NonNull::new(unsafe { libc::dlsym(library.as_ptr(), name.as_ptr()) })
}
