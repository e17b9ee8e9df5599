//! Domains: ranks that reach each other's memory by loads and stores.
//!
//! Global Arrays believes that the ranks of a domain follow each other and that all domains have as many. So all ranks are
//! one domain, where all memory that ARMCI allocates lies at the same address in all of them; else each is one by itself.

use crate::objects::{Comm, Op};
use serried_engine::collective::{Data, Operation};
use serried_engine::datatype::{Basic, Datatype};
use serried_engine::engine::onesided::Memory;
use serried_engine::engine::Engine;
use serried_engine::reduce::Builtin;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// Which ranks are in one domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domains {
    ranks: u32,
    /// How many ranks a domain has.
    each: u32,
}

impl Domains {
    /// Tries what memory the ranks reach. Collective.
    ///
    /// # Errors
    /// As of making and freeing memory.
    pub fn find(engine: &Engine, comm: &Arc<Comm>) -> Result<Domains> {
        let tried = engine.expose(comm, Memory::Allocated(64), 1)?;
        let mut one = u64::from(engine.is_one_memory(&tried));
        let receive = Data::new((&raw mut one).cast(), 0, 1, Datatype::shared(Basic::Uint64))?;
        let operator = Arc::new(Op::builtin(Builtin::Min));
        engine.run_collective(
            comm,
            &Operation::Allreduce { send: None, receive, operator: (&operator).into() },
        )?;
        engine.unexpose(&tried)?;
        let ranks = comm.size();
        Ok(Domains { ranks, each: if one == 1 { ranks } else { 1 } })
    }

    /// Whether ranks share memory with others.
    pub fn share_memory(self) -> bool {
        self.each > 1
    }

    /// The ranks of a domain; below 0, of that of `me`.
    ///
    /// # Errors
    /// `Arg` when there is no such domain.
    pub fn ranks_of(self, domain: c_int, me: u32) -> Result<std::ops::Range<u32>> {
        let domain = u32::try_from(domain).unwrap_or(me / self.each);
        match domain < self.count() {
            true => Ok(domain * self.each..(domain + 1) * self.each),
            false => Err(no_domain(domain, self.count())),
        }
    }

    /// How many domains there are.
    pub fn count(self) -> u32 {
        self.ranks / self.each
    }

    /// That of a rank.
    pub fn of(self, rank: u32) -> u32 {
        rank / self.each
    }
}

#[cold]
fn no_domain(domain: u32, count: u32) -> Error {
    Error::new(Class::Arg, format!("argument id is {domain}, but the domains are 0 to {}", count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ranks_are_one_domain_or_each_is_one() {
        let together = Domains { ranks: 6, each: 6 };
        assert_eq!((together.count(), together.of(5), together.ranks_of(-1, 3).unwrap()), (1, 0, 0..6));
        assert!(together.ranks_of(1, 0).is_err() && together.share_memory());
        let apart = Domains { ranks: 6, each: 1 };
        assert_eq!((apart.count(), apart.of(5), apart.ranks_of(-1, 3).unwrap()), (6, 5, 3..4));
        assert!(!apart.share_memory());
    }
}
