//! The same type over other elements: for files whose elements have other sizes than those in memory.

use super::{Combiner, Datatype, Distribution, Order};
use crate::Result;
use std::sync::Arc;

impl Datatype {
    /// The type that the constructors of this one make when each of its elements is what `replace` gives for it.
    /// Displacements in bytes stay as they are; those in items are of the items as they are then (MPI-5.0 §14.5).
    ///
    /// # Errors
    /// What `replace` says; `Arg` where something does not fit 64 bits.
    pub fn replaced(
        self: &Arc<Datatype>,
        replace: &dyn Fn(&Arc<Datatype>) -> Result<Arc<Datatype>>,
    ) -> Result<Arc<Datatype>> {
        let envelope = self.envelope();
        if self.is_predefined() || envelope.datatypes().is_empty() {
            return replace(self);
        }
        let inside = envelope.datatypes().iter().map(|part| part.replaced(replace));
        let inside = inside.collect::<Result<Vec<_>>>()?;
        made_of(self, &inside)
    }
}

/// Calls the constructor of `like` again, with these types.
fn made_of(like: &Arc<Datatype>, inside: &[Arc<Datatype>]) -> Result<Arc<Datatype>> {
    let contents = like.envelope().contents();
    let (integers, addresses) = (&contents.integers, &contents.addresses);
    let number = integers.first().map_or(0, |&first| first as usize);
    let old = &inside[0];
    match like.envelope().combiner() {
        Combiner::Dup => Ok(old.clone()),
        Combiner::Contiguous => Datatype::contiguous(integers[0], old),
        Combiner::Vector => Datatype::vector(integers[0], integers[1], integers[2], old),
        Combiner::Hvector => Datatype::hvector(integers[0], integers[1], addresses[0], old),
        Combiner::Indexed => Datatype::indexed(&integers[1..=number], &integers[1 + number..], old),
        Combiner::Hindexed => Datatype::hindexed(&integers[1..], addresses, old),
        Combiner::IndexedBlock => Datatype::indexed_block(integers[1], &integers[2..], old),
        Combiner::HindexedBlock => Datatype::hindexed_block(integers[1], addresses, old),
        Combiner::Struct => Datatype::structure(&integers[1..], addresses, inside),
        Combiner::Resized => Datatype::resized(addresses[0], addresses[1], old),
        Combiner::Subarray => {
            let row = |which: usize| &integers[1 + which * number..][..number];
            let order = Order::from_number(integers[1 + 3 * number]);
            Datatype::subarray(row(0), row(1), row(2), order, old)
        }
        Combiner::Darray => {
            let number = integers[2] as usize;
            let row = |which: usize| &integers[3 + which * number..][..number];
            let kinds: Vec<_> = row(1).iter().map(|&kind| Distribution::from_number(kind)).collect();
            let order = Order::from_number(integers[3 + 4 * number]);
            Datatype::darray(integers[0], integers[1], row(0), &kinds, row(2), row(3), order, old)
        }
        _ => Ok(like.clone()),
    }
}
