//! A library that is looked for while the program runs: what is optional is linked with nothing.

use std::ffi::{c_int, c_void, CStr};
use std::ptr::NonNull;

/// A library that has been loaded, and stays.
#[derive(Clone, Copy, Debug)]
pub struct LoadedLibrary(NonNull<c_void>);

// SAFETY: a handle of the dynamic loader may be used by any thread.
unsafe impl Send for LoadedLibrary {}
// SAFETY: as above.
unsafe impl Sync for LoadedLibrary {}

impl LoadedLibrary {
    /// Loads a library by its name or path; `flags` as for `dlopen`.
    ///
    /// # Errors
    /// What the dynamic loader says.
    pub fn open(name: &CStr, flags: c_int) -> Result<LoadedLibrary, String> {
        // SAFETY: loading a library runs its initialisers, which is what is wanted.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        NonNull::new(handle).map(LoadedLibrary).ok_or_else(last_error)
    }

    /// A function of it, if it has one of this name.
    ///
    /// # Safety
    /// `F` must be the type of a function pointer, and that of this function.
    pub unsafe fn function<F: Copy>(self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the library is loaded, for ever.
        let found = NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })?;
        // SAFETY: by the caller, and of the same size.
        Some(unsafe { std::mem::transmute_copy(&found) })
    }
}

fn last_error() -> String {
    // SAFETY: the last error is a C string, or null.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return String::new();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_and_one_that_is_not_there_is_named() {
        let library = LoadedLibrary::open(c"libc.so.6", libc::RTLD_NOW).unwrap();
        // SAFETY: the types are those of getpid.
        let pid = unsafe { library.function::<unsafe extern "C" fn() -> c_int>(c"getpid") }.unwrap();
        // SAFETY: it takes nothing and changes nothing.
        assert_eq!(unsafe { pid() } as u32, std::process::id());
        // SAFETY: there is none of this name.
        assert!(unsafe { library.function::<unsafe extern "C" fn()>(c"no_such_function") }.is_none());
        let missing = LoadedLibrary::open(c"libnosuch.so.0", libc::RTLD_NOW).unwrap_err();
        assert!(missing.contains("libnosuch.so.0"), "{missing}");
    }
}
