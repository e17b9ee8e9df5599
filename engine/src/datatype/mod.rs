//! Datatypes: what lies where in a user's buffer (MPI-5.0 chapter 5).
//!
//! A [`Datatype`] never changes once it is made, apart from its name and
//! whether it is committed, so it is shared as `Arc<Datatype>` by everything
//! that moves its data. It is flattened when it is made ([`layout`]); a type
//! made of others keeps them only to tell how it was made ([`envelope`]).
//!
//! Moving bytes: [`Datatype::dense`] says in a few instructions whether items
//! lie in one piece; [`Datatype::pack`], [`Datatype::unpack`],
//! [`Datatype::segments`] and [`copy`] move any range of what does not.

mod arithmetic;
mod array;
pub mod basic;
mod by_block;
mod constructors;
mod darray;
mod device_data;
mod elements;
pub mod envelope;
mod external32;
mod f90;
mod host_copies;
mod layout;
mod pack;
mod regular;
mod replace;
pub(crate) mod rows;
mod type_map;
mod walk;

#[cfg(test)]
mod tests;

pub use array::Order;
pub use basic::Basic;
pub use darray::{Distribution, DEFAULT_ARGUMENT};
pub use envelope::{Combiner, Contents, Envelope};
pub use host_copies::{HostCopies, Use};
pub use pack::copy;
pub use type_map::Edge;

use crate::kept::{self, Lasting};
use crate::world::attribute::Attributes;
use crate::Result;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use type_map::TypeMap;

/// A datatype; see the module.
pub struct Datatype {
    map: TypeMap,
    /// All bytes of one item lie in one piece.
    is_block: bool,
    /// So do all bytes of several items.
    is_gapless: bool,
    basic: Option<Basic>,
    /// `MPI_LONG` or `MPI_UNSIGNED_LONG`, which are shorter in external32.
    is_long: bool,
    /// Never freed.
    lasts: bool,
    /// Bytes of one item in external32.
    external: u64,
    envelope: Envelope,
    committed: AtomicBool,
    name: Mutex<String>,
    /// What the program caches on it (MPI-5.0 §7.7.4).
    pub attributes: Attributes,
}

// SAFETY: the field never changes, and `named`, which alone sets it, makes its object last.
unsafe impl Lasting for Datatype {
    #[inline]
    fn lasts(&self) -> bool {
        self.lasts
    }
}

impl Datatype {
    /// The predefined type of `basic`, with no particular name. Always the
    /// same one.
    pub fn basic(basic: Basic) -> Arc<Datatype> {
        Datatype::shared(basic).clone()
    }

