//! Blocks that lie anywhere, as one piece of data.

use crate::collective::Data;
use crate::datatype::Datatype;
use crate::Result;
use std::sync::Arc;

/// The blocks one after the other: plain items where they follow each other in memory, else one
/// item of a type that is made for them.
///
/// # Errors
/// `Count` where they do not fit 64 bits.
pub(super) fn joined(blocks: impl IntoIterator<Item = Data>) -> Result<Data> {
    let mut runs: Vec<Data> = Vec::new();
    for block in blocks.into_iter().filter(|block| block.bytes() > 0) {
        match runs.last_mut() {
            Some(last) if follows(last, &block) => last.count += block.count,
            _ => runs.push(block),
        }
    }
    match runs.len() {
        0 => Ok(Data::nothing()),
        1 => Ok(runs.remove(0)),
        _ => of_runs(&runs),
    }
}

fn follows(before: &Data, block: &Data) -> bool {
    Arc::ptr_eq(&before.datatype, &block.datatype) && before.items(before.count, 0).address == block.address
}

fn of_runs(runs: &[Data]) -> Result<Data> {
    let address = runs[0].address;
    let offset = |run: &Data| (run.address as i64).wrapping_sub(address as i64);
    let lengths: Vec<i64> = runs.iter().map(|run| run.count as i64).collect();
    let offsets: Vec<i64> = runs.iter().map(offset).collect();
    let types: Vec<Arc<Datatype>> = runs.iter().map(|run| Arc::clone(&run.datatype)).collect();
    let datatype = Datatype::structure(&lengths, &offsets, &types)?;
    Ok(Data { address, count: 1, datatype: datatype.into() })
}

#[cfg(test)]
mod tests {
    use super::joined;
    use crate::collective::Data;
    use crate::datatype::{Basic, Datatype};

    #[test]
    fn blocks_that_follow_each_other_are_plain_items() {
        let mut numbers = [0i64, 1, 2, 3, 4, 5, 6, 7];
        let whole = Data::new(numbers.as_mut_ptr().cast(), 0, 8, &Datatype::basic(Basic::Int64)).unwrap();
        let read = |at: &[u64]| joined(at.iter().map(|&at| whole.items(at, 2))).unwrap();
        assert_eq!((read(&[2, 4]).count, read(&[2, 4]).dense().unwrap().1), (4, 32));
        assert_eq!(read(&[]).bytes(), 0);
        let apart = read(&[6, 0, 2]);
        assert_eq!((apart.count, apart.bytes()), (1, 48));
        let bytes = crate::collective::tests::twin::packed(&apart);
        let firsts: Vec<u8> = bytes.chunks(8).map(|number| number[0]).collect();
        assert_eq!(firsts, [6, 7, 0, 1, 2, 3]);
    }
}
