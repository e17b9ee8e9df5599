//! What ranks do in a world: small programs, and how their requests are told apart.

use crate::random::Random;
use crate::server::{Asked, Kind, ANSWER, FETCH, SHARED};

/// A step of a rank's program. A rank goes on at once after a put, and waits for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Data go to a node; with the request, or fetched by the target.
    Put { to: u32, fetched: bool },
    /// Data come from a node.
    Get { from: u32 },
    /// A get that is not waited for.
    StartGet { from: u32 },
    /// All that was put to a node before is done.
    Fence { of: u32 },
    /// A lock of a node is taken; shared with others or not.
    Lock { of: u32, shared: bool },
    /// It is given back.
    Unlock { of: u32, shared: bool },
}

impl Step {
    /// The node that is asked.
    pub fn target(self) -> u32 {
        match self {
            Step::Put { to, .. } => to,
            Step::Get { from } | Step::StartGet { from } => from,
            Step::Fence { of } | Step::Lock { of, .. } | Step::Unlock { of, .. } => of,
        }
    }

    /// Whether the rank waits until it has ended.
    pub fn is_waited_for(self) -> bool {
        !matches!(self, Step::Put { .. } | Step::StartGet { .. } | Step::Unlock { .. })
    }

    /// Whether it is about a lock.
    pub fn is_about_a_lock(self) -> bool {
        matches!(self, Step::Lock { .. } | Step::Unlock { .. })
    }

    /// As a rank asks for it. A node's ranks and locks have the node's number.
    pub fn asked(self, rank: u32, ticket: u64) -> Asked {
        let shared = |shared| if shared { SHARED } else { 0 };
        let (kind, flags) = match self {
            Step::Put { fetched, .. } => (Kind::Operation, if fetched { FETCH } else { 0 }),
            Step::Get { .. } | Step::StartGet { .. } => (Kind::Operation, ANSWER),
            Step::Fence { .. } => (Kind::Tell, 0),
            Step::Lock { shared: is, .. } => (Kind::Lock, shared(is)),
            Step::Unlock { shared: is, .. } => (Kind::Unlock, shared(is)),
        };
        let target = self.target();
        Asked { kind, flags, rank, target, target_rank: target, ticket, number: 0 }
    }
}

/// The description and the data of a request.
pub fn body(ticket: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&ticket.to_le_bytes());
    bytes[8..].copy_from_slice(&(!ticket).to_le_bytes());
    bytes
}

/// What the ranks of a world do, by node. A rank's number is its node's, plus the number of nodes for each before it.
pub type Programs = Vec<Vec<Vec<Step>>>;

/// Rank and step of a ticket.
pub fn of_ticket(ticket: u64) -> (u32, usize) {
    ((ticket / 64) as u32, (ticket % 64) as usize)
}

/// The ticket of a rank's step.
pub fn ticket(rank: u32, step: usize) -> u64 {
    u64::from(rank) * 64 + step as u64
}

/// Programs by chance: so many steps or one more for the one rank of each node; some of them with locks, all of which
/// are those of one node.
pub fn by_chance(random: &mut Random, nodes: u32, steps: u64, lockers: u32) -> Programs {
    let of = random.below(u64::from(nodes)) as u32;
    let lockers = (0..lockers).map(|_| random.below(u64::from(nodes)) as u32).collect::<Vec<_>>();
    let program = |node: u32| {
        let mut program = Vec::new();
        for _ in 0..steps + random.below(2) {
            let other = (node + 1 + random.below(u64::from(nodes) - 1) as u32) % nodes;
            program.push(match random.below(8) {
                0..=3 => Step::Put { to: other, fetched: false },
                4 => Step::Put { to: other, fetched: true },
                5 => Step::Get { from: other },
                6 => Step::StartGet { from: other },
                _ => Step::Fence { of: other },
            });
        }
        if lockers.contains(&node) {
            let shared = random.below(3) == 0;
            program.insert(0, Step::Lock { of, shared });
            program.insert(2, Step::Unlock { of, shared });
        }
        vec![program]
    };
    (0..nodes).map(program).collect()
}
