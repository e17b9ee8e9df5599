//! What launcher and agents say to each other, in frames.
//!
//! ```text
//! 4 bytes: length of what follows | 4 bytes: node | 1 byte: kind | the rest by kind
//! ```
//!
//! The node is the one that an order is for (or all behind a link), or that news come from. Agents pass on what is not
//! for them without looking into it. A frame that makes no sense ends the link: the other end is another version.

use super::codec::{Reader, Writer};
use crate::run::spawn::Failure as StartFailure;
use serried_engine::job::agreements::{Ballot, Decision};
use serried_engine::job::NodeCard;
use serried_engine::observe::mirror::Changes;

/// As [`Frame::node`]: all nodes behind the link.
pub const ALL: u32 = u32::MAX;
/// Bytes before what is told by kind.
const HEAD_BYTES: usize = 9;
/// No frame is longer: a table of a million nodes is not.
const LONGEST: usize = 256 << 20;

/// A frame taken off a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Whom it is for, or from whom it is.
    pub node: u32,
    kind: u8,
    rest: Vec<u8>,
}

/// The link brings what makes no sense.
#[derive(Debug, PartialEq)]
pub struct Nonsense;

impl Frame {
    /// The first frame of these bytes, which are dropped; `None` if it has not come whole.
    ///
    /// # Errors
    /// The length makes no sense.
    pub fn take(bytes: &mut Vec<u8>) -> Result<Option<Frame>, Nonsense> {
        let Some(length) = bytes.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize) else {
            return Ok(None);
        };
        if !(HEAD_BYTES - 4..=LONGEST).contains(&length) {
            return Err(Nonsense);
        }
        if bytes.len() < 4 + length {
            return Ok(None);
        }
        let node = u32::from_le_bytes(bytes[4..8].try_into().expect("four bytes"));
        let frame = Frame { node, kind: bytes[8], rest: bytes[HEAD_BYTES..4 + length].to_vec() };
        bytes.drain(..4 + length);
        Ok(Some(frame))
    }

    /// Appends the frame to bytes that go out.
    pub fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend(((HEAD_BYTES - 4 + self.rest.len()) as u32).to_le_bytes());
        bytes.extend(self.node.to_le_bytes());
        bytes.push(self.kind);
        bytes.extend(&self.rest);
    }

    fn new(node: u32, kind: u8, fill: impl FnOnce(&mut Writer)) -> Frame {
        let mut writer = Writer::default();
        fill(&mut writer);
        Frame { node, kind, rest: writer.0 }
    }

    /// Bytes that it takes on a link.
    #[cfg(test)]
    pub fn length(&self) -> usize {
        HEAD_BYTES + self.rest.len()
    }
}

/// What the launcher says to agents.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// The other end is there.
    Alive,
    /// What the agent shall do: an `AgentPlan`.
    Plan(Vec<u8>),
    /// All agents are there: these are the cards of all nodes. Start the ranks.
    Begin(Vec<NodeCard>),
    /// For the standard input of rank 0; nothing: it has ended.
    Input(Vec<u8>),
    /// So many bytes of output have been taken: as many may come.
    Credit(u32),
    /// An answer of the PMI server to a rank.
    Reply {
        /// The rank.
        rank: u32,
        /// The answer.
        text: String,
    },
    /// Send this signal to the ranks.
    Signal(i32),
    /// Send this signal to everything below the agent.
    Sweep(i32),
    /// The job is to end: ranks leave their waits.
    Ending,
    /// Ask a rank what it does.
    Ask {
        /// The rank.
        rank: u32,
        /// The number of the question.
        number: u64,
    },
    /// The launcher is stopped until further notice, or goes on: it is silent meanwhile.
    Paused(bool),
    /// Nothing is left of the job on any host: agents go. The status is that of the job.
    Leave(i32),
    /// A rank has failed, and the job goes on without it. All nodes are told of all in one order.
    Failed(u32),
    /// The communicator of this context is revoked.
    Revoked(u64),
    /// What ranks of several nodes have agreed on, and how.
    Decided(Ballot, Decision),
}

