//! How a datatype was made: what `MPI_Type_get_envelope` and
//! `MPI_Type_get_contents` answer (MPI-5.0 §5.1.13).

use super::Datatype;
use std::sync::Arc;

/// The constructor that made a datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combiner {
    /// A predefined type with a name.
    Named,
    /// `MPI_Type_dup`.
    Dup,
    /// `MPI_Type_contiguous`.
    Contiguous,
    /// `MPI_Type_vector`.
    Vector,
    /// `MPI_Type_create_hvector`.
    Hvector,
    /// `MPI_Type_indexed`.
    Indexed,
    /// `MPI_Type_create_hindexed`.
    Hindexed,
    /// `MPI_Type_create_indexed_block`.
    IndexedBlock,
    /// `MPI_Type_create_hindexed_block`.
    HindexedBlock,
    /// `MPI_Type_create_struct`.
    Struct,
    /// `MPI_Type_create_subarray`.
    Subarray,
    /// `MPI_Type_create_darray`.
    Darray,
    /// `MPI_Type_create_f90_real`.
    F90Real,
    /// `MPI_Type_create_f90_complex`.
    F90Complex,
    /// `MPI_Type_create_f90_integer`.
    F90Integer,
    /// `MPI_Type_create_resized`.
    Resized,
    /// `MPI_Type_get_value_index`, where it made an unnamed type.
    ValueIndex,
}

/// The arguments of the constructor, in the order of MPI-5.0 §5.1.13.
///
/// `MPI_ORDER_…` stands as [`super::Order`] and `MPI_DISTRIBUTE_…` as
/// [`super::Distribution`] `as i64`, a default distribution argument as
/// [`super::DEFAULT_ARGUMENT`]: a face translates them.
#[derive(Clone, Debug)]
pub struct Envelope {
    combiner: Combiner,
    large: bool,
    integers: Vec<i64>,
    addresses: Vec<i64>,
    datatypes: Vec<Arc<Datatype>>,
}

/// The arguments, sorted as the queries want them.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// What was an `int`.
    pub integers: Vec<i64>,
    /// What was an `MPI_Aint`.
    pub addresses: Vec<i64>,
    /// What was an `MPI_Count` in the `_c` form.
    pub counts: Vec<i64>,
}

impl Envelope {
    pub(super) fn new(combiner: Combiner, integers: Vec<i64>, datatypes: Vec<Arc<Datatype>>) -> Envelope {
        Envelope { combiner, large: false, integers, addresses: Vec::new(), datatypes }
    }

    pub(super) fn with_addresses(mut self, addresses: Vec<i64>) -> Envelope {
        self.addresses = addresses;
        self
    }

    pub(super) fn set_large(&mut self) {
        self.large = true;
    }

    /// The constructor.
    pub fn combiner(&self) -> Combiner {
        self.combiner
    }

    /// The types that it was given.
    pub fn datatypes(&self) -> &[Arc<Datatype>] {
        &self.datatypes
    }

    /// The arguments as the int form of the constructor has them, however it
    /// was called: its integers, then its addresses.
    pub(super) fn arguments(&self) -> (&[i64], &[i64]) {
        (&self.integers, &self.addresses)
    }

    /// The arguments as the form of the constructor that was called had them.
    pub fn contents(&self) -> Contents {
        let (integers, addresses) = (&self.integers, &self.addresses);
        let plain = || Contents { integers: integers.clone(), addresses: addresses.clone(), counts: vec![] };
        if !self.large {
            return plain();
        }
        // Which of the integers are counts in the `_c` form.
        let counts = match self.combiner {
            Combiner::Named | Combiner::Dup | Combiner::ValueIndex => return plain(),
            Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer => return plain(),
            Combiner::Subarray => 1..integers.len() - 1,
            Combiner::Darray => 3..3 + integers[2] as usize,
            _ => 0..integers.len(),
        };
        let mut rest = integers.clone();
        let mut counts: Vec<i64> = rest.drain(counts).collect();
        counts.extend(addresses);
        Contents { integers: rest, addresses: vec![], counts }
    }
}

impl Drop for Envelope {
    /// Takes apart a long chain of types one by one, not by recursion.
    fn drop(&mut self) {
        let mut pending = std::mem::take(&mut self.datatypes);
        while let Some(datatype) = pending.pop() {
            if let Some(mut last) = Arc::into_inner(datatype) {
                pending.append(&mut last.envelope.datatypes);
            }
        }
    }
}
