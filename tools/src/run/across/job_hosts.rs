//! What the ranks of a job know of its hosts, for jobs that they start: the hosts on which the launcher may start ranks, how
//! many ranks each has room for and has got, and how agents are started there. It goes through the environment, in lines:
//!
//! ```text
//! 12                       slots of all hosts, which is the MPI_UNIVERSE_SIZE of the job
//! n[01-02] 4 4             hosts in the words of Slurm, slots of each, ranks of the job on each
//! spare 4 0
//! -launcher=slurm          options of `serried run`
//! ```
//!
//! Neighbours that are alike share a line, so the hosts of a big machine fit. Pure.

use super::allocation::expand;
use super::host_list::Host;
use crate::run::options::{self, Options, Shell};
use serried_engine::job::NodeMap;
use std::ffi::OsString;
use std::time::Duration;

/// A host of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobHost {
    /// Its name.
    pub name: String,
    /// For how many ranks it has room.
    pub slots: u32,
    /// Ranks of the job on it.
    pub ranks: u32,
}

/// The hosts of a job, and how to get there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobHosts {
    /// In the order in which they are filled.
    pub hosts: Vec<JobHost>,
    /// How agents are started.
    pub shell: Shell,
    /// After so long a silent host is given up, if that was said.
    pub host_timeout: Option<Duration>,
}

impl JobHosts {
    /// Of a job whose ranks have been dealt to the first of these hosts. A host of which nobody has said how many ranks it has
    /// room for has room for those of this job, and for one at least.
    pub fn new(hosts: &[Host], map: &NodeMap, options: &Options) -> JobHosts {
        let host = |(node, host): (u32, &Host)| {
            let ranks = if node < map.nodes() { map.ranks_on(node) } else { 0 };
            let slots = options.per_host.or(host.slots).unwrap_or(ranks.max(1));
            JobHost { name: host.name.clone(), slots, ranks }
        };
        let hosts = (0..).zip(hosts).map(host).collect();
        JobHosts { hosts, shell: options.shell.clone(), host_timeout: Some(options.host_timeout) }
    }

    /// As lines.
    pub fn to_text(&self) -> String {
        let total: u64 = self.hosts.iter().map(|host| u64::from(host.slots)).sum();
        let mut lines = vec![total.min(i32::MAX as u64).to_string()];
        let alike = |one: &JobHost, next: &JobHost| {
            let follows = numbered(&one.name).zip(numbered(&next.name)).is_some_and(|(one, next)| {
                (one.0, one.1.len(), one.1.parse::<u64>().ok().map(|it| it + 1))
                    == (next.0, next.1.len(), next.1.parse().ok())
            });
            follows && (one.slots, one.ranks) == (next.slots, next.ranks)
        };
        for group in self.hosts.chunk_by(alike) {
            let (first, last) = (&group[0], &group[group.len() - 1]);
            let names = match (numbered(&first.name), numbered(&last.name)) {
                (Some((name, from)), Some((_, to))) if group.len() > 1 => format!("{name}[{from}-{to}]"),
                _ => first.name.clone(),
            };
            lines.push(format!("{names} {} {}", first.slots, first.ranks));
        }
        let Shell { kind, command, serried, fanout } = &self.shell;
        lines.extend(kind.iter().map(|kind| format!("-launcher={kind}")));
        lines.extend(command.iter().map(|command| format!("-launcher-exec={command}")));
        lines.extend(serried.iter().map(|path| format!("--agent-path={}", path.display())));
        lines.extend(fanout.iter().map(|fanout| format!("--fanout={fanout}")));
        lines.extend(self.host_timeout.iter().map(|time| format!("--host-timeout={}", time.as_secs_f64())));
        lines.join("\n")
    }

    /// From such lines; `None` if they make no sense.
    pub fn read(text: &str) -> Option<JobHosts> {
        let (options, hosts): (Vec<&str>, Vec<&str>) =
            text.lines().skip(1).partition(|line| line.starts_with('-'));
        let mut read = JobHosts::default();
        for line in hosts {
            let mut words = line.split(' ');
            let names = expand(words.next()?)?;
            let (slots, ranks) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            read.hosts.extend(names.into_iter().map(|name| JobHost { name, slots, ranks }));
        }
        let words: Vec<OsString> = options.into_iter().chain(["a program"]).map(OsString::from).collect();
        let options = options::parse(&words).ok()?;
        Some(JobHosts { shell: options.shell, host_timeout: Some(options.host_timeout), ..read })
    }
}

/// The name of a host that ends with a number: what stands before that, and its digits.
fn numbered(name: &str) -> Option<(&str, &str)> {
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    (1..=9).contains(&digits).then(|| name.split_at(name.len() - digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(list: &[(&str, u32, u32)]) -> Vec<JobHost> {
        let host = |&(name, slots, ranks): &(&str, u32, u32)| JobHost { name: name.into(), slots, ranks };
        list.iter().map(host).collect()
    }

    #[test]
    fn hosts_that_are_alike_share_a_line_and_come_back() {
        let list = [("n08", 4, 4), ("n09", 4, 4), ("n10", 4, 2), ("n11", 4, 0), ("n12", 4, 0), ("m1", 1, 0)];
        let shell = Shell { command: Some("/etc/kubexec.sh -v".into()), ..Shell::default() };
        let told = JobHosts { hosts: hosts(&list), shell, host_timeout: Some(Duration::from_secs(7)) };
        let text = told.to_text();
        assert_eq!(
            text.lines().take(5).collect::<Vec<_>>(),
            ["21", "n[08-09] 4 4", "n10 4 2", "n[11-12] 4 0", "m1 1 0"]
        );
        assert_eq!(JobHosts::read(&text), Some(told));
        for list in [
            [("fd00::1", 1, 1), ("fd00::2", 1, 1)],
            [("n9", 1, 1), ("n10", 1, 1)],
            [("a", 1, 1), ("b", 2, 0)],
        ] {
            let told = JobHosts { hosts: hosts(&list), ..JobHosts::default() };
            assert_eq!(JobHosts::read(&told.to_text()).unwrap().hosts, told.hosts);
        }
        let many = (0..100_000).map(|node| JobHost { name: format!("node{node:06}"), slots: 64, ranks: 64 });
        assert!(JobHosts { hosts: many.collect(), ..JobHosts::default() }.to_text().len() < 100);
        assert_eq!(JobHosts::read("1\nn[ 1 1"), None);
    }

    #[test]
    fn a_host_has_room_for_its_ranks_and_for_one_at_least() {
        let list = [("a", None), ("b", Some(3)), ("c", None)];
        let list: Vec<Host> = list.map(|(name, slots)| Host { name: name.into(), slots }).into();
        let map = NodeMap::of_list(&[0, 0, 1]).unwrap();
        let told = JobHosts::new(&list, &map, &Options::default());
        assert_eq!(told.hosts, hosts(&[("a", 2, 2), ("b", 3, 1), ("c", 1, 0)]));
        let each = JobHosts::new(&list, &map, &Options { per_host: Some(4), ..Options::default() });
        assert_eq!(each.hosts, hosts(&[("a", 4, 2), ("b", 4, 1), ("c", 4, 0)]));
    }
}
