//! Our libraries in the environment of a program: where they are, and what makes a program load them.
//!
//! A library path with our libraries in front makes programs built against MPICH pick ours up.

use serried_engine::settings::{HOSTS, RESTART, SEGMENT};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Environment variables by name.
pub type Environment = BTreeMap<OsString, OsString>;

/// Prefixes of variables that tell a rank of some other job who it is.
const OTHER_LAUNCHERS: [&str; 8] =
    ["PMI_", "PMIX_", "HYDI_", "HYDRA_", "MPI_LOCAL", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "PRTE_"];

/// Takes out the variables by which launchers speak to their own ranks.
pub fn forget_launcher(environment: &mut Environment) {
    environment.retain(|name, _| !belongs_to_launcher(name));
}

/// Has programs load our libraries rather than others of the same names.
pub fn put_ours_in_front(environment: &mut Environment) {
    if let Some(folder) = folder() {
        put_in_front(environment, "LD_LIBRARY_PATH", &folder);
        // A wheel has no links: what it has as libmpi.so in our folder is for linkers, and this for programs.
        let names = folder.join("names");
        if names.is_dir() {
            put_in_front(environment, "LD_LIBRARY_PATH", &names);
        }
        choose_for_mpi4py(environment, &folder);
    }
}

/// The mpi4py wheel looks for an MPI beside its Python before it asks the
/// library path; unless the user has chosen, it gets ours, for the ABI that the user wants.
fn choose_for_mpi4py(environment: &mut Environment, folder: &Path) {
    let abi = environment.get(OsStr::new("MPI4PY_MPIABI")).and_then(|abi| abi.to_str()).unwrap_or_default();
    let abi: String = abi.to_lowercase().chars().filter(|letter| !" -_".contains(*letter)).collect();
    let library = match abi.as_str() {
        "" | "mpich" => "libmpi.so.12",
        "openmpi" => "libmpi.so.40",
        "mpiabi" => "libmpi_abi.so.1",
        _ => return,
    };
    let library = folder.join(library).into_os_string();
    environment.entry("MPI4PY_LIBMPI".into()).or_insert(library);
}

/// Has a program that loads its MPI library late begin with our malloc, so that
/// its ranks can map big blocks from each other.
pub fn preload_malloc(environment: &mut Environment) {
    let library = folder().map(|folder| folder.join("libserried_malloc.so"));
    if let Some(library) = library.filter(|library| library.exists()) {
        put_in_front(environment, "LD_PRELOAD", &library);
    }
}

/// Whether a variable is one by which a launcher speaks to its own ranks.
pub fn belongs_to_launcher(name: &OsStr) -> bool {
    let name = name.as_bytes();
    [SEGMENT, RESTART, HOSTS].iter().any(|ours| name == ours.as_bytes())
        || OTHER_LAUNCHERS.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

/// Puts a folder or file before all others of a variable that lists them.
pub fn put_in_front(environment: &mut Environment, name: &str, folder: &Path) {
    let mut value = folder.as_os_str().to_owned();
    if let Some(old) = environment.get(OsStr::new(name)).filter(|old| !old.is_empty()) {
        value.push(":");
        value.push(old);
    }
    environment.insert(name.into(), value);
}

/// Our libraries' folder, found from the place of this executable; none when
/// they are not there (as in a build folder).
pub fn folder() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    let folder = executable.parent()?.parent()?.join("lib");
    let ours = ["libmpi_abi.so.1", "libmpi.so.12"].iter().any(|name| folder.join(name).exists());
    ours.then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_libraries_come_before_others() {
        let mut some = Environment::from([("LD_LIBRARY_PATH".into(), "/old".into())]);
        put_in_front(&mut some, "LD_LIBRARY_PATH", Path::new("/ours"));
        assert_eq!(some[OsStr::new("LD_LIBRARY_PATH")], "/ours:/old");
    }
}
