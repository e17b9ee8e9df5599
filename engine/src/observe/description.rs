//! What a rank says of itself when it is asked: a structure, and the text that
//! it travels as (one fact a line, words first, free text last).
//!
//! A wait is a choice of *ways* to go on (`MPI_Waitany` has several), each of
//! which needs all of its *needs*; a need is met by any one of its `peers`.

use super::packet_counts::PacketCounts;
use std::fmt::{self, Write};

/// What a rank says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// What moves when the rank moves: calls but failed polls, completions,
    /// messages sent and received.
    pub stamp: [u64; 4],
    /// The rank does not wait, but calls what fails, again and again.
    pub polls: bool,
    /// It does so now and then, with something else in between.
    pub naps: bool,
    /// The rank will never call MPI again; its communicators are as they were then.
    pub finalized: bool,
    /// Its threads that wait.
    pub threads: Vec<Thread>,
    /// Its other threads that may go on by themselves, in words.
    pub free: Vec<String>,
    /// Something is under way that is not described here.
    pub unknown: bool,
    /// Communicators that are spoken of.
    pub communicators: Vec<Communicator>,
    /// Collectives under way that are not what a thread waits for.
    pub collectives: Vec<(Key, Vec<Need>)>,
    /// Collectives that have a key, as the program knows them: under way, or persistent.
    pub begun: Vec<Begun>,
    /// Receives that wait for a message, the first ones.
    pub posted: Vec<Envelope>,
    /// Messages that nobody has asked for, the first ones.
    pub unexpected: Vec<Envelope>,
    /// What goes over networks.
    pub packets: PacketCounts,
}

/// A thread that waits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// Its number in the system.
    pub number: u32,
    /// Since when, as on the page.
    pub since: u64,
    /// The call that it is in.
    pub call: String,
    /// Ways to go on.
    pub ways: Vec<Vec<Need>>,
    /// Addresses inside the calls on its stack, innermost first.
    pub addresses: Vec<u64>,
    /// The same in words, the calls of the program alone; whoever reads finds them out.
    pub stack: Vec<String>,
    /// Its calls of Python, innermost first.
    pub python: Vec<String>,
}

/// A collective operation: context and tag of its messages.
pub type Key = (u64, i32);

/// A collective operation that has a key, as the program knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Begun {
    /// Its key.
    pub key: Key,
    /// Its number among those begun on its communicator; of a persistent one when it was made.
    pub number: u64,
    /// How often a persistent one has been started; 0: it is none, or has not been.
    pub starts: u64,
    /// It is under way.
    pub is_under_way: bool,
    /// Name of the call.
    pub call: String,
}

/// Something that others can do for a wait.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Need {
    /// What.
    pub kind: Kind,
    /// Job ranks of those who can; any of them will do.
    pub peers: Vec<u32>,
    /// The message, as the call asks for it (`source`: the peer of a send).
    pub message: Envelope,
    /// The collective that it is part of.
    pub collective: Option<Key>,
}

/// Kinds of needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A message that is sent.
    #[default]
    Receive,
    /// The same, for a probe.
    Probe,
    /// That a message of ours is received.
    Send,
    /// That a member comes to a collective.
    Arrival,
    /// That the program completes its own request.
    Program,
    /// That another rank makes the partitioned send for a receive.
    Partitioned,
    /// Partitions of another rank; `bytes` is how many.
    Partitions,
    /// That the program makes its own partitions ready; `bytes` is how many.
    Ready,
    /// The lock of a member of a window, whose rank there is `source`.
    Lock,
    /// A change of memory that the rank watches.
    Memory,
    /// A lock that is held, or asked for before, by the peer.
    Queue,
    /// That the peer needs what is had in common no more.
    Farewell,
    /// Something else.
    Other,
}

