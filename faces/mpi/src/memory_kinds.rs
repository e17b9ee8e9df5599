//! Kinds of memory that buffers may lie in (MPI-5.0 §12.4.3, and the side document of the MPI Forum for kinds of devices).
//!
//! A kind is a name, perhaps with restrictors: `cuda:device`. Kinds are asked for in the info object of a session, on the
//! launcher's command line, or in the info object of a spawn. All objects answer the same: what is there without being asked
//! for, and what of the kinds that were asked for is there. So the answer never names a kind whose buffers would not be taken.

use crate::common::settings;
use crate::objects::Info;
use serried_engine::device;
use serried_engine::settings::MEMORY_KINDS as VARIABLE;
use serried_engine::Result;
use std::sync::{Arc, Mutex, Once, PoisonError};

/// Asks for kinds, and tells which there are.
pub const SUPPORTED: &str = "mpi_memory_alloc_kinds";
/// Says which kinds a program uses with an object.
pub const ASSERTED: &str = "mpi_assert_memory_alloc_kinds";

/// Names with the restrictors that they may have.
const KINDS: [(&str, &[&str]); 3] = [
    ("mpi", &["alloc_mem", "win_allocate", "win_allocate_shared"]),
    ("system", &[]),
    (CUDA, &["host", "device", "managed"]),
];
const CUDA: &str = "cuda";

/// What has been asked for and is there, beside the names alone.
static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn kinds_of(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|kind| !kind.is_empty())
}

/// Whether a kind is one that there is where devices of CUDA are `here`.
fn is_there(kind: &str, here: bool) -> bool {
    let mut words = kind.split(':');
    let name = words.next().unwrap_or_default();
    let Some((name, restrictors)) = KINDS.iter().find(|known| known.0 == name) else { return false };
    (*name != CUDA || here) && words.all(|word| restrictors.contains(&word))
}

/// What of a list of kinds is there and not among `known`, in its order.
fn further(list: &str, known: &[String], here: bool) -> Vec<String> {
    let mut found = Vec::<String>::new();
    for kind in kinds_of(list).filter(|kind| kind.contains(':') && is_there(kind, here)) {
        if !known.iter().chain(&found).any(|one| one == kind) {
            found.push(kind.to_owned());
        }
    }
    found
}

/// A program asks for kinds.
pub fn ask(list: &str) {
    if kinds_of(list).any(|kind| kind.split(':').next() == Some(CUDA)) {
        // The driver is loaded, so from now on it can be told whether it is there.
        let _ = settings::current().map(|settings| device::is_offered(settings.gpu));
    }
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = further(list, &asked, device::is_reached());
    asked.extend(found);
}

/// What was asked for when this process was started.
pub fn asked_at_start() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// All kinds that there are: the names alone first.
fn supported() -> String {
    static START: Once = Once::new();
    START.call_once(|| {
        if let Some(list) = asked_at_start() {
            ask(&list);
        }
    });
    let here = device::is_reached();
    let asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let names = KINDS.iter().map(|kind| kind.0).filter(|name| is_there(name, here));
    let all: Vec<&str> =
        names.chain(asked.iter().map(String::as_str).filter(|kind| is_there(kind, here))).collect();
    all.join(",")
}

/// What `MPI_*_get_info` gives: the hints, and the kinds of memory. An assertion that names kinds that are not there is no
/// hint, and is not told.
///
/// # Errors
/// `InfoValue` when so much was asked for that the answer is too long.
pub fn with_kinds(info: Info) -> Result<Arc<Info>> {
    info.set(SUPPORTED, &supported())?;
    let here = device::is_reached();
    if info.get(ASSERTED).is_some_and(|list| !kinds_of(&list).all(|kind| is_there(kind, here))) {
        info.delete(ASSERTED)?;
    }
    Ok(Arc::new(info))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_restrictors_of_their_own() {
        for kind in [
            "mpi",
            "system",
            "mpi:alloc_mem",
            "mpi:win_allocate:win_allocate_shared",
            "cuda",
            "cuda:device:host",
        ] {
            assert!(is_there(kind, true), "{kind}");
        }
        for kind in
            ["", "mpi:", "system:device", "cuda:shared", "mpi:device", "rocm:device", "level_zero", "CUDA"]
        {
            assert!(!is_there(kind, true), "{kind}");
        }
        assert!(is_there("system", false) && !is_there("cuda", false) && !is_there("cuda:host", false));
    }

    #[test]
    fn what_is_asked_for_is_told_once_if_it_is_there() {
        let known = ["cuda:device".to_owned()];
        let list = "system, rocm:device,cuda:device,cuda:managed,mpi:alloc_mem,cuda:managed,nonsense:host";
        assert_eq!(further(list, &known, true), ["cuda:managed", "mpi:alloc_mem"]);
        assert_eq!(further(list, &known, false), ["mpi:alloc_mem"]);
        assert!(further("", &known, true).is_empty());
    }
}
