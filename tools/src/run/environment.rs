//! The environment of the ranks.
//!
//! Inherited variables, without those by which other launchers speak to their
//! own ranks; then those that the user sets; then ours (`system/libraries.rs`).

use super::options::{Options, Program};
use crate::system::libraries::{self, Environment};
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

/// The descriptors of the node segment and of a line, and the inode of the rank's PMI socket.
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

/// What belongs to a host and not to a job: a rank has the value of its own host.
const OF_A_HOST: [&str; 6] =
    ["HOSTNAME", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "XDG_RUNTIME_DIR", "XDG_SESSION_ID"];

/// An environment that was made on another host, for this one, whose own is `own`.
pub fn on_this_host(made: &[CString], own: &Environment) -> Vec<CString> {
    let belongs = |text: &CString| OF_A_HOST.iter().any(|known| known.as_bytes() == name_of(text.as_bytes()));
    let kept = made.iter().filter(|text| !belongs(text)).cloned();
    let of_host: Environment = OF_A_HOST
        .iter()
        .filter_map(|name| own.get_key_value(OsStr::new(name)))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    kept.chain(strings(&of_host)).collect()
}

/// Who a rank is.
#[derive(Debug)]
pub struct Identity {
    /// Rank in the job.
    pub rank: u32,
    /// Ranks in the job.
    pub size: u32,
    /// Its number among the ranks of this host.
    pub local_rank: u32,
    /// Ranks of this host.
    pub local_size: u32,
    /// Descriptor of its PMI socket.
    pub pmi: i32,
    /// Inode of that socket: proof that the segment belongs to it.
    pub pmi_inode: u64,
    /// Descriptor of the node segment.
    pub segment: i32,
    /// Descriptor by which it gets sockets (`serried_engine::job::switchboard`).
    pub line: i32,
    /// Where there are several hosts: the descriptors of the table of nodes, and of the sockets at which this one listens.
    pub others: Vec<i32>,
    /// If another job has started this one: the descriptors of the first job's segment, unless there are several hosts, and of
    /// how this one came about.
    pub descent: Vec<i32>,
    /// Whether its program is built for Open MPI.
    pub open_mpi: bool,
}

/// By which libraries of linear algebra are told how many threads to make. They heed `OMP_NUM_THREADS` as well; that is left
/// alone, because programs compare it with what their command line says (GROMACS does).
const THREADS: [&str; 3] = ["OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"];

/// How many threads libraries of linear algebra make in a rank (NumPy's, say), if nobody has said so: its even share of the
/// CPUs. Else those of each rank would take all, and threads that wait in turns for a core are slower by orders of magnitude.
/// In a rank that is bound they see its share by themselves.
pub fn share_of_cpus(given: &[CString], local_size: u32, is_bound: bool) -> Vec<CString> {
    if is_bound || local_size < 2 || is_given(given, b"OMP_NUM_THREADS") {
        return Vec::new();
    }
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = (cpus / local_size as usize).max(1);
    let names = THREADS.into_iter().filter(|name| !is_given(given, name.as_bytes()));
    names.filter_map(|name| CString::new(format!("{name}={share}")).ok()).collect()
}

/// By which Python and the library of gfortran are told to keep nothing of what a program prints: else it would be seen late,
/// and lost with a rank that is killed. Programs in C learn it when they start MPI (`faces/common/src/standard_output.rs`).
const AT_ONCE: [&str; 2] = ["PYTHONUNBUFFERED=1", "GFORTRAN_UNBUFFERED_PRECONNECTED=y"];

/// The name in `name=value`.
fn name_of(setting: &[u8]) -> &[u8] {
    setting.split(|&byte| byte == b'=').next().unwrap_or_default()
}

/// Whether somebody has set a variable, also to nothing.
fn is_given(given: &[CString], name: &[u8]) -> bool {
    given.iter().any(|text| name_of(text.as_bytes()) == name)
}

