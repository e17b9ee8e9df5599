//! What all commands ask of this machine: its name, its clock, its CPUs, signals, programs, our libraries.

pub mod libraries;
pub mod process_numbers;
pub mod programs;
pub mod signals;
pub mod topology;

/// The name of this machine.
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or("localhost".into(), |name| name.trim().to_owned())
}

/// Nanoseconds on the clock by which ranks note since when they wait.
pub fn monotonic_now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
