//! What parties that meet say to each other. Before both have proven themselves little is read, and not for long.
//!
//! ```text
//! member → leader   version, number drawn by chance
//! leader → member   the same
//! member → leader   proof          leader → member   proof, or why not
//! member → leader   which meeting, where it is, what it runs
//! leader → member   when all are there: a byte, the segment and a line; or why not. Then it is a link of an agent.
//! ```

use super::super::across::agent_plan::{program, put_program};
use super::super::across::codec::{Reader, Writer};
use super::super::across::crew::Met;
use super::super::agent::Shared;
use super::super::plan::{Plan, Prepared};
use super::Meeting;
use crate::system::host_name;
use serried_engine::job::pass_descriptor::{peer_user, receive_descriptor, send_descriptor};
use serried_engine::job::JobKey;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The leader awaits words and proofs so long, for others wait behind those who say nothing.
const MOMENT: Duration = Duration::from_secs(2);
/// A member does so.
const WHILE: Duration = Duration::from_secs(30);
/// Bytes of what is said before the proofs, and after them, at most.
const SHORT: usize = 256;
const LONG: usize = 64 << 20;
const VERSION: &str = concat!("serried meeting 1 ", env!("CARGO_PKG_VERSION"));
const REFUSED: u8 = 0;
const ACCEPTED: u8 = 1;
const GREETS: u8 = 2;

/// A party that has come.
pub struct Party {
    /// The name of its host.
    pub host: String,
    /// What it runs, on ranks from 0.
    pub programs: Vec<Prepared>,
    /// Which party it wants to be.
    pub own: Option<u32>,
    /// How to talk with it; `None`: it is this process.
    pub stream: Option<UnixStream>,
}

impl Party {
    /// This process.
    pub fn of_plan(plan: &Plan, meeting: &Meeting) -> Party {
        Party { host: host_name(), programs: plan.programs.clone(), own: meeting.own, stream: None }
    }

    /// How many ranks it has.
    pub fn ranks(&self) -> u32 {
        self.programs.last().map_or(0, |last| last.ranks.end)
    }

    /// What it runs, where its first rank is this one.
    pub fn programs_from(&self, base: u32) -> impl Iterator<Item = Prepared> + '_ {
        let moved = move |program: &Prepared| {
            let ranks = base + program.ranks.start..base + program.ranks.end;
            Prepared { ranks, ..program.clone() }
        };
        self.programs.iter().map(moved)
    }

    /// What the leader needs to have it as an agent.
    pub fn into_met(self) -> Option<Met> {
        self.stream.map(|stream| Met { host: self.host, stream })
    }
}

/// Why a party is no member.
pub enum NotJoined {
    /// The leader is about to come, or has gone.
    Yet(String),
    /// It cannot be.
    ForGood(String),
}

impl From<io::Error> for NotJoined {
    fn from(cause: io::Error) -> NotJoined {
        NotJoined::Yet(cause.to_string())
    }
}

/// The user of this process, as its own namespace calls him.
pub fn own_user() -> u32 {
    // SAFETY: getting one's own user cannot fail.
    unsafe { libc::geteuid() }
}

/// Introduces this party to a leader.
///
/// # Errors
/// See [`NotJoined`].
pub fn introduce(stream: &UnixStream, key: &JobKey, own: &Party, meeting: &Meeting) -> Result<(), NotJoined> {
    let user = peer_user(stream)?;
    if user != own_user() {
        let text = format!(
            "who leads the job is user {user}, and this is user {}: all parties have to be of one user",
            own_user()
        );
        return Err(NotJoined::ForGood(text));
    }
    stream.set_read_timeout(Some(WHILE))?;
    let mine = random()?;
    say(stream, &greeting(&mine))?;
    let theirs = greeted(&hear(stream, SHORT)?).map_err(NotJoined::ForGood)?;
    say(stream, &key.digest(&[b"member", &mine[..], &theirs].concat()))?;
    if hear(stream, SHORT)? != key.digest(&[b"leader", &theirs[..], &mine].concat()) {
        return Err(NotJoined::Yet("it does not know the secret in the folder".into()));
    }
    let mut writer = Writer::default();
    writer
        .bytes(meeting.name.as_bytes())
        .number(meeting.parties.unwrap_or(0))
        .number(own.own.map_or(0, |own| own + 1));
    writer.bytes(own.host.as_bytes());
    // The environment is the party's own, and nobody else's.
    let bare: Vec<Prepared> =
        own.programs.iter().map(|program| Prepared { environment: Vec::new(), ..program.clone() }).collect();
    writer.list(&bare, put_program);
    say(stream, &writer.0)?;
    Ok(())
}