/// A message, or what a receive asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Envelope {
    /// Context.
    pub context: u64,
    /// Rank in the communicator, negative: any.
    pub source: i32,
    /// Tag, negative: any.
    pub tag: i32,
    /// Bytes of the message, or room for one.
    pub bytes: u64,
}

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Communicator {
    /// Its context.
    pub context: u64,
    /// The rank's own rank in it.
    pub rank: u32,
    /// Job ranks of the local group.
    pub members: Vec<u32>,
    /// Job ranks of the remote group.
    pub remote: Vec<u32>,
    /// How many collective operations the rank has begun on it.
    pub count: u64,
    /// The one that it has begun last, and the one before.
    pub last: [Option<Operation>; 2],
    /// Its name.
    pub name: String,
}

/// A collective operation, as one rank called it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operation {
    /// Root in the communicator, negative: none.
    pub root: i32,
    /// Bytes of one block.
    pub bytes: u64,
    /// Name of the call.
    pub call: String,
}

const KINDS: [(Kind, &str); 13] = [
    (Kind::Receive, "receive"),
    (Kind::Probe, "probe"),
    (Kind::Send, "send"),
    (Kind::Arrival, "arrival"),
    (Kind::Program, "program"),
    (Kind::Partitioned, "partitioned"),
    (Kind::Partitions, "partitions"),
    (Kind::Ready, "ready"),
    (Kind::Lock, "lock"),
    (Kind::Memory, "memory"),
    (Kind::Queue, "queue"),
    (Kind::Farewell, "farewell"),
    (Kind::Other, "other"),
];

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.stamp;
        writeln!(f, "stamp {a} {b} {c} {d}")?;
        if self.polls {
            writeln!(f, "polls")?;
        }
        if self.naps {
            writeln!(f, "naps")?;
        }
        if self.finalized {
            writeln!(f, "finalized")?;
        }
        if self.unknown {
            writeln!(f, "unknown")?;
        }
        for thread in &self.threads {
            writeln!(f, "thread {} {} {}", thread.number, thread.since, thread.call)?;
            for way in &thread.ways {
                writeln!(f, "way")?;
                way.iter().try_for_each(|need| writeln!(f, "need {need}"))?;
            }
        }
        self.free.iter().try_for_each(|words| writeln!(f, "free {}", line(words)))?;
        for communicator in &self.communicators {
            writeln!(f, "communicator {communicator}")?;
            for last in &communicator.last {
                match last {
                    Some(last) => writeln!(f, "operation {} {} {}", last.root, last.bytes, last.call)?,
                    None => writeln!(f, "operation")?,
                }
            }
        }
        for ((context, tag), needs) in &self.collectives {
            writeln!(f, "collective {context} {tag}")?;
            needs.iter().try_for_each(|need| writeln!(f, "need {need}"))?;
        }
        for begun in &self.begun {
            let Begun { key: (context, tag), number, starts, is_under_way, call } = begun;
            writeln!(f, "begun {context} {tag} {number} {starts} {} {call}", u8::from(*is_under_way))?;
        }
        self.posted.iter().try_for_each(|envelope| writeln!(f, "posted {envelope}"))?;
        self.unexpected.iter().try_for_each(|envelope| writeln!(f, "unexpected {envelope}"))?;
        write!(f, "{}", self.packets)?;
        // Last: what is too long is cut off.
        for (index, thread) in self.threads.iter().enumerate() {
            if !thread.addresses.is_empty() {
                write!(f, "stack {index}")?;
                thread.addresses.iter().try_for_each(|address| write!(f, " {address:x}"))?;
                writeln!(f)?;
            }
            thread.stack.iter().try_for_each(|words| writeln!(f, "place {index} {}", line(words)))?;
            thread.python.iter().try_for_each(|words| writeln!(f, "python {index} {}", line(words)))?;
        }
        Ok(())
    }
}

fn line(words: &str) -> String {
    words.replace(['\n', '\r'], " ")
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.context, self.source, self.tag, self.bytes)
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or("other", |(_, name)| name);
        let (context, tag) = self.collective.unwrap_or((0, 0));
        write!(f, "{kind} {} {context} {tag} {}", self.message, Ranges(&self.peers))
    }
}

