//! Which MPI the mpi4py of a Python would take, by the rules of its wheel
//! (`tests/mpi4py/README.md`), without running it.

use super::elf::Elf;
use super::finding::Findings;
use super::library::{self, Maker};
use std::path::{Path, PathBuf};

/// A Python with mpi4py.
struct Found {
    package: PathBuf,
    /// Folders in which mpi4py looks for a library before it asks the linker.
    folders: Vec<PathBuf>,
}

/// Looks at the Python of this path, or at the first in PATH.
pub fn look(python: &Path, findings: &mut Findings) {
    let Some(found) = find(python) else {
        return findings.note("mpi4py", format!("{} has no mpi4py", python.display()));
    };
    let modules = modules(&found.package);
    let package = found.package.display();
    let names: Vec<&str> = modules.iter().map(|(abi, _)| abi.as_str()).collect();
    if let Some((_, path)) = modules.iter().find(|(abi, _)| abi.is_empty()) {
        findings.note("mpi4py", format!("{package} was built for one MPI"));
        return library::look(path, findings);
    }
    findings.fine("mpi4py", format!("{package} can take libraries of these ABIs: {}", names.join(", ")));
    under_serried(&names, findings);
    let without = std::env::var_os("MPI4PY_LIBMPI").is_none() && std::env::var_os("MPI4PY_MPIABI").is_none();
    if let Some(other) = without.then(|| otherwise(&found)).flatten() {
        let maker = Maker::of(&other);
        if maker != Maker::Serried {
            let text =
                format!("started by anything else, mpi4py takes {} ({})", other.path.display(), maker.name());
            findings.note("mpi4py-otherwise", text);
        }
    }
}

fn under_serried(names: &[&str], findings: &mut Findings) {
    match std::env::var("MPI4PY_MPIABI").ok().or_else(|| std::env::var("MPI4PY_LIBMPI").ok()) {
        Some(abi) if abi == "openmpi" || abi.contains("libmpi.so.40") => {
            let text =
                format!("the environment makes mpi4py take Open MPI ({abi}), so each rank would be alone");
            findings.fault("mpi4py", text, "unset MPI4PY_MPIABI MPI4PY_LIBMPI");
        }
        Some(choice) => findings.note("mpi4py", format!("the environment makes mpi4py take {choice}")),
        None if names.contains(&"mpich") || names.contains(&"mpiabi") => {
            findings.fine("mpi4py", "started by `serried run`, mpi4py takes Serried (libmpi.so.12)");
        }
        None => findings.fault(
            "mpi4py",
            "this mpi4py has no module for the MPICH ABI",
            "pip install --force-reinstall mpi4py",
        ),
    }
}

/// Extension modules by ABI; one without a name was built for one MPI.
fn modules(package: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(package).into_iter().flatten().flatten();
    let mut found: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let middle = name.strip_prefix("MPI.")?.strip_suffix(".so")?;
            let abi = middle.split('.').next()?;
            let abi = if abi.starts_with("cpython") || abi.starts_with("abi3") { "" } else { abi };
            Some((abi.to_owned(), entry.path()))
        })
        .collect();
    found.sort();
    found
}

fn find(python: &Path) -> Option<Found> {
    let bin = python.parent()?;
    let real = std::fs::canonicalize(python).ok()?;
    let mut prefixes = vec![bin.parent()?.to_owned()];
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local"));
    prefixes.extend(home);
    prefixes.extend(real.parent().and_then(Path::parent).map(Path::to_owned));
    let version = real.file_name()?.to_str()?.to_owned();
    let package = prefixes.iter().find_map(|prefix| {
        let versions = std::fs::read_dir(prefix.join("lib")).ok()?.flatten().map(|entry| entry.path());
        let mut fitting: Vec<PathBuf> = versions
            .filter(|path| {
                path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with("python3"))
            })
            .filter(|path| !version.contains('.') || path.ends_with(&version) || path.ends_with("python3"))
            .collect();
        fitting.sort();
        let folders =
            fitting.iter().flat_map(|path| ["site-packages", "dist-packages"].map(|name| path.join(name)));
        folders.map(|folder| folder.join("mpi4py")).find(|package| package.is_dir())
    })?;
    let folders = prefixes
        .iter()
        .filter(|prefix| *prefix != Path::new("/usr"))
        .map(|prefix| prefix.join("lib"))
        .collect();
    Some(Found { package, folders })
}

/// What mpi4py finds where nobody has chosen for it.
fn otherwise(found: &Found) -> Option<Elf> {
    let names = ["libmpi.so", "libmpi.so.12", "libmpi.so.40"];
    let machine = library::this_machine();
    let beside = found.folders.iter().flat_map(|folder| names.map(|name| folder.join(name)));
    let beside = beside.filter_map(|path| Elf::read(&path).ok()).find(|elf| elf.machine == machine);
    let search = library::search(false);
    beside.or_else(|| names.iter().find_map(|name| search.find_alone(name, machine)))
}
