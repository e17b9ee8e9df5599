//! Programs for the device: twins in Rust of the texts that are known, and all others that `texts` can read.

use crate::interpreter::Run;
use crate::memory::Memory;
use crate::texts::{self, Text};
use crate::{Answer, Handle, INVALID_HANDLE, MISALIGNED_ADDRESS, NOT_FOUND, NO_BINARY_FOR_GPU};
use std::ffi::{c_void, CStr};
use std::ptr;
use std::sync::Arc;

/// Texts with twins, with the names of their programs.
const KNOWN: [(&str, &[&CStr]); 1] = [(
    include_str!("../../../engine/src/device/cuda/kernels/pack.ptx"),
    &[c"serried_pack_loops", c"serried_pack_listed"],
)];
/// Handles of modules, and of functions: more than a module's by their place, which begins with 1.
const MODULES: Handle = 0x9000;
const STEP: Handle = 0x10;

/// Modules by their place: the context in which each was loaded, and its text.
#[derive(Default)]
pub struct Modules(Vec<(Option<Handle>, Module)>);

/// A text that was loaded.
#[derive(Clone)]
enum Module {
    Twins(usize),
    Read(Arc<Text>),
}

/// A function as it was asked for.
#[derive(Clone)]
pub enum Function {
    Twin(Twin),
    Read(Arc<Text>),
}

/// A twin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Twin {
    PackLoops,
    PackListed,
}

impl Modules {
    pub fn load(&mut self, text: &CStr, context: Handle) -> Result<Handle, Answer> {
        keep(text);
        let is_it = |known: &(&str, &[&CStr])| known.0.as_bytes() == text.to_bytes();
        let module = match KNOWN.iter().position(is_it) {
            Some(twins) => Some(Module::Twins(twins)),
            None => text.to_str().ok().and_then(texts::read).map(|text| Module::Read(Arc::new(text))),
        };
        let module = module.filter(|_| asked() != "refused").ok_or(NO_BINARY_FOR_GPU)?;
        self.0.push((Some(context), module));
        Ok(MODULES + STEP * (self.0.len() - 1))
    }

    fn of(&self, handle: Handle, context: Handle) -> Result<Module, Answer> {
        let place = handle.checked_sub(MODULES).ok_or(INVALID_HANDLE)? / STEP;
        let (of, module) = self.0.get(place).ok_or(INVALID_HANDLE)?;
        if *of == Some(context) {
            Ok(module.clone())
        } else {
            Err(INVALID_HANDLE)
        }
    }

    pub fn function(&self, module: Handle, name: &CStr, context: Handle) -> Result<Handle, Answer> {
        let place = match self.of(module, context)? {
            Module::Twins(twins) => KNOWN[twins].1.iter().position(|&one| one == name),
            Module::Read(text) => (text.function.as_bytes() == name.to_bytes()).then_some(0),
        };
        Ok(module + 1 + place.ok_or(NOT_FOUND)?)
    }

    pub fn known(&self, function: Handle, context: Handle) -> Result<Function, Answer> {
        match (self.of(function, context)?, (function - MODULES) % STEP) {
            (Module::Twins(_), 1) => Ok(Function::Twin(Twin::PackLoops)),
            (Module::Twins(_), 2) => Ok(Function::Twin(Twin::PackListed)),
            (Module::Read(text), 1) => Ok(Function::Read(text)),
            _ => Err(INVALID_HANDLE),
        }
    }

    pub fn context_goes(&mut self, context: Handle) {
        self.0.iter_mut().filter(|one| one.0 == Some(context)).for_each(|one| one.0 = None);
    }
}

/// How the programs shall behave.
fn asked() -> String {
    std::env::var("FAKE_CUDA_KERNELS").unwrap_or_default()
}

