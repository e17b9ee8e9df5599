//! The energy that the processors of this host use, where the system lets it be read: `powercap` in sysfs, which has counters
//! of Intel's and AMD's packages. Virtual machines and containers mostly have none, and some systems let only root read them.

use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "/sys/class/powercap";

/// One package: where its counter is, what it counts up to, and what it said at the start, in microjoules.
#[derive(Debug)]
struct Package {
    counter: PathBuf,
    most: u64,
    began: u64,
}

/// The counters of all packages since the start.
#[derive(Debug)]
pub struct Energy {
    packages: Vec<Package>,
}

impl Energy {
    /// Begins to count.
    pub fn start() -> Energy {
        Energy::start_in(Path::new(FOLDER))
    }

    fn start_in(folder: &Path) -> Energy {
        let zones = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        Energy { packages: zones.filter_map(|zone| package(&zone)).collect() }
    }

    /// What all packages have used since the start, in joules; `None` if there is nothing to read.
    pub fn joules(&self) -> Option<f64> {
        let used = self.packages.iter().map(Package::used).collect::<Option<Vec<u64>>>()?;
        (!used.is_empty()).then(|| used.iter().sum::<u64>() as f64 / 1e6)
    }

    /// The same as a line for people.
    pub fn line(&self) -> String {
        match self.joules() {
            Some(joules) => format!("  energy: {joules:.1} J, all that ran on the processors of this host\n"),
            None => "  energy: not measurable here: no counter of the processors can be read\n".to_owned(),
        }
    }
}

impl Package {
    fn used(&self) -> Option<u64> {
        let now = number(&self.counter)?;
        // The counter begins again at zero.
        Some(if now < self.began { now + self.most - self.began } else { now - self.began })
    }
}

/// The package that a zone is; `None` for parts of packages (which their packages count too), and for what cannot be read.
fn package(zone: &Path) -> Option<Package> {
    let name = fs::read_to_string(zone.join("name")).ok()?;
    if !name.trim().starts_with("package") {
        return None;
    }
    let counter = zone.join("energy_uj");
    let (most, began) = (number(&zone.join("max_energy_range_uj"))?, number(&counter)?);
    Some(Package { counter, most, began })
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_added_and_parts_of_them_are_not() {
        let folder = std::env::temp_dir().join(format!("unit-test-energy-{}", std::process::id()));
        let zone = |zone: &str, name: &str, energy: &str| {
            let zone = folder.join(zone);
            fs::create_dir_all(&zone).unwrap();
            fs::write(zone.join("name"), name).unwrap();
            fs::write(zone.join("max_energy_range_uj"), "100000000\n").unwrap();
            fs::write(zone.join("energy_uj"), energy).unwrap();
        };
        zone("intel-rapl:0", "package-0\n", "1000000\n");
        zone("intel-rapl:0:0", "core\n", "500000\n");
        zone("intel-rapl:1", "package-1\n", "99000000\n");
        let energy = Energy::start_in(&folder);
        zone("intel-rapl:0", "package-0\n", "3500000\n");
        zone("intel-rapl:0:0", "core\n", "900000\n");
        zone("intel-rapl:1", "package-1\n", "1000000\n");
        assert_eq!(energy.joules(), Some(4.5));
        assert!(energy.line().contains("4.5 J"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn without_counters_it_says_so() {
        assert!(Energy::start_in(Path::new("/nowhere")).line().contains("not measurable here"));
    }
}
