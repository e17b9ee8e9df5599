//! The settings, each declared once: the engine and the tools read them here,
//! `serried info` lists them, and what looks like one but is none is named.

use crate::collective::multicast;
use crate::device::Presence;
use crate::job::Nodes;
use crate::transport::fabric::Wanted;
use crate::transport::Means;
use crate::{Class, Error, Result};

/// A variable of the environment that changes what Serried does.
#[derive(Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it changes.
    pub meaning: &'static str,
}

/// Bytes that a rank may use for messages that nobody has received yet.
pub const MEMORY: &str = "SERRIED_MEMORY";
/// The best means of copying that may be used.
pub const COPY: &str = "SERRIED_COPY";
/// The same for C.
pub const COPY_NAME: &std::ffi::CStr = c"SERRIED_COPY";

/// Whether members of a communicator compare their collective calls.
pub const CHECK: &str = "SERRIED_CHECK";
/// Whether sums are exact, and so independent of the number of ranks.
pub const REPRODUCIBLE: &str = "SERRIED_REPRODUCIBLE";
/// How many nodes the ranks pretend to be on.
pub const NODES: &str = "SERRIED_NODES";

/// Whether buffers may lie in memory of GPUs.
pub const GPU: &str = "SERRIED_GPU";

/// The grid of the servers of nodes.
pub const SERVERS: &str = "SERRIED_SERVERS";

/// The folder of the names under which ports are published for other jobs.
pub const NAMES: &str = "SERRIED_NAMES";

/// By how many percent sleeping ranks may slow a job down.
pub const MAX_SLOWDOWN: &str = "SERRIED_MAX_SLOWDOWN";

/// The file of the lengths at which ways of moving bytes change.
pub const TUNING: &str = "SERRIED_TUNING";

/// How ranks of other nodes are reached.
pub const TRANSPORT: &str = "SERRIED_TRANSPORT";

/// All of them.
pub const SETTINGS: [Setting; 15] = [
    Setting {
        name: MEMORY,
        default: "64M",
        meaning: "bytes a rank may spend on small messages that wait for room (K, M, G allowed); more only where a \
                  program would wait for ever without",
    },
    Setting {
        name: COPY,
        default: "the best that works",
        meaning: "the best means of copying big messages that may be used: direct (of memory that ranks map from each \
                  other), cross-memory (through the kernel), memory-file (through a descriptor that the owner passes), \
                  cells (through shared memory)",
    },
    Setting {
        name: CHECK,
        default: "0",
        meaning: "1: the members of a communicator compare function, root, bytes and operator of their collective \
                  calls, and a call that differs fails, naming both",
    },
    Setting {
        name: REPRODUCIBLE,
        default: "0",
        meaning: "1: MPI_SUM of floating point and complex numbers gives the number nearest to the true sum, so that it \
                  depends neither on the number of ranks nor on their order",
    },
    Setting {
        name: NODES,
        default: "1",
        meaning: "for tests: the ranks of this machine behave as if they were on so many nodes, and share no memory \
                  between them (2: the first half and the second; 2:cyclic: in turn)",
    },
    Setting {
        name: TRANSPORT,
        default: "a fabric with hardware of its own, else wire; on one node: node",
        meaning: "how ranks of other nodes (on one machine SERRIED_NODES; without it each rank is a node) are reached: \
                  wire: over TCP (wire:sealed: and encrypted; wire:tree: and no broadcast by IP multicast; wire:multicast, for tests: over few nodes \
                  too); fabric: over the best provider of libfabric; fabric:PROVIDER: over this one; for \
                  tests: loopback: over local sockets as over a network; loopback:SEED: what comes is held back and \
                  mixed by chance",
    },
    Setting {
        name: SERVERS,
        default: "by their memory",
        meaning: "the grid of the servers of nodes, for one-sided operations between nodes: 4x4: each talks with those \
                  that differ in one coordinate; without it the fewest dimensions whose buffers take 8 MiB at most",
    },
    Setting {
        name: GPU,
        default: "auto",
        meaning: "whether buffers may lie in memory of a GPU: auto: if this machine has a GPU of CUDA, or the program \
                  has loaded the driver's library before MPI begins; on: as if it had one; off: never",
    },
    Setting {
        name: NAMES,
        default: "XDG_RUNTIME_DIR",
        meaning: "the folder where MPI_Publish_name makes names known to jobs that are started apart, and MPI_Lookup_name \
                  finds them; jobs on several machines need one that all of these share",
    },
    Setting {
        name: MAX_SLOWDOWN,
        default: "none",
        meaning: "percent of the time for which ranks of a node may be late because they slept (as --max-slowdown); \
                  0: no rank sleeps. Without it a rank sleeps after 100 microseconds",
    },
    Setting {
        name: TUNING,
        default: "share/serried/tuning.toml beside the libraries, if `serried tune` has written it",
        meaning: "the file of the lengths at which one way of moving bytes becomes quicker than another; none: those that \
                  Serried comes with. Read where the segment of a node is made, so `serried run` needs it in its own \
                  environment",
    },
    Setting { name: "SERRIED_ABI", default: "standard", meaning: "the ABI of what mpicc makes: standard, mpich, openmpi" },
    Setting { name: "SERRIED_CC", default: "cc", meaning: "the compiler behind mpicc" },
    Setting { name: "SERRIED_CXX", default: "c++", meaning: "the compiler behind mpicxx" },
    Setting {
        name: "MPIEXEC_TIMEOUT",
        default: "none",
        meaning: "seconds after which `serried run` ends the job (as --timeout)",
    },
];