/// Keeps a text where tests want to have it (`FAKE_CUDA_TEXTS`), under a name of its own.
fn keep(text: &CStr) {
    let Some(folder) = std::env::var_os("FAKE_CUDA_TEXTS") else { return };
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    for &byte in text.to_bytes() {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    let name = std::path::Path::new(&folder).join(format!("{sum:016x}.ptx"));
    let _ = std::fs::write(name, text.to_bytes());
}

/// A launch of a function.
pub enum Launch {
    Twin(TwinLaunch),
    Read(Run),
}

impl Launch {
    /// # Safety
    /// There are as many parameters as the text of the function declares, of those types.
    pub unsafe fn new(function: Function, grid: (u64, u64), parameters: *mut *mut c_void) -> Launch {
        // SAFETY: by the caller.
        unsafe {
            match function {
                Function::Twin(twin) => Launch::Twin(TwinLaunch::new(twin, grid.0 * grid.1, parameters)),
                Function::Read(text) => Launch::Read(Run::new(text, grid, parameters)),
            }
        }
    }

    /// Runs it.
    ///
    /// # Safety
    /// By who has started it, all that it reads and writes is there.
    pub unsafe fn run(&self, memory: &Memory) -> Result<(), Answer> {
        let is_wrong = asked() == "wrong";
        // SAFETY: by the caller.
        unsafe {
            match self {
                Launch::Twin(launch) => launch.run(memory, is_wrong),
                Launch::Read(run) => run.run(memory, is_wrong),
            }
        }
    }

    /// Poisons what it will write, as long as it has not been run.
    ///
    /// # Safety
    /// As [`Launch::run`].
    pub unsafe fn poison(&self, memory: &Memory, poison: u8) {
        // SAFETY: by the caller.
        unsafe {
            match self {
                Launch::Twin(launch) => launch.poison(memory, poison),
                Launch::Read(run) => run.poison(memory, poison),
            }
        }
    }
}

/// A launch of a twin, with what its parameters were then.
pub struct TwinLaunch {
    function: Twin,
    threads: u64,
    data: u64,
    packed: u64,
    begin: u32,
    number: u32,
    logarithm: u32,
    unpack: bool,
    words: u32,
    counts: [u32; 3],
    strides: [u64; 4],
    table: u64,
}

/// Parameters of a launch, by their places.
struct Parameters(*mut *mut c_void);

impl Parameters {
    /// # Safety
    /// There is a parameter at the place, of that type.
    unsafe fn read<T>(&self, place: usize) -> T {
        // SAFETY: by the caller.
        unsafe { self.0.add(place).read().cast::<T>().read_unaligned() }
    }
}

impl TwinLaunch {
    /// # Safety
    /// As [`Launch::new`].
    unsafe fn new(function: Twin, threads: u64, parameters: *mut *mut c_void) -> TwinLaunch {
        let from = Parameters(parameters);
        // SAFETY: by the caller.
        unsafe {
            let mut launch = TwinLaunch {
                function,
                threads,
                data: from.read(0),
                packed: from.read(1),
                begin: from.read(2),
                number: from.read(3),
                logarithm: from.read(4),
                unpack: from.read::<u32>(5) != 0,
                words: from.read(6),
                counts: [1; 3],
                strides: [0; 4],
                table: 0,
            };
            match function {
                Twin::PackLoops => {
                    launch.counts = [from.read(7), from.read(8), from.read(9)];
                    launch.strides = [from.read(10), from.read(11), from.read(12), from.read(13)];
                }
                Twin::PackListed => {
                    launch.counts[0] = from.read(7);
                    launch.table = from.read(8);
                    launch.strides[0] = from.read(9);
                }
            }
            launch
        }
    }

    fn word(&self) -> u64 {
        1 << self.logarithm
    }

    /// What a thread moves: from where and to where, or nothing.
    fn addresses(&self, thread: u64, memory: &Memory) -> Result<Option<(u64, u64)>, Answer> {
        if thread >= u64::from(self.number) {
            return Ok(None);
        }
        let word = self.begin.wrapping_add(thread as u32);
        let (mut rest, within) = (word / self.words, u64::from(word % self.words));
        let mut data = self.data.wrapping_add(within << self.logarithm);
        match self.function {
            Twin::PackLoops => {
                for (&count, &stride) in self.counts.iter().zip(&self.strides) {
                    data = data.wrapping_add(u64::from(rest % count).wrapping_mul(stride));
                    rest /= count;
                }
                data = data.wrapping_add(u64::from(rest).wrapping_mul(self.strides[3]));
            }
            Twin::PackListed => {
                let (item, place) = (rest / self.counts[0], rest % self.counts[0]);
                data = data.wrapping_add(u64::from(item).wrapping_mul(self.strides[0]));
                let entry = memory.for_program((self.table + 8 * u64::from(place)) as usize, 8)?;
                // SAFETY: memory that the driver has.
                data = data.wrapping_add(unsafe { (entry as *const u64).read() });
            }
        }
        let packed = self.packed.wrapping_add(thread << self.logarithm);
        if !data.is_multiple_of(self.word()) || !packed.is_multiple_of(self.word()) {
            return Err(MISALIGNED_ADDRESS);
        }
        Ok(Some(if self.unpack { (packed, data) } else { (data, packed) }))
    }

    /// # Safety
    /// As [`Launch::run`].
    unsafe fn run(&self, memory: &Memory, is_wrong: bool) -> Result<(), Answer> {
        let bytes = self.word() as usize;
        for thread in 0..self.threads {
            let Some((from, to)) = self.addresses(thread, memory)? else { break };
            let from = memory.for_program(from as usize, bytes)?;
            let to = memory.for_program(to as usize, bytes)?;
            // SAFETY: both are memory that the driver has.
            unsafe {
                ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes);
                if is_wrong && thread == 3 {
                    *(to as *mut u8) ^= 1;
                }
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`Launch::run`].
    unsafe fn poison(&self, memory: &Memory, poison: u8) {
        let bytes = self.word() as usize;
        for thread in 0..self.threads {
            let Ok(Some((_, to))) = self.addresses(thread, memory) else { break };
            if let Ok(to) = memory.for_program(to as usize, bytes) {
                // SAFETY: memory that the driver has.
                unsafe { ptr::write_bytes(to as *mut u8, poison, bytes) };
            }
        }
    }
}
