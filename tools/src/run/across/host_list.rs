//! The hosts that a user names.
//!
//! A list is `host[:ranks],…`. A file has a host in each line, `host[:ranks]` or `host slots=N`; other words in the
//! line, and what follows a `#`, are passed over. A host that is named several times has the sum of its ranks.

use std::path::Path;

/// A host on which ranks may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name, as the user gives it.
    pub name: String,
    /// For how many ranks it has room; `None`: nobody has said so.
    pub slots: Option<u32>,
}

/// Reads the value of `--hosts`.
///
/// # Errors
/// A sentence for the user.
pub fn read_list(option: &str, list: &str) -> Result<Vec<Host>, String> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    let hosts: Result<Vec<Host>, String> = words.map(|word| host(option, word)).collect();
    some(option, list, merged(hosts?.into_iter()))
}

/// Reads the file of `--hostfile`.
///
/// # Errors
/// A sentence for the user.
pub fn read_file(option: &str, file: &Path) -> Result<Vec<Host>, String> {
    let name = file.display().to_string();
    let text = super::super::configuration::text(file).map_err(|text| format!("{option} {name}: {text}"))?;
    let mut hosts = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        let mut host = host(option, first)?;
        if let Some(slots) = words.find_map(|word| word.strip_prefix("slots=")) {
            host.slots = Some(number(option, slots)?);
        }
        hosts.push(host);
    }
    some(option, &name, merged(hosts.into_iter()))
}

fn some(option: &str, value: &str, hosts: Vec<Host>) -> Result<Vec<Host>, String> {
    match hosts.is_empty() {
        true => Err(format!("{option} {value}: there is no host in it")),
        false => Ok(hosts),
    }
}

/// Each host once; one that is named several times has a slot for each time, or the sum of those that it has.
pub fn merged(hosts: impl Iterator<Item = Host>) -> Vec<Host> {
    let mut merged: Vec<Host> = Vec::new();
    for host in hosts {
        match merged.iter_mut().find(|known| known.name == host.name) {
            Some(known) => known.slots = Some(known.slots.unwrap_or(1) + host.slots.unwrap_or(1)),
            None => merged.push(host),
        }
    }
    // Where one host has a number, those without stand for one rank each.
    if merged.iter().any(|host| host.slots.is_some()) {
        merged.iter_mut().for_each(|host| host.slots = host.slots.or(Some(1)));
    }
    merged
}

/// `host` or `host:4`. The colons of an IPv6 address belong to it; in brackets it may have ranks.
fn host(option: &str, word: &str) -> Result<Host, String> {
    let (name, ranks) = match word.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':')),
        None => match word.split_once(':') {
            Some((name, ranks)) if !ranks.contains(':') => (name, Some(ranks)),
            _ => (word, None),
        },
    };
    if name.is_empty() || name.starts_with('-') {
        return Err(format!("{option} {word}: this is no name of a host"));
    }
    Ok(Host { name: name.to_owned(), slots: ranks.map(|ranks| number(option, ranks)).transpose()? })
}

fn number(option: &str, text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(ranks) if (1..=65_536).contains(&ranks) => Ok(ranks),
        _ => Err(format!("{option}: `{text}` ranks on a host: it must be a number from 1 to 65536")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(hosts: &[Host]) -> String {
        let host = |host: &Host| {
            format!("{}:{}", host.name, host.slots.map_or("-".into(), |slots| slots.to_string()))
        };
        hosts.iter().map(host).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_list_has_names_and_numbers_of_ranks() {
        let list = |text: &str| read_list("--hosts", text).map(|hosts| told(&hosts));
        assert_eq!(list("a,b:4").unwrap(), "a:1 b:4");
        assert_eq!(list("a, b,").unwrap(), "a:- b:-");
        assert_eq!(list("a,b,a").unwrap(), "a:2 b:1");
        assert_eq!(list("me@a:2,fd00::1,[fd00::2]:3").unwrap(), "me@a:2 fd00::1:1 fd00::2:3");
        for (nonsense, why) in
            [(",", "no host"), ("a:x", "`x` ranks"), ("a:0", "`0` ranks"), ("-oProxy", "no name")]
        {
            assert!(list(nonsense).unwrap_err().contains(why), "{nonsense}");
        }
    }

    #[test]
    fn a_file_is_read_in_the_words_of_hydra_and_open_mpi() {
        let file = std::env::temp_dir().join(format!("unit-test-hosts-{}", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            read_file("-f", &file).map(|hosts| told(&hosts))
        };
        assert_eq!(
            read("# here\n\na:2 binding=user:0 # and here\n  b slots=4 max_slots=8\n").unwrap(),
            "a:2 b:4"
        );
        assert_eq!(read("a\na\nb\n").unwrap(), "a:2 b:1");
        assert!(read("# nobody\n").unwrap_err().contains("there is no host in it"));
        std::fs::remove_file(&file).unwrap();
        assert!(read_file("-f", &file).unwrap_err().contains("there is no such file"));
        assert!(read_file("-f", Path::new("/")).unwrap_err().contains("cannot be read"));
    }
}
