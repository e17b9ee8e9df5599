//! `serried info`: what is here.

use crate::run::{environment, host_name, topology};
use serried_engine::job::{cpus, detect};

/// Settings and variables that Serried reads, and what for.
const SETTINGS: [(&str, &str); 3] = [
    ("MPIEXEC_TIMEOUT", "seconds after which a job is ended (as --timeout)"),
    ("SERRIED_COPY", "cells: copy big messages through shared memory only"),
    ("SERRIED_CC", "the compiler behind mpicc (SERRIED_CXX: behind mpicxx)"),
];

/// Prints it; returns the exit status.
pub fn command() -> i32 {
    println!("Serried {} on {}", env!("CARGO_PKG_VERSION"), host_name());
    println!("  ABIs        MPI-5 standard (libmpi_abi.so.1), MPICH (libmpi.so.12)");
    match environment::library_folder() {
        Some(folder) => println!("  libraries   {}", folder.display()),
        None => println!("  libraries   none beside this executable (../lib); `make` stages them"),
    }
    println!("  CPUs        {}", processors());
    println!("  launched by {}", launcher());
    println!(
        "  bootstraps  serried run, PMI-1 (Hydra, Slurm's pmi2), none (one rank); PMIx is not there yet"
    );
    println!("  settings");
    for (name, meaning) in SETTINGS {
        let value = std::env::var(name).map_or(String::new(), |value| format!(" (is {value})"));
        println!("    {name:16} {meaning}{value}");
    }
    0
}

fn processors() -> String {
    let topology = topology::read();
    let allowed = cpus::allowed();
    let quota = cpus::quota().map_or(String::new(), |quota| format!(", cgroup quota {quota:.2}"));
    format!(
        "{} usable (allowed {}{quota}; {} cores, {} memory domains, {} sockets)",
        cpus::usable(),
        topology::list_text(&allowed),
        topology.cores.len(),
        topology.numa.len(),
        topology.sockets.len()
    )
}

fn launcher() -> String {
    match detect::detect(&|name| std::env::var(name).ok()) {
        Ok(detect::Launcher::Own { rank, size, .. }) => format!("serried run: rank {rank} of {size}"),
        Ok(detect::Launcher::Pmi1(_)) => "a PMI-1 launcher".into(),
        Ok(detect::Launcher::None) => "nobody: a program started here is a job of one rank".into(),
        Err(error) => format!("? {error}"),
    }
}
