//! The launchers in PATH: whose they are, and whether they can start our ranks.

use super::finding::Findings;
use std::path::{Path, PathBuf};

const NAMES: [&str; 8] =
    ["serried", "mpiexec", "mpirun", "mpiexec.hydra", "prterun", "orterun", "srun", "aprun"];

/// Whose a launcher is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    Serried,
    Hydra,
    Intel,
    OpenMpi,
    Slurm,
    Unknown,
}

impl Maker {
    fn words(self) -> &'static str {
        match self {
            Maker::Serried => "Serried's",
            Maker::Hydra => "Hydra, of MPICH; it starts ranks of Serried",
            Maker::Intel => "Intel MPI's Hydra; it starts ranks of Serried",
            Maker::OpenMpi => "Open MPI's; it starts ranks of Serried if they find its libpmix.so.2",
            Maker::Slurm => "Slurm's; `srun --mpi=pmi2` and `--mpi=pmix` start ranks of Serried",
            Maker::Unknown => "of unknown kind",
        }
    }
}

/// Names all of them, the first of each name as a shell finds it.
pub fn look(findings: &mut Findings) {
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let mut any = false;
    for name in NAMES {
        let found: Vec<PathBuf> =
            folders.iter().map(|folder| folder.join(name)).filter(|path| is_program(path)).collect();
        let Some(first) = found.first() else { continue };
        any = true;
        let maker = maker_of(first);
        let text = format!("{name} is {}: {}", first.display(), maker.words());
        match maker {
            Maker::OpenMpi if matches!(name, "mpiexec" | "mpirun") => {
                findings.note("launcher", format!("{text}. Start programs with {}", our_own()));
            }
            Maker::Serried => findings.fine("launcher", text),
            _ => findings.note("launcher", text),
        }
        let hidden = found[1..].iter().find(|path| maker_of(path) == Maker::Serried);
        if let Some(hidden) = hidden.filter(|_| maker != Maker::Serried) {
            findings.note("launcher", format!("{} comes later in PATH", hidden.display()));
        }
    }
    if !any {
        findings.note("launcher", format!("no launcher is in PATH; start programs with {}", our_own()));
    }
}

fn our_own() -> String {
    let this = std::env::current_exe().map_or("serried".into(), |path| path.display().to_string());
    format!("{this} run -n N PROGRAM")
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// By where the name leads, and by words in the file.
fn maker_of(path: &Path) -> Maker {
    let full = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = full.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if std::env::current_exe().is_ok_and(|this| std::fs::canonicalize(this).is_ok_and(|this| this == full)) {
        return Maker::Serried;
    }
    if ["prterun", "orterun", "prte", "opal_wrapper", "ompirun_wrapper"].contains(&name) {
        return Maker::OpenMpi;
    }
    if name == "srun" {
        return Maker::Slurm;
    }
    let Ok(bytes) = std::fs::read(&full) else { return Maker::Unknown };
    let has = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    // The program, or the script that stands for it in a package.
    if has(b"usage: serried COMMAND") || has(b"# A command of Serried,") {
        Maker::Serried
    } else if has(b"I_MPI_") {
        Maker::Intel
    } else if has(b"HYDRA") {
        Maker::Hydra
    } else if has(b"ompirun") || has(b"orterun") || has(b"prterun") {
        Maker::OpenMpi
    } else {
        Maker::Unknown
    }
}