/// Hears a party introduce itself.
///
/// # Errors
/// A sentence: it is none of ours.
pub fn receive(stream: UnixStream, key: &JobKey, meeting: &Meeting) -> Result<Party, String> {
    let silent = |cause: io::Error| format!("somebody has come who did not introduce himself ({cause})");
    stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(MOMENT))).map_err(silent)?;
    let user = peer_user(&stream).map_err(silent)?;
    if user != own_user() {
        refuse(&stream, &format!("user {user} is not the user of the job, {}", own_user()));
        return Err(format!("user {user} wanted to take part, but the job is of user {}", own_user()));
    }
    let mine = random().map_err(silent)?;
    say(&stream, &greeting(&mine)).map_err(silent)?;
    let theirs = greeted(&hear(&stream, SHORT).map_err(silent)?)?;
    if hear(&stream, SHORT).map_err(silent)? != key.digest(&[b"member", &theirs[..], &mine].concat()) {
        return Err("somebody has come who does not know the secret in the folder".into());
    }
    say(&stream, &key.digest(&[b"leader", &mine[..], &theirs].concat())).map_err(silent)?;
    let details = hear(&stream, LONG).map_err(silent)?;
    let mut reader = Reader(&details);
    let mut read = || {
        let (name, parties, own) = (reader.text()?, reader.number()?, reader.number()?);
        let (host, programs) = (reader.text()?, reader.list(program)?);
        let party = Party { host, programs, own: own.checked_sub(1), stream: None };
        (party.ranks() > 0 && name == meeting.name).then_some((party, parties))
    };
    let (party, parties) = read().ok_or("what a party says of itself makes no sense")?;
    if Some(parties) != meeting.parties {
        let wanted = meeting.parties.unwrap_or(0);
        let text = format!("--parties {parties} on {}, but {wanted} on {}", party.host, host_name());
        refuse(&stream, &text);
        return Err(text);
    }
    Ok(Party { stream: Some(stream), ..party })
}

/// Tells a party why it is not wanted.
pub fn refuse(stream: &UnixStream, why: &str) {
    // One that has gone need not hear it.
    let _ = say(stream, &[&[REFUSED], why.as_bytes()].concat());
}

/// Tells a party that all are there, and passes on what they share.
///
/// # Errors
/// What the system says.
pub fn accept(stream: &UnixStream, shared: [BorrowedFd; 2]) -> io::Result<()> {
    say(stream, &[ACCEPTED])?;
    shared.into_iter().try_for_each(|one| send_descriptor(stream, one))
}

/// Hears what the leader has to say when all are there, or it does not want to wait any more.
///
/// # Errors
/// See [`NotJoined`].
pub fn hear_verdict(stream: &UnixStream) -> Result<Shared, NotJoined> {
    let said = hear(stream, SHORT * 16)?;
    match said.split_first() {
        Some((&ACCEPTED, _)) => {
            Ok(Shared { segment: receive_descriptor(stream)?, line: receive_descriptor(stream)? })
        }
        Some((_, why)) => Err(NotJoined::ForGood(String::from_utf8_lossy(why).into_owned())),
        None => Err(NotJoined::Yet("the leader says nothing".into())),
    }
}

fn random() -> io::Result<[u8; 32]> {
    JobKey::random().map(|key| key.0)
}

fn greeting(number: &[u8; 32]) -> Vec<u8> {
    [&[GREETS], &number[..], VERSION.as_bytes()].concat()
}

/// The number in a greeting.
///
/// # Errors
/// A sentence: it is another version.
fn greeted(said: &[u8]) -> Result<[u8; 32], String> {
    let (kind, rest) = said.split_first().unwrap_or((&REFUSED, b"nothing was said"));
    match rest.split_first_chunk::<32>().filter(|_| *kind == GREETS) {
        Some((number, version)) if version == VERSION.as_bytes() => Ok(*number),
        Some((_, version)) => {
            let version = String::from_utf8_lossy(version);
            Err(format!("another party has another version of Serried ({version}; this is {VERSION})"))
        }
        None => Err(String::from_utf8_lossy(rest).into_owned()),
    }
}

fn say(mut stream: &UnixStream, bytes: &[u8]) -> io::Result<()> {
    stream.set_write_timeout(Some(MOMENT))?;
    stream.write_all(&[&(bytes.len() as u32).to_le_bytes(), bytes].concat())
}

fn hear(mut stream: &UnixStream, most: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
