//! Ports of a universe, and names under which they are published (MPI-5.0 §11.9).

use super::universe::{Published, Universe, PORTS, SERVICE_BYTES};
use crate::{Class, Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};

const FREE: u64 = 0;
const IN_WORK: u64 = 1;
const READY: u64 = 2;

impl Universe {
    /// Opens a port: its place, and its serial number.
    ///
    /// # Errors
    /// `Port` when too many are open.
    pub fn open_port(&self) -> Result<(usize, u64)> {
        let serial = self.next_port();
        let free = |place: &AtomicU64| {
            place.compare_exchange(FREE, serial, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        let Some(place) = self.memory().ports.iter().position(free) else {
            let text =
                format!("{PORTS} ports are open, and there can be no more; close some with MPI_Close_port");
            return Err(Error::new(Class::Port, text));
        };
        Ok((place, serial))
    }

    /// Whether a port is open.
    ///
    /// # Errors
    /// `Port` if it is not.
    pub fn check_open(&self, place: usize, serial: u64) -> Result<()> {
        let is_open = |port: &AtomicU64| port.load(Ordering::SeqCst) == serial;
        match self.memory().ports.get(place).is_some_and(is_open) {
            true => Ok(()),
            false => Err(closed()),
        }
    }

    /// Closes a port.
    ///
    /// # Errors
    /// `Port` if it is not open.
    pub fn close_port(&self, place: usize, serial: u64) -> Result<()> {
        self.check_open(place, serial)?;
        self.memory().ports[place].store(FREE, Ordering::SeqCst);
        Ok(())
    }

    /// Publishes the name of a port under that of a service.
    ///
    /// # Errors
    /// `Service` for a name that is too long or published already, or if there are too many.
    pub fn publish(&self, service: &str, port: &str) -> Result<()> {
        if service.len() > SERVICE_BYTES || service.is_empty() {
            let text =
                format!("the service name has {} bytes; 1 to {SERVICE_BYTES} are possible", service.len());
            return Err(Error::new(Class::Service, text));
        }
        if self.find(service).is_some() {
            return Err(Error::new(
                Class::Service,
                format!("the service name {service:?} is published already"),
            ));
        }
        let names = &self.memory().names;
        let claim = |one: &&Published| {
            one.state.compare_exchange(FREE, IN_WORK, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        let Some(one) = names.iter().find(claim) else {
            return Err(Error::new(
                Class::Service,
                format!("{} names are published, and there can be no more", names.len()),
            ));
        };
        write(&one.service, service);
        write(&one.port, port);
        one.state.store(READY, Ordering::SeqCst);
        Ok(())
    }

    /// Takes a name back.
    ///
    /// # Errors
    /// `Service` if it is not published with this port.
    pub fn unpublish(&self, service: &str, port: &str) -> Result<()> {
        let gone = |one: &Published| {
            one.state.compare_exchange(READY, FREE, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        match self.find(service).filter(|one| read(&one.port) == port).is_some_and(gone) {
            true => Ok(()),
            false => Err(Error::new(
                Class::Service,
                format!("the service name {service:?} is not published with this port"),
            )),
        }
    }

    /// The port that is published under a name.
    ///
    /// # Errors
    /// `Name` if none is.
    pub fn look_up(&self, service: &str) -> Result<String> {
        let found = self.find(service).map(|one| read(&one.port));
        found.ok_or_else(|| Error::new(Class::Name, format!("the service name {service:?} is not published")))
    }

    fn find(&self, service: &str) -> Option<&Published> {
        let is_it =
            |one: &&Published| one.state.load(Ordering::SeqCst) == READY && read(&one.service) == service;
        self.memory().names.iter().find(is_it)
    }
}

/// The error of a port that is not open.
#[cold]
pub fn closed() -> Error {
    Error::new(Class::Port, "the port has been closed".to_owned())
}

fn write(words: &[AtomicU64], text: &str) {
    let bytes = text.bytes().chain(std::iter::repeat(0)).take(words.len() * 8).collect::<Vec<u8>>();
    for (word, bytes) in words.iter().zip(bytes.chunks_exact(8)) {
        word.store(u64::from_ne_bytes(bytes.try_into().expect("8 bytes")), Ordering::SeqCst);
    }
}

fn read(words: &[AtomicU64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.load(Ordering::SeqCst).to_ne_bytes()).collect();
    let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::port_name::PORT_BYTES;
    use super::super::{universe, NodeSegment};
    use super::*;

    fn universe(node: &NodeSegment, rank: u32) -> Universe {
        universe::join(node.descriptor().try_clone_to_owned().unwrap(), 0, rank, 2, None).unwrap()
    }

    fn class<T: std::fmt::Debug>(result: Result<T>) -> Class {
        result.unwrap_err().class()
    }

    #[test]
    fn a_port_is_open_until_it_is_closed() {
        let node = NodeSegment::create(2).unwrap();
        let (one, two) = (universe(&node, 0), universe(&node, 1));
        let ((place, serial), other) = (one.open_port().unwrap(), two.open_port().unwrap());
        assert!(two.check_open(place, serial).is_ok() && other.1 != serial);
        two.close_port(place, serial).unwrap();
        let [looked, closed] = [one.check_open(place, serial), one.close_port(place, serial)].map(class);
        assert_eq!([looked, closed, class(one.check_open(PORTS, 1))], [Class::Port; 3]);
    }

    #[test]
    fn ports_and_names_run_out_with_an_error_and_come_back() {
        let node = NodeSegment::create(2).unwrap();
        let one = universe(&node, 0);
        let ports: Vec<(usize, u64)> = (0..PORTS).map(|_| one.open_port().unwrap()).collect();
        assert_eq!(class(one.open_port()), Class::Port);
        one.close_port(ports[7].0, ports[7].1).unwrap();
        one.open_port().unwrap();
        for number in 0..universe::NAMES {
            one.publish(&number.to_string(), "a port").unwrap();
        }
        assert_eq!(class(one.publish("more", "a port")), Class::Service);
        one.unpublish("5", "a port").unwrap();
        one.publish("more", "a port").unwrap();
    }

    #[test]
    fn a_published_name_is_found_by_all_and_published_once() {
        let node = NodeSegment::create(2).unwrap();
        let (one, two) = (universe(&node, 0), universe(&node, 1));
        let (port, other) = ("p".repeat(PORT_BYTES), "another".to_owned());
        let long = "s".repeat(SERVICE_BYTES);
        for service in ["ocean", &long] {
            assert_eq!(class(two.look_up(service)), Class::Name);
            one.publish(service, &port).unwrap();
            assert_eq!(two.look_up(service).unwrap(), port);
            assert_eq!(class(two.publish(service, &other)), Class::Service);
            assert_eq!(class(two.unpublish(service, &other)), Class::Service);
            two.unpublish(service, &port).unwrap();
            assert_eq!(
                [class(two.look_up(service)), class(one.unpublish(service, &port))],
                [Class::Name, Class::Service]
            );
        }
        assert_eq!(class(one.publish(&"s".repeat(SERVICE_BYTES + 1), &port)), Class::Service);
    }

    #[test]
    fn numbers_are_given_once_and_run_out_with_an_error() {
        let node = NodeSegment::create(2).unwrap();
        let (one, two) = (universe(&node, 0), universe(&node, 1));
        assert_eq!([one.number(3).unwrap(), two.number(1).unwrap(), one.number(2).unwrap()], [2, 5, 6]);
        assert_eq!(class(one.number(universe::PROCESSES as u32)), Class::Spawn);
        assert_eq!(node.spawned_jobs(), 3);
        universe::Registry::open(node.descriptor().try_clone_to_owned().unwrap()).unwrap().has_ended(2, 3);
        one.not_started();
        assert_eq!(node.spawned_jobs(), 1);
    }
}
