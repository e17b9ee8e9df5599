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
        self.find(engine, there)?;
        Ok(self.last.clone().expect("it was found"))
    }

    fn find(&mut self, engine: &Engine, there: (u64, u64)) -> Result<()> {
        let is_last = |region: &Rc<Region>| region.place_of(there.0, there.1).is_ok();
        if !self.last.as_ref().is_some_and(is_last) {
            self.has_changed();
            self.last = Some(Rc::new(self.served.region(engine, there)?));
        }
        Ok(())
    }

    /// Where the first piece of a row lies for plain loads and stores, if all of the row does, in one region.
    #[inline]
    pub fn here(&mut self, engine: &Engine, row: Row) -> Option<*mut u8> {
        let reach = row.distance.checked_mul(row.count as i64 - 1)?;
        let first = row.address.wrapping_add_signed(reach.min(0));
        let bytes = reach.unsigned_abs() + row.bytes;
        self.find(engine, (first, bytes)).ok()?;
        let region = self.last.as_ref()?;
        let here = region.here(region.place_of(first, bytes).ok()?, bytes)?;
        Some(here.wrapping_add((row.address - first) as usize))
    }

    /// Something was done with the memory that was found last: its owner may wait for that.
    pub fn has_changed(&self) {
        self.last.iter().for_each(|region| region.changed());
    }
}
