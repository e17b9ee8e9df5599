//! `serried info --pairs`: by what means ranks reach each other's memory, tried.
//!
//! Run by itself it starts a job of itself; run as a program of a job (behind
//! whatever starts the program in a container, say) it is that job's ranks.

use crate::run::across::job_hosts::JobHosts;
use crate::system::host_name;
use crate::{device_memory, run};
use serried_engine::engine::device_pairs::OfDevice;
use serried_engine::engine::pairs::Reached;
use serried_engine::engine::reaching::PATIENCE;
use serried_engine::job::detect::{self, Launcher};
use serried_engine::settings::HOSTS;
use serried_engine::transport::Means;
use serried_engine::{Engine, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Instant;

/// Does it; returns the exit status. `arguments` are options of `serried run`.
pub fn command(arguments: &[OsString]) -> i32 {
    match detect::detect(&|name| std::env::var(name).ok()) {
        Ok(Launcher::None) => run::this_command(arguments, &["info", "--pairs"]),
        Ok(_) => be_a_rank().unwrap_or_else(|error| {
            eprintln!("serried: {}", error.message());
            1
        }),
        Err(error) => {
            eprintln!("serried: {}", error.message());
            1
        }
    }
}

fn be_a_rank() -> Result<i32> {
    let engine = Engine::start()?;
    if !reaches_all(&engine)? {
        return Ok(1);
    }
    let pairs = engine.try_pairs()?;
    let devices: BTreeMap<u32, Option<OfDevice>> =
        engine.try_devices(device_memory::of_first_device())?.into_iter().collect();
    let line = |found: &Reached| {
        let device = devices.get(&found.peer).and_then(Option::as_ref).map(of_device).unwrap_or_default();
        format!("{} {} {}{device}", engine.rank(), found.peer, in_words(found))
    };
    let at_once = engine.try_multicast()?;
    let lines: Vec<String> = pairs.iter().map(line).collect();
    let texts = engine.gather_texts(&lines.join("\n"))?;
    if engine.rank() == 0 {
        print!("{}", table(engine.size(), &texts));
        at_once.iter().for_each(|found| println!("{}", of_multicast(found)));
    }
    engine.finalize()?;
    Ok(0)
}

/// Whether this host can connect to the others; if not, it says so, and waits until the others have said the same.
fn reaches_all(engine: &Engine) -> Result<bool> {
    let began = Instant::now();
    let unreached = engine.try_nodes()?;
    let hosts = std::env::var(HOSTS).ok().and_then(|text| JobHosts::read(&text)).unwrap_or_default().hosts;
    for found in &unreached {
        let node = || format!("node {}", found.node);
        let other = hosts.get(found.node as usize).map_or_else(node, |host| host.name.clone());
        eprintln!("serried: {} does not reach {other} at {}", host_name(), found.why);
    }
    if !unreached.is_empty() {
        std::thread::sleep((2 * PATIENCE).saturating_sub(began.elapsed()));
    }
    Ok(unreached.is_empty())
}

fn in_words(found: &Reached) -> String {
    if found.is_far {
        return format!("memory: by messages; {}", found.why).replace('\n', "\t");
    }
    let windows = match &found.windows {
        Ok(()) => "mapped (direct)".to_owned(),
        Err(why) => format!("not mapped: {why}"),
    };
    let rest = match found.rest {
        Means::Direct => "direct",
        Means::CrossMemory => "one copy by the kernel (cross-memory)",
        Means::MemoryFile => "one copy from a descriptor that the owner has passed (memory-file)",
        Means::Cells => "two copies through shared memory (cells)",
    };
    let why = if found.why.is_empty() { String::new() } else { format!("; no better because {}", found.why) };
    format!("memory in windows: {windows}\nother memory: {rest}{why}").replace('\n', "\t")
}

/// Whether broadcasts may go to all nodes at once.
fn of_multicast(found: &std::result::Result<u32, String>) -> String {
    match found {
        Ok(nodes) => {
            format!("IP multicast reaches all {nodes} nodes: long broadcasts use it over 8 nodes and more")
        }
        Err(why) => format!("IP multicast is not used for broadcasts: {why}"),
    }
}

/// How memory of a device is read, as a further line.
fn of_device(found: &OfDevice) -> String {
    let words = match found {
        Ok(()) => "mapped: one copy by the driver (CUDA IPC)".to_owned(),
        Err(why) => format!("copied by its owner; not mapped because {why}"),
    };
    format!("\tmemory of devices: {}", words.replace(['\n', '\t'], " "))
}

/// Pairs of which the same is true stand together.
fn table(size: u32, texts: &[String]) -> String {
    if size < 2 {
        return "There is one rank, so there are no pairs.\n".to_owned();
    }
    let mut groups = BTreeMap::<&str, Vec<String>>::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let mut parts = line.splitn(3, ' ');
        let (Some(reader), Some(owner), Some(words)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        groups.entry(words).or_default().push(format!("{reader}<-{owner}"));
    }
    let mut text = format!("How the {size} ranks read each other's memory (reader<-owner):\n");
    let alone = groups.len() == 1;
    for (words, pairs) in groups {
        let who = if alone { format!("all {} pairs", pairs.len()) } else { pairs.join(" ") };
        text += &format!("  {who}\n    {}\n", words.replace('\t', "\n    "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_alike_stand_together() {
        let texts = ["0 1 a\tb\n0 2 c".to_owned(), "1 0 a\tb\n1 2 a\tb".to_owned()];
        let text = table(3, &texts);
        assert!(text.ends_with("  0<-1 1<-0 1<-2\n    a\n    b\n  0<-2\n    c\n"), "{text}");
        assert!(table(2, &texts[1..]).contains("  all 2 pairs\n"));
    }
}
