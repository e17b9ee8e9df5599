//! Messages as bytes: what is written is read again, and nothing that comes makes a server fail.

use serried_servers::random::Random;
use serried_servers::server::*;

const KINDS: [Kind; 11] = [
    Kind::Operation,
    Kind::Lock,
    Kind::Unlock,
    Kind::Tell,
    Kind::Acknowledge,
    Kind::Answer,
    Kind::Fetch,
    Kind::Fetched,
    Kind::Granted,
    Kind::Next,
    Kind::Follower,
];

/// A header by chance, whose numbers are small or not.
fn header(random: &mut Random) -> Header {
    let bits = [1, 3, 7, 64][random.below(4) as usize];
    let mut number = || random.draw() >> (64 - bits);
    Header {
        class: number() as u8,
        credits: number() as u8,
        flags: number() as u8,
        origin: number() as u32,
        target: number() as u32,
        origin_rank: number() as u32,
        target_rank: number() as u32,
        bytes: number() as u32,
        known: number() as u32,
        sequence: number(),
        done: number(),
        ticket: number(),
        number: number(),
        kind: KINDS[random.below(KINDS.len() as u64) as usize],
    }
}

#[test]
fn a_header_is_read_as_it_was_written() {
    let mut random = Random::new(1);
    for _ in 0..100_000 {
        let body = vec![7; random.below(40) as usize];
        let written = Header { bytes: body.len() as u32, ..header(&mut random) };
        let message = [&written.write()[..], &body].concat();
        assert_eq!(Header::read(&message), Ok((written, &body[..])));
        let short = random.below(message.len() as u64) as usize;
        assert!(Header::read(&message[..short]).is_err());
        assert!(Header::read(&[&message[..], &[0]].concat()).is_err());
    }
}

/// The bytes of a header are those of its description.
#[test]
fn the_layout_is_as_described() {
    let header = Header {
        kind: Kind::Lock,
        class: 1,
        credits: 3,
        flags: SHARED,
        origin: 0x0403_0201,
        target: 5,
        origin_rank: 6,
        target_rank: 7,
        bytes: 8,
        known: 12,
        sequence: 0x0807_0605_0403_0201,
        done: 9,
        ticket: 10,
        number: 11,
    };
    let bytes = header.write();
    assert_eq!(bytes[..8], [2, 1, 3, 8, 1, 2, 3, 4]);
    assert_eq!(bytes[8..24], [5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0]);
    assert_eq!(bytes[24..32], [12, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[32..40], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((bytes[40], bytes[48], bytes[56], bytes.len()), (9, 10, 11, HEADER_BYTES));
}

/// Takes everything.
#[derive(Default)]
struct Sink {
    sent: u64,
    has_room: bool,
}

impl Outside for Sink {
    fn send(&mut self, to: u32, header: &Header, _body: Body<'_>) {
        assert!(to < 10 && header.credits <= 2);
        self.sent += 1;
    }

    fn execute(&mut self, request: &Header, _: &[u8], _: &[u8], answer: &mut Vec<u8>) -> Result<(), u64> {
        answer.push(1);
        if request.number == 1 {
            Err(1)
        } else {
            Ok(())
        }
    }

    fn has_room(&self, _to: u32) -> bool {
        self.has_room
    }

    fn complete(&mut self, _ticket: u64, _end: End, _data: &[u8]) {}
}

fn rounds() -> u64 {
    std::env::var("SERVERS_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(200)
}

#[test]
fn nothing_that_comes_makes_a_server_fail() {
    let mut sink = Sink { sent: 0, has_room: true };
    let (mut faults, mut taken) = (0, 0);
    for seed in 0..rounds() {
        let mut random = Random::new(seed);
        let mut server = Server::new(3, Grid::new(10, &[2, 2, 3]), Settings::default());
        for _ in 0..1000 {
            let from = random.below(11) as u32;
            let mut message = header(&mut random);
            if random.below(4) > 0 {
                (message.origin, message.target) = (message.origin % 10, message.target % 10);
            }
            let body = vec![1; [0, 4, 16, 40][random.below(4) as usize]];
            message.bytes = body.len() as u32;
            let bytes = [&message.write()[..], &body].concat();
            let cut =
                if random.below(20) == 0 { random.below(bytes.len() as u64) as usize } else { bytes.len() };
            let target = random.below(10) as u32;
            let asked = Asked {
                kind: KINDS[random.below(4) as usize],
                flags: message.flags & (TELL | ANSWER | FETCH | SHARED),
                rank: random.below(3) as u32,
                target,
                target_rank: random.below(3) as u32,
                ticket: random.below(50),
                number: random.below(2),
            };
            sink.has_room = random.below(3) > 0;
            let event = match random.below(40) {
                0..=9 => Event::Asked(asked),
                10 => Event::Room,
                11 => Event::RankGone(asked.rank),
                12 if random.below(50) == 0 => Event::NodeGone(target),
                12..=15 => Event::Polled,
                _ => Event::Arrived { from, message: &bytes[..cut] },
            };
            match server.step(event, &mut sink) {
                Ok(()) => taken += 1,
                Err(Fault(sentence)) => {
                    assert!(!sentence.is_empty());
                    faults += 1;
                }
            }
        }
    }
    println!("{taken} taken, {faults} refused, {} sent", sink.sent);
    assert!(faults > 1000 && taken > 1000 && sink.sent > 1000);
}
