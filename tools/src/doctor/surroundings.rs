//! The environment: variables that announce a job, that belong to other
//! libraries, that change what is loaded.

use super::elf::Elf;
use super::finding::Findings;
use super::library::is_mpi;
use serried_engine::job::detect::{self, Launcher};
use serried_engine::settings::{misspelt, Settings};

/// Prefixes of variables of other MPI libraries, without effect here.
const OTHERS: [(&str, &str); 7] = [
    ("OMPI_MCA_", "Open MPI"),
    ("PRTE_MCA_", "Open MPI's launcher"),
    ("I_MPI_", "Intel MPI"),
    ("MPICH_", "MPICH"),
    ("MPIR_CVAR_", "MPICH"),
    ("MV2_", "MVAPICH"),
    ("UCX_", "UCX"),
];

/// Looks at all of it.
pub fn look(findings: &mut Findings) {
    announced(findings);
    settings(findings);
    preload(findings);
    others(findings);
}

/// Whether a program started from here takes itself for a rank of something.
fn announced(findings: &mut Findings) {
    match detect::detect(&|name| std::env::var(name).ok()) {
        Ok(Launcher::None) => {}
        Ok(Launcher::Own { rank, size, .. }) => {
            findings.note("job", format!("this is rank {rank} of {size} of a job of `serried run`"));
        }
        Ok(Launcher::Pmi1(_)) => findings.note("job", "this is a rank of a job of a PMI-1 launcher"),
        Ok(Launcher::Pmix) => findings.note("job", "this is a rank of a job of a PMIx launcher"),
        Err(error) => findings.warn(
            "job",
            format!("a program started here by itself refuses to start: {}", error.message()),
            "`serried run` works here all the same",
        ),
    }
    if std::env::var_os("SLURM_JOB_ID").is_some() && std::env::var_os("PMI_FD").is_none() {
        let tasks = std::env::var("SLURM_NTASKS").unwrap_or_else(|_| "?".into());
        findings
            .note("slurm", format!("inside a Slurm allocation (SLURM_NTASKS={tasks}) without a PMI server"));
    }
}

fn settings(findings: &mut Findings) {
    if let Err(error) = Settings::read(|name| std::env::var(name).ok()) {
        findings.fault("settings", error.message(), "correct it, or unset it");
    }
    let names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    for name in misspelt(names.iter().map(String::as_str)) {
        let text = format!("{name} is no setting of Serried and has no effect");
        findings.warn("settings", text, "`serried info` lists the settings");
    }
    for name in ["MPI4PY_LIBMPI", "MPI4PY_MPIABI"] {
        if let Ok(value) = std::env::var(name) {
            findings.note("mpi4py", format!("{name}={value} decides which MPI mpi4py takes"));
        }
    }
}

/// Libraries that are put into every program.
fn preload(findings: &mut Findings) {
    let Ok(list) = std::env::var("LD_PRELOAD") else { return };
    for name in list.split([':', ' ']).filter(|name| !name.is_empty()) {
        let file = name.rsplit('/').next().unwrap_or(name);
        let elf = Elf::read(name.as_ref());
        if file.starts_with("libserried") {
            continue;
        }
        if name.contains('/') && elf.is_err() {
            findings.warn(
                "preload",
                format!("LD_PRELOAD names {name}, which cannot be loaded"),
                "unset LD_PRELOAD",
            );
        } else if is_mpi(file) {
            let text = format!("LD_PRELOAD puts {name} into every program, before the MPI that it asks for");
            findings.warn("preload", text, "unset LD_PRELOAD, unless it is meant");
        } else if elf.is_ok_and(|elf| elf.defines(&["malloc"])) {
            let text = format!(
                "LD_PRELOAD puts the malloc of {name} into every program, so ranks cannot map each other's big blocks"
            );
            findings.note("preload", text);
        } else {
            findings.note("preload", format!("LD_PRELOAD puts {name} into every program"));
        }
    }
}

fn others(findings: &mut Findings) {
    for (prefix, whose) in OTHERS {
        let mut names: Vec<String> =
            std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
        names.retain(|name| name.starts_with(prefix));
        names.sort();
        if !names.is_empty() {
            let text = format!("variables of {whose} have no effect on Serried: {}", names.join(", "));
            findings.note("other-variables", text);
        }
    }
}
