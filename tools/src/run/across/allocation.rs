//! The hosts that a batch system has given to a job, as it tells them: Slurm, PBS, LSF, Grid Engine.
//!
//! Pure, but for the files that the systems name.

use super::host_list::{self, Host};
use std::path::Path;

/// Looks up an environment variable.
pub type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Hosts, and who has given them.
#[derive(Debug, PartialEq)]
pub struct Allocation {
    /// What people call the batch system.
    pub system: &'static str,
    /// The hosts.
    pub hosts: Vec<Host>,
}

/// The allocation in which this process runs, if it is in one.
///
/// # Errors
/// A sentence: what the batch system says makes no sense.
pub fn find(lookup: &Lookup) -> Result<Option<Allocation>, String> {
    let found = [slurm as Finder, pbs, lsf, grid_engine];
    let found = found.into_iter().find_map(|finder| finder(lookup));
    found.map(|(system, hosts)| Ok(Allocation { system, hosts: hosts? })).transpose()
}

type Finder = fn(&Lookup) -> Option<(&'static str, Result<Vec<Host>, String>)>;

fn slurm(lookup: &Lookup) -> Option<(&'static str, Result<Vec<Host>, String>)> {
    let list = lookup("SLURM_JOB_NODELIST").or_else(|| lookup("SLURM_NODELIST"))?;
    let (name, counts) = ["SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"]
        .iter()
        .find_map(|name| Some((*name, lookup(name)?)))
        .unwrap_or(("SLURM_TASKS_PER_NODE", String::new()));
    let hosts = || {
        let names = expand(&list).ok_or_else(|| nonsense("SLURM_JOB_NODELIST", &list))?;
        let slots = repeated(&counts).ok_or_else(|| nonsense(name, &counts))?;
        let slots = slots.into_iter().map(Some).chain(std::iter::repeat(None));
        Ok(names.into_iter().zip(slots).map(|(name, slots)| Host { name, slots }).collect())
    };
    Some(("Slurm", hosts()))
}

/// A host a line, as often as it has slots.
fn pbs(lookup: &Lookup) -> Option<(&'static str, Result<Vec<Host>, String>)> {
    let file = lookup("PBS_NODEFILE")?;
    Some(("PBS", host_list::read_file("PBS_NODEFILE", Path::new(&file))))
}

fn lsf(lookup: &Lookup) -> Option<(&'static str, Result<Vec<Host>, String>)> {
    if let Some(file) = lookup("LSB_DJOB_HOSTFILE") {
        return Some(("LSF", host_list::read_file("LSB_DJOB_HOSTFILE", Path::new(&file))));
    }
    if let Some(pairs) = lookup("LSB_MCPU_HOSTS") {
        let words: Vec<&str> = pairs.split_whitespace().collect();
        let host =
            |pair: &[&str]| Some(Host { name: pair[0].to_owned(), slots: Some(pair.get(1)?.parse().ok()?) });
        let hosts: Option<Vec<Host>> = words.chunks(2).map(host).collect();
        return Some(("LSF", hosts.ok_or_else(|| nonsense("LSB_MCPU_HOSTS", &pairs))));
    }
    let hosts = lookup("LSB_HOSTS")?;
    Some((
        "LSF",
        Ok(host_list::merged(
            hosts.split_whitespace().map(|name| Host { name: name.to_owned(), slots: None }),
        )),
    ))
}

/// `host slots queue processors` a line.
fn grid_engine(lookup: &Lookup) -> Option<(&'static str, Result<Vec<Host>, String>)> {
    let file = lookup("PE_HOSTFILE")?;
    let hosts = || {
        let text = super::super::configuration::text(Path::new(&file))
            .map_err(|why| format!("PE_HOSTFILE {file}: {why}"))?;
        let host = |line: &str| {
            let mut words = line.split_whitespace();
            let (name, slots) = (words.next()?, words.next()?.parse().ok()?);
            Some(Host { name: name.to_owned(), slots: Some(slots) })
        };
        let hosts: Option<Vec<Host>> =
            text.lines().filter(|line| !line.trim().is_empty()).map(host).collect();
        hosts.map(|hosts| host_list::merged(hosts.into_iter())).ok_or_else(|| nonsense("PE_HOSTFILE", &file))
    };
    Some(("Grid Engine", hosts()))
}

fn nonsense(name: &str, value: &str) -> String {
    format!("{name} of the batch system makes no sense: {value}; name the hosts with --hosts")
}

/// Slurm's `2(x3),1`: a number for each host.
fn repeated(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (number, times) = match part.split_once("(x") {
            Some((number, times)) => (number, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1),
        };
        numbers.extend(std::iter::repeat_n(number.parse::<u32>().ok()?, times));
    }
    Some(numbers)
}

