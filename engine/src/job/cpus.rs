//! How many CPUs this process may use: what its affinity mask allows, cut by
//! the CPU quota of its cgroup.

use super::cpu_set::CpuSet;
use std::fs;

/// CPU numbers in the affinity mask of the calling thread, ascending.
pub fn allowed() -> Vec<usize> {
    allowed_set().iter().collect()
}

/// The affinity mask of the calling thread, which is within the cpuset of its cgroup.
pub fn allowed_set() -> CpuSet {
    let mut set = CpuSet::default();
    // SAFETY: the words are a place of that size, and laid out as the system's type.
    let refused = unsafe { libc::sched_getaffinity(0, size_of::<CpuSet>(), set.0.as_mut_ptr().cast()) };
    if refused == 0 {
        return set;
    }
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    (0..count).collect()
}

/// CPUs that the cgroup's quota of time is enough for, if it limits it; at least 1.
pub fn whole_quota() -> Option<u32> {
    quota().map(|granted| (granted.ceil() as u32).max(1))
}

/// CPUs' worth of time that the cgroup grants, if it limits it.
pub fn quota() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut tightest: Option<f64> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        for granted in along_path(controllers, path) {
            tightest = Some(tightest.map_or(granted, |known| known.min(granted)));
        }
    }
    tightest
}

/// CPUs that can really work for this process at the same time, at least 1.
pub fn usable() -> usize {
    let allowed = allowed().len().max(1);
    whole_quota().map_or(allowed, |quota| allowed.min(quota as usize))
}

/// The quotas of a cgroup and of all above it.
fn along_path(controllers: &str, path: &str) -> Vec<f64> {
    let (root, read): (&str, fn(&str) -> Option<f64>) = match controllers {
        "" => ("/sys/fs/cgroup", quota_version_2),
        list if list.split(',').any(|name| name == "cpu") => ("/sys/fs/cgroup/cpu", quota_version_1),
        _ => return Vec::new(),
    };
    let mut quotas = Vec::new();
    let mut path = path.trim_end_matches('/');
    loop {
        quotas.extend(read(&format!("{root}{path}")));
        match path.rfind('/') {
            Some(end) => path = &path[..end],
            None => return quotas,
        }
    }
}

fn quota_version_2(folder: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("{folder}/cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    ratio(quota.parse().ok()?, period.parse().ok()?)
}

fn quota_version_1(folder: &str) -> Option<f64> {
    let number = |name: &str| fs::read_to_string(format!("{folder}/{name}")).ok()?.trim().parse::<f64>().ok();
    ratio(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
}

fn ratio(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    #[test]
    fn something_is_usable_and_never_more_than_allowed() {
        assert!((1..=super::allowed().len()).contains(&super::usable()));
    }
}
