//! A type made again of what its envelope says, as programs do with
//! MPI_Type_get_contents.

use serried_engine::datatype::{Combiner, Datatype, Distribution, Order};
use std::sync::Arc;

pub fn rebuilt(datatype: &Arc<Datatype>) -> Arc<Datatype> {
    let envelope = datatype.envelope();
    let contents = envelope.contents();
    let (integers, addresses) = (&contents.integers, &contents.addresses);
    let olds: Vec<_> = envelope.datatypes().iter().map(rebuilt).collect();
    let number = integers.first().map_or(0, |&first| first as usize);
    let made = match envelope.combiner() {
        Combiner::Dup => Ok(olds[0].dup()),
        Combiner::Contiguous => Datatype::contiguous(integers[0], &olds[0]),
        Combiner::Vector => Datatype::vector(integers[0], integers[1], integers[2], &olds[0]),
        Combiner::Hvector => Datatype::hvector(integers[0], integers[1], addresses[0], &olds[0]),
        Combiner::Indexed => Datatype::indexed(&integers[1..=number], &integers[1 + number..], &olds[0]),
        Combiner::Hindexed => Datatype::hindexed(&integers[1..], addresses, &olds[0]),
        Combiner::IndexedBlock => Datatype::indexed_block(integers[1], &integers[2..], &olds[0]),
        Combiner::HindexedBlock => Datatype::hindexed_block(integers[1], addresses, &olds[0]),
        Combiner::Struct => Datatype::structure(&integers[1..], addresses, &olds),
        Combiner::Resized => Datatype::resized(addresses[0], addresses[1], &olds[0]),
        Combiner::Subarray => {
            let row = |which: usize| &integers[1 + which * number..][..number];
            let order = Order::from_number(integers[1 + 3 * number]);
            Datatype::subarray(row(0), row(1), row(2), order, &olds[0])
        }
        Combiner::Darray => {
            let number = integers[2] as usize;
            let row = |which: usize| &integers[3 + which * number..][..number];
            let kinds: Vec<_> = row(1).iter().map(|&kind| Distribution::from_number(kind)).collect();
            let order = Order::from_number(integers[3 + 4 * number]);
            Datatype::darray(integers[0], integers[1], row(0), &kinds, row(2), row(3), order, &olds[0])
        }
        _ => return datatype.clone(),
    };
    made.unwrap()
}
