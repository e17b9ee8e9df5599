//! What is measured.

use super::Row;

/// Bytes of messages, and of blocks of collectives. Programs seldom have powers of two.
pub const LENGTHS: [usize; 5] = [8, 1000, 15_000, 250_000, 4_000_000];
/// All that a rank gets in one call, at most.
pub const MOST_BYTES: usize = 64 << 20;
/// Messages of a burst.
pub const BURST: usize = 64;

/// An operation of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    Barrier,
    Broadcast,
    Reduce,
    Allreduce,
    Allgather,
    Alltoall,
}

/// One thing that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A message of rank 0 to a partner and one back; half of that time.
    Message { partner: u32, bytes: usize },
    /// A burst of messages of 8 bytes to a partner, and an answer; the time of one message.
    Burst { partner: u32 },
    /// An operation of all ranks, with so many bytes a rank or, in allgather and alltoall, a pair.
    All { what: Collective, bytes: usize },
}

impl Cell {
    /// How people call it.
    pub fn name(self) -> &'static str {
        match self {
            Cell::Message { .. } => "message",
            Cell::Burst { .. } => "message of many",
            Cell::All { what, .. } => match what {
                Collective::Barrier => "barrier",
                Collective::Broadcast => "bcast",
                Collective::Reduce => "reduce",
                Collective::Allreduce => "allreduce",
                Collective::Allgather => "allgather",
                Collective::Alltoall => "alltoall",
            },
        }
    }

    /// Its bytes.
    pub fn bytes(self) -> usize {
        match self {
            Cell::Message { bytes, .. } | Cell::All { bytes, .. } => bytes,
            Cell::Burst { .. } => 8,
        }
    }

    /// With whom rank 0 talks, if not with all.
    pub fn partner(self) -> Option<u32> {
        match self {
            Cell::Message { partner, .. } | Cell::Burst { partner } => Some(partner),
            Cell::All { .. } => None,
        }
    }
}

/// The most that a rank of so many gives or gets in one call of [`rows`].
pub fn most_bytes(ranks: u32) -> usize {
    let longest = LENGTHS[LENGTHS.len() - 1];
    (longest * ranks as usize).min(MOST_BYTES).max(longest)
}

/// The rows of the table, for so many ranks and these partners of rank 0.
pub fn rows(ranks: u32, partners: &[u32]) -> Vec<Row> {
    let mut rows = Vec::new();
    for &partner in partners {
        rows.push(LENGTHS.iter().map(|&bytes| Cell::Message { partner, bytes }).collect());
        rows.push(vec![Cell::Burst { partner }]);
    }
    rows.push(vec![Cell::All { what: Collective::Barrier, bytes: 0 }]);
    for what in [Collective::Broadcast, Collective::Allreduce, Collective::Allgather, Collective::Alltoall] {
        let blocks = match what {
            Collective::Allgather | Collective::Alltoall => ranks as usize,
            _ => 1,
        };
        let fit = LENGTHS.iter().filter(|&&bytes| bytes * blocks <= MOST_BYTES);
        rows.push(fit.map(|&bytes| Cell::All { what, bytes }).collect());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partner_has_its_rows_and_long_blocks_of_many_ranks_are_left_out() {
        assert_eq!(rows(1, &[]).len(), 5);
        let rows = rows(128, &[1, 64]);
        assert_eq!((rows.len(), rows[0].len(), rows[8].len()), (9, 5, 4));
        assert_eq!((rows[2][0].partner(), rows[4][0].name()), (Some(64), "barrier"));
    }
}
