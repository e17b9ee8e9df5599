//! Functions and source lines of the stacks that ranks tell as bare addresses.
//!
//! A user who may look at a job may read what its processes have mapped (/proc/PID/maps), so the
//! debugging information is read here, and a rank that is asked keeps no memory for it.

use super::module::{Call, Module};
use serried_engine::observe::description::Thread;
use serried_engine::observe::Description;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Lines that are told.
const LINES: usize = 24;
/// The same where there is Python.
const BESIDE_PYTHON: usize = 2;

/// A part of a process that is mapped from a file.
#[derive(Clone, Debug, PartialEq)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    /// Device and inode, and the path, as the kernel writes them.
    file: String,
    path: String,
}

/// The files that have been read.
#[derive(Default)]
pub struct Sources {
    modules: HashMap<String, Option<Module>>,
}

impl Sources {
    /// Puts the stacks of a rank that has just answered into words.
    pub fn find(&mut self, process: u32, description: &mut Description) {
        if description.threads.iter().all(|thread| thread.addresses.is_empty()) {
            return;
        }
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        let maps: Vec<Mapping> = maps.lines().filter_map(read_mapping).collect();
        for thread in &mut description.threads {
            self.find_thread(process, &maps, thread);
        }
    }

    fn find_thread(&mut self, process: u32, maps: &[Mapping], thread: &mut Thread) {
        let addresses = std::mem::take(&mut thread.addresses);
        let mut places: Vec<(String, u64)> = Vec::new();
        for &address in &addresses {
            let inside = |mapping: &&Mapping| (mapping.start..mapping.end).contains(&address);
            // Code that was made at run time is in no file.
            let Some(mapping) = maps.iter().find(inside) else { continue };
            self.modules.entry(mapping.file.clone()).or_insert_with(|| open(process, mapping));
            places.push((mapping.file.clone(), address - mapping.start + mapping.offset));
        }
        let module = |file: &String| self.modules.get(file).and_then(Option::as_ref);
        let function = |(file, offset): &(String, u64)| module(file)?.function(*offset);
        let names: Vec<Option<String>> = places.iter().map(function).collect();
        let Some(border) = names.iter().rposition(|name| name.as_deref().is_some_and(is_of_a_face)) else {
            return;
        };
        let name = names[border].as_deref().unwrap_or_default();
        if is_of_mpi(name) {
            thread.call = name.trim_start_matches('P').to_owned();
        }
        let beyond = border + 1;
        let is_below_main = |place: usize| {
            let name = names[place].as_deref().unwrap_or_default();
            let of_the_system = module(&places[place].0).is_some_and(Module::is_of_the_system);
            name == "_start" || name.starts_with("__libc_start") || of_the_system
        };
        let end =
            (beyond..places.len()).rev().find(|&place| !is_below_main(place)).map_or(beyond, |last| last + 1);
        let most = if thread.python.is_empty() { LINES } else { BESIDE_PYTHON };
        let calls = places[beyond..end].iter().take(most).flat_map(|(file, offset)| match module(file) {
            Some(module) => module.calls(*offset),
            None => vec![unknown(file, *offset)],
        });
        let folder = std::env::current_dir().unwrap_or_default();
        thread.stack = calls.map(|call| in_words(&call, &folder)).take(most).collect();
    }
}

fn is_of_mpi(function: &str) -> bool {
    let name = function.strip_prefix('P').unwrap_or(function);
    name.starts_with("MPI_") || name.starts_with("mpi_")
}

/// Whether a function is one that programs call.
fn is_of_a_face(function: &str) -> bool {
    let of_others = ["shmem_", "pshmem_", "ARMCI_", "PARMCI_", "armci_"];
    is_of_mpi(function) || of_others.iter().any(|prefix| function.starts_with(prefix))
}

fn unknown(file: &str, offset: u64) -> Call {
    let name = file.rsplit('/').next().unwrap_or_default();
    Call { function: format!("{name}+{offset:#x}"), place: String::new() }
}

fn in_words(call: &Call, folder: &Path) -> String {
    let function = if call.function.is_empty() { "a function" } else { &call.function };
    match call.place.as_str() {
        "" => function.to_owned(),
        place => {
            let short = Path::new(place).strip_prefix(folder).unwrap_or(Path::new(place));
            format!("{function} at {}", short.display())
        }
    }
}

/// A line of /proc/PID/maps that can hold code of a file.
fn read_mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let rights = fields.next()?;
    let (offset, device, inode) = (fields.next()?, fields.next()?, fields.next()?);
    let path = fields.next()?.trim_start();
    let number = |word| u64::from_str_radix(word, 16).ok();
    (rights.contains('x') && path.starts_with('/')).then_some(Mapping {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        file: format!("{device} {inode} {path}"),
        path: path.to_owned(),
    })
}

/// The file behind a mapping. One that was replaced meanwhile is not read, unless it is
/// the program, which the kernel still has.
fn open(process: u32, mapping: &Mapping) -> Option<Module> {
    let program = PathBuf::from(format!("/proc/{process}/exe"));
    if let Some(name) = mapping.path.strip_suffix(" (deleted)") {
        let is_program = std::fs::read_link(&program).is_ok_and(|path| path == Path::new(&mapping.path));
        return if is_program { Module::open(&program, name) } else { None };
    }
    // In a container the path means something else there than here.
    let inside = format!("/proc/{process}/root{}", mapping.path);
    Module::open(Path::new(&inside), &mapping.path)
        .or_else(|| Module::open(Path::new(&mapping.path), &mapping.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_code_are_read() {
        let line = "55d0c0-55d1c0 r-xp 00002000 fd:01 1234                       /opt/my code/ring";
        let expected = Mapping {
            start: 0x55_d0c0,
            end: 0x55_d1c0,
            offset: 0x2000,
            file: "fd:01 1234 /opt/my code/ring".into(),
            path: "/opt/my code/ring".into(),
        };
        assert_eq!(read_mapping(line), Some(expected));
        assert_eq!(read_mapping(&line.replace("r-xp", "rw-p")), None);
        assert_eq!(read_mapping("7f00-7f01 r-xp 00000000 00:00 0 "), None);
        assert_eq!(read_mapping("7f00-7f01 r-xp 00000000 00:00 0                  [vdso]"), None);
    }

    #[test]
    fn places_below_the_current_folder_are_short() {
        let call = |place: &str| Call { function: "f".into(), place: place.into() };
        assert_eq!(in_words(&call("/there/heat.c:3"), Path::new("/there")), "f at heat.c:3");
        assert_eq!(in_words(&call("/opt/x.c:3"), Path::new("/there")), "f at /opt/x.c:3");
        assert_eq!(in_words(&call(""), Path::new("/")), "f");
    }

    #[test]
    fn functions_of_mpi_are_known() {
        assert!(["MPI_Recv", "PMPI_Recv", "mpi_recv_"].iter().all(|name| is_of_mpi(name)));
        assert!(["shmem_long_put", "pshmem_quiet", "ARMCI_Put"].iter().all(|name| is_of_a_face(name)));
        assert!(!["serried_wait", "main", "PMIx_Init"].iter().any(|name| is_of_mpi(name)));
    }
}
