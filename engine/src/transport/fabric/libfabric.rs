//! The library, loaded while the program runs.

use super::structures::{version, FabricAttributes, Info};
use super::tables::FabricObject;
use crate::loaded_library::LoadedLibrary;
use crate::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::OnceLock;

/// What is asked of it: an interface that all of this knows.
const NEWEST: u32 = version(1, 17);

/// Its functions, as far as they are used.
#[derive(Debug)]
pub struct Libfabric {
    /// `fi_version`
    pub version: unsafe extern "C" fn() -> u32,
    /// `fi_getinfo`
    pub offers:
        unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int,
    /// `fi_freeinfo`
    pub free: unsafe extern "C" fn(*mut Info),
    /// `fi_dupinfo`
    pub copy: unsafe extern "C" fn(*const Info) -> *mut Info,
    /// `fi_fabric`
    pub open: unsafe extern "C" fn(*mut FabricAttributes, *mut *mut FabricObject, *mut c_void) -> c_int,
    /// `fi_strerror`
    pub text: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Libfabric {
    /// Loads it, once in a process.
    ///
    /// # Errors
    /// `Other` when it is not there, saying what to do.
    pub fn load() -> Result<&'static Libfabric> {
        static LIBRARY: OnceLock<std::result::Result<Libfabric, String>> = OnceLock::new();
        LIBRARY.get_or_init(find).as_ref().map_err(|why| {
            let advice = "install it (Debian: libfabric1), set LD_LIBRARY_PATH so that it is found, or set \
                          SERRIED_TRANSPORT=wire, which does without";
            Error::new(Class::Other, format!("libfabric cannot be used: {why}; {advice}"))
        })
    }

    /// The version of its interface that is used.
    pub fn interface(&self) -> u32 {
        // SAFETY: it takes nothing.
        unsafe { (self.version)() }.min(NEWEST)
    }

    /// The error of a call that has failed; codes are negative, as calls return them.
    #[cold]
    pub fn refused(&self, provider: &str, call: &str, code: isize) -> Error {
        let message = format!("libfabric's provider {provider}: {call} failed: {}", self.describe(code));
        Error::new(Class::Other, message)
    }

    /// A code in words.
    pub fn describe(&self, code: isize) -> String {
        // SAFETY: it knows every number, and returns a string that stays, or null.
        let text = unsafe { (self.text)(-(code as c_int)) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// Providers for Omni-Path would have the process print and keep stack traces of its own when it crashes.
const NO_TRACES: [&CStr; 2] = [c"IPATH_NO_BACKTRACE", c"HFI_NO_BACKTRACE"];

fn find() -> std::result::Result<Libfabric, String> {
    for name in NO_TRACES {
        // SAFETY: two strings. The library reads the environment itself now, so nobody changes it beside that.
        unsafe { libc::setenv(name.as_ptr(), c"1".as_ptr(), 0) };
    }
    let library = LoadedLibrary::open(c"libfabric.so.1", libc::RTLD_NOW | libc::RTLD_LOCAL)?;
    let missing = |name: &str| format!("libfabric.so.1 has no function {name}");
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: the types are those of the library's headers.
            unsafe { library.function($name) }.ok_or_else(|| missing(&$name.to_string_lossy()))?
        };
    }
    Ok(Libfabric {
        version: function!(c"fi_version"),
        offers: function!(c"fi_getinfo"),
        free: function!(c"fi_freeinfo"),
        copy: function!(c"fi_dupinfo"),
        open: function!(c"fi_fabric"),
        text: function!(c"fi_strerror"),
    })
}