/// Set by `serried run` for its ranks, not by people.
pub const SEGMENT: &str = "SERRIED_NODE_SEGMENT";
/// The same: kinds of memory that were asked for (`--memory-alloc-kinds`).
pub const MEMORY_KINDS: &str = "SERRIED_MEMORY_KINDS";

/// The same: the error handler with which communicators begin (`--initial-errhandler`).
pub const INITIAL_ERROR_HANDLER: &str = "SERRIED_INITIAL_ERRHANDLER";
/// What that may be: MPI's own handlers, as info keys name them.
pub const ERROR_HANDLERS: [&str; 3] = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];

/// Set by `serried run` for ranks of a job over several hosts, for jobs that they start: a line with the number of slots, then
/// what only the tools read.
pub const HOSTS: &str = "SERRIED_HOSTS";

/// Set by `serried run --restarts` for its ranks: how often the job has been started before.
pub const RESTART: &str = "SERRIED_RESTART";

/// What the engine of a rank takes from its environment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// [`MEMORY`] in bytes.
    pub memory: u64,
    /// The best means that [`COPY`] allows.
    pub copy: Means,
    /// [`CHECK`].
    pub check: bool,
    /// [`REPRODUCIBLE`].
    pub reproducible: bool,
    /// [`NODES`].
    pub nodes: Nodes,
    /// [`TRANSPORT`].
    pub network: Network,
    /// The same: when broadcasts go to all nodes at once.
    pub multicast: multicast::Wanted,
    /// Whether connections over TCP are sealed.
    pub seals: bool,
    /// [`GPU`].
    pub gpu: Presence,
    /// [`SERVERS`].
    pub servers: Option<Extents>,
    /// [`MAX_SLOWDOWN`].
    pub max_slowdown: Option<f64>,
}

/// How many nodes a grid has along each dimension; 0 beyond the last one.
pub type Extents = [u32; 8];

/// The extents that words such as `4x4` name.
fn extents(text: &str) -> Option<Extents> {
    let mut extents = Extents::default();
    let numbers = text.split('x').map(|word| word.parse().ok().filter(|&extent| extent > 0));
    let numbers = numbers.collect::<Option<Vec<u32>>>()?;
    extents.get_mut(..numbers.len())?.copy_from_slice(&numbers);
    Some(extents)
}

/// What there is beyond the node, by [`TRANSPORT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Nothing: all ranks are reached over memory that they share.
    Nothing,
    /// Local sockets, between ranks of different nodes; with a seed what comes is held back and mixed.
    Loopback(Option<u64>),
    /// Connections of our own over TCP.
    Wire,
    /// A provider of libfabric's, and connections over TCP beside it.
    Fabric(Wanted),
}

