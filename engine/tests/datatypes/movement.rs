//! Packing, unpacking and copying, byte by byte against the model.

use crate::generate::{random_type, Random};
use crate::model::Model;
use serried_engine::datatype::{copy, Datatype};

/// What memory holds that nobody may touch.
const GUARD: u8 = 0xee;
/// Bytes of guard before and behind.
const MARGIN: i64 = 64;

/// Memory for some items, with a margin.
struct Memory {
    bytes: Vec<u8>,
    begin: i64,
}

impl Memory {
    fn new(span: (i64, i64), fill: impl FnOnce(usize) -> Vec<u8>) -> Memory {
        let begin = span.0 - MARGIN;
        Memory { bytes: fill((span.1 - span.0 + 2 * MARGIN) as usize), begin }
    }

    fn address(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_offset(-self.begin as isize)
    }

    fn at(&self, place: i64) -> u8 {
        self.bytes[(place - self.begin) as usize]
    }

    /// Every byte that is not among `places` is untouched.
    fn check_guard(&self, places: &[i64]) {
        let mut rest = self.bytes.clone();
        places.iter().for_each(|place| rest[(place - self.begin) as usize] = GUARD);
        assert!(rest.iter().all(|&byte| byte == GUARD), "bytes were written that are no data");
    }
}

/// Packs, unpacks and lists `count` items in random steps and compares each
/// byte with the model.
pub fn check(random: &mut Random, new: &Datatype, model: &Model, count: u64) {
    let places = model.bytes(count);
    let span = new.span(count).unwrap();
    let ends = |places: &[i64]| Some((*places.iter().min()?, *places.iter().max()? + 1));
    assert_eq!(span, ends(&places).unwrap_or((0, 0)));
    if let Some((offset, bytes)) = new.dense(count) {
        assert_eq!((offset..offset + bytes as i64).collect::<Vec<_>>(), places);
    }
    let mut source = Memory::new(span, |length| random.bytes(length));
    let mut target = Memory::new(span, |length| vec![GUARD; length]);
    let expected: Vec<u8> = places.iter().map(|&place| source.at(place)).collect();
    let mut position = 0;
    while position < expected.len() {
        let step = 1 + random.below(expected.len() as i64 + 3) as usize;
        let mut out = vec![GUARD; step + 8];
        let (from, to, offset) = (source.address(), target.address(), position as u64);
        // SAFETY: both memories hold the span of `count` items.
        let (packed, unpacked) = unsafe {
            let packed = new.pack(from, count, offset, &mut out[..step]);
            (packed, new.unpack(to, count, offset, &out[..packed]))
        };
        assert_eq!((packed, unpacked), (step.min(expected.len() - position), packed));
        assert_eq!(out[..packed], expected[position..position + packed]);
        assert!(out[packed..].iter().all(|&byte| byte == GUARD));
        check_list(new, from, count, (position, step), &places);
        position += packed;
    }
    target.check_guard(&places);
    // The last write to a place wins, so compare only types without overlap.
    if !model.overlaps(count) {
        places.iter().for_each(|&place| assert_eq!(target.at(place), source.at(place)));
    }
}

/// The list of pieces names the addresses of the model.
fn check_list(
    new: &Datatype,
    address: *mut u8,
    count: u64,
    (position, limit): (usize, usize),
    places: &[i64],
) {
    let mut list = vec![(1, 2)];
    let covered = new.segments(address, count, position as u64, limit as u64, &mut list, 3);
    assert!(list.len() <= 4 && covered > 0 && covered <= limit as u64);
    let listed: Vec<usize> = list[1..].iter().flat_map(|&(start, bytes)| start..start + bytes).collect();
    assert_eq!(listed.len() as u64, covered);
    for (place, address_listed) in places[position..].iter().zip(listed) {
        assert_eq!(address_listed, address.wrapping_offset(*place as isize) as usize);
    }
}

/// External32 turns the bytes of each number round, and back. Types whose
/// elements have another format there are only looked at for their size.
pub fn check_external(random: &mut Random, new: &Datatype, model: &Model, count: u64) {
    if model.pieces.iter().any(|piece| piece.number.is_none()) || model.overlaps(count) {
        return;
    }
    let places = model.bytes(count);
    let span = new.span(count).unwrap();
    let mut source = Memory::new(span, |length| random.bytes(length));
    let mut target = Memory::new(span, |length| vec![GUARD; length]);
    let mut expected: Vec<u8> = places.iter().map(|&place| source.at(place)).collect();
    let mut rest = &mut expected[..];
    for _ in 0..count {
        for piece in &model.pieces {
            let (numbers, behind) = rest.split_at_mut(piece.size as usize);
            numbers.chunks_mut(piece.number.unwrap() as usize).for_each(<[u8]>::reverse);
            rest = behind;
        }
    }
    let mut out = vec![GUARD; expected.len() + 8];
    // SAFETY: both memories hold the span of `count` items.
    let (packed, unpacked) = unsafe {
        let packed = new.pack_external(source.address(), count, &mut out).unwrap();
        (packed, new.unpack_external(&out[..packed as usize], target.address(), count).unwrap())
    };
    assert_eq!((packed as usize, unpacked), (expected.len(), packed));
    assert_eq!(out[..expected.len()], expected);
    target.check_guard(&places);
    places.iter().for_each(|&place| assert_eq!(target.at(place), source.at(place)));
}

/// Copying from one layout to another is packing and unpacking.
pub fn check_copy(random: &mut Random) {
    let ((from, from_model), (to, to_model)) = (random_type(random, 4), random_type(random, 4));
    let (sent, room) = (random.below(4) as u64, random.below(4) as u64);
    if to_model.overlaps(room) {
        return;
    }
    let mut source = Memory::new(from.span(sent).unwrap(), |length| random.bytes(length));
    let mut target = Memory::new(to.span(room).unwrap(), |length| vec![GUARD; length]);
    let (from_places, mut to_places) = (from_model.bytes(sent), to_model.bytes(room));
    to_places.truncate(from_places.len());
    // SAFETY: the memories hold the spans of the items.
    let copied = unsafe { copy((&from, source.address(), sent), (&to, target.address(), room)) };
    assert_eq!(copied, to_places.len() as u64);
    for (from, to) in from_places.iter().zip(&to_places) {
        assert_eq!(target.at(*to), source.at(*from));
    }
    target.check_guard(&to_places);
}