impl fmt::Display for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (members, remote) = (Ranges(&self.members), Ranges(&self.remote));
        write!(f, "{} {} {members} {remote} {} {}", self.context, self.rank, self.count, line(&self.name))
    }
}

/// Ranks in order, as `0-7,9`; none are `-`.
pub struct Ranges<'a>(pub &'a [u32]);

impl fmt::Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_char('-');
        }
        let mut rest = self.0;
        while let Some(&first) = rest.first() {
            let length = rest.iter().zip(first..).take_while(|(rank, next)| *rank == next).count();
            match length {
                1 => write!(f, "{first}")?,
                _ => write!(f, "{first}-{}", first + length as u32 - 1)?,
            }
            rest = &rest[length..];
            if !rest.is_empty() {
                f.write_char(',')?;
            }
        }
        Ok(())
    }
}

fn ranks(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| *part != "-") {
        match part.split_once('-') {
            Some((first, last)) => all.extend(first.parse::<u32>().ok()?..=last.parse().ok()?),
            None => all.push(part.parse().ok()?),
        }
    }
    Some(all)
}

impl Description {
    /// The description that a text means; `None` for another text.
    pub fn read(text: &str) -> Option<Description> {
        let mut read = Description::default();
        // Where the needs that come next belong.
        let mut in_collective = false;
        for line in text.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "stamp" => read.stamp = numbers(rest)?,
                "polls" => read.polls = true,
                "naps" => read.naps = true,
                "finalized" => read.finalized = true,
                "unknown" => read.unknown = true,
                "thread" => {
                    in_collective = false;
                    let ([number, since], call) = fields(rest)?;
                    let (number, since) = (number.parse().ok()?, since.parse().ok()?);
                    read.threads.push(Thread { number, since, call: call.to_owned(), ..Thread::default() });
                }
                "way" => read.threads.last_mut()?.ways.push(Vec::new()),
                "need" if in_collective => read.collectives.last_mut()?.1.push(need(rest)?),
                "need" => read.threads.last_mut()?.ways.last_mut()?.push(need(rest)?),
                "free" => read.free.push(rest.to_owned()),
                "communicator" => read.communicators.push(communicator(rest)?),
                "operation" => {
                    let last = &mut read.communicators.last_mut()?.last;
                    last.swap(0, 1);
                    last[1] = operation(rest);
                }
                "collective" => {
                    in_collective = true;
                    let ([context, tag], _) = fields(rest)?;
                    read.collectives.push(((context.parse().ok()?, tag.parse().ok()?), Vec::new()));
                }
                "begun" => read.begun.push(begun(rest)?),
                "posted" => read.posted.push(envelope(fields(rest)?.0)?),
                "packets" => read.packets.read(rest)?,
                "unexpected" => read.unexpected.push(envelope(fields(rest)?.0)?),
                "stack" => {
                    let ([index], words) = fields(rest)?;
                    let addresses = words.split(' ').map(|word| u64::from_str_radix(word, 16).ok());
                    let thread = read.threads.get_mut(index.parse::<usize>().ok()?)?;
                    thread.addresses = addresses.collect::<Option<_>>()?;
                }
                "python" | "place" => {
                    let ([index], words) = fields(rest)?;
                    let thread = read.threads.get_mut(index.parse::<usize>().ok()?)?;
                    let list = if word == "place" { &mut thread.stack } else { &mut thread.python };
                    list.push(words.to_owned());
                }
                _ => return None,
            }
        }
        Some(read)
    }
}

/// The first words of a text, and the rest.
fn fields<const N: usize>(text: &str) -> Option<([&str; N], &str)> {
    let mut found = [""; N];
    let mut rest = text;
    for field in &mut found {
        (*field, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if field.is_empty() {
            return None;
        }
    }
    Some((found, rest))
}

fn numbers<const N: usize>(text: &str) -> Option<[u64; N]> {
    let (words, _) = fields::<N>(text)?;
    let mut numbers = [0; N];
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = word.parse().ok()?;
    }
    Some(numbers)
}

