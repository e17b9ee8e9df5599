//! Hints (MPI-5.0 §14.2.8): those of the standard and of ROMIO are known, and told with what is in force; all others
//! are kept silent.

use super::collective_plan::{Plan, Together};
use super::file_system::FileSystem;
use super::striped::Stripes;
use super::team::Team;
use crate::world::Info;

/// Writes beside the file, which is replaced at close.
const REPLACE: &str = "serried_atomic_replace";
/// Keeps checksums of a file that is written, and verifies one that is read.
const SUMS: &str = "serried_checksum";

/// Those that are reported, with what is in force where the program says nothing.
const KNOWN: [(&str, &str); 27] = [
    ("access_style", ""),
    ("collective_buffering", "true"),
    ("cb_block_size", ""),
    ("cb_buffer_size", "1048576"),
    ("cb_nodes", ""),
    ("cb_config_list", "*:1"),
    ("chunked", ""),
    ("chunked_item", ""),
    ("chunked_size", ""),
    ("filename", ""),
    ("file_perm", ""),
    ("io_node_list", ""),
    ("nb_proc", ""),
    ("num_io_nodes", ""),
    ("striping_factor", ""),
    ("striping_unit", ""),
    ("ind_rd_buffer_size", "262144"),
    ("ind_wr_buffer_size", "262144"),
    ("romio_cb_read", "automatic"),
    ("romio_cb_write", "automatic"),
    ("romio_ds_read", "automatic"),
    ("romio_ds_write", "disable"),
    ("romio_no_indep_rw", "false"),
    ("romio_visibility_immediate", "true"),
    ("romio_filesystem_type", ""),
    (REPLACE, "false"),
    (SUMS, "false"),
];
/// Further hints, mostly of ROMIO, which are reported as they were given.
const FURTHER: [&str; 10] = [
    "mpi_assert_memory_alloc_kinds",
    "romio_cb_pfr",
    "romio_cb_fr_types",
    "romio_cb_fr_alignment",
    "romio_cb_ds_threshold",
    "romio_cb_alltoall",
    "romio_aggregator_list",
    "romio_synchronized_flush",
    "romio_min_fdomain_size",
    "start_iodevice",
];
/// Those that the program cannot choose.
const OURS: [&str; 2] = ["romio_filesystem_type", "romio_visibility_immediate"];

/// The hints of a file.
pub(super) struct Hints {
    told: Info,
}

/// Whether a hint is one that files know.
pub fn accepted(key: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == key) || FURTHER.contains(&key)
}

impl Hints {
    /// Those of a file that is being opened.
    pub fn new(given: Option<&Info>) -> Hints {
        let hints = Hints { told: Info::default() };
        for (key, value) in KNOWN.iter().filter(|(_, value)| !value.is_empty()) {
            let _ = hints.told.set(key, value); // neither is too long
        }
        if let Some(given) = given {
            hints.take(given);
        }
        hints
    }

    /// Takes those that make sense; a wrong value changes nothing.
    pub fn take(&self, given: &Info) {
        for (key, value) in given.entries() {
            let value = value.trim();
            let is_ours = OURS.contains(&key.as_str());
            if accepted(&key) && !is_ours && makes_sense(&key, value) {
                let _ = self.told.set(&key, value); // it comes from an info object, which has checked it
            }
        }
    }

    /// Adds what is known of a file once it is open.
    pub fn on(self, file_system: &FileSystem, team: &dyn Team) -> Hints {
        let tell = |key, value: &dyn ToString| self.told.set(key, &value.to_string());
        let _ = tell("romio_filesystem_type", &file_system.name);
        let _ = tell("nb_proc", &team.size());
        let nodes = team.leaders().len();
        let _ = tell("cb_nodes", &self.number("cb_nodes").map_or(nodes, |given| nodes.min(given as usize)));
        if let Some(stripes) = file_system.stripes.filter(|_| self.number("striping_unit").is_none()) {
            let _ = tell("striping_unit", &stripes.unit);
            let _ = tell("striping_factor", &stripes.servers);
        }
        self
    }

    fn is_true(&self, key: &str) -> bool {
        self.told.get(key).as_deref() == Some("true")
    }

