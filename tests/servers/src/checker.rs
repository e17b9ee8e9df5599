//! Visits all states of a small world.

use crate::reduction::Reduction;
use crate::world::{Move, Violation, World};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// States visited.
    pub states: u64,
    /// Different ends.
    pub ends: HashSet<u128>,
    /// What is wrong, and how it came to it.
    pub violation: Option<(Violation, Vec<Move>)>,
    /// There were more states than were asked for.
    pub is_cut_off: bool,
}

/// Two hashes at once: 128 bits, so that no two states are taken for one.
struct Wide(u64, u64);

impl Hasher for Wide {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.write_u64(u64::from_le_bytes(chunk.try_into().expect("8 bytes")));
        }
        let mut last = [0; 8];
        last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        self.write_u64(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 31;
        self.1 = (self.1.rotate_left(29) ^ word).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        self.1 ^= self.1 >> 29;
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte) | 1 << 9);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word) | 1 << 33);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

/// A number that no other state has.
pub fn fingerprint(world: &World) -> u128 {
    let mut hasher = Wide(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);
    for node in &world.nodes {
        node.hash(&mut hasher);
    }
    world.channels.hash(&mut hasher);
    u128::from(hasher.0) << 64 | u128::from(hasher.1)
}

/// Visits the states of a world, in depth first, going on from each by the moves that `choose` leaves.
pub fn visit(world: World, most: u64, choose: impl Fn(&World, Vec<Move>) -> Vec<Move>) -> Found {
    let mut found = Found::default();
    let mut seen = HashSet::from([fingerprint(&world)]);
    let mut open = vec![(world.clone(), choose(&world, world.moves()))];
    let mut way: Vec<Move> = Vec::new();
    while let Some((world, moves)) = open.last_mut() {
        let Some(next) = moves.pop() else {
            open.pop();
            way.pop();
            continue;
        };
        let mut after = world.clone();
        way.push(next);
        if let Err(violation) = after.go(next) {
            found.violation = Some((violation, way));
            break;
        }
        let print = fingerprint(&after);
        if !seen.insert(print) {
            way.pop();
            continue;
        }
        if seen.len() as u64 > most {
            found.is_cut_off = true;
            break;
        }
        let moves = after.moves();
        if moves.is_empty() {
            if let Err(violation) = after.check_end() {
                found.violation = Some((violation, way));
                break;
            }
            found.ends.insert(print);
        }
        let moves = choose(&after, moves);
        open.push((after, moves));
    }
    found.states = seen.len() as u64;
    found
}

/// Visits all states by all ways.
pub fn visit_all(world: World, most: u64) -> Found {
    visit(world, most, |_, moves| moves)
}

/// Visits one state of each set of states that differ only in the order of moves that commute.
pub fn visit_reduced(world: World, most: u64) -> Found {
    let reduction = Reduction::new(&world);
    visit(world, most, |world, moves| reduction.choose(world, moves))
}