fn envelope([context, source, tag, bytes]: [&str; 4]) -> Option<Envelope> {
    Some(Envelope {
        context: context.parse().ok()?,
        source: source.parse().ok()?,
        tag: tag.parse().ok()?,
        bytes: bytes.parse().ok()?,
    })
}

fn need(text: &str) -> Option<Need> {
    let ([kind, context, source, tag, bytes, of, with, peers], _) = fields(text)?;
    let kind = KINDS.iter().find(|(_, name)| *name == kind)?.0;
    let key: Key = (of.parse().ok()?, with.parse().ok()?);
    let collective = (key.0 != 0).then_some(key);
    Some(Need { kind, message: envelope([context, source, tag, bytes])?, collective, peers: ranks(peers)? })
}

fn communicator(text: &str) -> Option<Communicator> {
    let ([context, rank, members, remote, count], name) = fields(text)?;
    Some(Communicator {
        context: context.parse().ok()?,
        rank: rank.parse().ok()?,
        members: ranks(members)?,
        remote: ranks(remote)?,
        count: count.parse().ok()?,
        last: [None, None],
        name: name.to_owned(),
    })
}

fn operation(text: &str) -> Option<Operation> {
    let ([root, bytes], call) = fields(text)?;
    Some(Operation { root: root.parse().ok()?, bytes: bytes.parse().ok()?, call: call.to_owned() })
}

fn begun(text: &str) -> Option<Begun> {
    let ([context, tag, number, starts, under_way], call) = fields(text)?;
    Some(Begun {
        key: (context.parse().ok()?, tag.parse().ok()?),
        number: number.parse().ok()?,
        starts: starts.parse().ok()?,
        is_under_way: under_way == "1",
        call: call.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Description {
        let message = Envelope { context: 2, source: -1, tag: 7, bytes: 8 };
        let need = Need { kind: Kind::Receive, peers: vec![0, 1, 2, 5], message, collective: None };
        let part = Need { kind: Kind::Send, collective: Some((3, 9)), ..need.clone() };
        let operation = Operation { root: -1, bytes: 0, call: "MPI_Barrier".into() };
        let mut packets = PacketCounts::default();
        packets.add(5, [7, 6]);
        Description {
            stamp: [1, 2, 3, 4],
            polls: true,
            naps: true,
            finalized: true,
            unknown: true,
            threads: vec![
                Thread {
                    number: 7,
                    since: 9,
                    call: "MPI_Waitany".into(),
                    ways: vec![vec![need.clone(), part.clone()], vec![], vec![need]],
                    addresses: vec![0x7fff_0000_1234, 0x40],
                    stack: vec!["main at x.c:7".into()],
                    python: vec!["File \"x.py\", line 3 in <module>".into()],
                },
                Thread { number: 8, ..Thread::default() },
            ],
            free: vec!["thread 3 sleeps".into()],
            communicators: vec![Communicator {
                context: 2,
                rank: 1,
                members: vec![0, 1, 2],
                remote: vec![],
                count: 5,
                last: [Some(operation), None],
                name: "row 1".into(),
            }],
            collectives: vec![((3, 9), vec![part])],
            begun: vec![Begun {
                key: (3, 9),
                number: 4,
                starts: 2,
                is_under_way: true,
                call: "MPI_Ibcast".into(),
            }],
            posted: vec![message],
            unexpected: vec![message, message],
            packets,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(Description::read(&example().to_string()), Some(example()));
        assert_eq!(Description::read(""), Some(Description::default()));
        assert_eq!(Description::read("nonsense 3\n"), None);
    }

    #[test]
    fn a_text_that_was_cut_at_a_line_is_read_without_its_end() {
        let text = example().to_string();
        let cut = &text[..text.find("python").unwrap()];
        assert_eq!(Description::read(cut).unwrap().threads[0].python.len(), 0);
    }
}
