//! The file that this engine has been loaded from: a library of ours, or a tool.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Its full path; `None` where the dynamic loader does not know it.
pub fn own_file() -> Option<PathBuf> {
    // SAFETY: zeros are a valid place for the answer, which names a string that lives as long as the library.
    let name = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(own_file as *const () as *const libc::c_void, &raw mut info) == 0
            || info.dli_fname.is_null()
        {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    // A program is known by the word that it was called by.
    let path = if path.is_absolute() { path.to_owned() } else { std::env::current_exe().ok()? };
    path.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_finds_its_own_file() {
        assert_eq!(super::own_file(), std::env::current_exe().unwrap().canonicalize().ok());
    }
}
