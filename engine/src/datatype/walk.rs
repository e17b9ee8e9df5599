//! Visiting any range of the bytes of a message in the order of sending.
//!
//! [`walk`] seeks in O(depth · log parts), then hands whole rows of blocks to a
//! [`Sink`], so that the work per block is the sink's inner loop and nothing
//! else.

use super::layout::{Layout, Part, Shape};
use super::Datatype;

/// What is done with the blocks of a message, in order.
pub(super) trait Sink {
    /// `count` blocks of `bytes` each, the first at `address`, each `stride`
    /// after the last. False stops the walk.
    fn row(&mut self, address: *mut u8, bytes: usize, count: usize, stride: isize) -> bool;

    /// One block.
    #[inline]
    fn block(&mut self, address: *mut u8, bytes: usize) -> bool {
        self.row(address, bytes, 1, 0)
    }

    /// `count` records of unlike blocks, the first at `address`, each `stride`
    /// after the last.
    fn records(&mut self, address: *mut u8, record: Record, count: usize, stride: isize) -> bool {
        let place = |index: usize| address.wrapping_offset(stride.wrapping_mul(index as isize));
        (0..count).all(|index| {
            record
                .blocks()
                .all(|(part, bytes)| self.block(place(index).wrapping_offset(part.offset as isize), bytes))
        })
    }

    /// Unlike blocks, once.
    fn record(&mut self, address: *mut u8, record: Record) -> bool {
        self.records(address, record, 1, 0)
    }

    /// Blocks of `bytes` each at `address` + each of `offsets`.
    fn scattered(&mut self, address: *mut u8, bytes: usize, offsets: &[i64]) -> bool {
        offsets.iter().all(|&offset| self.block(address.wrapping_offset(offset as isize), bytes))
    }
}

/// Unlike blocks that lie at fixed places, as the members of a structure.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    parts: &'a [Part],
    /// Bytes of data in all.
    pub size: usize,
}

impl<'a> Record<'a> {
    /// Each block, with its bytes.
    pub fn blocks(self) -> impl Iterator<Item = (&'a Part, usize)> {
        let ends = self.parts[1..].iter().map(|part| part.start as usize).chain([self.size]);
        self.parts.iter().zip(ends).map(|(part, end)| (part, end - part.start as usize))
    }
}

/// The range that is still to be visited, in bytes of data.
struct Window {
    skip: u64,
    left: u64,
}

/// Visits `limit` bytes of the data of `count` items at `address`, from byte
/// `offset` on. It computes addresses only; it never touches the memory.
pub(super) fn walk<S: Sink>(
    (datatype, address, count): (&Datatype, *mut u8, u64),
    offset: u64,
    limit: u64,
    sink: &mut S,
) {
    let layout = &datatype.map.layout;
    let left = limit.min(layout.size.saturating_mul(count).saturating_sub(offset));
    if left > 0 {
        let mut window = Window { skip: offset, left };
        repeat(layout, address, count, datatype.extent(), &mut window, sink);
    }
}

/// One layout. True to go on.
fn visit<S: Sink>(layout: &Layout, address: *mut u8, window: &mut Window, sink: &mut S) -> bool {
    if window.skip == 0 && window.left >= layout.size {
        window.left -= layout.size;
        return visit_whole(layout, address, sink) && window.left > 0;
    }
    let base = address.wrapping_offset(layout.offset as isize);
    match &layout.shape {
        Shape::Block => block(base, layout.size, window, sink),
        Shape::Loop { count, stride, body } => repeat(body, base, *count, *stride, window, sink),
        Shape::Scattered { offsets, body } => scatter(body, base, offsets, window, sink),
        Shape::Sequence { parts } => sequence(parts, layout.size, base, window, sink),
    }
}

/// All of one layout. True to go on.
fn visit_whole<S: Sink>(layout: &Layout, address: *mut u8, sink: &mut S) -> bool {
    let base = address.wrapping_offset(layout.offset as isize);
    match &layout.shape {
        Shape::Block => sink.block(base, layout.size as usize),
        Shape::Loop { count, stride, body } => repeat_whole(body, base, *count, *stride, sink),
        Shape::Scattered { offsets, body } => scatter_whole(body, base, offsets, sink),
        Shape::Sequence { parts } if layout.depth == 1 => {
            sink.record(base, Record { parts, size: layout.size as usize })
        }
        Shape::Sequence { parts } => sequence_whole(parts, layout.size, base, sink),
    }
}

/// Unlike parts, all of them; the data of the last one go up to byte `end` of the sequence.
fn sequence_whole<S: Sink>(parts: &[Part], end: u64, base: *mut u8, sink: &mut S) -> bool {
    let mut one = |part: &Part, end: u64| {
        let place = base.wrapping_offset(part.offset as isize);
        match &part.body {
            Some(body) => visit_whole(body, place, sink),
            None => sink.block(place, (end - part.start) as usize),
        }
    };
    let Some(last) = parts.last() else { return true };
    parts.windows(2).all(|pair| one(&pair[0], pair[1].start)) && one(last, end)
}

