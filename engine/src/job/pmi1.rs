//! Client of a PMI-1 server: Hydra (MPICH's and Intel's), Slurm's `pmi2` mode,
//! and our own launcher speak it.
//!
//! One request, one answer, a line each. All waiting here is for other ranks
//! to come as far; a launcher that goes away ends it.

use super::detect::Pmi1Contact;
use super::{segment_passing, Bootstrap, NodeMap, PmiLine, Started};
use crate::{Class, Error, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// A conversation with a PMI-1 server.
pub(super) struct Connection<S> {
    stream: BufReader<S>,
    space: String,
}

impl<S: Read + Write> Connection<S> {
    /// Greets the server.
    pub(super) fn open(stream: S) -> Result<Self> {
        Connection { stream: BufReader::new(stream), space: String::new() }.greet()
    }

    fn greet(mut self) -> Result<Self> {
        self.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        let answer = self.ask("cmd=get_my_kvsname", "my_kvsname")?;
        self.space = PmiLine::new(&answer).value("kvsname").unwrap_or("").to_owned();
        Ok(self)
    }

    pub(super) fn put(&mut self, key: &str, value: &str) -> Result<()> {
        let request = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        let answer = self.ask(&request, "put_result")?;
        match PmiLine::new(&answer) {
            line if line.refused() => Err(broken(&format!("it refused to store {key}: {}", line.text()))),
            _ => Ok(()),
        }
    }

    pub(super) fn get(&mut self, key: &str) -> Result<Option<String>> {
        let request = format!("cmd=get kvsname={} key={key}", self.space);
        let answer = self.ask(&request, "get_result")?;
        let line = PmiLine::new(&answer);
        Ok(line.rest("value").filter(|_| !line.refused()).map(str::to_owned))
    }

    /// The number of this program; 0 from a server that does not know.
    pub(super) fn program(&mut self) -> Result<u32> {
        let answer = self.ask("cmd=get_appnum", "appnum")?;
        let number = PmiLine::new(&answer).number("appnum");
        Ok(number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0))
    }

    pub(super) fn barrier(&mut self) -> Result<()> {
        self.ask("cmd=barrier_in", "barrier_out").map(drop)
    }

    pub(super) fn abort(&mut self, code: i32, message: &str) {
        let words: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let message = if words.is_empty() { words } else { format!(" message={words}") }; // Hydra takes no empty one
        let _ = self.send(&format!("cmd=abort exitcode={code}{message}"));
    }

    pub(super) fn finalize(&mut self) -> Result<()> {
        self.ask("cmd=finalize", "finalize_ack").map(drop)
    }

    /// Says a line that is not answered.
    pub(super) fn say(&mut self, line: &str) -> Result<()> {
        self.send(line)
    }

    fn send(&mut self, line: &str) -> Result<()> {
        send(self.stream.get_mut(), line)
    }

    fn receive(&mut self) -> Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => Err(broken("it closed the connection")),
            Ok(_) => Ok(line),
            Err(cause) => Err(broken(&cause.to_string())),
        }
    }

    /// Sends a request and returns the answer named `expected`.
    fn ask(&mut self, request: &str, expected: &str) -> Result<String> {
        self.send(request)?;
        let answer = self.receive()?;
        if PmiLine::new(&answer).command() != expected {
            return Err(broken(&format!("it answered \"{}\" to \"{request}\"", answer.trim_end())));
        }
        Ok(answer)
    }
}

/// Sends a line.
pub(super) fn send(stream: &mut impl Write, line: &str) -> Result<()> {
    stream.write_all(format!("{line}\n").as_bytes()).map_err(|cause| broken(&cause.to_string()))
}

fn broken(what: &str) -> Error {
    Error::new(Class::Other, format!("the launcher's PMI server broke off: {what}"))
}

struct Pmi1<S> {
    connection: Connection<S>,
    rank: u32,
    size: u32,
}

pub(super) fn start(contact: Pmi1Contact) -> Result<Started> {
    match contact {
        Pmi1Contact::Socket { socket, rank, size } => {
            let connection = Connection::open(UnixStream::from(socket))?;
            join(Pmi1 { connection, rank, size })
        }
        Pmi1Contact::Address { address, id } => join(connect(&address, &id)?),
    }
}

/// Reaches a server by TCP; it then says who we are in three lines.
fn connect(address: &str, id: &str) -> Result<Pmi1<TcpStream>> {
    let stream = TcpStream::connect(address)
        .map_err(|cause| broken(&format!("no connection to {address} (PMI_PORT): {cause}")))?;
    stream.set_nodelay(true).ok();
    let mut connection = Connection { stream: BufReader::new(stream), space: String::new() };
    connection.ask(&format!("cmd=initack pmiid={id}"), "initack")?;
    let (mut rank, mut size) = (None, None);
    for _ in 0..3 {
        let answer = connection.receive()?;
        let line = PmiLine::new(&answer);
        rank = line.number("rank").or(rank);
        size = line.number("size").or(size);
    }
    match (rank.map(u32::try_from), size.map(u32::try_from)) {
        (Some(Ok(rank)), Some(Ok(size))) => Ok(Pmi1 { connection: connection.greet()?, rank, size }),
        _ => Err(broken("it did not say which rank this is")),
    }
}

/// Joins the ranks of this node.
fn join<S: Read + Write + Send + 'static>(pmi: Pmi1<S>) -> Result<Started> {
    if pmi.rank >= pmi.size {
        return Err(broken(&format!("it says that this is rank {} of {}", pmi.rank, pmi.size)));
    }
    segment_passing::join(Box::new(pmi))
}

impl<S: Read + Write + Send> Bootstrap for Pmi1<S> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn nodes(&mut self) -> Result<NodeMap> {
        match self.connection.get("PMI_process_mapping")? {
            Some(map) => NodeMap::parse(&map, self.size),
            None => Ok(NodeMap::one(self.size)),
        }
    }

    fn program(&mut self) -> Result<u32> {
        self.connection.program()
    }

    fn put(&mut self, key: &str, value: &str) -> Result<()> {
        self.connection.put(key, value)
    }

    fn get(&mut self, _from: u32, key: &str) -> Result<Option<String>> {
        self.connection.get(key)
    }

    fn fence(&mut self) -> Result<()> {
        self.connection.barrier()
    }

    fn abort(&mut self, code: i32, message: &str) -> bool {
        self.connection.abort(code, message);
        false
    }

    fn finish(&mut self) -> Result<()> {
        self.connection.finalize()
    }
}
