//! Whose an MPI library is, and which one a program will really load.

use super::elf::{Elf, Refusal};
use super::finding::Findings;
use super::linker::{How, Image, Loaded, Search};
use crate::system::libraries::{self, Environment};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Whose an MPI library is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Ours.
    Serried,
    /// MPICH, or one made of it.
    Mpich,
    /// Intel MPI.
    Intel,
    /// Open MPI.
    OpenMpi,
}

impl Maker {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Maker::Serried => "Serried",
            Maker::Mpich => "MPICH",
            Maker::Intel => "Intel MPI",
            Maker::OpenMpi => "Open MPI",
        }
    }

    /// Of a library, by what it defines.
    pub fn of(elf: &Elf) -> Maker {
        let soname = elf.soname.as_deref().unwrap_or_default();
        if is_ours(&elf.path) {
            Maker::Serried
        } else if elf.defines(&["I_MPI_Check_image_status"]) {
            Maker::Intel
        } else if is_open_mpi(soname) || elf.defines(&["ompi_mpi_comm_world"]) {
            Maker::OpenMpi
        } else {
            Maker::Mpich
        }
    }
}

/// Whether this is the name of an MPI library in C.
pub fn is_mpi(name: &str) -> bool {
    ["libmpi.so", "libmpi_abi.so", "libmpich.so", "libmpi_mpifh.so"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// The libraries of Open MPI 4 and 5, for C and for Fortran, which ours take the place of.
const OPEN_MPI: [&str; 2] = ["libmpi.so.40", "libmpi_mpifh.so.40"];

/// Open MPI counts its libraries in tens: `libmpi.so.40`.
fn is_open_mpi(name: &str) -> bool {
    OPEN_MPI.contains(&name) || ["libmpi.so.20", "libmpi.so.1", "libmpi.so.80"].contains(&name)
}

/// The ABI behind a name that a program asks for.
fn abi(name: &str) -> &'static str {
    match name {
        _ if name.starts_with("libmpi_abi.so") => "the standard ABI of MPI-5",
        _ if is_open_mpi(name) => "Open MPI's own ABI",
        _ => "the MPICH ABI",
    }
}

/// Whether a file is a library of the tree that this command belongs to, or of
/// another copy of it: only ours say this.
fn is_ours(path: &Path) -> bool {
    let full = std::fs::canonicalize(path).unwrap_or_default();
    let name = full.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.starts_with("libserried")
        || std::fs::read(&full).is_ok_and(|bytes| {
            bytes.windows(8).any(|window| window == b"Serried ")
                && bytes.windows(9).any(|window| window == b"(MPI-5.0,")
        })
}

/// The MPI library of an image; where there are several, the first is the one
/// whose functions are called.
pub fn mpi_of(image: &Image) -> Vec<&Loaded> {
    let name = |one: &Loaded| one.elf.soname.clone().or_else(|| file_name(&one.elf.path)).unwrap_or_default();
    image.loaded.iter().skip(1).filter(|one| is_mpi(&name(one))).collect()
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

/// The search for libraries as `serried run` makes it, or as it is here.
pub fn search(with_ours: bool) -> Search {
    let mut variables: Environment = std::env::vars_os().collect();
    if with_ours {
        variables = under_serried(variables);
    }
    search_in(&variables)
}

/// The environment that `serried run` gives a program, as far as libraries go.
fn under_serried(mut variables: Environment) -> Environment {
    libraries::forget_launcher(&mut variables);
    libraries::put_ours_in_front(&mut variables);
    variables
}

fn search_in(variables: &Environment) -> Search {
    let value =
        |name: &str| variables.get(OsStr::new(name)).and_then(|value| value.to_str()).unwrap_or_default();
    Search::new(value("LD_LIBRARY_PATH"), value("LD_PRELOAD"))
}

/// Looks at a program that is ELF.
pub fn look(program: &Path, findings: &mut Findings) {
    let elf = match Elf::read(program) {
        Ok(elf) => elf,
        Err(Refusal::Foreign) => {
            return findings.fault(
                "program",
                format!("{} is for a 32-bit machine, or damaged", program.display()),
                "",
            )
        }
        Err(_) => return,
    };
    if elf.machine != this_machine() {
        let text = format!("{} is a program for another kind of processor", program.display());
        return findings.fault("program", text, "build it on this machine");
    }
    let mut variables = under_serried(std::env::vars_os().collect());
    take_open_mpi(program, &mut variables, true);
    let image = search_in(&variables).load(elf.clone());
    for (name, asker) in image.missing.iter().filter(|(name, _)| !is_mpi(name)) {
        findings.fault(
            "library",
            format!("{} needs {name}, which is nowhere", asker.display()),
            said_where(&image, name),
        );
    }
    for (folder, owner) in image.dangling() {
        let text = format!(
            "{} looks for libraries in {} (its RPATH or RUNPATH), which does not exist",
            owner.display(),
            folder.display()
        );
        findings.warn(
            "rpath",
            text,
            "it was moved, or built elsewhere; libraries are then taken from other places",
        );
    }
    which_mpi(program, &elf, &image, findings);
    otherwise(&elf, &image, findings);
}

fn said_where(image: &Image, name: &str) -> String {
    let dangling = image.dangling();
    let seen: Vec<String> = dangling.iter().map(|(folder, _)| folder.display().to_string()).collect();
    match seen.is_empty() {
        true => format!("install the package that has {name}, or add its folder to LD_LIBRARY_PATH"),
        false => format!("it may have been in {}; add its folder to LD_LIBRARY_PATH", seen.join(", ")),
    }
}

fn which_mpi(program: &Path, elf: &Elf, image: &Image, findings: &mut Findings) {
    let name = program.display();
    let missing = image.missing.iter().find(|(name, _)| is_mpi(name)).map(|(name, _)| name.clone());
    let found = mpi_of(image);
    if let Some(wanted) = missing {
        match is_open_mpi(&wanted) {
            true => findings.fault(
                "mpi",
                format!("{name} is built for Open MPI: it asks for {wanted}, which is nowhere"),
                for_open_mpi(&wanted),
            ),
            false => {
                findings.fault("mpi", format!("{name} asks for {wanted}, which is nowhere"), stage_first())
            }
        }
        return;
    }
    let Some(first) = found.first() else {
        if elf.defines(&["MPI_Init", "PMPI_Init"]) {
            let text = format!("{name} has an MPI in itself (linked statically), which cannot be replaced");
            return findings.warn("mpi", text, rebuild());
        }
        return findings.note("mpi", format!("{name} asks for no MPI library at its start"));
    };
    let wanted = first.elf.soname.clone().unwrap_or_default();
    let maker = Maker::of(&first.elf);
    let path = first.elf.path.display();
    match maker {
        Maker::Serried => findings
            .fine("mpi", format!("started by `serried run`, {name} loads {path}: Serried, {}", abi(&wanted))),
        Maker::OpenMpi => {
            let text =
                format!("{name} is built for Open MPI: it loads {path} and not Serried, {}", because(first));
            findings.fault("mpi", text, for_open_mpi(&wanted));
        }
        Maker::Mpich | Maker::Intel => {
            let text =
                format!("{name} loads {} from {path} and not Serried, {}", maker.name(), because(first));
            findings.warn("mpi", text, instead(first, program));
        }
    }
    let makers: Vec<Maker> = found.iter().map(|one| Maker::of(&one.elf)).collect();
    if makers.iter().any(|other| *other != maker) {
        let paths: Vec<String> = found.iter().map(|one| one.elf.path.display().to_string()).collect();
        let text = format!("{name} and its libraries load several MPI libraries: {}", paths.join(", "));
        findings.fault("several-mpis", text, "build all of them with the same MPI");
    }
}

/// What it loads when something else than `serried run` starts it.
fn otherwise(elf: &Elf, ours: &Image, findings: &mut Findings) {
    let image = search(false).load(elf.clone());
    let path = |image: &Image| mpi_of(image).first().map(|one| one.elf.path.clone());
    let (with, without) = (path(ours), path(&image));
    if with == without || with.is_none() {
        return;
    }
    let found = mpi_of(&image)
        .first()
        .map(|one| format!("{} ({})", one.elf.path.display(), Maker::of(&one.elf).name()));
    findings.note(
        "mpi-otherwise",
        format!(
            "started by anything else, it loads {}",
            found.unwrap_or_else(|| "no MPI library and fails: its folder is not in LD_LIBRARY_PATH".into())
        ),
    );
}

fn because(loaded: &Loaded) -> String {
    match &loaded.how {
        How::Rpath(owner) => format!("because the RPATH of {} comes before LD_LIBRARY_PATH", owner.display()),
        How::Preload => "because LD_PRELOAD says so".into(),
        How::Path => "because it is named with its full path".into(),
        _ => "because there is no library of Serried for it beside this command".into(),
    }
}

fn instead(loaded: &Loaded, program: &Path) -> String {
    match &loaded.how {
        How::Rpath(_) => format!("for Serried: patchelf --remove-rpath {}", program.display()),
        How::Preload => "for Serried: unset LD_PRELOAD".into(),
        _ => stage_first(),
    }
}

fn stage_first() -> String {
    "use the `serried` of an installed or staged tree, which has its libraries in ../lib".into()
}

/// What to do with a program of another ABI.
fn rebuild() -> String {
    let compiler = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("mpicc")));
    let compiler = compiler.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from("mpicc"));
    format!("build it again with {} (or MPICH's mpicc); its source need not change", compiler.display())
}