/// `count` bodies at a stride, all of them.
fn repeat_whole<S: Sink>(body: &Layout, base: *mut u8, count: u64, stride: i64, sink: &mut S) -> bool {
    let first = base.wrapping_offset(body.offset as isize);
    match &body.shape {
        Shape::Block => return sink.row(first, body.size as usize, count as usize, stride as isize),
        Shape::Sequence { parts } if body.depth == 1 => {
            let record = Record { parts, size: body.size as usize };
            return sink.records(first, record, count as usize, stride as isize);
        }
        _ => (),
    }
    let place = |index: u64| base.wrapping_offset((index as isize).wrapping_mul(stride as isize));
    (0..count).all(|index| visit_whole(body, place(index), sink))
}

/// Bodies at given offsets, all of them.
fn scatter_whole<S: Sink>(body: &Layout, base: *mut u8, offsets: &[i64], sink: &mut S) -> bool {
    if body.is_block() {
        return sink.scattered(base.wrapping_offset(body.offset as isize), body.size as usize, offsets);
    }
    offsets.iter().all(|&offset| visit_whole(body, base.wrapping_offset(offset as isize), sink))
}

/// The wanted bytes of one block.
fn block<S: Sink>(base: *mut u8, size: u64, window: &mut Window, sink: &mut S) -> bool {
    let bytes = (size - window.skip).min(window.left);
    let from = base.wrapping_add(window.skip as usize);
    window.skip = 0;
    window.left -= bytes;
    sink.block(from, bytes as usize) && window.left > 0
}

/// `count` bodies at a stride: the rest of a cut one, whole ones, a cut one.
fn repeat<S: Sink>(
    body: &Layout,
    base: *mut u8,
    count: u64,
    stride: i64,
    window: &mut Window,
    sink: &mut S,
) -> bool {
    let place = |index: u64| base.wrapping_offset((index as isize).wrapping_mul(stride as isize));
    let mut index = window.skip / body.size;
    window.skip %= body.size;
    if window.skip > 0 {
        if !visit(body, place(index), window, sink) {
            return false;
        }
        index += 1;
    }
    let whole = (window.left / body.size).min(count - index);
    window.left -= whole * body.size;
    if !repeat_whole(body, place(index), whole, stride, sink) || window.left == 0 {
        return false;
    }
    index += whole;
    index == count || visit(body, place(index), window, sink)
}

/// Bodies at given offsets: the rest of a cut one, whole ones, a cut one.
fn scatter<S: Sink>(
    body: &Layout,
    base: *mut u8,
    offsets: &[i64],
    window: &mut Window,
    sink: &mut S,
) -> bool {
    let place = |index: usize| base.wrapping_offset(offsets[index] as isize);
    let mut index = (window.skip / body.size) as usize;
    window.skip %= body.size;
    if window.skip > 0 {
        if !visit(body, place(index), window, sink) {
            return false;
        }
        index += 1;
    }
    let whole = ((window.left / body.size) as usize).min(offsets.len() - index);
    window.left -= whole as u64 * body.size;
    if !scatter_whole(body, base, &offsets[index..index + whole], sink) || window.left == 0 {
        return false;
    }
    index += whole;
    index == offsets.len() || visit(body, place(index), window, sink)
}

/// Unlike parts, `size` bytes of data in all: the rest of a cut one, whole ones, a cut one.
fn sequence<S: Sink>(parts: &[Part], size: u64, base: *mut u8, window: &mut Window, sink: &mut S) -> bool {
    let start_of = |index: usize| parts.get(index).map_or(size, |part| part.start);
    let cut = |index: usize, window: &mut Window, sink: &mut S| {
        let part = &parts[index];
        let from = base.wrapping_offset(part.offset as isize);
        match &part.body {
            Some(body) => visit(body, from, window, sink),
            None => block(from, start_of(index + 1) - part.start, window, sink),
        }
    };
    let mut index = match window.skip {
        0 => 0,
        skip => parts.partition_point(|part| part.start <= skip) - 1,
    };
    window.skip -= parts[index].start;
    if window.skip > 0 {
        if !cut(index, window, sink) {
            return false;
        }
        index += 1;
    }
    let limit = start_of(index) + window.left;
    let whole =
        if limit >= size { parts.len() } else { parts.partition_point(|part| part.start <= limit) - 1 };
    let end = start_of(whole);
    window.left -= end - start_of(index);
    if !sequence_whole(&parts[index..whole], end, base, sink) || window.left == 0 {
        return false;
    }
    whole == parts.len() || cut(whole, window, sink)
}