    /// Whether the file is to be replaced at close.
    pub fn replaces(&self) -> bool {
        self.is_true(REPLACE)
    }

    /// Whether checksums are kept and verified.
    pub fn sums(&self) -> bool {
        self.is_true(SUMS)
    }

    /// Both, as a number.
    pub fn is_safe(&self) -> u64 {
        u64::from(self.replaces()) | u64::from(self.sums()) << 1
    }

    /// Takes both as another rank has them.
    pub fn agree_on_safety(&self, number: u64) {
        self.tell_safety(number & 1 != 0, number & 2 != 0);
    }

    /// Says which of both are in force.
    pub fn tell_safety(&self, replaces: bool, sums: bool) {
        let _ = self.told.set(REPLACE, &replaces.to_string());
        let _ = self.told.set(SUMS, &sums.to_string());
    }

    /// A hint that is a number; 0 is none.
    fn number(&self, key: &str) -> Option<u64> {
        self.told.get(key).and_then(|text| text.parse().ok()).filter(|&number| number > 0)
    }

    /// All that are in force.
    pub fn told(&self) -> Info {
        self.told.clone()
    }

    /// The permissions of a new file, before the process's mask.
    pub fn permissions(&self) -> u32 {
        let given = self.told.get("file_perm").and_then(|text| u32::from_str_radix(&text, 8).ok());
        given.unwrap_or(0o666) & 0o7777
    }

    /// How collective writing goes.
    pub fn plan(&self) -> Plan {
        let together = match self.told.get("romio_cb_write").as_deref() {
            Some("enable") => Together::Always,
            Some("disable") => Together::Never,
            _ if self.told.get("collective_buffering").as_deref() == Some("false") => Together::Never,
            _ => Together::Automatic,
        };
        let servers = || self.number("striping_factor").unwrap_or(1);
        Plan {
            together,
            window: self.number("cb_buffer_size").unwrap_or(1 << 20).clamp(4096, 1 << 20).next_power_of_two(),
            nodes: self.number("cb_nodes").map_or(u32::MAX, |nodes| nodes.min(u32::MAX.into()) as u32),
            stripes: self.number("striping_unit").map(|unit| Stripes { unit, servers: servers() }),
        }
    }
}

fn makes_sense(key: &str, value: &str) -> bool {
    match key {
        "cb_buffer_size" | "cb_nodes" | "cb_block_size" | "striping_factor" | "striping_unit"
        | "ind_rd_buffer_size" | "ind_wr_buffer_size" => value.parse::<u64>().is_ok_and(|number| number > 0),
        "romio_cb_read" | "romio_cb_write" | "romio_ds_read" | "romio_ds_write" => {
            ["automatic", "enable", "disable"].contains(&value)
        }
        "collective_buffering" | "romio_no_indep_rw" | REPLACE | SUMS => ["true", "false"].contains(&value),
        "file_perm" => u32::from_str_radix(value, 8).is_ok(),
        _ => true,
    }
}

impl super::File {
    /// The hints that are in force.
    pub fn hints(&self) -> Info {
        self.state().hints.told()
    }

    /// Takes hints.
    pub fn set_hints(&self, info: &Info) {
        self.state().hints.take(info);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hints_are_taken_and_told_and_others_are_kept_silent() {
        let given = Info::default();
        let all = [
            ("cb_buffer_size", "65536"),
            ("romio_cb_write", "often"),
            ("cb_nodes", "0"),
            ("my_own", "1"),
            ("romio_cb_pfr", "aar"),
        ];
        for (key, value) in all {
            given.set(key, value).unwrap();
        }
        let hints = Hints::new(Some(&given));
        let told = |key| hints.told().get(key);
        assert_eq!((told("cb_buffer_size").as_deref(), hints.plan().window), (Some("65536"), 65536));
        assert_eq!(
            (told("romio_cb_write").as_deref(), hints.plan().together),
            (Some("automatic"), Together::Automatic)
        );
        assert_eq!(
            (told("cb_nodes").as_deref(), told("my_own"), told("romio_cb_pfr").as_deref()),
            (None, None, Some("aar"))
        );
        assert_eq!(hints.permissions(), 0o666);
    }
}
