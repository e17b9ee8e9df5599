//! The table: what goes which way, up to which length, unless a machine has been measured.
//!
//! The defaults were measured on processors of AMD's EPYC family, two cores of a virtual machine that are sometimes near
//! and sometimes far.

use super::Crossover;

const K: u32 = 1 << 10;
const M: u32 = 1 << 20;

// Messages between ranks of a node. The sender decides.

/// One block of a blocking or standard send, in bytes.
pub static EAGER_BLOCK: Crossover = Crossover::new(
    "eager_block",
    400 * K,
    (32 * K, 448 * K),
    ("cells of the sender, while both sides copy", "an offer; the receiver decides"),
);

/// One block of a message that is not read in place, in bytes.
pub static WHOLE_CELL: Crossover = Crossover::new(
    "whole_cell",
    2560 - 1,
    (K, 32 * K),
    ("a packet, or one cell that comes back at once", "cells that the receiver keeps for its answer"),
);

/// A message that is copied once, from where it is to where it goes, in bytes.
pub static READ_ALONE: Crossover = Crossover::new(
    "read_alone",
    64 * K - 1,
    (16 * K, 16 * M),
    ("the receiver copies", "both sides copy, a part at a time"),
);

/// An offered message in memory that the receiver has not mapped, whose sender waits, in bytes.
pub static STAGED_UNLESS_MAPPED: Crossover = Crossover::new(
    "staged_unless_mapped",
    2 * M,
    (64 * K, 16 * M),
    ("cells of the sender, while both sides copy", "both sides copy through the kernel, a part at a time"),
);

// Collectives of the ranks of a node. All members decide alike.

/// Payload of each of two members with a core each, in bytes. A slot has room for 4 KiB.
pub static IN_SLOTS_OF_TWO: Crossover = Crossover::new(
    "in_slots_of_two",
    2 * K,
    (256, 4 * K),
    ("payload is copied into a slot", "payload is lent, and one more epoch ends the operation"),
);

/// The vector of an allreduce of two members, in bytes.
pub static WHOLE_OF_TWO: Crossover = Crossover::new(
    "whole_of_two",
    8 * K,
    (K, 256 * K),
    ("each of two combines everything", "each combines a half and puts it into both results"),
);

/// The same where one cannot write into the result of the other.
pub static WHOLE_OF_TWO_UNLESS_PUT: Crossover = Crossover::new(
    "whole_of_two_unless_put",
    512 * K,
    (8 * K, 16 * M),
    ("each of two combines everything", "each combines a half and reads the other one"),
);

/// The vector of a reduce of two members, in bytes.
pub static ROOT_ALONE: Crossover = Crossover::new(
    "root_alone",
    16 * K,
    (K, 256 * K),
    ("the root combines alone", "each of two combines a half"),
);

/// What a member of an allreduce of three and more would have to read, in bytes: vector times other members.
pub static WHOLE: Crossover =
    Crossover::new("whole", 48 * K, (4 * K, M), ("each member combines everything", "each combines a slice"));

/// The vector of an allreduce of two members, in bytes.
pub static WHOLE_VECTOR_OF_TWO: Crossover = Crossover::new(
    "whole_vector_of_two",
    64 * K,
    (4 * K, M),
    ("two members lend whole vectors", "piece by piece"),
);

/// Payload that each member reads, where ranks share cores, in bytes.
pub static READ_BY_ALL: Crossover = Crossover::new(
    "read_by_all",
    48 * K,
    (4 * K, 64 * K),
    ("over wide halves, so that nobody waits", "read where it is"),
);

/// A broadcast of two members with a core each, in bytes.
pub static PUSHED_BY_ROOT: Crossover = Crossover::new(
    "pushed_by_root",
    256 * K,
    (8 * K, 16 * M),
    ("the root writes all of it into the buffer of the other", "each copies a half"),
);

/// The block of an allgather or alltoall of two members, in bytes.
pub static PULLED: Crossover = Crossover::new(
    "pulled",
    8 * K - 1,
    (2 * K, M),
    ("the other member's block is pulled", "pushed or pulled, as is measured now and then"),
);

/// A buffer of which others can read all but the ends by plain loads, in bytes.
pub static ENDS_COPIED: Crossover = Crossover::new(
    "ends_copied",
    128 * K,
    (8 * K, 4 * M),
    ("a buffer whose ends nobody reaches is copied", "its ends go through the kernel"),
);

// Copies.

/// A copy of what another core has used, in bytes.
pub static PAST_CACHES: Crossover = Crossover::new(
    "past_caches",
    512 * K,
    (16 * K, 64 * M),
    ("through the caches or past them, as is measured now and then", "through the caches"),
);

/// A copy into a slot, in bytes.
pub static SHORT_SLOT: Crossover = Crossover::new(
    "short_slot",
    16 * K,
    (2 * K, 64 * K),
    ("by vectors or as libc does, as is measured now and then", "through the caches or past them"),
);

/// A copy of a few KiB through the caches, in bytes. From 2 KiB on.
pub static BY_VECTORS: Crossover =
    Crossover::new("by_vectors", 8 * K, (2 * K, 64 * K), ("by vectors", "as libc does"));

/// How many there are.
pub const COUNT: usize = 17;

/// All of them. The place of each is its place in the segment of a node.
pub static ALL: [&Crossover; COUNT] = [
    &EAGER_BLOCK,
    &WHOLE_CELL,
    &READ_ALONE,
    &STAGED_UNLESS_MAPPED,
    &IN_SLOTS_OF_TWO,
    &WHOLE_OF_TWO,
    &WHOLE_OF_TWO_UNLESS_PUT,
    &ROOT_ALONE,
    &WHOLE,
    &WHOLE_VECTOR_OF_TWO,
    &READ_BY_ALL,
    &PUSHED_BY_ROOT,
    &PULLED,
    &ENDS_COPIED,
    &PAST_CACHES,
    &SHORT_SLOT,
    &BY_VECTORS,
];

/// The place in the table of the one of a name.
pub fn place_of(name: &str) -> Option<usize> {
    ALL.iter().position(|crossover| crossover.name == name)
}