/// What agents say to the launcher.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// The other end is there.
    Alive,
    /// The agents of these nodes are there and listen for others.
    Ready(Vec<NodeCard>),
    /// The agent cannot do what it was told: why.
    Refused(String),
    /// A rank is this process.
    Started {
        /// The rank.
        rank: u32,
        /// Its process on its host.
        process: u32,
    },
    /// The process of a rank could not execute its program.
    CannotStart(StartFailure),
    /// All ranks of the node execute their programs.
    Executed,
    /// So many jobs that ranks of the node have started run.
    Spawned(u32),
    /// Output of a rank; nothing: it has ended.
    Output {
        /// The rank.
        rank: u32,
        /// Of its standard error.
        error: bool,
        /// What it wrote.
        bytes: Vec<u8>,
    },
    /// So many bytes of standard input have been taken by rank 0.
    InputTaken(u32),
    /// A rank says something over PMI.
    Pmi {
        /// The rank.
        rank: u32,
        /// What it says.
        bytes: Vec<u8>,
    },
    /// What has changed on the page of a rank.
    Page {
        /// The rank.
        rank: u32,
        /// The clock of its host.
        now: u64,
        /// The lines.
        changes: Changes,
    },
    /// The names of calls, as they lie in the node segment.
    Names(Vec<u8>),
    /// What a rank has answered.
    Answer {
        /// The rank.
        rank: u32,
        /// The number of the question.
        number: u64,
        /// The clock of its host.
        now: u64,
        /// Its description.
        text: String,
    },
    /// The process of a rank has ended, but another one is this rank in MPI.
    Continued {
        /// The rank.
        rank: u32,
        /// That process.
        process: u32,
    },
    /// A rank has ended.
    Ended {
        /// The rank.
        rank: u32,
        /// As `waitpid` tells it.
        status: i32,
        /// The out-of-memory killer has struck on its host.
        out_of_memory: bool,
    },
    /// Something for people.
    Say(String),
    /// A node is silent, speaks again, or is given up, by the agent that started its own.
    Silent {
        /// Nodes whose agents are reached through the one that is silent, itself first.
        first: u32,
        /// Behind the last of them.
        end: u32,
        /// 0: it speaks again; 1: silent; 2: given up.
        how: u8,
    },
    /// The link to the agent of a node has ended, and with it that to those behind it.
    Lost {
        /// The first of these nodes.
        first: u32,
        /// Behind the last of them.
        end: u32,
        /// Why, as far as that is known; empty if all was done there.
        why: String,
    },
    /// Nothing is left below this agent.
    Done,
}

impl Order {
    /// As a frame for a node, or for [`ALL`].
    pub fn frame(&self, node: u32) -> Frame {
        let new = |kind, fill: &dyn Fn(&mut Writer)| Frame::new(node, kind, fill);
        match self {
            Order::Alive => new(0, &|_| {}),
            Order::Plan(plan) => new(1, &|writer| writer.0.extend(plan)),
            Order::Begin(cards) => new(2, &|writer| put_cards(writer, cards)),
            Order::Input(bytes) => new(3, &|writer| writer.0.extend(bytes)),
            Order::Credit(bytes) => new(4, &|writer| writer.number(*bytes).end()),
            Order::Reply { rank, text } => new(5, &|writer| writer.number(*rank).0.extend(text.as_bytes())),
            Order::Signal(signal) => new(6, &|writer| writer.number(*signal as u32).end()),
            Order::Sweep(signal) => new(7, &|writer| writer.number(*signal as u32).end()),
            Order::Ending => new(8, &|_| {}),
            Order::Ask { rank, number } => new(9, &|writer| writer.number(*rank).long(*number).end()),
            Order::Paused(is) => new(10, &|writer| writer.byte(u8::from(*is)).end()),
            Order::Leave(status) => new(11, &|writer| writer.number(*status as u32).end()),
            Order::Failed(rank) => new(12, &|writer| writer.number(*rank).end()),
            Order::Revoked(context) => new(13, &|writer| writer.long(*context).end()),
            Order::Decided(ballot, decision) => new(14, &|writer| put_decision(writer, ballot, decision)),
        }
    }

    /// What a frame says.
    ///
    /// # Errors
    /// It makes no sense.
    pub fn read(frame: &Frame) -> Result<Order, Nonsense> {
        let mut reader = Reader(&frame.rest);
        let mut read = || {
            Some(match frame.kind {
                0 => Order::Alive,
                1 => Order::Plan(reader.rest().to_vec()),
                2 => Order::Begin(cards(&mut reader)?),
                3 => Order::Input(reader.rest().to_vec()),
                4 => Order::Credit(reader.number()?),
                5 => Order::Reply { rank: reader.number()?, text: text(reader.rest()) },
                6 => Order::Signal(reader.number()? as i32),
                7 => Order::Sweep(reader.number()? as i32),
                8 => Order::Ending,
                9 => Order::Ask { rank: reader.number()?, number: reader.long()? },
                10 => Order::Paused(reader.byte()? != 0),
                11 => Order::Leave(reader.number()? as i32),
                12 => Order::Failed(reader.number()?),
                13 => Order::Revoked(reader.long()?),
                14 => decision(&mut reader)?,
                _ => return None,
            })
        };
        read().ok_or(Nonsense)
    }
}

