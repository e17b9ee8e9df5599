//! Where the processes run that a rank starts: on the hosts that it names, else where the hosts of its job have room.
//!
//! Without names the hosts are filled in their order, as `serried run` does it: first the slots that neither ranks of the job
//! nor other jobs of the same rank have, then all of them again.

use super::choice::Across;
use super::dealing::{deal, Wish};
use super::host_list::{self, Host};
use super::job_hosts::JobHosts;
use super::this_host;
use crate::system::host_name;
use serried_engine::job::starter::Program;
use serried_engine::job::NodeMap;
use std::path::Path;

/// The host of each rank.
///
/// # Errors
/// A sentence.
pub fn place(programs: &[Program], job: &JobHosts, taken: &[Host]) -> Result<Vec<String>, String> {
    let mut room = Room::new(job, taken);
    let mut places = Vec::new();
    for program in programs {
        let hosts = match (&program.hosts, &program.host_file) {
            (list, _) if !list.is_empty() => host_list::read_list("the key host", &list.to_string_lossy())?,
            (_, file) if !file.is_empty() => host_list::read_file("the key hostfile", Path::new(file))?,
            _ => {
                places.extend((0..program.ranks).map(|_| room.next()));
                continue;
            }
        };
        let map = deal(&hosts, Wish { ranks: Some(program.ranks), ..Wish::default() })?;
        places.extend((0..program.ranks).map(|rank| {
            let host = &hosts[map.place_of(rank).0 as usize].name;
            // It shall mean the same on all hosts.
            if this_host::is_here(host) {
                host_name()
            } else {
                host.clone()
            }
        }));
    }
    Ok(places)
}

/// The hosts of a job whose ranks are at these places; `None`: all are here.
pub fn across(places: &[String]) -> Option<Across> {
    let mut hosts: Vec<String> = Vec::new();
    let mut nodes = Vec::with_capacity(places.len());
    for place in places {
        let known = hosts.iter().position(|host| host == place);
        nodes.push(known.unwrap_or(hosts.len()) as u32);
        if known.is_none() {
            hosts.push(place.clone());
        }
    }
    let is_elsewhere = hosts.iter().any(|host| !this_host::is_here(host));
    is_elsewhere.then(|| NodeMap::of_list(&nodes)).flatten().map(|map| Across { hosts, map })
}

/// Places as a list of hosts with the number of ranks on each, which is what [`place`] is told of jobs that run.
pub fn told(places: &[String]) -> String {
    let each = host_list::merged(places.iter().map(|name| Host { name: name.clone(), slots: Some(1) }));
    let word = |host: &Host| {
        let name = if host.name.contains(':') { format!("[{}]", host.name) } else { host.name.clone() };
        format!("{name}:{}", host.slots.unwrap_or(1))
    };
    each.iter().map(word).collect::<Vec<_>>().join(",")
}

/// The places that are left on the hosts of a job.
struct Room {
    /// Hosts, and free slots of each; slots of all.
    hosts: Vec<(String, u32, u32)>,
    at: usize,
}

impl Room {
    fn new(job: &JobHosts, taken: &[Host]) -> Room {
        let mut hosts: Vec<(String, u32, u32)> = Vec::new();
        for host in &job.hosts {
            let others = taken.iter().find(|taken| taken.name == host.name).and_then(|taken| taken.slots);
            let free = host.slots.saturating_sub(host.ranks.saturating_add(others.unwrap_or(0)));
            hosts.push((host.name.clone(), free, host.slots));
        }
        if hosts.is_empty() {
            hosts.push((host_name(), 1, 1));
        }
        Room { hosts, at: 0 }
    }

    fn next(&mut self) -> String {
        while self.hosts[self.at].1 == 0 {
            self.at += 1;
            if self.at == self.hosts.len() {
                self.at = 0;
                self.hosts.iter_mut().for_each(|(_, free, slots)| *free = (*slots).max(1));
            }
        }
        self.hosts[self.at].1 -= 1;
        self.hosts[self.at].0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::job_hosts::JobHost;
    use super::*;

    fn job(list: &[(&str, u32, u32)]) -> JobHosts {
        let host = |&(name, slots, ranks): &(&str, u32, u32)| JobHost { name: name.into(), slots, ranks };
        JobHosts { hosts: list.iter().map(host).collect(), ..JobHosts::default() }
    }

    fn placed(programs: &[(u32, &str)], job: &JobHosts, taken: &str) -> Result<String, String> {
        let program =
            |&(ranks, hosts): &(u32, &str)| Program { ranks, hosts: hosts.into(), ..Program::default() };
        let programs: Vec<Program> = programs.iter().map(program).collect();
        let taken = host_list::read_list("taken", taken).unwrap_or_default();
        place(&programs, job, &taken).map(|places| places.join(" "))
    }

    #[test]
    fn free_slots_are_filled_first_and_then_all_again() {
        let known = job(&[("a", 2, 2), ("b", 2, 1), ("c", 2, 0)]);
        assert_eq!(placed(&[(3, "")], &known, "").unwrap(), "b c c");
        assert_eq!(placed(&[(2, "")], &known, "b:1,c").unwrap(), "c a");
        assert_eq!(placed(&[(5, "")], &known, "b:1,c:2").unwrap(), "a a b b c");
        assert_eq!(placed(&[(1, ""), (1, "")], &known, "").unwrap(), "b c");
        assert_eq!(placed(&[(2, "")], &job(&[]), "").unwrap(), format!("{0} {0}", host_name()));
    }

    #[test]
    fn hosts_that_are_named_get_what_they_have_room_for() {
        let known = job(&[("a", 2, 2)]);
        assert_eq!(placed(&[(3, "x:2,y:1")], &known, "").unwrap(), "x x y");
        assert_eq!(placed(&[(4, "x,y")], &known, "").unwrap(), "x x y y");
        assert_eq!(placed(&[(3, "x:2")], &known, "").unwrap(), "x x x");
        assert_eq!(placed(&[(1, "x"), (1, "localhost")], &known, "").unwrap(), format!("x {}", host_name()));
        assert!(placed(&[(1, "x:0")], &known, "").unwrap_err().contains("the key host"));
        let file = Program { ranks: 1, host_file: "/no/such file".into(), ..Program::default() };
        assert!(place(&[file], &known, &[]).unwrap_err().contains("the key hostfile /no/such file"));
    }

    #[test]
    fn places_become_nodes_in_the_order_in_which_they_come() {
        // These addresses are kept for documents.
        let places = ["203.0.113.2", "203.0.113.1", "203.0.113.2"].map(String::from);
        let found = across(&places).unwrap();
        assert_eq!(
            (found.hosts.join(" "), found.map.to_text()),
            ("203.0.113.2 203.0.113.1".into(), "(vector,(0,2,1))".into())
        );
        assert_eq!(told(&places), "203.0.113.2:2,203.0.113.1:1");
        assert_eq!(told(&["fd00::1".into()]), "[fd00::1]:1");
        assert_eq!(across(&[host_name(), "127.0.0.1".into()]), None);
    }
}
