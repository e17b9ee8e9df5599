//! What a member exposes, for the one who does what others ask for with it.

use crate::engine::Engine;
use crate::onesided::{Entry, Region, Row};
use crate::Result;
use std::rc::Rc;

/// What a member exposes, for the one who does what others ask for.
pub(in crate::engine) trait Served {
    /// The piece in which so many bytes from an address on lie; one without bytes if there is none.
    ///
    /// # Errors
    /// When it cannot be found out.
    fn region(&self, engine: &Engine, there: (u64, u64)) -> Result<Region>;

    /// Of attached memory: the piece in which so many bytes from an address on lie; one at address 0 if there is none.
    ///
    /// # Errors
    /// When it cannot be found out.
    fn find(&self, engine: &Engine, there: (u64, u64)) -> Result<Entry>;
}

/// Finds what a member exposes; mostly it is the region of the piece before.
pub(super) struct Finder<'a, S> {
    pub served: &'a S,
    last: Option<Rc<Region>>,
}

impl<'a, S: Served> Finder<'a, S> {
    pub fn new(served: &'a S) -> Finder<'a, S> {
        Finder { served, last: None }
    }

    /// The region in which so many bytes from an address on lie.
    pub fn region(&mut self, engine: &Engine, there: (u64, u64)) -> Result<Rc<Region>> {
        match self.last.as_ref().filter(|region| region.place_of(there.0, there.1).is_ok()) {
            Some(region) => Ok(region.clone()),
            None => Ok(self.last.insert(Rc::new(self.served.region(engine, there)?)).clone()),
        }
    }

    /// Where the first piece of a row lies for plain loads and stores, if all of the row does, in one region.
    pub fn here(&mut self, engine: &Engine, row: Row) -> Option<(Rc<Region>, *mut u8)> {
        let reach = row.distance.checked_mul(row.count as i64 - 1)?;
        let first = row.address.wrapping_add_signed(reach.min(0));
        let there = (first, reach.unsigned_abs() + row.bytes);
        let region = self.region(engine, there).ok()?;
        let here = region.here(region.place_of(there.0, there.1).ok()?, there.1)?;
        Some((region, here.wrapping_add((row.address - first) as usize)))
    }
}