/// The hosts of a list in Slurm's short form: `n[1-3,07-08]-ib,m2`.
pub fn expand(list: &str) -> Option<Vec<String>> {
    let (mut hosts, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, letter) in list.char_indices().chain([(list.len(), ',')]) {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                hosts.extend(expand_one(&list[begin..at])?);
                begin = at + 1;
            }
            _ => {}
        }
    }
    hosts.retain(|host| !host.is_empty());
    (depth == 0 && !hosts.is_empty()).then_some(hosts)
}

fn expand_one(word: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = word.split_once('[') else { return Some(vec![word.to_owned()]) };
    let (ranges, after) = rest.split_once(']')?;
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (begin, end): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if end < begin || end - begin >= MOST {
            return None;
        }
        numbers.extend((begin..=end).map(|number| format!("{number:0width$}", width = first.len())));
    }
    let after = expand_one(after)?;
    Some(
        numbers
            .iter()
            .flat_map(|number| after.iter().map(move |after| format!("{before}{number}{after}")))
            .collect(),
    )
}

/// Nobody has more hosts of one name.
const MOST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn within(variables: &[(&str, &str)]) -> Result<Option<Allocation>, String> {
        find(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    fn told(variables: &[(&str, &str)]) -> (&'static str, String) {
        let found = within(variables).unwrap().unwrap();
        let host = |host: &Host| {
            format!("{}:{}", host.name, host.slots.map_or("-".into(), |slots| slots.to_string()))
        };
        (found.system, found.hosts.iter().map(host).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn slurms_lists_are_written_out() {
        let list = |text: &str| expand(text).map(|hosts| hosts.join(" "));
        assert_eq!(list("n[1-3,07-08],m2").unwrap(), "n1 n2 n3 n07 n08 m2");
        assert_eq!(list("r[1-2]n[09-10]-ib").unwrap(), "r1n09-ib r1n10-ib r2n09-ib r2n10-ib");
        for nonsense in ["", "n[1-", "n[2-1]", "n[a]", "n[1-99999999]"] {
            assert_eq!(list(nonsense), None, "{nonsense}");
        }
        let variables = [("SLURM_JOB_NODELIST", "n[1-4]"), ("SLURM_TASKS_PER_NODE", "2(x3),1")];
        assert_eq!(told(&variables), ("Slurm", "n1:2 n2:2 n3:2 n4:1".into()));
        assert_eq!(told(&[("SLURM_NODELIST", "n7"), ("SLURM_JOB_CPUS_PER_NODE", "16")]).1, "n7:16");
        assert_eq!(told(&[("SLURM_JOB_NODELIST", "n7")]).1, "n7:-");
        let wrong = within(&[("SLURM_JOB_NODELIST", "n7"), ("SLURM_TASKS_PER_NODE", "2(y3)")]).unwrap_err();
        assert!(wrong.contains("SLURM_TASKS_PER_NODE") && wrong.contains("2(y3)"), "{wrong}");
    }

    #[test]
    fn other_systems_are_read_in_their_own_forms() {
        assert_eq!(within(&[("HOME", "/")]), Ok(None));
        assert_eq!(told(&[("LSB_MCPU_HOSTS", "a 2 b 4")]), ("LSF", "a:2 b:4".into()));
        assert_eq!(told(&[("LSB_HOSTS", "a a b")]), ("LSF", "a:2 b:1".into()));
        assert!(within(&[("LSB_MCPU_HOSTS", "a 2 b")]).unwrap_err().contains("a 2 b"));
        let file = std::env::temp_dir().join(format!("unit-test-allocation-{}", std::process::id()));
        let name = file.to_str().unwrap();
        std::fs::write(&file, "a\na\nb\n").unwrap();
        assert_eq!(told(&[("PBS_NODEFILE", name)]), ("PBS", "a:2 b:1".into()));
        std::fs::write(&file, "a 2 all.q@a UNDEFINED\nb 1 all.q@b UNDEFINED\n").unwrap();
        assert_eq!(told(&[("PE_HOSTFILE", name)]), ("Grid Engine", "a:2 b:1".into()));
        std::fs::remove_file(&file).unwrap();
        assert!(within(&[("PBS_NODEFILE", name)]).unwrap_err().contains("no such file"));
    }
}
