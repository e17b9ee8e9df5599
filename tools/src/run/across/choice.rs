//! Where the ranks of a job run: on this machine alone, or on which hosts.

use super::dealing::{deal, Wish};
use super::host_list::Host;
use super::job_hosts::JobHosts;
use super::{allocation, this_host};
use crate::run::options::Options;
use crate::system::host_name;
use serried_engine::job::NodeMap;
use serried_engine::settings::HOSTS;

/// The hosts of a job that runs on others than this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Across {
    /// Their names, by the number of the node.
    pub hosts: Vec<String>,
    /// Who is where.
    pub map: NodeMap,
}

/// Finds out where the ranks run, by the options and the batch system, and how many there are if nobody has said so;
/// `None`: all on this machine. The options have all hosts then; those that are used are the first ones.
///
/// # Errors
/// A sentence for the user.
pub fn choose(options: &mut Options, lookup: &allocation::Lookup) -> Result<Option<Across>, String> {
    options.environment.retain(|(name, _)| name != HOSTS);
    match options.local_only {
        true => options.hosts = None,
        false if options.hosts.is_none() => {
            options.hosts = allocation::find(lookup)?.map(|allocation| allocation.hosts);
        }
        false => {}
    }
    let Some(hosts) = options.hosts.clone() else {
        if let Some(ranks) = options.per_host.filter(|_| !options.local_only) {
            options.ignored.push(format!("-ppn {ranks}"));
        }
        return Ok(None);
    };
    let wish = Wish { ranks: wanted(options), per_host: options.per_host, in_turn: options.deal_in_turn };
    let map = deal(&hosts, wish)?;
    if let [program] = &mut options.programs[..] {
        program.ranks = Some(map.size());
    }
    let are_here: Vec<bool> = hosts.iter().map(|host| this_host::is_here(&host.name)).collect();
    let named = |(host, &is_here): (&Host, &bool)| {
        // It shall mean the same on all hosts.
        let name = if is_here { host_name() } else { host.name.clone() };
        Host { name, ..host.clone() }
    };
    let hosts: Vec<Host> = hosts.iter().zip(&are_here).map(named).collect();
    if are_here.contains(&false) {
        // Its ranks may start others, on all of them.
        options.environment.push((HOSTS.into(), JobHosts::new(&hosts, &map, options).to_text().into()));
    }
    let used = map.nodes() as usize;
    if are_here[..used].iter().all(|&is_here| is_here) {
        return Ok(None);
    }
    Ok(Some(Across { hosts: hosts[..used].iter().map(|host| host.name.clone()).collect(), map }))
}

/// How many ranks the user wants, if that was said.
fn wanted(options: &Options) -> Option<u32> {
    match &options.programs[..] {
        [program] => program.ranks,
        programs => {
            Some(programs.iter().fold(0, |sum, program| sum.saturating_add(program.ranks.unwrap_or(1))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::options::parse;
    use std::ffi::OsString;

    fn chosen(line: &str, variables: &[(&str, &str)]) -> (Option<String>, Options) {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let mut options = parse(&words).unwrap();
        let lookup = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let across = choose(&mut options, &lookup).unwrap();
        (across.map(|across| format!("{} {}", across.hosts.join(","), across.map.to_text())), options)
    }

    // These addresses are kept for documents.
    const A: &str = "203.0.113.1";
    const B: &str = "203.0.113.2";

    #[test]
    fn hosts_come_from_the_command_line_or_from_the_batch_system() {
        let slurm = [("SLURM_JOB_NODELIST", "203.0.113.[1-2]"), ("SLURM_TASKS_PER_NODE", "2(x2)")];
        let both = Some(format!("{A},{B} (vector,(0,2,2))"));
        assert_eq!(chosen("a", &[]).0, None);
        assert_eq!(chosen("a", &slurm).0, both);
        let (across, options) = chosen("-n 2 a", &slurm);
        assert_eq!(across, Some(format!("{A} (vector,(0,2,2))")));
        assert_eq!(options.hosts.map_or(0, |hosts| hosts.len()), 2, "those that are spare are known");
        assert_eq!(chosen("-localonly a", &slurm).0, None);
        assert_eq!(chosen(&format!("--hosts {A}:2,{B}:2 a"), &[]).0, both);
        assert_eq!(chosen(&format!("--hosts {A},{B} -n 4 -ppn 2 a"), &[]).0, both);
        let in_turn = chosen(&format!("--hosts {A}:2,{B}:2 --map-by node a"), &[]).0;
        assert_eq!(in_turn, Some(format!("{A},{B} (vector,(0,2,1))")));
    }

    #[test]
    fn names_of_this_machine_are_no_other_hosts() {
        let (across, options) = chosen("--hosts localhost:3,127.0.0.1 a", &[]);
        assert_eq!((across, options.programs[0].ranks), (None, Some(4)));
        let (across, options) = chosen("--hosts localhost -ppn 2 a", &[]);
        assert_eq!((across, options.programs[0].ranks, options.ignored.len()), (None, Some(2), 0));
        assert_eq!(chosen("-ppn 2 a", &[]).1.ignored, ["-ppn 2"]);
        assert_eq!(
            chosen(&format!("--hosts localhost,{A} a"), &[]).0,
            Some(format!("{},{A} (vector,(0,2,1))", host_name()))
        );
    }

    #[test]
    fn several_programs_have_the_ranks_that_were_said() {
        let (across, options) = chosen(&format!("--hosts {A}:9,{B} -n 2 a : b"), &[]);
        assert_eq!(
            (across, options.programs[1].ranks),
            (Some(format!("{A} (vector,(0,1,9),(1,1,1))")), None)
        );
    }
}