/// What to do with a program for Open MPI that does not get our library: only Open MPI 4
/// and 5 have the ABI that ours has.
fn for_open_mpi(wanted: &str) -> String {
    if wanted.ends_with(".so.40") {
        stage_first()
    } else {
        rebuild()
    }
}

/// `e_machine` of this program.
pub fn this_machine() -> u16 {
    std::env::current_exe().ok().and_then(|path| Elf::read(&path).ok()).map_or(0, |elf| elf.machine)
}

/// What `serried run` can do with a program, where it is built for Open MPI.
#[derive(Debug, PartialEq, Eq)]
pub enum ForOpenMpi {
    /// It is not built for Open MPI.
    Not,
    /// It gets our library.
    Ours,
    /// It gets another one, so that each rank would be alone: what to tell the user.
    Refused(String),
}

/// Has a program that is built for Open MPI get our library: by the library path or,
/// where an RPATH comes before that and `may_preload`, by `LD_PRELOAD`.
pub fn take_open_mpi(program: &Path, environment: &mut Environment, may_preload: bool) -> ForOpenMpi {
    let Ok(elf) = Elf::read(program) else { return ForOpenMpi::Not };
    // Most programs ask for their MPI themselves; the search is for the others.
    if elf.needed.iter().any(|name| is_mpi(name) && !is_open_mpi(name)) {
        return ForOpenMpi::Not;
    }
    let image = search_in(environment).load(elf.clone());
    let Some(wanted) = wanted(&image).filter(|name| is_open_mpi(name)) else { return ForOpenMpi::Not };
    if loads_ours(&image) {
        return ForOpenMpi::Ours;
    }
    if let Some(folder) = libraries::folder().filter(|_| may_preload) {
        let mut preloaded = environment.clone();
        for ours in OPEN_MPI.iter().filter(|name| asks_for(&image, name)).map(|name| folder.join(name)) {
            libraries::put_in_front(&mut preloaded, "LD_PRELOAD", &ours);
        }
        if loads_ours(&search_in(&preloaded).load(elf)) {
            *environment = preloaded;
            return ForOpenMpi::Ours;
        }
    }
    ForOpenMpi::Refused(format!(
        "cannot start {}: it would load Open MPI ({wanted}) and not Serried, so each rank would be alone;\n  {}",
        program.display(),
        match may_preload {
            true => for_open_mpi(&wanted),
            false => "leave out --launch-only: then it gets the library of Serried for Open MPI's programs".into(),
        }
    ))
}

