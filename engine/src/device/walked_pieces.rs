//! The pieces of device memory in which a block lies: what a program maps by itself lies in several, one behind the other.

use super::interface::DeviceMemory;
use crate::Result;

/// The pieces from one on up to an address, as `find` finds them, at most so many. `None` where the block does not go on in memory of the
/// same kind on the same device, or lies in more. Memory of a context is one allocation, and does not go on.
///
/// # Errors
/// Those of `find`.
pub(super) fn walk(
    first: &DeviceMemory,
    end: usize,
    most: usize,
    find: impl Fn(*const u8) -> Result<Option<DeviceMemory>>,
) -> Result<Option<Vec<DeviceMemory>>> {
    let (mut pieces, mut last) = (vec![*first], *first);
    let of = |piece: &DeviceMemory| (piece.kind, piece.device, piece.context);
    while last.first + last.bytes < end {
        if first.context != 0 || pieces.len() == most {
            return Ok(None);
        }
        let next = find((last.first + last.bytes) as *const u8)?;
        let Some(next) = next.filter(|next| of(next) == of(first) && next.first == last.first + last.bytes)
        else {
            return Ok(None);
        };
        pieces.push(next);
        last = next;
    }
    Ok(Some(pieces))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::MemoryKind;

    /// Pieces of 16 bytes from 64 on; those from 112 on are of another device, and there is none from 144 on.
    fn piece(address: usize) -> Option<DeviceMemory> {
        let (first, device) = (address / 16 * 16, i32::from(address >= 112));
        let memory = DeviceMemory { kind: MemoryKind::CUDA, first, bytes: 16, number: 0, device, context: 0 };
        (64..144).contains(&address).then_some(memory)
    }

    fn number(from: usize, end: usize, most: usize) -> Option<usize> {
        let first = piece(from).unwrap();
        walk(&first, end, most, |address| Ok(piece(address as usize))).unwrap().map(|pieces| pieces.len())
    }

    #[test]
    fn a_block_lies_in_pieces_up_to_a_gap_another_device_or_too_many() {
        assert_eq!((number(70, 71, 1), number(70, 80, 1), number(70, 81, 2)), (Some(1), Some(1), Some(2)));
        assert_eq!((number(64, 112, 3), number(64, 112, 2), number(64, 113, 9)), (Some(3), None, None));
        assert_eq!((number(112, 144, 9), number(112, 145, 9)), (Some(2), None));
    }

    #[test]
    fn memory_of_a_context_is_one_allocation() {
        let first = DeviceMemory { context: 7, ..piece(64).unwrap() };
        let find = |_: *const u8| panic!("nothing is asked");
        assert_eq!(walk(&first, 80, 9, find).unwrap().map(|pieces| pieces.len()), Some(1));
        assert!(walk(&first, 81, 9, find).unwrap().is_none());
    }

    #[test]
    fn what_the_driver_says_is_told() {
        let fails = |_: *const u8| Err(crate::Error::new(crate::Class::Other, "no answer"));
        assert_eq!(walk(&piece(64).unwrap(), 81, 9, fails).unwrap_err().message(), "no answer");
    }
}
