//! From what the user asks to what will be started: programs found,
//! environments made, CPUs divided. Nothing has been started yet, so every
//! failure here is one sentence and no process.

use super::across::choice::Across;
use super::options::Options;
use super::spawned_job::Spawned;
use super::{binding, environment};
use crate::doctor::library;
use crate::system::libraries::{self, Environment};
use crate::system::{host_name, programs, topology};
use std::ffi::{CString, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A job ready to start.
#[derive(Debug)]
pub struct Plan {
    /// What the user asked for.
    pub options: Options,
    /// The programs, in the order of their ranks.
    pub programs: Vec<Prepared>,
    /// Ranks of the job.
    pub size: u32,
    /// The hosts on which they run, if not on this one alone.
    pub across: Option<Across>,
    /// The CPUs of each rank; `None`: nobody is bound, or the agents look after that.
    pub places: Option<Vec<Vec<usize>>>,
    /// Name of this machine.
    pub host: String,
    /// The job that has started this one, if one has.
    pub spawned: Option<Spawned>,
    /// How often the job has been started before.
    pub attempt: u32,
}

/// A program ready to be executed.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// What to execute.
    pub path: CString,
    /// Its arguments, beginning with its name.
    pub arguments: Vec<CString>,
    /// Its environment, without what each rank has of its own.
    pub environment: Vec<CString>,
    /// Where to run, if not here.
    pub directory: Option<CString>,
    /// The ranks that run it.
    pub ranks: Range<u32>,
    /// Whether it is built for Open MPI.
    pub open_mpi: bool,
}

/// Prepares everything.
///
/// # Errors
/// A sentence that names the program and the reason.
pub fn prepare(options: Options, across: Option<Across>) -> Result<Plan, String> {
    let mut programs = Vec::new();
    let mut size: u32 = 0;
    for index in 0..options.programs.len() {
        let ranks = options.programs[index].ranks.unwrap_or(1);
        let end = size.checked_add(ranks).ok_or("too many ranks")?;
        programs.push(prepare_program(&options, index, size..end)?);
        size = end;
    }
    if across.is_some() {
        programs.iter_mut().try_for_each(runs_from_here)?;
        let host = host_name();
        return Ok(Plan { options, programs, size, across, places: None, host, spawned: None, attempt: 0 });
    }
    let places = match options.bind {
        binding::Bind::None => None,
        bind => binding::places(bind, options.map, size as usize, &topology::read()),
    };
    if options.bind != binding::Bind::None && places.is_none() {
        super::say(&binding::too_many(size as usize, None));
    }
    if options.report_bindings {
        super::say(&binding::report(places.as_deref(), &(0..size).collect::<Vec<_>>(), None));
    }
    let host = host_name();
    Ok(Plan { options, programs, size, across: None, places, host, spawned: None, attempt: 0 })
}

/// Has a program run in the same directory on every host.
fn runs_from_here(program: &mut Prepared) -> Result<(), String> {
    let here =
        std::env::current_dir().map_err(|cause| format!("the current directory is not known: {cause}"))?;
    let given = program.directory.take().unwrap_or_default();
    program.directory = Some(c_string(here.join(OsStr::from_bytes(given.as_bytes())).as_os_str())?);
    Ok(())
}

impl Plan {
    /// The name of the host of a rank.
    pub fn host_of(&self, rank: u32) -> &str {
        match &self.across {
            Some(across) => &across.hosts[across.map.place_of(rank).0 as usize],
            None => &self.host,
        }
    }

    /// The program that a rank runs.
    pub fn program_of(&self, rank: u32) -> &Prepared {
        let mine = self.programs.iter().find(|program| program.ranks.contains(&rank));
        mine.expect("every rank below size has a program")
    }
}

impl Prepared {
    /// The name of the program, without its folder.
    pub fn name(&self) -> &str {
        let path = self.path.to_str().unwrap_or("?");
        path.rsplit('/').next().unwrap_or(path)
    }
}

fn prepare_program(options: &Options, index: usize, ranks: Range<u32>) -> Result<Prepared, String> {
    let program = &options.programs[index];
    let directory = program.directory.as_ref().or(options.directory.as_ref());
    if let Some(folder) = directory.filter(|folder| !folder.is_dir()) {
        return Err(format!("-wdir {}: there is no such directory", folder.display()));
    }
    let mut environment = environment::of_program(options, program, std::env::vars_os().collect());
    let search =
        environment.get(OsStr::new("PATH")).map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), |path| path);
    let here = directory.cloned().unwrap_or_else(|| PathBuf::from("."));
    let path = programs::program(&program.command[0], search, &here)?;
    // From here, and as the user has written it where the ranks run here.
    let seen = directory.map_or(path.clone(), |folder| folder.join(path.strip_prefix(".").unwrap_or(&path)));
    let python = programs::is_python(&seen);
    if !options.keep_library_path && python {
        libraries::preload_malloc(&mut environment);
    }
    let open_mpi = match take_open_mpi(&seen, python, &mut environment, options) {
        Err(refusal) if ranks.end > 1 || options.programs.len() > 1 => return Err(refusal),
        taken => taken.unwrap_or(false),
    };
    Ok(Prepared {
        path: c_string(path.as_os_str())?,
        arguments: program.command.iter().map(|argument| c_string(argument)).collect::<Result<_, _>>()?,
        environment: environment::strings(&environment),
        directory: directory.map(|folder: &PathBuf| c_string(Path::as_os_str(folder))).transpose()?,
        ranks,
        open_mpi,
    })
}

/// Has a program that is built for Open MPI get our library; returns whether it is.
///
/// # Errors
/// It would get another library, where each rank would be alone.
fn take_open_mpi(
    program: &Path,
    python: bool,
    environment: &mut Environment,
    options: &Options,
) -> Result<bool, String> {
    if python {
        let library = environment.get(OsStr::new("MPI4PY_LIBMPI")).and_then(|value| value.to_str());
        let library = library.unwrap_or_default();
        let refusal = library::refusal_of_python(library);
        return refusal.map_or(Ok(library.ends_with("/libmpi.so.40")), Err);
    }
    match library::take_open_mpi(program, environment, !options.keep_library_path) {
        library::ForOpenMpi::Not => Ok(false),
        library::ForOpenMpi::Ours => Ok(true),
        library::ForOpenMpi::Refused(refusal) => Err(refusal),
    }
}

fn c_string(text: &OsStr) -> Result<CString, String> {
    CString::new(text.as_bytes()).map_err(|_| format!("{text:?} has a NUL byte in it"))
}
