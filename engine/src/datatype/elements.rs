//! The basic elements of a type, in the order of sending.

use super::{Combiner, Datatype};
use crate::Result;

impl Datatype {
    /// How many basic elements `bytes` bytes of packed data hold
    /// (MPI_Get_elements, MPI-5.0 §5.1.11); nothing where they end inside an
    /// element. Pair types count as two elements.
    pub fn get_elements(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        let (mut datatype, mut rest, mut elements) = (self, bytes, 0u64);
        loop {
            if datatype.size() == 0 {
                return None;
            }
            elements += rest / datatype.size() * datatype.elements();
            rest %= datatype.size();
            if rest == 0 {
                return Some(elements);
            }
            if let Some(basic) = datatype.as_basic() {
                let ends_after_first = basic.pair().is_some_and(|(first, _)| first.size() == rest);
                return ends_after_first.then_some(elements + 1);
            }
            // Whole blocks of a structure come before the part that is cut.
            for (length, part) in datatype.parts() {
                let block = part.size() * length;
                if rest < block {
                    datatype = part;
                    break;
                }
                elements += part.elements() * length;
                rest -= block;
            }
            if rest == 0 {
                return Some(elements);
            }
        }
    }

    /// How many bytes of packed data the first `number` basic elements of a
    /// message take: the inverse of [`Datatype::get_elements`]. A type without
    /// elements gives 0.
    ///
    /// # Errors
    /// Class `Count` where they are more bytes than an `i64` holds.
    pub fn bytes_of_elements(&self, number: u64) -> Result<u64> {
        if self.elements() == 0 {
            return Ok(0);
        }
        let mut bytes = self.bytes(number / self.elements())?;
        let (mut datatype, mut rest) = (self, number % self.elements());
        while rest > 0 {
            if let Some(basic) = datatype.as_basic() {
                // The rest is the first member of a pair.
                return Ok(bytes + basic.pair().map_or(0, |(first, _)| first.size()));
            }
            // Whole blocks of a structure come before the part that is cut.
            for (length, part) in datatype.parts() {
                let block = part.elements() * length;
                if rest < block {
                    bytes += rest / part.elements() * part.size();
                    rest %= part.elements();
                    datatype = part;
                    break;
                }
                bytes += part.size() * length;
                rest -= block;
            }
        }
        Ok(bytes)
    }

    /// What it is made of, in the order of sending: how many in a row of what.
    pub(super) fn parts(&self) -> Box<dyn Iterator<Item = (u64, &Datatype)> + '_> {
        let envelope = self.envelope();
        if envelope.combiner() == Combiner::Struct {
            let lengths = &envelope.arguments().0[1..];
            return Box::new(
                lengths.iter().zip(envelope.datatypes()).map(|(&length, part)| (length as u64, &**part)),
            );
        }
        Box::new(
            envelope
                .datatypes()
                .iter()
                .map(|part| (self.size().checked_div(part.size()).unwrap_or(0), &**part)),
        )
    }

    /// The runs of equal elements of `count` items, in the order of sending: a
    /// predefined type, and how many of it.
    pub(super) fn runs(&self, count: u64) -> Runs<'_> {
        Runs { pending: vec![Items { datatype: self, left: count, part: 0 }] }
    }
}

/// Iterator over the runs of equal elements; see [`Datatype::runs`].
pub(super) struct Runs<'a> {
    pending: Vec<Items<'a>>,
}

/// Items still to be visited.
struct Items<'a> {
    datatype: &'a Datatype,
    left: u64,
    /// The part of the first of them that comes next, in a structure.
    part: usize,
}

impl<'a> Iterator for Runs<'a> {
    type Item = (&'a Datatype, u64);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let items = self.pending.last_mut()?;
            let (datatype, left) = (items.datatype, items.left);
            if left == 0 || datatype.size() == 0 {
                self.pending.pop();
            } else if datatype.is_predefined() {
                self.pending.pop();
                return Some((datatype, left));
            } else {
                let envelope = datatype.envelope();
                let inside = envelope.datatypes();
                if envelope.combiner() != Combiner::Struct {
                    self.pending.pop();
                    let number = datatype.size() / inside[0].size() * left;
                    self.pending.push(Items { datatype: &inside[0], left: number, part: 0 });
                } else if let Some(next) = inside.get(items.part) {
                    items.part += 1;
                    let length = envelope.arguments().0[items.part] as u64;
                    self.pending.push(Items { datatype: next, left: length, part: 0 });
                } else {
                    items.part = 0;
                    items.left -= 1;
                }
            }
        }
    }
}