/// Has what ranks print go out at once, where a launcher reads it and nobody has said otherwise.
pub fn lines_at_once(given: &[CString], size: u32) -> Vec<CString> {
    let wanted =
        AT_ONCE.into_iter().filter(|setting| size > 1 && !is_given(given, name_of(setting.as_bytes())));
    wanted.filter_map(|setting| CString::new(setting).ok()).collect()
}

/// The variables that tell a rank who it is.
pub fn of_rank(identity: &Identity) -> Vec<CString> {
    let Identity { rank, size, local_rank, local_size, pmi, pmi_inode, .. } = identity;
    let Identity { segment, line, others, descent, open_mpi, .. } = identity;
    let list = |numbers: &[i32]| numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
    let others = match (others.is_empty(), descent.is_empty()) {
        (true, true) => String::new(),
        (_, true) => format!(":{}", list(others)),
        (_, false) => format!(":{}:{}", list(others), list(descent)),
    };
    let mut texts = vec![
        format!("PMI_RANK={rank}"),
        format!("PMI_SIZE={size}"),
        format!("PMI_FD={pmi}"),
        format!("MPI_LOCALRANKID={local_rank}"),
        format!("MPI_LOCALNRANKS={local_size}"),
        format!("{SEGMENT}={segment},{line}:{pmi_inode}{others}"),
    ];
    if *open_mpi {
        // Programs read these before MPI_Init, to see whether they are parallel.
        let values = [
            ("RANK", rank),
            ("SIZE", size),
            ("LOCAL_RANK", local_rank),
            ("LOCAL_SIZE", local_size),
            ("NODE_RANK", local_rank),
        ];
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
        assert!(!left.keys().any(|name| libraries::belongs_to_launcher(name)));
    }

    #[test]
    fn what_belongs_to_a_host_is_that_of_the_host() {
        let made = [c"A=1", c"HOSTNAME=there", c"SSH_TTY=x", c"HOSTNAMES=2"].map(CString::from);
        let here = on_this_host(&made, &environment(&[("HOSTNAME", "here"), ("B", "2")]));
        assert_eq!(here, [c"A=1", c"HOSTNAMES=2", c"HOSTNAME=here"].map(CString::from));
    }

    #[test]
    fn a_rank_that_is_not_bound_has_its_share_of_threads_unless_somebody_has_said_how_many() {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let shares = |given: &[CString], ranks, is_bound| {
            let shares = share_of_cpus(given, ranks, is_bound);
            shares.into_iter().map(|text| text.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        let all = |share: usize| THREADS.map(|name| format!("{name}={share}")).join(" ");
        assert_eq!((shares(&[], 1, false), shares(&[], 2, true)), (String::new(), String::new()));
        assert_eq!(shares(&[], 2, false), all((cpus / 2).max(1)));
        assert_eq!(shares(&[], 100_000, false), all(1));
        let said = |text: &std::ffi::CStr| [c"A=1".into(), text.into()];
        assert_eq!(shares(&said(c"OMP_NUM_THREADS=3"), 2, false), "");
        assert_eq!(shares(&said(c"OMP_NUM_THREADS_IN=3"), 100_000, false), all(1));
        let others = shares(&said(c"OPENBLAS_NUM_THREADS=3"), 100_000, false);
        assert_eq!(others, "MKL_NUM_THREADS=1 BLIS_NUM_THREADS=1");
    }

    #[test]
    fn what_ranks_print_goes_out_at_once_unless_somebody_has_said_otherwise() {
        let said = |given: &[CString], size| {
            lines_at_once(given, size).into_iter().map(|text| text.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!((said(&[], 1), said(&[], 2)), (Vec::new(), AT_ONCE.map(String::from).to_vec()));
        let own = [c"PYTHONUNBUFFERED=".into(), c"GFORTRAN_UNBUFFERED_PRECONNECTED=n".into()];
        assert_eq!(said(&own, 2), Vec::<String>::new());
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
