//! Which MPI the mpi4py of a Python would take, by the rules of its wheel
//! (`tests/mpi4py/README.md`), without running it. Only a script that stands for a
//! Python is asked which one it chooses.

use super::elf::Elf;
use super::finding::Findings;
use super::library::{self, Maker};
use super::packages::Python;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// So long a script has to say which Python it chooses.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at the Python of this path.
pub fn look(path: &Path, findings: &mut Findings) {
    let Some((path, python)) = find(path, findings) else { return };
    if !look_in(&python, findings) {
        findings.note("mpi4py", format!("{} has no mpi4py", path.display()));
    }
}

/// Looks at the Python of this path for a script that it shall run; whether the
/// script's text names mpi4py.
pub fn look_for(script: &Path, names_mpi4py: bool, path: &Path, findings: &mut Findings) {
    let Some((path, python)) = find(path, findings) else { return };
    if look_in(&python, findings) {
        return;
    }
    let (shown, name, advice) = (path.display(), script.display(), installation(&python, &path));
    if names_mpi4py {
        findings.fault("mpi4py", format!("{name} needs mpi4py, which {shown} does not have"), advice);
    } else {
        let text =
            format!("{shown} has no mpi4py. {name} does not name it, but a module that it imports may");
        findings.warn("mpi4py", text, format!("if it is needed: {advice}"));
    }
}

/// Its program, and the places that belong to it.
fn find(path: &Path, findings: &mut Findings) -> Option<(PathBuf, Python)> {
    let Some(program) = program_of(path) else {
        let text = format!("{} is a script that does not say which Python it chooses", path.display());
        findings.note("mpi4py", text);
        return None;
    };
    let search = std::env::var("PYTHONPATH").unwrap_or_default();
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let python = Python::at(&program, &search, &home)?;
    Some((program, python))
}

/// The program itself: a name in PATH may be a script, as pyenv's are, which
/// chooses a Python when it runs.
fn program_of(path: &Path) -> Option<PathBuf> {
    if Elf::read(path).is_ok() {
        return Some(path.to_owned());
    }
    let mut command = Command::new(path);
    command.args(["-c", "import sys; print(sys.executable)"]).process_group(0);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let began = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if began.elapsed() > PATIENCE {
            // SAFETY: plain call; the group is that of the child, which has not been waited for.
            unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut answer = String::new();
    child.stdout.take()?.read_to_string(&mut answer).ok()?;
    Some(PathBuf::from(answer.trim())).filter(|path| Elf::read(path).is_ok())
}

/// The command that gives it mpi4py.
fn installation(python: &Python, path: &Path) -> String {
    let path = path.display();
    match python.managed {
        true => {
            format!("{path} -m venv venv && venv/bin/pip install mpi4py; then start it with venv/bin/python")
        }
        false => format!("{path} -m pip install mpi4py"),
    }
}

/// Looks at its mpi4py; false if it has none.
fn look_in(python: &Python, findings: &mut Findings) -> bool {
    match (python.package("mpi4py"), python.trace("mpi4py")) {
        (Some(package), _) => look_at(python, &package, findings),
        (None, Some(trace)) => {
            let text = format!("only Python itself can tell where mpi4py is ({})", trace.display());
            findings.note("mpi4py", text);
        }
        (None, None) => return false,
    }
    true
}

fn look_at(python: &Python, package: &Path, findings: &mut Findings) {
    let modules = modules(package);
    let package = package.display();
    let names: Vec<&str> = modules.iter().map(|(abi, _)| abi.as_str()).collect();
    if let Some((_, path)) = modules.iter().find(|(abi, _)| abi.is_empty()) {
        findings.note("mpi4py", format!("{package} was built for one MPI"));
        return library::look(path, findings);
    }
    findings.fine("mpi4py", format!("{package} can take libraries of these ABIs: {}", names.join(", ")));
    under_serried(&names, findings);
    let without = std::env::var_os("MPI4PY_LIBMPI").is_none() && std::env::var_os("MPI4PY_MPIABI").is_none();
    if let Some(other) = without.then(|| otherwise(python)).flatten() {
        let maker = Maker::of(&other);
        if maker != Maker::Serried {
            let text =
                format!("started by anything else, mpi4py takes {} ({})", other.path.display(), maker.name());
            findings.note("mpi4py-otherwise", text);
        }
    }
}

fn under_serried(names: &[&str], findings: &mut Findings) {
    let library = std::env::var("MPI4PY_LIBMPI").unwrap_or_default();
    match std::env::var("MPI4PY_MPIABI").ok().or_else(|| Some(library.clone()).filter(|it| !it.is_empty())) {
        _ if library::refusal_of_python(&library).is_some() => {
            let text =
                format!("MPI4PY_LIBMPI makes mpi4py take Open MPI ({library}), so each rank would be alone");
            findings.fault("mpi4py", text, "unset MPI4PY_LIBMPI");
        }
        Some(abi) if abi == "openmpi" && library.is_empty() => {
            findings.fine("mpi4py", "started by `serried run`, mpi4py takes Serried (libmpi.so.40)");
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

/// What mpi4py finds where nobody has chosen for it.
fn otherwise(python: &Python) -> Option<Elf> {
    let names = ["libmpi.so", "libmpi.so.12", "libmpi.so.40"];
    let machine = library::this_machine();
    let prefixes = python.prefixes.iter().filter(|prefix| *prefix != Path::new("/usr"));
    let beside = prefixes.flat_map(|prefix| names.map(|name| prefix.join("lib").join(name)));
    let beside = beside.filter_map(|path| Elf::read(&path).ok()).find(|elf| elf.machine == machine);
    let search = library::search(false);
    beside.or_else(|| names.iter().find_map(|name| search.find_alone(name, machine)))
}
