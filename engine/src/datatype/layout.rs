//! Where the bytes of one item lie, in the order in which they are sent.
//!
//! A `Layout` is a small tree. Regular types stay small however many blocks they have: a vector of
//! a million blocks is one `Loop` over one `Block`. Irregular types need one number per block where
//! all blocks are alike, and a [`Part`] per block else, of a pattern that repeats only once. Adjacent parts are merged while the tree is
//! built, so a type whose bytes lie in one piece is always a single `Block`.
//!
//! No tree is deeper than about 200 levels, so that walking it by recursion is
//! safe: a loop over a loop at least doubles the size, and sequences beyond
//! [`DEEP`] take in the parts of the sequences below them.

use super::arithmetic::{add, add_size, multiply, multiply_size};
use crate::Result;
use std::sync::Arc;

/// From this depth on, a sequence inside a sequence is merged into it.
const DEEP: u32 = 64;

/// Unlike blocks repeat if so many of them at most do, so often at least.
const LONGEST_PATTERN: usize = 32;
const OFTEN: usize = 8;

/// Some bytes relative to an address, in a given order.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// What is added to the address first.
    pub offset: i64,
    /// Bytes of data in all.
    pub size: u64,
    /// Levels of the tree below this one.
    pub depth: u32,
    /// How the bytes lie.
    pub shape: Shape,
}

/// How the bytes of a [`Layout`] lie, from its offset on.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// All of them in one piece.
    Block,
    /// `count` times `body`, each `stride` bytes after the last.
    Loop { count: u64, stride: i64, body: Arc<Layout> },
    /// `body` at each of these offsets.
    Scattered { offsets: Arc<[i64]>, body: Arc<Layout> },
    /// Unlike things one after the other.
    Sequence { parts: Arc<[Part]> },
}

/// One piece of a [`Shape::Sequence`].
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// How many bytes of data come before it in the sequence.
    pub start: u64,
    /// Where it lies.
    pub offset: i64,
    /// What lies there; nothing means one block, up to the start of the next.
    pub body: Option<Arc<Layout>>,
}

impl Layout {
    /// No bytes.
    pub const EMPTY: Layout = Layout::block(0, 0);

    /// `size` bytes in one piece.
    pub const fn block(offset: i64, size: u64) -> Layout {
        Layout { offset, size, depth: 0, shape: Shape::Block }
    }

    /// Whether all bytes lie in one piece.
    pub fn is_block(&self) -> bool {
        matches!(self.shape, Shape::Block)
    }

    /// The same bytes, `by` further on.
    pub fn shifted(mut self, by: i64) -> Result<Layout> {
        if self.size > 0 {
            self.offset = add(self.offset, by)?;
        }
        Ok(self)
    }

    /// `count` of these, each `stride` bytes after the last.
    pub fn repeated(&self, count: u64, stride: i64) -> Result<Layout> {
        let size = multiply_size(self.size, count)?;
        if size == 0 {
            return Ok(Layout::EMPTY);
        }
        if count == 1 {
            return Ok(self.clone());
        }
        // The last one must be within reach.
        add(self.offset, multiply(stride, (count - 1) as i64)?)?;
        if self.is_block() && stride as u64 == self.size {
            return Ok(Layout::block(self.offset, size));
        }
        if let Shape::Loop { count: inner, stride: step, body } = &self.shape {
            if (*inner as i64).checked_mul(*step) == Some(stride) {
                let shape = Shape::Loop { count: inner * count, stride: *step, body: body.clone() };
                return Ok(Layout { size, shape, ..*self });
            }
        }
        Ok(Layout::looped(0, count, stride, Arc::new(self.clone())))
    }

    fn sequence(size: u64, depth: u32, parts: Vec<Part>) -> Layout {
        Layout { offset: 0, size, depth, shape: Shape::Sequence { parts: parts.into() } }
    }

    fn looped(offset: i64, count: u64, stride: i64, body: Arc<Layout>) -> Layout {
        let size = body.size * count;
        Layout { offset, size, depth: body.depth + 1, shape: Shape::Loop { count, stride, body } }
    }

    /// The sum of the sizes of the tree's own memory, for tests of its economy.
    #[cfg(test)]
    pub fn memory(&self) -> usize {
        size_of::<Layout>()
            + match &self.shape {
                Shape::Block => 0,
                Shape::Loop { body, .. } => body.memory(),
                Shape::Scattered { offsets, body } => size_of_val(&**offsets) + body.memory(),
                Shape::Sequence { parts } => {
                    size_of_val(&**parts)
                        + parts
                            .iter()
                            .filter_map(|part| part.body.as_ref())
                            .map(|b| b.memory())
                            .sum::<usize>()
                }
            }
    }
}

/// Puts pieces one after the other and finds the smallest shape for them.
#[derive(Default)]
pub(super) struct SequenceBuilder {
    parts: Vec<Part>,
    size: u64,
    depth: u32,
}

