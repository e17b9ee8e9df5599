//! Ranks that call what finds nothing and sleep in between: told from those that compute there, or
//! wait for something that MPI knows nothing of, by looking at their threads now and then.

use std::fs;

/// Of so many looks...
const LOOKS: u32 = 40;
/// ...so many have to find the thread asleep. Else it computes, or the machine is so busy that
/// nobody can tell.
const ASLEEP: u32 = 30;

/// Threads that are looked at.
#[derive(Debug)]
pub struct Naps {
    threads: Vec<Napper>,
    looks: u32,
}

#[derive(Debug)]
struct Napper {
    process: u32,
    thread: u32,
    asleep: u32,
    waits: bool,
}

/// What a thread does.
#[derive(Debug, PartialEq)]
enum Doing {
    /// It sleeps for a time.
    Sleeps,
    /// It runs, or wants to, or is in MPI.
    Runs,
    /// It waits for something that may come from anywhere.
    Waits,
}

impl Naps {
    /// Nobody has looked at these threads, each with its process, yet.
    pub fn new(threads: impl Iterator<Item = (u32, u32)>) -> Naps {
        let napper = |(process, thread)| Napper { process, thread, asleep: 0, waits: false };
        Naps { threads: threads.map(napper).collect(), looks: 0 }
    }

    /// Looks once; `Some` after enough looks: whether all of them do nothing but sleeping.
    pub fn look(&mut self) -> Option<bool> {
        for napper in &mut self.threads {
            let path = format!("/proc/{}/task/{}/syscall", napper.process, napper.thread);
            match fs::read_to_string(path).map_or(Doing::Waits, |text| doing(&text)) {
                Doing::Sleeps => napper.asleep += 1,
                Doing::Runs => {}
                Doing::Waits => napper.waits = true,
            }
        }
        self.looks += 1;
        (self.looks >= LOOKS)
            .then(|| self.threads.iter().all(|napper| napper.asleep >= ASLEEP && !napper.waits))
    }
}

/// What the system says of a thread: its system call with the arguments, if it is in one.
fn doing(text: &str) -> Doing {
    let mut words = text.split_ascii_whitespace();
    let (call, arguments) = match words.next() {
        Some("running") | Some("-1") => return Doing::Runs,
        Some(call) => (call.parse::<i64>().unwrap_or(-1), words.collect::<Vec<_>>()),
        None => return Doing::Waits,
    };
    let nothing = |place: usize| arguments.get(place) == Some(&"0x0");
    match call {
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Doing::Sleeps,
        libc::SYS_futex | libc::SYS_sched_yield => Doing::Runs,
        // Waits for one of no files: a sleep as well.
        libc::SYS_pselect6 if nothing(0) => Doing::Sleeps,
        libc::SYS_ppoll if nothing(1) => Doing::Sleeps,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select if nothing(0) => Doing::Sleeps,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll if nothing(1) => Doing::Sleeps,
        _ => Doing::Waits,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::time::Duration;

    /// A thread that sleeps until the process ends, and does so when this returns. It never wakes: on a busy machine, one
    /// that has woken may wait for a core during all looks of a test, which take no time.
    pub fn sleeper() -> u32 {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            tell.send(serried_engine::memory::system_calls::thread_number()).unwrap();
            std::thread::sleep(Duration::from_secs(3600));
        });
        let thread = told.recv().unwrap();
        let path = format!("/proc/self/task/{thread}/syscall");
        while fs::read_to_string(&path).is_ok_and(|text| doing(&text) != Doing::Sleeps) {
            std::thread::yield_now();
        }
        thread
    }

    #[test]
    fn a_sleep_is_told_from_waiting_for_a_file() {
        let call = |number: i64, first: &str, second: &str| {
            format!("{number} {first} {second} 0x0 0x0 0x0 0x0 0x7ffc 0x7f00\n")
        };
        assert_eq!(doing("running\n"), Doing::Runs);
        assert_eq!(doing("-1 0x7ffc 0x7f00\n"), Doing::Runs);
        assert_eq!(doing(&call(libc::SYS_clock_nanosleep, "0x1", "0x0")), Doing::Sleeps);
        assert_eq!(doing(&call(libc::SYS_pselect6, "0x0", "0x0")), Doing::Sleeps);
        assert_eq!(doing(&call(libc::SYS_pselect6, "0x5", "0x7f00")), Doing::Waits);
        assert_eq!(doing(&call(libc::SYS_ppoll, "0x7f00", "0x1")), Doing::Waits);
        assert_eq!(doing(&call(libc::SYS_read, "0x0", "0x7f00")), Doing::Waits);
        assert_eq!(doing(""), Doing::Waits);
    }

    #[test]
    fn a_thread_that_has_gone_or_waits_for_input_does_not_only_sleep() {
        let mut gone = Naps::new([(std::process::id(), u32::MAX)].into_iter());
        let look = |naps: &mut Naps| loop {
            std::thread::sleep(Duration::from_millis(3));
            if let Some(found) = naps.look() {
                return found;
            }
        };
        assert!(!look(&mut gone));
        assert!(look(&mut Naps::new([(std::process::id(), sleeper())].into_iter())));
    }
}
