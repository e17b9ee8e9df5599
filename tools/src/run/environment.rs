//! The environment of the ranks.
//!
//! Inherited variables, without those by which other launchers speak to their
//! own ranks; then those that the user sets; then ours (`system/libraries.rs`).

use super::options::{Options, Program};
use crate::system::libraries::{self, Environment};
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;

/// The descriptor of the node segment and the inode of the rank's PMI socket.
pub use serried_engine::settings::SEGMENT;

/// The environment of a program, without the variables of each rank.
pub fn of_program(options: &Options, program: &Program, inherited: Environment) -> Environment {
    let mut environment = inherited;
    if options.empty_environment || program.empty_environment {
        environment.clear();
    }
    libraries::forget_launcher(&mut environment);
    for name in &options.unset {
        environment.remove(name);
    }
    environment.extend(options.environment.iter().cloned());
    environment.extend(program.environment.iter().cloned());
    if !options.keep_library_path {
        libraries::put_ours_in_front(&mut environment);
    }
    environment
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
    use std::ffi::OsStr;

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
        assert!(!left.keys().any(|name| libraries::belongs_to_launcher(name)));
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
}