impl SequenceBuilder {
    /// Adds a block of bytes.
    pub fn block(&mut self, offset: i64, size: u64) -> Result<()> {
        if size == 0 {
            return Ok(());
        }
        let total = add_size(self.size, size)?;
        let grows = self.parts.last().is_some_and(|last| {
            last.body.is_none() && last.offset.checked_add_unsigned(self.size - last.start) == Some(offset)
        });
        if !grows {
            self.parts.push(Part { start: self.size, offset, body: None });
        }
        self.size = total;
        Ok(())
    }

    /// Adds `body` at `offset`. Pieces that are alike should share one `Arc`:
    /// that is how a regular row of them is recognised.
    pub fn layout(&mut self, offset: i64, body: &Arc<Layout>) -> Result<()> {
        let place = add(offset, body.offset)?;
        match &body.shape {
            Shape::Block => self.block(place, body.size),
            Shape::Sequence { parts } if body.depth >= DEEP => self.splice(place, body.size, parts),
            _ => {
                let total = add_size(self.size, body.size)?;
                self.parts.push(Part { start: self.size, offset, body: Some(body.clone()) });
                self.size = total;
                self.depth = self.depth.max(body.depth);
                Ok(())
            }
        }
    }

    /// Takes in the parts of a sequence of `size` bytes at `offset`.
    fn splice(&mut self, offset: i64, size: u64, parts: &Arc<[Part]>) -> Result<()> {
        for (index, part) in parts.iter().enumerate() {
            let end = parts.get(index + 1).map_or(size, |next| next.start);
            let place = add(offset, part.offset)?;
            match &part.body {
                None => self.block(place, end - part.start)?,
                Some(body) => self.layout(place, body)?,
            }
        }
        Ok(())
    }

    /// The layout of all pieces added.
    pub fn finish(self) -> Layout {
        let Some(first) = self.parts.first() else { return Layout::EMPTY };
        let Some(body) = self.common_body() else {
            let (size, depth) = (self.size, self.depth + 1);
            return match self.pattern() {
                Some((period, stride)) => self.repeating(period, stride),
                None => Layout::sequence(size, depth, self.parts),
            };
        };
        if self.parts.len() == 1 {
            let offset = first.offset + body.offset;
            return Layout { offset, ..Arc::unwrap_or_clone(body) };
        }
        if let Some(stride) = self.common_stride() {
            return Layout::looped(first.offset, self.parts.len() as u64, stride, body);
        }
        let depth = body.depth + 1;
        let offsets = self.parts.iter().map(|part| part.offset).collect();
        Layout { offset: 0, size: self.size, depth, shape: Shape::Scattered { offsets, body } }
    }

    /// What lies in every part, if that is the same.
    fn common_body(&self) -> Option<Arc<Layout>> {
        if let Some(body) = &self.parts[0].body {
            let alike = |part: &Part| part.body.as_ref().is_some_and(|other| Arc::ptr_eq(other, body));
            return self.parts.iter().all(alike).then(|| body.clone());
        }
        let bytes = self.parts.get(1).map_or(self.size, |part| part.start);
        let ends = self.parts[1..].iter().map(|part| part.start).chain([self.size]);
        let alike =
            self.parts.iter().zip(ends).all(|(part, end)| part.body.is_none() && end - part.start == bytes);
        alike.then(|| Arc::new(Layout::block(0, bytes)))
    }

    /// How many of the first parts all others repeat, and how far from each other, if they are blocks.
    fn pattern(&self) -> Option<(usize, i64)> {
        let parts = &self.parts[..];
        let is_pattern = |&period: &usize| {
            let bytes = parts[period].start;
            let Some(stride) = parts[period].offset.checked_sub(parts[0].offset) else { return false };
            parts.iter().zip(&parts[period..]).all(|(one, next)| {
                next.start - one.start == bytes && next.offset.checked_sub(one.offset) == Some(stride)
            })
        };
        if self.depth > 0 {
            return None;
        }
        let period = (2..=LONGEST_PATTERN.min(parts.len() / OFTEN)).find(is_pattern)?;
        Some((period, parts[period].offset - parts[0].offset))
    }

    /// The layout of parts of which the first `period` repeat: the last time in part, perhaps.
    fn repeating(mut self, period: usize, stride: i64) -> Layout {
        let (bytes, size) = (self.parts[period].start, self.size);
        let parts = self.parts.len();
        let is_whole = parts.is_multiple_of(period) && size == bytes * (parts / period) as u64;
        let times = if is_whole { parts / period } else { (parts - 1) / period };
        let rest = self.parts.split_off(times * period);
        self.parts.truncate(period);
        let pattern = Layout::sequence(bytes, 1, self.parts);
        let repeated = Layout::looped(0, times as u64, stride, Arc::new(pattern));
        if rest.is_empty() {
            return repeated;
        }
        let depth = repeated.depth + 1;
        let first = Part { start: 0, offset: 0, body: Some(Arc::new(repeated)) };
        Layout::sequence(size, depth, [vec![first], rest].concat())
    }

    /// The distance between neighbours, if it is always the same.
    fn common_stride(&self) -> Option<i64> {
        let step = |pair: &[Part]| pair[1].offset.checked_sub(pair[0].offset);
        let stride = step(&self.parts[..2])?;
        self.parts.windows(2).all(|pair| step(pair) == Some(stride)).then_some(stride)
    }
}
