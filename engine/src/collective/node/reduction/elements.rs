//! The items of a reduction as bytes, one item after the other.
//!
//! Where items have no gaps, or are MPI's own (pairs of a value and a location are
//! C structures, with padding that nobody looks at), the bytes are those of the
//! program's buffer. Elements of derived types with gaps are packed.

use crate::collective::Data;
use crate::datatype::{Basic, Datatype};
use std::borrow::Cow;

/// How items of a type become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    /// Bytes of an item.
    pub bytes: u64,
    /// Where they begin, counted from the address of the item, if they are those of
    /// the program's buffer.
    pub as_they_lie: Option<i64>,
}

impl Elements {
    #[inline]
    pub fn of(datatype: &Datatype) -> Elements {
        // Two items in one piece: so are any number.
        match datatype.dense(2) {
            Some((offset, _)) => Elements { bytes: datatype.size(), as_they_lie: Some(offset) },
            None if datatype.as_basic().is_some() => {
                Elements { bytes: datatype.extent() as u64, as_they_lie: Some(0) }
            }
            None => Elements { bytes: datatype.size(), as_they_lie: None },
        }
    }
}

/// The bytes of all items of `data`.
#[inline]
pub(crate) fn bytes(data: &Data) -> u64 {
    data.count.saturating_mul(Elements::of(&data.datatype).bytes)
}

/// Where the bytes of all items lie, if they are those of the program's buffer.
#[inline]
pub(crate) fn place(data: &Data) -> Option<*mut u8> {
    let offset = Elements::of(&data.datatype).as_they_lie?;
    Some(data.address.wrapping_offset(offset as isize))
}

/// Data that, packed, are the bytes of the items.
#[inline]
pub(crate) fn operand(data: &Data) -> Cow<'_, Data> {
    if data.datatype.dense(2).is_some() || data.datatype.as_basic().is_none() {
        return Cow::Borrowed(data);
    }
    let datatype = Datatype::shared(Basic::Packed).into();
    Cow::Owned(Data { address: data.address, count: bytes(data), datatype })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::tests::buffer::shapes;

    #[test]
    fn items_without_gaps_and_mpis_own_are_used_where_they_lie() {
        let pair = Datatype::basic(Basic::DoubleInt);
        assert_eq!(Elements::of(&pair), Elements { bytes: 16, as_they_lie: Some(0) });
        let [dense, gaps, backwards] = &shapes()[..] else { panic!() };
        assert_eq!(Elements::of(dense), Elements { bytes: 16, as_they_lie: Some(0) });
        assert_eq!(Elements::of(gaps), Elements { bytes: 16, as_they_lie: None });
        assert_eq!(Elements::of(backwards).as_they_lie, None);
        let moved = Datatype::hindexed(&[2], &[-8], &Datatype::basic(Basic::Int64)).unwrap();
        assert_eq!(Elements::of(&moved), Elements { bytes: 16, as_they_lie: Some(-8) });
        let data = Data { address: std::ptr::null_mut(), count: 3, datatype: pair.into() };
        assert_eq!((bytes(&data), operand(&data).bytes(), data.bytes()), (48, 48, 36));
    }
}
