//! `serried info`: what is here.

use crate::system::{host_name, libraries, topology};
use serried_engine::device;
use serried_engine::job::{cpus, detect};
use serried_engine::memory::window::policy;
use serried_engine::onesided::server::{law, Settings as ServerSettings};
use serried_engine::onesided::MOST_BYTES;
use serried_engine::settings::{misspelt, Setting, Settings, SETTINGS};
use serried_engine::tuning::file::{self, Source};
use serried_engine::tuning::ALL;

/// Prints it; returns the exit status.
pub fn command() -> i32 {
    println!("Serried {} on {}", env!("CARGO_PKG_VERSION"), host_name());
    println!("  ABIs        MPI-5 standard (libmpi_abi.so.1), MPICH (libmpi.so.12), Open MPI (libmpi.so.40)");
    match libraries::folder() {
        Some(folder) => println!("  libraries   {}", folder.display()),
        None => println!("  libraries   none beside this executable (../lib); `make` stages them"),
    }
    println!("  CPUs        {}", processors());
    println!("  launched by {}", launcher());
    println!(
        "  bootstraps  serried run, PMI-1 (Hydra, Slurm's pmi2), PMIx (prterun, Slurm's pmix), none (one rank)"
    );
    println!("  windows     {}", windows());
    println!("  GPUs        {}", device::describe(wanted_gpu()));
    println!("  servers     {}", servers());
    println!("  crossovers  {}", crossovers());
    for crossover in ALL {
        let (least, most) = (crossover.least, crossover.most);
        println!(
            "    {:24}{:>7} of {least} to {most} {}",
            crossover.name,
            crossover.bytes(),
            crossover.description()
        );
    }
    println!("  settings");
    for Setting { name, default, meaning } in &SETTINGS {
        let value = std::env::var(name).map_or(format!("not set: {default}"), |value| format!("is {value}"));
        println!("    {name:16} {meaning} ({value})");
    }
    warn_of_misspelt();
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

/// The settings of the environment, if none of them is wrong.
fn settings() -> Option<Settings> {
    Settings::read(|name| std::env::var(name).ok()).ok()
}

/// What the setting says of GPUs; a wrong one is named when a job starts.
pub fn wanted_gpu() -> device::Presence {
    settings().map_or_else(device::Presence::default, |found| found.gpu)
}

/// Whether ranks started from here can map each other's memory.
fn windows() -> String {
    match policy::here() {
        Ok(()) => "ranks can map each other's memory: MPI_Alloc_mem, and blocks of 64 KiB and more".into(),
        Err(why) => format!("none, so ranks cannot map each other's memory: {}", why.text()),
    }
}

/// Where the lengths come from at which ways of moving bytes change; has this process use them.
fn crossovers() -> String {
    match (file::source(), file::of_this_machine()) {
        (_, Err(why)) => format!("? {why}"),
        (source, Ok(values)) => {
            ALL.iter().zip(values).for_each(|(crossover, value)| crossover.set(value));
            match source {
                Source::Defaults => "not measured here; `serried tune` does".into(),
                Source::File(file) => format!("of {}", file.display()),
            }
        }
    }
}

/// How servers of nodes reach each other.
fn servers() -> String {
    let grid = match settings().and_then(|found| found.servers) {
        Some(extents) => {
            let used: Vec<String> =
                extents.iter().filter(|&&extent| extent > 0).map(u32::to_string).collect();
            format!("they stand in a grid of {}", used.join("x"))
        }
        None => {
            let most =
                |dimensions| law::most_nodes(dimensions, law::BUDGET, &ServerSettings::default(), MOST_BYTES);
            let (budget, all, two, three) = (law::BUDGET >> 20, most(1), most(2), most(3));
            format!(
                "its buffers take {budget} MiB at most, so each talks with all others of up to {all} nodes; more stand in a grid, of 2 \
                 dimensions up to {two} nodes, of 3 up to {three}"
            )
        }
    };
    format!("on several nodes one a node, for one-sided operations, asleep until asked; {grid}")
}

fn launcher() -> String {
    match detect::detect(&|name| std::env::var(name).ok()) {
        Ok(detect::Launcher::Own { rank, size, .. }) => format!("serried run: rank {rank} of {size}"),
        Ok(detect::Launcher::Pmi1(_)) => "a PMI-1 launcher".into(),
        Ok(detect::Launcher::Pmix) => "a PMIx launcher".into(),
        Ok(detect::Launcher::None) => "nobody: a program started here is a job of one rank".into(),
        Err(error) => format!("? {error}"),
    }
}

/// Names what looks like a setting of ours and is none.
pub fn warn_of_misspelt() {
    let names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    for name in misspelt(names.iter().map(String::as_str)) {
        eprintln!("serried: {name} is no setting of Serried and has no effect; `serried info` lists them");
    }
}
