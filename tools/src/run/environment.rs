//! The environment of the ranks.
//!
//! Inherited variables, without those by which other launchers speak to their
//! own ranks; then what the user sets; then ours. A library path with our
//! libraries in front makes programs built against MPICH pick ours up.

use super::options::{Options, Program};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The descriptor of the node segment and the inode of the rank's PMI socket.
pub use serried_engine::settings::SEGMENT;

/// Prefixes of variables that tell a rank of some other job who it is.
const OTHER_LAUNCHERS: [&str; 8] =
    ["PMI_", "PMIX_", "HYDI_", "HYDRA_", "MPI_LOCAL", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "PRTE_"];

/// Environment variables by name.
pub type Environment = BTreeMap<OsString, OsString>;

/// The environment of a program, without the variables of each rank.
pub fn of_program(options: &Options, program: &Program, inherited: Environment) -> Environment {
    let mut environment = inherited;
    if options.empty_environment || program.empty_environment {
        environment.clear();
    }
    environment.retain(|name, _| !belongs_to_launcher(name));
    for name in &options.unset {
        environment.remove(name);
    }
    environment.extend(options.environment.iter().cloned());
    environment.extend(program.environment.iter().cloned());
    if !options.keep_library_path {
        if let Some(folder) = library_folder() {
            put_in_front(&mut environment, "LD_LIBRARY_PATH", &folder);
            choose_for_mpi4py(&mut environment, &folder);
        }
    }
    environment
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
    let library = library_folder().map(|folder| folder.join("libserried_malloc.so"));
    if let Some(library) = library.filter(|library| library.exists()) {
        put_in_front(environment, "LD_PRELOAD", &library);
    }
}

fn belongs_to_launcher(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name == SEGMENT.as_bytes() || OTHER_LAUNCHERS.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
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
pub fn library_folder() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    let folder = executable.parent()?.parent()?.join("lib");
    let ours = ["libmpi_abi.so.1", "libmpi.so.12"].iter().any(|name| folder.join(name).exists());
    ours.then_some(folder)
}

/// The environment as `execve` wants it.
pub fn strings(environment: &Environment) -> Vec<CString> {
    let join = |(name, value): (&OsString, &OsString)| {
        let mut text = name.clone();
        text.push("=");
        text.push(value);
        CString::new(text.into_vec()).ok()
    };
    environment.iter().filter_map(join).collect()
}

/// Who a rank is.
#[derive(Debug)]
pub struct Identity {
    /// Rank in the job.
    pub rank: u32,
    /// Ranks in the job.
    pub size: u32,
    /// Descriptor of its PMI socket.
    pub pmi: i32,
    /// Inode of that socket: proof that the segment belongs to it.
    pub pmi_inode: u64,
    /// Descriptor of the node segment.
    pub segment: i32,
    /// Whether its program is built for Open MPI.
    pub open_mpi: bool,
}

/// The variables that tell a rank who it is.
pub fn of_rank(identity: &Identity) -> Vec<CString> {
    let Identity { rank, size, pmi, pmi_inode, segment, open_mpi } = identity;
    let mut texts = vec![
        format!("PMI_RANK={rank}"),
        format!("PMI_SIZE={size}"),
        format!("PMI_FD={pmi}"),
        format!("MPI_LOCALRANKID={rank}"),
        format!("MPI_LOCALNRANKS={size}"),
        format!("{SEGMENT}={segment}:{pmi_inode}"),
    ];
    if *open_mpi {
        // Programs read these before MPI_Init, to see whether they are parallel.
        let values =
            [("RANK", rank), ("SIZE", size), ("LOCAL_RANK", rank), ("LOCAL_SIZE", size), ("NODE_RANK", rank)];
        texts.extend(values.map(|(name, value)| format!("OMPI_COMM_WORLD_{name}={value}")));
        texts.push(format!("OMPI_UNIVERSE_SIZE={size}"));
    }
    texts.into_iter().map(|text| CString::new(text).expect("no NUL in these")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn what_other_launchers_told_is_not_passed_on() {
        let inherited = environment(&[
            ("PMI_RANK", "3"),
            ("PMIX_NAMESPACE", "x"),
            ("HOME", "/"),
            (SEGMENT, "3:4"),
            ("PMIND", "1"),
        ]);
        let left = of_program(&Options::default(), &Program::default(), inherited);
        assert!(left.contains_key(OsStr::new("HOME")) && left.contains_key(OsStr::new("PMIND")));
        assert!(!left.keys().any(|name| belongs_to_launcher(name)));
    }

    #[test]
    fn the_users_wishes_come_in_order_global_then_local() {
        let mut options = Options { unset: vec!["GONE".into()], ..Options::default() };
        options.environment = vec![("A".into(), "global".into()), ("B".into(), "global".into())];
        let program = Program { environment: vec![("B".into(), "local".into())], ..Program::default() };
        let result = of_program(&options, &program, environment(&[("A", "inherited"), ("GONE", "1")]));
        let value = |name: &str| result.get(OsStr::new(name)).and_then(|value| value.to_str());
        assert_eq!((value("A"), value("B"), value("GONE")), (Some("global"), Some("local"), None));
    }

    #[test]
    fn our_libraries_come_before_others() {
        let mut some = environment(&[("LD_LIBRARY_PATH", "/old")]);
        put_in_front(&mut some, "LD_LIBRARY_PATH", Path::new("/ours"));
        assert_eq!(some[OsStr::new("LD_LIBRARY_PATH")], "/ours:/old");
    }
}
