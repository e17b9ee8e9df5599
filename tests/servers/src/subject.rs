//! One server, as the peers around it see it: in this process, with its memory counted, or as a process of its own.

use crate::counting;
use crate::server::{Body, End, Event, Header, Outside, Server, Settings, HEADER_BYTES};
use crate::ways::Ways;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What a server has sent, as far as peers look at it.
pub type Sent = Vec<(u32, Header)>;

/// A server among peers.
pub trait Subject {
    /// A message arrives; what it sends.
    fn arrive(&mut self, from: u32, message: &[u8]) -> Sent;
    /// It may send what has waited for company, and take whatever it could not.
    fn poll(&mut self) -> Sent;
    /// It may not answer anybody from now on, or may again.
    fn hold(&mut self, is_held: bool);
}

/// What the server does outside of itself.
#[derive(Default)]
struct Effects {
    sent: Sent,
    is_held: bool,
}

impl Outside for Effects {
    fn send(&mut self, to: u32, header: &Header, body: Body<'_>) {
        let bytes = if let Body::Bytes(bytes) = body { bytes.len() as u32 } else { 0 };
        counting::outside(|| self.sent.push((to, Header { bytes, ..*header })));
    }

    fn execute(&mut self, _: &Header, _: &[u8], _: &[u8], _: &mut Vec<u8>) -> Result<(), u64> {
        Ok(())
    }

    fn has_room(&self, _to: u32) -> bool {
        !self.is_held
    }

    fn complete(&mut self, _ticket: u64, _end: End, _data: &[u8]) {}
}

/// A server in this process.
pub struct Counted {
    server: Option<Server<Ways>>,
    effects: Effects,
}

impl Counted {
    /// A server at its beginning; the count begins with it.
    pub fn new(here: u32, ways: Ways, settings: Settings) -> Counted {
        counting::begin();
        let server = counting::inside(|| Server::new(here, ways, settings));
        Counted { server: Some(server), effects: Effects::default() }
    }

    fn step(&mut self, event: Event<'_>) -> Sent {
        let (server, effects) = (self.server.as_mut().expect("it is there"), &mut self.effects);
        let went = counting::inside(|| server.step(event, effects));
        assert_eq!(went, Ok(()), "peers keep to the protocol");
        std::mem::take(&mut self.effects.sent)
    }

    /// The server.
    pub fn server(&self) -> &Server<Ways> {
        self.server.as_ref().expect("it is there")
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        counting::inside(|| self.server.take());
    }
}

impl Subject for Counted {
    fn arrive(&mut self, from: u32, message: &[u8]) -> Sent {
        self.step(Event::Arrived { from, message })
    }

    fn poll(&mut self) -> Sent {
        let mut sent = self.step(Event::Room);
        sent.extend(self.step(Event::Polled));
        sent
    }

    fn hold(&mut self, is_held: bool) {
        self.effects.is_held = is_held;
    }
}

/// A server as a process of its own, which gets frames and answers each with one: a word, the length of the rest, the
/// rest.
pub struct Process {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
}

const POLL: u32 = u32::MAX;
const HOLD: u32 = u32::MAX - 1;
const GO_ON: u32 = u32::MAX - 2;

fn write_frame(to: &mut impl Write, word: u32, rest: &[u8]) -> io::Result<()> {
    to.write_all(&word.to_le_bytes())?;
    to.write_all(&(rest.len() as u32).to_le_bytes())?;
    to.write_all(rest)?;
    to.flush()
}

fn read_frame(from: &mut impl Read, rest: &mut Vec<u8>) -> io::Result<u32> {
    let mut head = [0; 8];
    from.read_exact(&mut head)?;
    let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
    rest.resize(word(4) as usize, 0);
    from.read_exact(rest)?;
    Ok(word(0))
}

/// What such a process does: it steps until its input ends.
pub fn serve(here: u32, ways: Ways, settings: Settings) {
    let mut subject = Counted::new(here, ways, settings);
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut rest = Vec::new();
    while let Ok(word) = read_frame(&mut input, &mut rest) {
        let sent = match word {
            POLL => subject.poll(),
            HOLD | GO_ON => {
                subject.hold(word == HOLD);
                Sent::new()
            }
            from => subject.arrive(from, &rest),
        };
        let bytes: Vec<u8> =
            sent.iter().flat_map(|(to, header)| [&to.to_le_bytes()[..], &header.write()].concat()).collect();
        if write_frame(&mut output, 0, &bytes).is_err() {
            return;
        }
    }
}

impl Process {
    /// Starts a program as a server, with these arguments.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn start(program: &Path, arguments: &[String]) -> io::Result<Process> {
        let mut child =
            Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = BufWriter::new(child.stdin.take().expect("it is piped"));
        let from = BufReader::new(child.stdout.take().expect("it is piped"));
        Ok(Process { child, to, from })
    }

    /// Bytes of memory that it has now (VmRSS).
    pub fn resident(&self) -> u64 {
        self.resident_of()()
    }

    /// What tells that at any time.
    pub fn resident_of(&self) -> impl Fn() -> u64 {
        let place = format!("/proc/{}/status", self.child.id());
        move || {
            let status = std::fs::read_to_string(&place).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
        }
    }

    fn call(&mut self, word: u32, rest: &[u8]) -> Sent {
        let mut answer = Vec::new();
        write_frame(&mut self.to, word, rest).expect("the server is there");
        read_frame(&mut self.from, &mut answer).expect("the server answers");
        let one = |bytes: &[u8]| {
            let to = u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes"));
            let mut header = [0; HEADER_BYTES];
            header.copy_from_slice(&bytes[4..]);
            header[20..24].fill(0);
            (to, Header::read(&header).expect("a header").0)
        };
        answer.chunks_exact(4 + HEADER_BYTES).map(one).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Subject for Process {
    fn arrive(&mut self, from: u32, message: &[u8]) -> Sent {
        self.call(from, message)
    }

    fn poll(&mut self) -> Sent {
        self.call(POLL, &[])
    }

    fn hold(&mut self, is_held: bool) {
        self.call(if is_held { HOLD } else { GO_ON }, &[]);
    }
}
