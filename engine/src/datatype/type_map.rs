//! What a datatype means, without how it was made: layout, bounds, elements.
//!
//! This is the type map of MPI-5.0 §5.1 in a compact form. Every constructor is
//! made of three operations on it: repeat, put at displacements, set bounds.

use super::arithmetic::{add, multiply};
use super::layout::{Layout, SequenceBuilder};
use super::Basic;
use crate::{Class, Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// One of the two bounds of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The lower one.
    Lower,
    /// The upper one.
    Upper,
}

/// Where a type begins and ends, in bytes from its address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// Lower bound.
    pub lower: i64,
    /// Upper bound; extent = upper - lower.
    pub upper: i64,
    /// Whether the lower bound was set by hand (`lb_marker` in MPI-5.0 §5.1.7). A
    /// marked bound wins over those of unmarked parts.
    pub lower_is_marked: bool,
    /// Whether the upper bound was (`ub_marker`).
    pub upper_is_marked: bool,
    /// First byte of data.
    pub true_lower: i64,
    /// End of the last byte of data.
    pub true_upper: i64,
    /// Whether there are data at all.
    pub has_data: bool,
}

impl Bounds {
    /// Those of a type with no entries.
    pub const EMPTY: Bounds = Bounds {
        lower: 0,
        upper: 0,
        lower_is_marked: false,
        upper_is_marked: false,
        true_lower: 0,
        true_upper: 0,
        has_data: false,
    };

    /// Those of a type with no entry but a marker of one bound, at its address.
    fn of_marker(edge: Edge) -> Bounds {
        let (lower_is_marked, upper_is_marked) = (edge == Edge::Lower, edge == Edge::Upper);
        Bounds { lower_is_marked, upper_is_marked, ..Bounds::EMPTY }
    }

    fn shifted(mut self, by: i64) -> Result<Bounds> {
        if self.has_lower() {
            self.lower = add(self.lower, by)?;
        }
        if self.has_upper() {
            self.upper = add(self.upper, by)?;
        }
        if self.has_data {
            self.true_lower = add(self.true_lower, by)?;
            self.true_upper = add(self.true_upper, by)?;
        }
        Ok(self)
    }

    fn has_lower(&self) -> bool {
        self.has_data || self.lower_is_marked
    }

    fn has_upper(&self) -> bool {
        self.has_data || self.upper_is_marked
    }

    /// Takes in the bounds of one more part.
    fn join(&mut self, part: &Bounds) {
        if part.has_lower() {
            if !self.has_lower() || (part.lower_is_marked && !self.lower_is_marked) {
                (self.lower, self.lower_is_marked) = (part.lower, part.lower_is_marked);
            } else if part.lower_is_marked == self.lower_is_marked {
                self.lower = self.lower.min(part.lower);
            }
        }
        if part.has_upper() {
            if !self.has_upper() || (part.upper_is_marked && !self.upper_is_marked) {
                (self.upper, self.upper_is_marked) = (part.upper, part.upper_is_marked);
            } else if part.upper_is_marked == self.upper_is_marked {
                self.upper = self.upper.max(part.upper);
            }
        }
        if part.has_data {
            let first = !self.has_data;
            self.true_lower = if first { part.true_lower } else { self.true_lower.min(part.true_lower) };
            self.true_upper = if first { part.true_upper } else { self.true_upper.max(part.true_upper) };
            self.has_data = true;
        }
    }

    /// Joins `count` of `part`, the first at `at`, the others `stride` on.
    fn join_row(&mut self, part: &Bounds, at: i64, count: u64, stride: i64) -> Result<()> {
        if count > 0 {
            let last = multiply(stride, i64::try_from(count - 1).unwrap_or(i64::MAX))?;
            self.join(&part.shifted(at)?);
            self.join(&part.shifted(add(at, last)?)?);
        }
        Ok(())
    }
}

/// The meaning of a datatype.
#[derive(Clone, Debug)]
pub(super) struct TypeMap {
    /// Where the bytes lie; its size is the size of the type.
    pub layout: Layout,
    /// Bounds and extent.
    pub bounds: Bounds,
    /// How many basic elements (a pair type counts as two).
    pub elements: u64,
    /// The largest alignment of a basic element, in bytes.
    pub alignment: u64,
    /// The one kind of element it is made of, if it is only one.
    pub uniform: Option<Basic>,
}

impl TypeMap {
    /// One element.
    pub fn basic(basic: Basic) -> TypeMap {
        let mut pieces = SequenceBuilder::default();
        let (mut true_upper, mut elements) = (basic.size() as i64, 1);
        if let Some((first, second)) = basic.pair() {
            let at = basic.second_offset() as i64;
            (true_upper, elements) = (at + second.size() as i64, 2);
            // Small numbers: no overflow.
            let _ = pieces.block(0, first.size()).and_then(|()| pieces.block(at, second.size()));
        } else {
            let _ = pieces.block(0, basic.size());
        }
        let upper = basic.extent() as i64;
        let bounds = Bounds { upper, true_upper, has_data: true, ..Bounds::EMPTY };
        let (alignment, uniform) = (basic.alignment(), Some(basic));
        TypeMap { layout: pieces.finish(), bounds, elements, alignment, uniform }
    }

