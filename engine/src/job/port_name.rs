//! The name of a port (MPI-5.0 §11.9): which process has opened it, and how to reach that.
//!
//! ```text
//! serried:MARK:NUMBER:PLACE.SERIAL:SECRET:PORT:ADDRESS,ADDRESS…
//! ```
//!
//! MARK and NUMBER name the process, PLACE and SERIAL the port. Those of its universe need no more. Others connect to
//! PORT at one of the addresses, and prove with SECRET that they have been told the name: whoever has it can connect,
//! so it is as private as what it opens.

use super::node_card::{from_hexadecimal, hexadecimal, Address, NodeCard, ADDRESSES};
use super::{Contact, JobKey, ProcessName};
use crate::{Class, Error, Result};
use std::fmt;

/// Bytes of the name of a port, at most: MPICH's ABI has room for one more.
pub const PORT_BYTES: usize = 255;
/// Of those of a secret, which are random.
const SECRET_BYTES: usize = 16;
const KIND: &str = "serried";

/// A port, as its name tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortName {
    /// The process that has opened it, and how to connect to it for this port.
    pub owner: Contact,
    /// Its place among the ports of the universe.
    pub place: usize,
    /// No other port of its owner's universe has it.
    pub serial: u64,
}

impl PortName {
    /// Reads the name of a port.
    ///
    /// # Errors
    /// `Port` for what is none.
    pub fn read(name: &str) -> Result<PortName> {
        let words: Vec<&str> = name.trim().splitn(7, ':').collect();
        let none =
            || Error::new(Class::Port, format!("{name:?} is not the name of a port that MPI_Open_port gave"));
        parse(&words).ok_or_else(none)
    }
}

fn parse(words: &[&str]) -> Option<PortName> {
    let [KIND, mark, number, which, secret, port, addresses] = *words else { return None };
    let (place, serial) = which.split_once('.')?;
    let name = ProcessName::new(u64::from_str_radix(mark, 16).ok()?, number.parse().ok()?);
    let is_name =
        name.mark() != 0 && format!("{:011x}:{}", name.mark(), name.number()) == format!("{mark}:{number}");
    let mut key = JobKey([0; 32]);
    let secret = from_hexadecimal(secret)?;
    key.0[..SECRET_BYTES].copy_from_slice(Some(secret).filter(|it| it.len() == SECRET_BYTES)?.as_slice());
    let ips: Option<Vec<_>> = addresses.split(',').map(|ip| ip.parse().ok()).collect();
    let addresses: Vec<_> = ips?.into_iter().map(|ip| Address { ip, prefix: 0 }).collect();
    let card = NodeCard { node: 0, ranks: 1, port: port.parse().ok()?, addresses };
    let owner = Contact { name, key, card };
    let is_whole = is_name && owner.card.addresses.len() <= ADDRESSES;
    is_whole.then_some(PortName { owner, place: place.parse().ok()?, serial: serial.parse().ok()? })
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PortName { owner: Contact { name, key, card }, place, serial } = self;
        let secret = hexadecimal(&key.0[..SECRET_BYTES]);
        let (mark, number, port) = (name.mark(), name.number(), card.port);
        let addresses: Vec<String> = card.addresses.iter().map(|address| address.ip.to_string()).collect();
        let addresses = addresses.join(",");
        write!(f, "{KIND}:{mark:011x}:{number}:{place}.{serial}:{secret}:{port}:{addresses}")
    }
}

// The longest address has 39 characters.
const _: () = assert!(PORT_BYTES >= "serried::::.:::".len() + 11 + 7 + 3 + 20 + 32 + 5 + ADDRESSES * 40);

#[cfg(test)]
mod tests {
    use super::*;

    fn port(addresses: &[&str]) -> PortName {
        let addresses = addresses.iter().map(|ip| Address { ip: ip.parse().unwrap(), prefix: 0 }).collect();
        let mut key = JobKey([0; 32]);
        key.0[..SECRET_BYTES].fill(0xa7);
        let card = NodeCard { node: 0, ranks: 1, port: 40_001, addresses };
        let owner = Contact { name: ProcessName::new(0xabc_def0_1234, 77), key, card };
        PortName { owner, place: 511, serial: u64::MAX }
    }

    #[test]
    fn a_port_is_read_as_it_was_written() {
        for addresses in
            [&["127.0.0.1"][..], &["10.1.2.3", "fd00::7"], &["fd00:1:2:3:4:5:6:7", "10.0.0.1", "::1"]]
        {
            let port = port(addresses);
            assert_eq!(PortName::read(&format!(" {port}\n")).unwrap(), port);
        }
    }

    #[test]
    fn the_longest_name_has_room() {
        let port = port(&["fd00:1111:2222:3333:4444:5555:6666:7777"; ADDRESSES]);
        assert!(port.to_string().len() <= PORT_BYTES && PortName::read(&port.to_string()).unwrap() == port);
    }

    #[test]
    fn what_is_no_name_of_a_port_is_refused_wherever_it_is_cut() {
        let name = port(&["10.1.2.3"]).to_string();
        let cut = (0..name.len() - 7).map(|length| name[..length].to_owned());
        let others = ["", "port", "serried:1:2:3"].map(str::to_owned);
        let changed = [name.replace("abcdef01234", "00000000000"), name.replace("10.1.2.3", "there")];
        for nonsense in cut.chain(others).chain(changed) {
            assert_eq!(PortName::read(&nonsense).unwrap_err().class(), Class::Port, "{nonsense}");
        }
    }
}