/// What the words of [`TRANSPORT`] ask for: the network, when its broadcasts go to all nodes at once, and whether its connections
/// are sealed.
fn transport(text: &str) -> Option<(Network, multicast::Wanted, bool)> {
    use multicast::Wanted::{Always, ManyNodes, Never};
    let (word, more) = text.split_once(':').map_or((text, None), |(word, more)| (word, Some(more)));
    let network = match (word, more) {
        ("node", None) => Network::Nothing,
        ("wire", None | Some("tree" | "multicast" | "sealed")) => Network::Wire,
        ("fabric", None) => Network::Fabric(Wanted::Best),
        ("fabric", Some(provider)) => Network::Fabric(Wanted::named(provider)?),
        ("loopback", None) => Network::Loopback(None),
        ("loopback", Some(seed)) => Network::Loopback(Some(seed.parse().ok()?)),
        _ => return None,
    };
    let multicast = match text {
        "wire:tree" => Never,
        "wire:multicast" => Always,
        _ => ManyNodes,
    };
    Some((network, multicast, text == "wire:sealed"))
}

/// What [`TRANSPORT`] may be.
const TRANSPORTS: &str =
    "`node`, `wire`, wire:sealed, wire:tree, wire:multicast, `fabric`, fabric:tcp with a provider of \
    libfabric's that is used, `loopback`, or loopback:7 with any number";

const SWITCH: &[(&str, bool)] = &[("0", false), ("1", true)];
const MEANS: &[(&str, Means)] = &[
    ("direct", Means::Direct),
    ("cross-memory", Means::CrossMemory),
    ("memory-file", Means::MemoryFile),
    ("cells", Means::Cells),
];
const PRESENCE: &[(&str, Presence)] =
    &[("auto", Presence::Auto), ("on", Presence::On), ("off", Presence::Off)];

/// What a text stands for that is one of these words.
fn one_of<T: Copy>(words: &'static [(&'static str, T)]) -> impl Fn(&str) -> Option<T> {
    |text| words.iter().find(|(word, _)| *word == text).map(|&(_, meaning)| meaning)
}

impl Settings {
    /// Reads them by `lookup`. A setting that is not there, or empty, has its default.
    ///
    /// # Errors
    /// `Arg` for a value that means nothing, naming it.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Settings> {
        let memory = read(&lookup, MEMORY, bytes, "a number of bytes such as 64M")?;
        let right = "`direct`, `cross-memory`, `memory-file` or `cells`";
        let copy = read(&lookup, COPY, one_of(MEANS), right)?;
        let check = read(&lookup, CHECK, one_of(SWITCH), "0 or 1")?;
        let reproducible = read(&lookup, REPRODUCIBLE, one_of(SWITCH), "0 or 1")?;
        let nodes = read(&lookup, NODES, Nodes::parse, "a number such as 2, or 2:cyclic")?;
        let (network, multicast, seals) = read(&lookup, TRANSPORT, transport, TRANSPORTS)?.unwrap_or((
            Network::Nothing,
            multicast::Wanted::ManyNodes,
            false,
        ));
        let gpu = read(&lookup, GPU, one_of(PRESENCE), "`auto`, `on` or `off`")?;
        let servers = read(&lookup, SERVERS, extents, "the extents of a grid, such as 4x4")?;
        let right = "a number of percent from 0 to 100, such as 5";
        let max_slowdown = read(&lookup, MAX_SLOWDOWN, percent, right)?;
        Ok(Settings {
            memory: memory.unwrap_or(64 << 20),
            copy: copy.unwrap_or(Means::Direct),
            check: check.unwrap_or(false),
            reproducible: reproducible.unwrap_or(false),
            nodes: nodes.unwrap_or(Nodes::One),
            network,
            multicast,
            seals,
            gpu: gpu.unwrap_or(Presence::Auto),
            servers,
            max_slowdown,
        })
    }
}

/// What `parse` makes of the value of a setting, if it has one; `right` says what it may be.
fn read<T>(
    lookup: impl Fn(&str) -> Option<String>,
    name: &str,
    parse: impl FnOnce(&str) -> Option<T>,
    right: &str,
) -> Result<Option<T>> {
    let Some(value) = lookup(name) else { return Ok(None) };
    let value = value.trim();
    if value.is_empty() {
        return Ok(None);
    }
    let wrong = || Error::new(Class::Arg, format!("the setting {name} is `{value}`, but has to be {right}"));
    parse(value).map(Some).ok_or_else(wrong)
}

/// A number from 0 to 100.
pub fn percent(text: &str) -> Option<f64> {
    text.trim().trim_end_matches('%').parse().ok().filter(|percent| (0.0..=100.0).contains(percent))
}

