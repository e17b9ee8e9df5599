//! What processes are called here that may be in other namespaces: their own numbers mean something else here, or nothing.
//!
//! A rank notes its number and its namespace on its page. Where that is another one than ours, its process is looked for among
//! those that we see. Of one that we do not see nothing can be said: neither that it runs nor that it has gone.

use serried_engine::job::process::own_namespace;
use serried_engine::observe::Page;
use std::collections::HashMap;
use std::fs;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// A process, as it sees itself.
type Own = (u64, u32);

/// Those that were found, so that not all processes are looked at each time.
static FOUND: Mutex<Option<HashMap<Own, u32>>> = Mutex::new(None);

/// What the process of a rank is called here; `None` if we do not see it. A rank of another host has no process here.
pub fn process(page: &Page) -> Option<u32> {
    let own = (page.identity.namespace.load(Relaxed), page.identity.pid.load(Relaxed));
    match own {
        (_, 0) => None,
        (namespace, number) if namespace == own_namespace() => Some(number),
        own => elsewhere(own),
    }
}

/// What a thread of the process of a rank is called here, behind the process. `number` is what the rank calls it.
pub fn thread(page: &Page, number: u32) -> Option<(u32, u32)> {
    let process = process(page)?;
    if page.identity.namespace.load(Relaxed) == own_namespace() {
        return Some((process, number));
    }
    let threads = numbered(Path::new(&format!("/proc/{process}/task")));
    let found = threads.into_iter().find(|(_, place)| innermost(place) == Some(number))?;
    Some((process, found.0))
}

fn elsewhere(own: Own) -> Option<u32> {
    let mut known = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let is_it = |process: u32| is(own, Path::new(&format!("/proc/{process}")));
    if let Some(&process) = known.get(&own).filter(|&&process| is_it(process)) {
        return Some(process);
    }
    let (process, _) = numbered(Path::new("/proc")).into_iter().find(|(_, place)| is(own, place))?;
    known.insert(own, process);
    Some(process)
}

/// Whether this is the folder of such a process.
fn is((namespace, number): Own, place: &Path) -> bool {
    fs::metadata(place.join("ns/pid")).is_ok_and(|known| known.st_ino() == namespace)
        && innermost(place) == Some(number)
}

/// What a process or a thread calls itself.
fn innermost(place: &Path) -> Option<u32> {
    let status = fs::read_to_string(place.join("status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().last()?.parse().ok()
}

/// The folders in a folder whose names are numbers.
fn numbered(folder: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::job::NodeSegment;
    use serried_engine::memory::system_calls::thread_number;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    fn noted(node: &NodeSegment, namespace: u64, number: u32) -> &Page {
        let page = node.page(0);
        page.identity.namespace.store(namespace, Relaxed);
        page.identity.pid.store(number, Relaxed);
        page
    }

    #[test]
    fn a_process_of_our_namespace_is_called_what_it_calls_itself() {
        let node = NodeSegment::create(1).unwrap();
        assert_eq!(process(node.page(0)), None);
        let page = noted(&node, own_namespace(), std::process::id());
        assert_eq!(process(page), Some(std::process::id()));
        assert_eq!(thread(page, thread_number()), Some((std::process::id(), thread_number())));
    }

    #[test]
    fn a_process_of_another_namespace_is_found_and_one_that_is_not_seen_is_not() {
        let node = NodeSegment::create(1).unwrap();
        assert_eq!(process(noted(&node, 1, std::process::id())), None, "nobody is there");
        let mut apart = Command::new("unshare");
        apart
            .args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "sleep", "60"])
            .stderr(Stdio::null());
        let Ok(mut outer) = apart.spawn() else { return };
        let until = Instant::now() + Duration::from_secs(10);
        let inner = loop {
            let below =
                fs::read_to_string(format!("/proc/{0}/task/{0}/children", outer.id())).unwrap_or_default();
            let sleeps = |one: &&str| {
                fs::read_to_string(format!("/proc/{one}/comm")).is_ok_and(|name| name == "sleep\n")
            };
            if let Some(inner) = below.split_ascii_whitespace().find(sleeps) {
                break inner.parse::<u32>().unwrap();
            }
            if outer.try_wait().unwrap().is_some() || Instant::now() > until {
                return; // namespaces may not be made here
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let namespace = fs::metadata(format!("/proc/{inner}/ns/pid")).unwrap().st_ino();
        let page = noted(&node, namespace, 1);
        let found = [process(page), process(page)];
        let of_thread = [thread(page, 1), thread(page, inner + 1)];
        outer.kill().unwrap();
        outer.wait().unwrap();
        assert_eq!((found, of_thread), ([Some(inner); 2], [Some((inner, inner)), None]));
    }
}