/// The MPI library that an image asks for, loaded or missing.
fn wanted(image: &Image) -> Option<String> {
    let missing = image.missing.iter().map(|(name, _)| name.clone()).find(|name| is_mpi(name));
    missing.or_else(|| mpi_of(image).first().and_then(|one| one.elf.soname.clone()))
}

/// Whether an image has a library of this name, or misses it.
fn asks_for(image: &Image, name: &str) -> bool {
    mpi_of(image).iter().any(|one| one.elf.soname.as_deref() == Some(name))
        || image.missing.iter().any(|(missing, _)| missing == name)
}

fn loads_ours(image: &Image) -> bool {
    let found = mpi_of(image);
    !found.is_empty()
        && found.iter().all(|one| Maker::of(&one.elf) == Maker::Serried)
        && !image.missing.iter().any(|(name, _)| is_mpi(name))
}

/// Why a Python cannot be part of a job of ours: its variable makes mpi4py take an Open
/// MPI. The file is looked at, since our library may have the same name.
pub fn refusal_of_python(library: &str) -> Option<String> {
    let name = Path::new(library).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let elf = Elf::read(Path::new(library)).ok();
    let is_theirs = elf.map_or(is_open_mpi(name), |elf| Maker::of(&elf) == Maker::OpenMpi);
    is_theirs.then(|| {
        "cannot start Python: MPI4PY_LIBMPI makes mpi4py take Open MPI, so each rank would be alone;\n  \
         unset MPI4PY_LIBMPI"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_that_takes_open_mpi_is_refused() {
        assert!(refusal_of_python("/x/libmpi.so.40").unwrap().contains("MPI4PY_LIBMPI"));
        assert!(refusal_of_python("/x/libmpi.so.12").is_none() && refusal_of_python("").is_none());
    }

    #[test]
    fn names_tell_the_abi() {
        assert!(is_mpi("libmpi.so.12") && is_mpi("libmpich.so.12") && !is_mpi("libmpifort.so.12"));
        assert!(is_open_mpi("libmpi.so.40") && !is_open_mpi("libmpi.so.12"));
        assert_eq!(abi("libmpi_abi.so.1"), "the standard ABI of MPI-5");
    }
}