/// Names among `names` that begin like ours and are none.
pub fn misspelt<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let ours = [SEGMENT, RESTART, MEMORY_KINDS, INITIAL_ERROR_HANDLER, HOSTS];
    let known = |name: &str| ours.contains(&name) || SETTINGS.iter().any(|setting| setting.name == name);
    names.filter(|name| name.starts_with("SERRIED_") && !known(name)).collect()
}

/// `64M` and the like in bytes.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.char_indices().last()? {
        (end, 'k' | 'K') => (&text[..end], 1 << 10),
        (end, 'm' | 'M') => (&text[..end], 1 << 20),
        (end, 'g' | 'G') => (&text[..end], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Settings> {
        Settings::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn values_are_read_and_wrong_ones_are_named() {
        let without = Settings {
            memory: 64 << 20,
            copy: Means::Direct,
            check: false,
            reproducible: false,
            nodes: Nodes::One,
            network: Network::Nothing,
            multicast: multicast::Wanted::ManyNodes,
            seals: false,
            gpu: Presence::Auto,
            servers: None,
            max_slowdown: None,
        };
        assert_eq!(with("", "").unwrap(), without);
        assert!(with(CHECK, "1").unwrap().check && !with(CHECK, "0").unwrap().check);
        assert_eq!(with(REPRODUCIBLE, "1").unwrap(), Settings { reproducible: true, ..without });
        assert_eq!(with(NODES, "2").unwrap().nodes, Nodes::Blocks(2));
        assert_eq!(with(TRANSPORT, "loopback").unwrap().network, Network::Loopback(None));
        assert_eq!(with(TRANSPORT, "loopback:12").unwrap().network, Network::Loopback(Some(12)));
        assert_eq!(with(TRANSPORT, "wire").unwrap().network, Network::Wire);
        let of =
            |value| with(TRANSPORT, value).map(|settings| (settings.network, settings.multicast)).unwrap();
        let sealed = with(TRANSPORT, "wire:sealed").unwrap();
        assert_eq!((sealed.network, sealed.seals), (Network::Wire, true));
        assert_eq!(of("wire:tree"), (Network::Wire, multicast::Wanted::Never));
        assert_eq!(of("wire:multicast"), (Network::Wire, multicast::Wanted::Always));
        assert_eq!(with(TRANSPORT, "fabric").unwrap().network, Network::Fabric(Wanted::Best));
        assert_eq!(with(TRANSPORT, "fabric:net").unwrap().network, Network::Fabric(Wanted::Named("net")));
        assert_eq!(with(TRANSPORT, "node").unwrap(), without);
        assert_eq!(with(SERVERS, "2x3").unwrap().servers, Some([2, 3, 0, 0, 0, 0, 0, 0]));
        assert_eq!(with(MAX_SLOWDOWN, "2.5").unwrap().max_slowdown, Some(2.5));
        assert_eq!(with(GPU, "on").unwrap().gpu, Presence::On);
        assert_eq!(with(GPU, "off").unwrap().gpu, Presence::Off);
        assert_eq!(with(GPU, "auto").unwrap(), without);
        assert_eq!(with(MEMORY, "3K").unwrap().memory, 3072);
        assert_eq!(with(MEMORY, "2g").unwrap().memory, 2 << 30);
        assert_eq!(with(COPY, "cells").unwrap().copy, Means::Cells);
        assert_eq!(with(COPY, "memory-file").unwrap().copy, Means::MemoryFile);
        assert_eq!(with(COPY, "cross-memory").unwrap().copy, Means::CrossMemory);
        for (name, value) in [
            (MEMORY, "lots"),
            (MEMORY, "99999999999G"),
            (COPY, "cma"),
            (CHECK, "yes"),
            (REPRODUCIBLE, "2"),
            (NODES, "two"),
            (MAX_SLOWDOWN, "-1"),
            (MAX_SLOWDOWN, "NaN"),
            (TRANSPORT, "loopback:x"),
            (TRANSPORT, "tcp"),
            (TRANSPORT, "fabric:shm"),
            (GPU, "yes"),
            (SERVERS, "2x0"),
            (SERVERS, "two"),
        ] {
            assert!(with(name, value).unwrap_err().message().contains(value));
        }
    }

    #[test]
    fn misspelt_settings_are_found() {
        let wrong = concat!("SERRIED", "_MEMROY"); // in two, so that nobody counts it as a setting
        assert_eq!(misspelt(["PATH", wrong, COPY, SEGMENT, RESTART].into_iter()), [wrong]);
    }
}
