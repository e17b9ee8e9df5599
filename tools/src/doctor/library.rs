//! Whose an MPI library is, and which one a program will really load.

use super::elf::{Elf, Refusal};
use super::finding::Findings;
use super::linker::{How, Image, Loaded, Search};
use crate::run::environment::{self, Environment};
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
    ["libmpi.so", "libmpi_abi.so", "libmpich.so"].iter().any(|start| name.starts_with(start))
}

/// Open MPI counts its libraries in tens: `libmpi.so.40`.
fn is_open_mpi(name: &str) -> bool {
    ["libmpi.so.40", "libmpi.so.20", "libmpi.so.1", "libmpi.so.80"].contains(&name)
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
        variables = environment::of_program(&Default::default(), &Default::default(), variables);
    }
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
    let image = search(true).load(elf.clone());
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
                format!("{name} is built for Open MPI: it asks for {wanted}"),
                rebuild(),
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
                format!("{name} is built for Open MPI ({}): it loads {path}, not Serried", abi(&wanted));
            findings.fault("mpi", text, rebuild());
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
pub fn rebuild() -> String {
    let compiler = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("mpicc")));
    let compiler = compiler.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from("mpicc"));
    format!("build it again with {} (or MPICH's mpicc); its source need not change", compiler.display())
}

/// `e_machine` of this program.
pub fn this_machine() -> u16 {
    std::env::current_exe().ok().and_then(|path| Elf::read(&path).ok()).map_or(0, |elf| elf.machine)
}

/// Why a program can never be part of a job of ours, whatever is around it: it
/// is built for Open MPI. For `serried run`, before it starts anything.
pub fn refusal(program: &Path, library_path: &str, preload: &str) -> Option<String> {
    let elf = Elf::read(program).ok()?;
    // Most programs ask for their MPI themselves; the search is for the others.
    let direct = elf.needed.iter().find(|name| is_mpi(name)).cloned();
    let wanted = match direct {
        Some(name) => name,
        None => {
            let image = Search::new(library_path, preload).load(elf);
            let missing = image.missing.iter().map(|(name, _)| name.clone()).find(|name| is_mpi(name));
            missing.or_else(|| mpi_of(&image).first().and_then(|one| one.elf.soname.clone()))?
        }
    };
    is_open_mpi(&wanted).then(|| {
        format!(
            "cannot start {}: it is built for Open MPI (it asks for {wanted}), so each rank would be alone;\n  {}",
            program.display(),
            rebuild()
        )
    })
}

/// The same of a Python whose variables make mpi4py take Open MPI.
pub fn refusal_of_python(abi: &str, library: &str) -> Option<String> {
    let abi: String = abi.to_lowercase().chars().filter(|letter| !" -_".contains(*letter)).collect();
    let taken = Path::new(library).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let why = match (abi.as_str(), is_open_mpi(taken)) {
        ("openmpi", _) => "MPI4PY_MPIABI",
        ("", true) => "MPI4PY_LIBMPI",
        _ => return None,
    };
    Some(format!(
        "cannot start Python: {why} makes mpi4py take Open MPI, so each rank would be alone;\n  unset {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_that_takes_open_mpi_is_refused() {
        assert!(refusal_of_python("Open-MPI", "").unwrap().contains("MPI4PY_MPIABI"));
        assert!(refusal_of_python("", "/x/libmpi.so.40").unwrap().contains("MPI4PY_LIBMPI"));
        assert!(
            refusal_of_python("mpich", "/x/libmpi.so.40").is_none() && refusal_of_python("", "").is_none()
        );
    }

    #[test]
    fn names_tell_the_abi() {
        assert!(is_mpi("libmpi.so.12") && is_mpi("libmpich.so.12") && !is_mpi("libmpifort.so.12"));
        assert!(is_open_mpi("libmpi.so.40") && !is_open_mpi("libmpi.so.12"));
        assert_eq!(abi("libmpi_abi.so.1"), "the standard ABI of MPI-5");
    }
}