    /// The same one where it lies.
    pub fn shared(basic: Basic) -> &'static Arc<Datatype> {
        static TYPES: [OnceLock<Arc<Datatype>>; Basic::NUMBER] = [const { OnceLock::new() }; Basic::NUMBER];
        TYPES[basic as usize].get_or_init(|| Datatype::named(basic, &format!("{basic:?}")))
    }

    /// A predefined type under the name that a face gives it (`MPI_INT`). It is
    /// committed, and never freed.
    pub fn named(basic: Basic, name: &str) -> Arc<Datatype> {
        let envelope = Envelope::new(Combiner::Named, vec![], vec![]);
        kept::for_ever(Datatype { lasts: true, ..Datatype::predefined(basic, envelope, name) })
    }

    /// As [`Datatype::named`]; its element has 4 bytes in external32 and 8 here (`MPI_LONG`).
    pub fn named_narrow(basic: Basic, name: &str) -> Arc<Datatype> {
        let envelope = Envelope::new(Combiner::Named, vec![], vec![]);
        let mut datatype = Datatype::predefined(basic, envelope, name);
        datatype.is_long = true;
        datatype.external = datatype.external_size_of_element();
        kept::for_ever(Datatype { lasts: true, ..datatype })
    }

    /// A predefined type without elements that marks a bound of a structure in which it stands: what MPI-1
    /// called `MPI_LB` and `MPI_UB`, and MPI-3.0 has removed for `MPI_Type_create_resized`.
    pub fn marker(edge: Edge, name: &str) -> Arc<Datatype> {
        let envelope = Envelope::new(Combiner::Named, vec![], vec![]);
        let datatype = Datatype::assemble(TypeMap::marker(edge), envelope);
        datatype.commit();
        datatype.set_name(name);
        kept::for_ever(Datatype { lasts: true, ..datatype })
    }

    fn predefined(basic: Basic, envelope: Envelope, name: &str) -> Datatype {
        let mut datatype = Datatype::assemble(TypeMap::basic(basic), envelope);
        datatype.basic = Some(basic);
        datatype.external = datatype.external_size_of_element();
        datatype.commit();
        datatype.set_name(name);
        datatype
    }

    /// Every datatype is made here.
    fn assemble(map: TypeMap, envelope: Envelope) -> Datatype {
        let is_block = map.layout.is_block();
        let is_gapless = is_block && (map.layout.size == 0 || map.extent() == map.layout.size as i64);
        let mut datatype = Datatype {
            map,
            is_block,
            is_gapless,
            basic: None,
            is_long: false,
            lasts: false,
            external: 0,
            envelope,
            committed: AtomicBool::new(false),
            name: Mutex::default(),
            attributes: Attributes::default(),
        };
        datatype.external = datatype.external_size_of_parts();
        datatype
    }

    /// Bytes of data in one item (MPI-5.0 §5.1.5, MPI_Type_size).
    pub fn size(&self) -> u64 {
        self.map.layout.size
    }

    /// Bytes of data in `count` items; an error where an `i64` cannot hold it.
    pub fn bytes(&self, count: u64) -> Result<u64> {
        arithmetic::multiply_size(self.size(), count)
    }

    /// Lower bound in bytes (MPI-5.0 §5.1.7).
    pub fn lower_bound(&self) -> i64 {
        self.map.bounds.lower
    }

    /// Bytes from one item to the next; may be negative or 0.
    pub fn extent(&self) -> i64 {
        self.map.extent()
    }

    /// Where the first byte of data lies (MPI-5.0 §5.1.8).
    pub fn true_lower_bound(&self) -> i64 {
        self.map.bounds.true_lower
    }

    /// Bytes from the first byte of data to the end of the last.
    pub fn true_extent(&self) -> i64 {
        self.map.bounds.true_upper - self.map.bounds.true_lower
    }

    /// The largest alignment in bytes of its basic elements.
    pub fn alignment(&self) -> u64 {
        self.map.alignment
    }

    /// The range of bytes, relative to the address, that `count` items touch: (begin, end). Nothing
    /// touched gives (0, 0). A staging buffer for them needs `end - begin` bytes, with its address
    /// moved by `-begin`.
    pub fn span(&self, count: u64) -> Result<(i64, i64)> {
        if count == 0 || self.size() == 0 {
            return Ok((0, 0));
        }
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let last = arithmetic::multiply(self.extent(), count - 1)?;
        let begin = arithmetic::add(self.true_lower_bound(), last.min(0))?;
        Ok((begin, arithmetic::add(self.map.bounds.true_upper, last.max(0))?))
    }

    /// Which element it is, if it is a predefined type.
    pub fn as_basic(&self) -> Option<Basic> {
        self.basic
    }

    /// Whether it is a predefined type, which no program may free.
    pub fn is_predefined(&self) -> bool {
        self.basic.is_some() || self.lasts
    }

    /// The kind of all its elements, if they are of one kind.
    pub fn uniform(&self) -> Option<Basic> {
        self.map.uniform
    }

    /// How many basic elements one item has; pair types count as two, as
    /// `MPI_Get_elements` counts them.
    pub fn elements(&self) -> u64 {
        self.map.elements
    }

    /// How it was made.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Allows its use in communication (MPI-5.0 §5.1.9).
    pub fn commit(&self) {
        self.committed.store(true, Ordering::Relaxed);
    }

    /// Whether it may be used in communication.
    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// Its name (MPI-5.0 §7.8); empty for a derived type that got none.
    pub fn name(&self) -> String {
        self.name.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Gives it a name.
    pub fn set_name(&self, name: &str) {
        *self.name.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = name.to_owned();
    }

    /// Where `count` items lie if all their bytes are one piece in the order
    /// of sending: offset from the address, and bytes. A few instructions.
    #[inline]
    pub fn dense(&self, count: u64) -> Option<(i64, u64)> {
        if self.is_gapless || (self.is_block && count <= 1) {
            let layout = &self.map.layout;
            return Some((layout.offset, layout.size.saturating_mul(count)));
        }
        if count == 0 {
            return Some((0, 0));
        }
        None
    }
}

impl fmt::Debug for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Datatype({:?} {:?}, {} bytes)", self.envelope.combiner(), self.name(), self.size())
    }
}