impl News {
    /// As a frame of a node.
    pub fn frame(&self, node: u32) -> Frame {
        let new = |kind, fill: &dyn Fn(&mut Writer)| Frame::new(node, kind, fill);
        match self {
            News::Alive => new(0, &|_| {}),
            News::Ready(cards) => new(1, &|writer| put_cards(writer, cards)),
            News::Refused(why) => new(2, &|writer| writer.0.extend(why.as_bytes())),
            News::Started { rank, process } => new(3, &|writer| writer.number(*rank).number(*process).end()),
            News::CannotStart(StartFailure { rank, step, code }) => {
                new(4, &|writer| writer.number(*rank).number(*step).number(*code as u32).end())
            }
            News::Output { rank, error, bytes } => {
                new(5, &|writer| writer.number(*rank).byte(u8::from(*error)).0.extend(bytes))
            }
            News::InputTaken(bytes) => new(6, &|writer| writer.number(*bytes).end()),
            News::Pmi { rank, bytes } => new(7, &|writer| writer.number(*rank).0.extend(bytes)),
            News::Page { rank, now, changes } => {
                new(8, &|writer| writer.number(*rank).long(*now).long(changes.lines).0.extend(&changes.bytes))
            }
            News::Names(bytes) => new(9, &|writer| writer.0.extend(bytes)),
            News::Answer { rank, number, now, text } => {
                new(10, &|writer| writer.number(*rank).long(*number).long(*now).0.extend(text.as_bytes()))
            }
            News::Continued { rank, process } => {
                new(11, &|writer| writer.number(*rank).number(*process).end())
            }
            News::Ended { rank, status, out_of_memory } => new(12, &|writer| {
                writer.number(*rank).number(*status as u32).byte(u8::from(*out_of_memory)).end()
            }),
            News::Say(words) => new(13, &|writer| writer.0.extend(words.as_bytes())),
            News::Silent { first, end, how } => {
                new(14, &|writer| writer.number(*first).number(*end).byte(*how).end())
            }
            News::Lost { first, end, why } => {
                new(15, &|writer| writer.number(*first).number(*end).0.extend(why.as_bytes()))
            }
            News::Done => new(16, &|_| {}),
            News::Executed => new(17, &|_| {}),
            News::Spawned(jobs) => new(18, &|writer| writer.number(*jobs).end()),
        }
    }

    /// What a frame says.
    ///
    /// # Errors
    /// It makes no sense.
    pub fn read(frame: &Frame) -> Result<News, Nonsense> {
        let mut reader = Reader(&frame.rest);
        news(frame.kind, &mut reader).ok_or(Nonsense)
    }

    /// Whether a frame says no more than that the other end is there: it is not passed on.
    pub fn is_alive(frame: &Frame) -> bool {
        frame.kind == 0
    }
}

