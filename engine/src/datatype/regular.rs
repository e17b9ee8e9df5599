//! Data with gaps in few words, for devices that pack them by themselves.

use super::layout::Shape;
use super::Datatype;
use crate::device::gapped::{Loop, Pattern, Spread, LOOPS};

impl Datatype {
    /// How the bytes of `count` items lie, if they are blocks of one length in few loops or at listed offsets.
    pub(super) fn spread(&self, count: u64) -> Option<Spread> {
        let mut loops = Vec::with_capacity(LOOPS + 1);
        if count != 1 {
            loops.push(Loop { count, stride: self.extent() });
        }
        let (mut layout, mut offset) = (&self.map.layout, 0i64);
        let (block, listed) = loop {
            offset = offset.checked_add(layout.offset)?;
            match &layout.shape {
                Shape::Block => break (layout.size, None),
                Shape::Loop { count, stride, body } => {
                    loops.push(Loop { count: *count, stride: *stride });
                    layout = body;
                }
                Shape::Scattered { offsets, body } if body.is_block() => {
                    offset = offset.checked_add(body.offset)?;
                    break (body.size, Some(offsets));
                }
                Shape::Scattered { .. } | Shape::Sequence { .. } => return None,
            }
        };
        let pattern = match (listed, loops.len()) {
            (Some(offsets), 0) => Pattern::Listed { offsets: offsets.clone(), items: Loop::ONCE },
            (Some(offsets), 1) => Pattern::Listed { offsets: offsets.clone(), items: loops[0] },
            (None, 0..=LOOPS) => {
                let mut all = [Loop::ONCE; LOOPS];
                loops.iter().rev().zip(&mut all).for_each(|(&one, place)| *place = one);
                Pattern::Loops(all)
            }
            _ => return None,
        };
        (count > 0 && block > 0).then_some(Spread { offset, block, pattern })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Basic, Order};
    use std::sync::Arc;

    /// The pieces of a spread, neighbours merged, as `Datatype::segments` lists them.
    fn pieces(spread: &Spread, address: usize) -> Vec<(usize, usize)> {
        let place = |number| (address as i64 + spread.place(number)) as usize;
        let mut pieces: Vec<(usize, usize)> = Vec::new();
        for (first, bytes) in (0..spread.blocks()).map(|number| (place(number), spread.block as usize)) {
            match pieces.last_mut() {
                Some((begin, length)) if *begin + *length == first => *length += bytes,
                _ => pieces.push((first, bytes)),
            }
        }
        pieces
    }

    fn check(datatype: &Datatype, count: u64, is_listed: bool) {
        let address = 1usize << 32;
        let spread = datatype.spread(count).expect("it is regular");
        assert_eq!(matches!(spread.pattern, Pattern::Listed { .. }), is_listed, "{datatype:?}");
        let mut expected = Vec::new();
        datatype.segments(address as *mut u8, count, 0, u64::MAX, &mut expected, usize::MAX);
        assert_eq!(pieces(&spread, address), expected, "{datatype:?}");
    }

    #[test]
    fn loops_and_lists_lie_where_the_walk_finds_them() {
        let int = Datatype::basic(Basic::Int32);
        let vector = Arc::new(Datatype::vector(5, 2, 4, &int).unwrap());
        check(&vector, 1, false);
        check(&vector, 7, false);
        let cube = Datatype::subarray(&[6, 7, 8], &[3, 2, 5], &[1, 4, 2], Order::C, &int).unwrap();
        check(&cube, 1, false);
        check(&cube, 3, false);
        let listed = Arc::new(Datatype::indexed_block(2, &[9, 0, 4, 21], &int).unwrap());
        check(&listed, 1, true);
        check(&listed, 6, true);
        check(&Datatype::vector(3, 1, 2, &listed).unwrap(), 1, true);
    }

    #[test]
    fn what_takes_more_words_is_left_to_its_pieces() {
        let int = Datatype::basic(Basic::Int32);
        let unlike = Datatype::indexed(&[1, 3, 2], &[0, 4, 20], &int).unwrap();
        assert!(unlike.spread(3).is_none());
        let sizes = [9, 9, 9, 9, 9];
        let deep = Datatype::subarray(&sizes, &[2, 2, 2, 2, 2], &[0; 5], Order::C, &int).unwrap();
        assert!(deep.spread(1).is_some() && deep.spread(2).is_none());
        assert!(unlike.spread(0).is_none());
    }
}
