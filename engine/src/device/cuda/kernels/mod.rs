//! Programs that run on the device, as text (PTX) which the driver compiles at first use.
//!
//! Nobody here has run them on a device. So they are tried out in each context before they touch data of the program: where the
//! driver refuses them, or what they do is not what the processor does, all goes on without them.

mod combine_text;
mod combiner;
mod trial;

use super::copy_streams::Stream;
use super::driver_errors::{succeed, Done};
use super::entry_points::{Address, Handle, KernelEntryPoints};
use crate::device::gapped::{Pattern, Spread};
use crate::device::interface::Direction;
use std::ffi::{c_uint, c_void, CStr};
use std::ptr;

pub(super) use combiner::{Combiner, Rows};
pub(super) use trial::{try_out, BYTES as TRIAL_BYTES};

/// For packing and unpacking.
const PACK: &str = concat!(include_str!("pack.ptx"), "\0");
const LOOPS: &CStr = c"serried_pack_loops";
const LISTED: &CStr = c"serried_pack_listed";
/// Threads of a block of threads.
const THREADS: c_uint = 256;

/// The programs, loaded in a context.
pub(super) struct Kernels {
    loops: usize,
    listed: usize,
}

/// What one launch does.
pub(super) struct Launch<'a> {
    /// How the data lie, and at which address they begin.
    pub spread: &'a Spread,
    pub data: usize,
    /// The offsets, if they are listed, in memory of the device.
    pub table: Address,
    /// The logarithm of the bytes of a word.
    pub logarithm: u32,
    /// Number of the first word, and how many.
    pub begin: u32,
    pub number: u32,
    /// Where that one lies in one piece.
    pub packed: usize,
    pub direction: Direction,
}

impl Kernels {
    /// Loads them in the present context.
    pub fn load(entry: &KernelEntryPoints) -> Done<Kernels> {
        let module = load(entry, CStr::from_bytes_with_nul(PACK.as_bytes()).expect("a zero at its end"))?;
        Ok(Kernels { loops: function(entry, module, LOOPS)?, listed: function(entry, module, LISTED)? })
    }

    /// Starts one on a stream of the present context.
    ///
    /// # Safety
    /// The device can read and write all that it moves until the stream has been waited for.
    pub unsafe fn start(&self, entry: &KernelEntryPoints, here: Stream, what: &Launch) -> Done<()> {
        let first = (what.data as u64).wrapping_add(what.spread.offset as u64);
        let unpack = u32::from(what.direction == Direction::ToDevice);
        let words = (what.spread.block >> what.logarithm) as u32;
        let mut places = Places::default();
        places.long(first).long(what.packed as u64);
        places.short(what.begin).short(what.number).short(what.logarithm).short(unpack).short(words);
        let function = match &what.spread.pattern {
            Pattern::Loops(loops) => {
                for one in &loops[..loops.len() - 1] {
                    places.short(one.count as u32);
                }
                for one in loops {
                    places.long(one.stride as u64);
                }
                self.loops
            }
            Pattern::Listed { offsets, items } => {
                places.short(offsets.len() as u32).long(what.table).long(items.stride as u64);
                self.listed
            }
        };
        // SAFETY: as many parameters of the sizes that the text declares; what it moves is by the caller.
        unsafe { launch(entry, here, function, what.number.into(), &mut places) }
    }
}

/// Loads a text in the present context.
fn load(entry: &KernelEntryPoints, text: &CStr) -> Done<Handle> {
    let mut module = ptr::null_mut();
    // SAFETY: a text with a zero at its end; stores the module.
    succeed("cuModuleLoadData", unsafe { (entry.load)(&raw mut module, text.as_ptr().cast()) })?;
    Ok(module)
}

/// A function of a module, which stays loaded.
fn function(entry: &KernelEntryPoints, module: Handle, name: &CStr) -> Done<usize> {
    let mut found = ptr::null_mut();
    // SAFETY: stores a function of the module.
    let answer = unsafe { (entry.function)(&raw mut found, module, name.as_ptr()) };
    succeed("cuModuleGetFunction", answer).map(|()| found as usize)
}

/// Starts a function with a thread for each of so many numbers.
///
/// # Safety
/// The parameters are those that its text declares, and what it does with them can be done until the stream has been waited for.
unsafe fn launch(
    entry: &KernelEntryPoints,
    here: Stream,
    function: usize,
    threads: u64,
    places: &mut Places,
) -> Done<()> {
    let (one, none) = (1, ptr::null_mut());
    let (stream, blocks) = (here.stream as Handle, threads.div_ceil(THREADS.into()) as c_uint);
    let mut pointers = places.pointers();
    let parameters = pointers.as_mut_ptr();
    // SAFETY: by the caller.
    let answer = unsafe {
        (entry.launch)(function as Handle, blocks, one, one, THREADS, one, one, 0, stream, parameters, none)
    };
    succeed("cuLaunchKernel", answer)
}

/// The parameters of a launch: each at a place of 8 bytes, of which a short one takes the first four.
#[derive(Default)]
struct Places {
    all: [u64; 16],
    number: usize,
}

impl Places {
    fn long(&mut self, value: u64) -> &mut Places {
        self.all[self.number] = value;
        self.number += 1;
        self
    }

    fn short(&mut self, value: u32) -> &mut Places {
        let bytes = value.to_ne_bytes();
        self.long(u64::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3], 0, 0, 0, 0]))
    }

    fn pointers(&mut self) -> Vec<*mut c_void> {
        self.all[..self.number].iter_mut().map(|place| (&raw mut *place).cast()).collect()
    }
}