    /// No element, and one bound set by hand (`MPI_LB` and `MPI_UB` of MPI-1).
    pub fn marker(edge: Edge) -> TypeMap {
        let bounds = Bounds::of_marker(edge);
        let layout = SequenceBuilder::default().finish();
        TypeMap { layout, bounds, elements: 0, alignment: 1, uniform: None }
    }

    /// Bytes from one item to the next.
    pub fn extent(&self) -> i64 {
        self.bounds.upper - self.bounds.lower
    }

    /// `count` of these, each `stride` bytes after the last.
    pub fn repeated(&self, count: u64, stride: i64) -> Result<TypeMap> {
        let layout = self.layout.repeated(count, stride)?;
        let mut bounds = Bounds::EMPTY;
        bounds.join_row(&self.bounds, 0, count, stride)?;
        check_extent(&bounds)?;
        // No more elements than bytes, so this product fits as well.
        let elements = self.elements * count;
        Ok(TypeMap { layout, bounds, elements, ..*self })
    }

    /// The same, `by` bytes further on.
    pub fn shifted(mut self, by: i64) -> Result<TypeMap> {
        self.layout = self.layout.shifted(by)?;
        self.bounds = self.bounds.shifted(by)?;
        Ok(self)
    }

    /// The same with these bounds set by hand (MPI-5.0 §5.1.7).
    pub fn resized(mut self, lower: i64, extent: i64) -> Result<TypeMap> {
        self.bounds.lower = lower;
        self.bounds.upper = add(lower, extent)?;
        (self.bounds.lower_is_marked, self.bounds.upper_is_marked) = (true, true);
        Ok(self)
    }
}

/// Puts rows of types at displacements, one after the other.
pub(super) struct Placer {
    pieces: SequenceBuilder,
    bounds: Bounds,
    elements: u64,
    alignment: u64,
    /// Nothing yet, one kind of element, or several (`Some(None)`).
    kinds: Option<Option<Basic>>,
    rows: HashMap<u64, Arc<Layout>>,
}

impl Placer {
    /// Nothing placed yet.
    pub fn new() -> Placer {
        Placer {
            pieces: SequenceBuilder::default(),
            bounds: Bounds::EMPTY,
            elements: 0,
            alignment: 1,
            kinds: None,
            rows: HashMap::new(),
        }
    }

    /// Places `length` items of `map` in a row, the first at `displacement`.
    /// A length of 0 places nothing.
    pub fn place(&mut self, displacement: i64, length: u64, map: &TypeMap) -> Result<()> {
        if length == 0 {
            return Ok(());
        }
        let row = map.layout.repeated(length, map.extent())?;
        self.pieces.layout(displacement, &Arc::new(row))?;
        self.count_in(displacement, length, map)
    }

    /// As `place`, for one `map` again and again: rows of equal length share
    /// their layout, so that a regular order of them is recognised.
    pub fn place_alike(&mut self, displacement: i64, length: u64, map: &TypeMap) -> Result<()> {
        if length == 0 {
            return Ok(());
        }
        let row = match self.rows.get(&length) {
            Some(row) => row,
            None => {
                let row = Arc::new(map.layout.repeated(length, map.extent())?);
                self.rows.entry(length).or_insert(row)
            }
        };
        self.pieces.layout(displacement, row)?;
        self.count_in(displacement, length, map)
    }

    fn count_in(&mut self, displacement: i64, length: u64, map: &TypeMap) -> Result<()> {
        self.bounds.join_row(&map.bounds, displacement, length, map.extent())?;
        self.elements += map.elements * length;
        if map.elements > 0 {
            self.alignment = self.alignment.max(map.alignment);
            let known = self.kinds.unwrap_or(map.uniform);
            self.kinds = Some(known.filter(|_| known == map.uniform));
        }
        Ok(())
    }

    /// Everything placed, as one type.
    pub fn finish(self) -> Result<TypeMap> {
        check_extent(&self.bounds)?;
        Ok(TypeMap {
            layout: self.pieces.finish(),
            bounds: self.bounds,
            elements: self.elements,
            alignment: self.alignment,
            uniform: self.kinds.flatten(),
        })
    }

    /// As `finish`, with the padding at the end that a C compiler gives a
    /// structure (the epsilon of MPI-5.0 §5.1), unless the upper bound was set by hand.
    pub fn finish_padded(mut self) -> Result<TypeMap> {
        check_extent(&self.bounds)?;
        if !self.bounds.upper_is_marked && self.bounds.has_data {
            let extent = (self.bounds.upper - self.bounds.lower) as u64;
            let padding = extent.next_multiple_of(self.alignment) - extent;
            self.bounds.upper = add(self.bounds.upper, padding as i64)?;
        }
        self.finish()
    }
}

/// Fails where the extent or the true extent does not fit 64 bits.
fn check_extent(bounds: &Bounds) -> Result<()> {
    let fits = bounds.upper.checked_sub(bounds.lower).and(bounds.true_upper.checked_sub(bounds.true_lower));
    fits.map(|_| ()).ok_or_else(|| {
        Error::new(
            Class::Arg,
            "the extent of the datatype would be beyond 2^63 bytes: check the displacements",
        )
    })
}