fn news(kind: u8, reader: &mut Reader) -> Option<News> {
    Some(match kind {
        0 => News::Alive,
        1 => News::Ready(cards(reader)?),
        2 => News::Refused(text(reader.rest())),
        3 => News::Started { rank: reader.number()?, process: reader.number()? },
        4 => {
            let (rank, step) = (reader.number()?, reader.number()?);
            News::CannotStart(StartFailure { rank, step, code: reader.number()? as i32 })
        }
        5 => {
            News::Output { rank: reader.number()?, error: reader.byte()? != 0, bytes: reader.rest().to_vec() }
        }
        6 => News::InputTaken(reader.number()?),
        7 => News::Pmi { rank: reader.number()?, bytes: reader.rest().to_vec() },
        8 => {
            let (rank, now, lines) = (reader.number()?, reader.long()?, reader.long()?);
            News::Page { rank, now, changes: Changes { lines, bytes: reader.rest().to_vec() } }
        }
        9 => News::Names(reader.rest().to_vec()),
        10 => {
            let (rank, number, now) = (reader.number()?, reader.long()?, reader.long()?);
            News::Answer { rank, number, now, text: text(reader.rest()) }
        }
        11 => News::Continued { rank: reader.number()?, process: reader.number()? },
        12 => {
            let (rank, status) = (reader.number()?, reader.number()? as i32);
            News::Ended { rank, status, out_of_memory: reader.byte()? != 0 }
        }
        13 => News::Say(text(reader.rest())),
        14 => News::Silent { first: reader.number()?, end: reader.number()?, how: reader.byte()? },
        15 => News::Lost { first: reader.number()?, end: reader.number()?, why: text(reader.rest()) },
        16 => News::Done,
        17 => News::Executed,
        18 => News::Spawned(reader.number()?),
        _ => return None,
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn put_decision(writer: &mut Writer, ballot: &Ballot, decision: &Decision) {
    let Decision { flags: [flag, other], acknowledged, failures, contexts: [first, second] } = *decision;
    writer.long(ballot.context).number(ballot.number).number(flag).number(other);
    writer.number(acknowledged).number(failures).long(first).long(second);
}

fn decision(reader: &mut Reader) -> Option<Order> {
    let ballot = Ballot { context: reader.long()?, number: reader.number()? };
    let flags = [reader.number()?, reader.number()?];
    let (acknowledged, failures) = (reader.number()?, reader.number()?);
    let contexts = [reader.long()?, reader.long()?];
    Some(Order::Decided(ballot, Decision { flags, acknowledged, failures, contexts }))
}

fn put_cards(writer: &mut Writer, cards: &[NodeCard]) {
    writer.list(cards, |writer, card| writer.bytes(&card.to_bytes()).end());
}

fn cards(reader: &mut Reader) -> Option<Vec<NodeCard>> {
    reader.list(|reader| NodeCard::from_bytes(reader.bytes()?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::job::node_card::Address;

    fn card(node: u32) -> NodeCard {
        let address = Address { ip: "10.77.0.3".parse().unwrap(), prefix: 16 };
        NodeCard { node, ranks: 2, port: 40_000, addresses: vec![address; node as usize % 3] }
    }

    #[test]
    fn orders_come_as_they_were_given() {
        let orders = [
            Order::Alive,
            Order::Plan(b"plan".to_vec()),
            Order::Begin(vec![card(0), card(1)]),
            Order::Input(Vec::new()),
            Order::Credit(70_000),
            Order::Reply { rank: 3, text: "cmd=barrier_out\n".into() },
            Order::Signal(15),
            Order::Sweep(9),
            Order::Ending,
            Order::Ask { rank: 7, number: 1 << 40 },
            Order::Paused(true),
            Order::Leave(-1),
            Order::Failed(7),
            Order::Revoked(1 << 60),
            Order::Decided(
                Ballot { context: 1 << 62, number: 3 },
                Decision { flags: [1, u32::MAX], acknowledged: 2, failures: 4, contexts: [9, 1 << 50] },
            ),
        ];
        let mut bytes = Vec::new();
        orders.iter().for_each(|order| order.frame(ALL).put(&mut bytes));
        for order in &orders {
            let frame = Frame::take(&mut bytes).unwrap().unwrap();
            assert_eq!((Order::read(&frame).as_ref(), frame.node), (Ok(order), ALL));
        }
        assert!(bytes.is_empty() && Frame::take(&mut bytes) == Ok(None));
    }

    #[test]
    fn news_come_as_they_were_told_in_whatever_pieces() {
        let changes = Changes { lines: 5, bytes: vec![7; 128] };
        let all = [
            News::Alive,
            News::Ready(vec![card(2)]),
            News::Refused("no memory".into()),
            News::Started { rank: 1, process: 4_000_000 },
            News::CannotStart(StartFailure { rank: 1, step: 3, code: -2 }),
            News::Output { rank: 2, error: true, bytes: b"x\n".to_vec() },
            News::InputTaken(9),
            News::Pmi { rank: 0, bytes: b"cmd=init\n".to_vec() },
            News::Page { rank: 9, now: 1 << 50, changes },
            News::Names(vec![1, 2]),
            News::Answer { rank: 1, number: 4, now: 5, text: "thread".into() },
            News::Continued { rank: 1, process: 5 },
            News::Ended { rank: 1, status: 9, out_of_memory: true },
            News::Say("words\n".into()),
            News::Silent { first: 3, end: 5, how: 1 },
            News::Lost { first: 3, end: 5, why: "it was killed".into() },
            News::Done,
            News::Executed,
            News::Spawned(3),
        ];
        let mut bytes = Vec::new();
        all.iter().zip(5..).for_each(|(news, node)| news.frame(node).put(&mut bytes));
        let (mut came, mut read) = (Vec::new(), Vec::new());
        for byte in bytes {
            came.push(byte);
            if let Some(frame) = Frame::take(&mut came).unwrap() {
                assert_eq!(frame.node, 5 + read.len() as u32);
                read.push(News::read(&frame).unwrap());
            }
        }
        assert_eq!(read, all);
    }

    #[test]
    fn what_makes_no_sense_is_noticed() {
        assert_eq!(Frame::take(&mut b"Last login: today".to_vec()), Err(Nonsense));
        assert_eq!(Frame::take(&mut vec![0; 64]), Err(Nonsense));
        let frame = |kind| Frame::new(1, kind, |_| {});
        assert!((0..=255)
            .all(|kind| News::read(&frame(kind)).is_ok() == [0, 1, 2, 9, 13, 16, 17].contains(&kind)
                || kind == 1));
        assert_eq!(Order::read(&frame(200)), Err(Nonsense));
        assert_eq!(Order::read(&frame(6)), Err(Nonsense));
    }
}
