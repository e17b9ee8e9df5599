//! Which threads of this process may go on by themselves: all but those that wait
//! in the engine, and those that wait without a time limit for another thread, unless a signal
//! handler of the program may wake these (`sem_post` is allowed there).

use super::unseen;
use crate::memory::system_calls::thread_number;
use crate::transport::network::THREADS;
use std::fs;

/// `FUTEX_WAIT` and `FUTEX_WAIT_BITSET`, and the flags beside the command.
const WAITS: [u64; 2] = [0, 9];
const PRIVATE: u64 = 128;
const COMMAND: u64 = 127;

/// Threads beside those in `waiting` that may go on, in words. Only they can free a
/// process all of whose other threads wait.
pub(super) fn that_may_act(waiting: &[u32]) -> Vec<String> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return vec!["threads that cannot be looked at".into()];
    };
    let all: Vec<u32> = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok()).collect();
    let me = thread_number();
    let may_act = |thread: &u32| *thread != me && !waiting.contains(thread) && !is_ours(*thread);
    let others: Vec<u32> = all.iter().copied().filter(may_act).collect();
    let handlers = if others.is_empty() { None } else { unseen::handlers() };
    others.into_iter().filter_map(|thread| what_it_may(thread, &all, handlers.as_deref())).collect()
}

/// Whether a thread is the engine's: such do nothing for the program.
fn is_ours(thread: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/self/task/{thread}/comm"));
    name.is_ok_and(|name| name.starts_with(THREADS))
}

fn what_it_may(thread: u32, all: &[u32], handlers: Option<&str>) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok();
    let doing = match text.as_deref().map(str::trim) {
        None => "cannot be looked at".to_owned(),
        Some("running") => "runs".to_owned(),
        Some(call) => {
            let words: Vec<u64> = call.split(' ').filter_map(number).collect();
            if waits_for_a_thread(&words, all) {
                return handlers.map(|handlers| format!("thread {thread} may be woken by {handlers}"));
            }
            format!("is in system call {}", words.first().copied().unwrap_or_default())
        }
    };
    Some(format!("thread {thread} {doing}"))
}

fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Whether a system call (its number and arguments) is a wait without a time limit
/// that only a thread of this process ends: a private futex, or one whose word is
/// the number of a thread of ours (`pthread_join`).
fn waits_for_a_thread(words: &[u64], all: &[u32]) -> bool {
    let &[call, address, operation, _, limit, ..] = words else { return false };
    let waits = call == libc::SYS_futex as u64 && WAITS.contains(&(operation & COMMAND)) && limit == 0;
    waits && (operation & PRIVATE != 0 || word_at(address).is_some_and(|word| all.contains(&word)))
}

/// A word of our own memory, which may have gone meanwhile.
fn word_at(address: u64) -> Option<u32> {
    use std::os::unix::fs::FileExt;
    let mut word = [0; 4];
    fs::File::open("/proc/self/mem").ok()?.read_exact_at(&mut word, address).ok()?;
    Some(u32::from_ne_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::{mpsc, Arc};
    use std::time::{Duration, Instant};

    /// Waits for what comes by itself, on a busy machine late.
    fn until(holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
    }

    #[test]
    fn who_sleeps_may_act_and_who_waits_for_a_thread_may_not() {
        let (stop, stopped) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let number = thread_number;
        let teller = tell.clone();
        let waiter = std::thread::spawn(move || {
            teller.send(number()).unwrap();
            stopped.recv().unwrap_err();
        });
        let waits = told.recv().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let sleeper = std::thread::spawn(move || {
            tell.send(number()).unwrap();
            while !is_over.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let sleeps = told.recv().unwrap();
        let may = |thread| what_it_may(thread, &[waits, sleeps], None);
        until(|| may(waits).is_none());
        until(|| may(sleeps).is_some_and(|said| said.contains("system call")));
        let woken = what_it_may(waits, &[waits, sleeps], Some("the program's handler of SIGALRM"));
        assert_eq!(woken, Some(format!("thread {waits} may be woken by the program's handler of SIGALRM")));
        drop(stop);
        over.store(true, Relaxed);
        waiter.join().unwrap();
        sleeper.join().unwrap();
    }
}
