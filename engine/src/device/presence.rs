//! Whether there are devices, and when their driver is asked.
//!
//! ```text
//! off --begin: a device file, or the driver's library is loaded--> watched
//! watched --the program has loaded the driver's library--> in use
//! watched, in use --fork, in the child--> off
//! ```

use super::cuda::Cuda;
use super::interface::Device;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Once, OnceLock};

/// What the setting says (`SERRIED_GPU`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Devices are used where there are any.
    #[default]
    Auto,
    /// Never.
    Off,
    /// As if there were a device file.
    On,
}

const OFF: u8 = 0;
const WATCHED: u8 = 1;
const IN_USE: u8 = 2;
static STATE: AtomicU8 = AtomicU8::new(OFF);
static CUDA: OnceLock<Cuda> = OnceLock::new();

/// Files that are there if there is a CUDA device: of the driver, of Windows' subsystem, of small boards.
const FILES: [&str; 4] = ["/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu"];

/// Looks for devices, when the engine starts; whether this process may meet memory of one.
pub fn begin(wanted: Presence) -> bool {
    let there = is_there(wanted);
    if there && STATE.load(Ordering::Relaxed) == OFF {
        static WATCH: Once = Once::new();
        // SAFETY: registers a function that stores a byte.
        WATCH.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        });
        STATE.store(WATCHED, Ordering::Release);
    }
    if !there {
        STATE.store(OFF, Ordering::Release);
    }
    there
}

/// Whether there are devices, as far as can be told without a driver.
fn is_there(wanted: Presence) -> bool {
    match wanted {
        Presence::Off => false,
        Presence::On => true,
        Presence::Auto => FILES.iter().any(|file| Path::new(file).exists()) || Cuda::is_loaded(),
    }
}

/// Whether buffers in device memory will be taken: there is a device, and its driver can be loaded,
/// which is done to find out.
pub fn is_offered(wanted: Presence) -> bool {
    is_there(wanted) && Cuda::load()
}

/// Whether the program has loaded the driver of a device that this process uses.
pub fn is_reached() -> bool {
    driver().is_some()
}

/// What is here, in words: for people who ask.
pub fn describe(wanted: Presence) -> String {
    match (wanted, is_there(wanted)) {
        (Presence::Off, _) => "not used, because SERRIED_GPU is off".into(),
        (_, false) => format!("none: there is none of {}", FILES.join(", ")),
        (_, true) if Cuda::load() => {
            let lending = match Cuda::can_lend() {
                true => "ranks of one node map each other's windows of it where they can (`serried info --pairs` tries it)",
                false => "this driver has no functions to lend it to other processes",
            };
            format!(
                "CUDA: buffers may lie in device and managed memory; they are copied through memory of the host; {lending}"
            )
        }
        (_, true) => "libcuda.so.1 cannot be loaded, so buffers must lie in memory of the host".into(),
    }
}

/// Whether this process may meet memory of a device.
#[inline]
pub fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) != OFF
}

/// A driver is of no use to the child of a fork.
extern "C" fn in_child() {
    STATE.store(OFF, Ordering::Relaxed);
}

/// The driver, once the program has loaded its library.
pub(super) fn driver() -> Option<&'static dyn Device> {
    match STATE.load(Ordering::Acquire) {
        IN_USE => CUDA.get().map(|cuda| cuda as &dyn Device),
        WATCHED => look(),
        _ => None,
    }
}

#[cold]
fn look() -> Option<&'static dyn Device> {
    if CUDA.get().is_none() {
        let _ = CUDA.set(Cuda::of_process()?);
    }
    let _ = STATE.compare_exchange(WATCHED, IN_USE, Ordering::AcqRel, Ordering::Relaxed);
    CUDA.get().map(|cuda| cuda as &dyn Device)
}
