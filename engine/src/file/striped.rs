//! Files in stripes over several servers, as Lustre and GPFS keep them: whose a byte is, and how a range is shared out
//! among writers so that no two of them meet at a server's lock. Plain arithmetic.

/// How a file is striped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripes {
    /// Bytes of a stripe.
    pub unit: u64,
    /// How many servers.
    pub servers: u64,
}

impl Stripes {
    /// The server of a byte.
    pub fn server_of(&self, offset: u64) -> u64 {
        offset / self.unit % self.servers
    }

    /// Which of `writers` writes a byte: always the same one for a stripe, and writers share no server as long as
    /// one of the two numbers divides the other.
    pub fn writer_of(&self, offset: u64, writers: u64) -> u64 {
        let (stripe, server) = (offset / self.unit, self.server_of(offset));
        if writers <= self.servers {
            return server % writers;
        }
        let of_server = writers / self.servers;
        server + self.servers * (stripe / self.servers % of_server)
    }

    /// The parts of a range that one writer writes, as (offset, bytes).
    pub fn parts(self, first: u64, end: u64, writer: u64, writers: u64) -> impl Iterator<Item = (u64, u64)> {
        let begin = first / self.unit;
        (begin..end.div_ceil(self.unit)).filter_map(move |stripe| {
            let (at, to) = ((stripe * self.unit).max(first), ((stripe + 1) * self.unit).min(end));
            (at < to && self.writer_of(at, writers) == writer).then_some((at, to - at))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_writer_and_writers_share_no_server() {
        for (unit, servers, writers) in [(4, 3, 3), (8, 4, 2), (5, 2, 4), (16, 1, 3), (4, 6, 1)] {
            let stripes = Stripes { unit, servers };
            let (first, end) = (7, 301);
            let mut given = vec![0; end as usize];
            let mut writers_of = vec![Vec::new(); servers as usize];
            for writer in 0..writers {
                for (at, bytes) in stripes.parts(first, end, writer, writers) {
                    (at..at + bytes).for_each(|byte| given[byte as usize] += 1);
                    assert_eq!(at / unit, (at + bytes - 1) / unit, "a part is within a stripe");
                    writers_of[stripes.server_of(at) as usize].push(writer);
                }
            }
            assert!(given.iter().enumerate().all(|(at, &times)| times == i32::from(at as u64 >= first)));
            for writers in &mut writers_of {
                writers.sort_unstable();
                writers.dedup();
            }
            let most = writers.div_ceil(servers) as usize;
            assert!(writers_of.iter().all(|writers| writers.len() <= most), "{writers_of:?}");
        }
    }
}
