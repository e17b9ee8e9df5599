//! The program that combines two rows of numbers, for one arithmetic: loaded, tried out and started.

use super::combine_text::text_of;
use super::{function, launch, load, Places};
use crate::device::computing::{Arithmetic, Model, Number};
use crate::device::cuda::copy_streams::{copy_on, wait_for, Stream};
use crate::device::cuda::driver_errors::Done;
use crate::device::cuda::entry_points::{EntryPoints, KernelEntryPoints};
use crate::device::interface::Piece;

/// Numbers of each kind whose bits are worth trying: zeros, ones, ends, infinities, numbers that are none, tiny ones.
const WORDS: [u64; 24] = [
    0,
    1,
    2,
    3,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0x0080_0000,
    0x3f80_0000,
    0x7f80_0000,
    0x7f80_0001,
    0x7fc0_1234,
    0xff80_0000,
    0xffc0_0007,
    0x8000_0000,
    0x3ff0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0x7ff0_0000_0000_0009,
    0xfff8_0000_0000_0077,
    0x8000_0000_0000_0000,
    u64::MAX,
];
/// Words by chance beside them.
const BY_CHANCE: usize = 24;
const ALL: usize = WORDS.len() + BY_CHANCE;
/// Each of them with each.
const PAIRS: usize = ALL * ALL;

/// The program in a context.
pub(in super::super) struct Combiner(usize);

/// Rows of numbers, as the device finds them.
#[derive(Clone, Copy)]
pub(in super::super) struct Rows {
    pub left: usize,
    pub right: usize,
    pub out: usize,
    /// How many numbers each has.
    pub number: u64,
}

impl Combiner {
    /// Loads it in the present context, and tries it out in a slab of the device and one of the host; `None` where it has other
    /// bits than the processor.
    pub fn new(
        (entry, kernel_entry): (&EntryPoints, &KernelEntryPoints),
        here: Stream,
        (arithmetic, model): (&Arithmetic, Model),
        (device, host): (usize, &mut [u8]),
    ) -> Done<Option<Combiner>> {
        let module = load(kernel_entry, &text_of(arithmetic))?;
        let combiner = Combiner(function(kernel_entry, module, c"serried_combine")?);
        let bytes = PAIRS * arithmetic.bytes();
        let (rows, expected) = host[..4 * bytes].split_at_mut(3 * bytes);
        fill(arithmetic, &mut rows[..2 * bytes]);
        // SAFETY: each row has so many numbers.
        unsafe {
            model(rows.as_ptr(), rows[bytes..].as_ptr(), expected.as_mut_ptr(), PAIRS);
        }
        let there =
            Rows { left: device, right: device + bytes, out: device + 2 * bytes, number: PAIRS as u64 };
        let piece =
            |to: usize, from: usize, bytes| Piece { to: to as *mut u8, from: from as *const u8, bytes };
        let here_rows = rows.as_mut_ptr() as usize;
        // SAFETY: both have as many bytes.
        unsafe {
            copy_on(entry, here, &[piece(device, here_rows, 2 * bytes)])?;
            let started = combiner.start(kernel_entry, here, &there);
            started.and(wait_for(entry, here))?;
            copy_on(entry, here, &[piece(here_rows + 2 * bytes, there.out, bytes)])?;
        }
        Ok((rows[2 * bytes..] == *expected).then_some(combiner))
    }

    /// Starts it on a stream of the present context.
    ///
    /// # Safety
    /// The device can read and write the rows until the stream has been waited for.
    pub unsafe fn start(&self, entry: &KernelEntryPoints, here: Stream, rows: &Rows) -> Done<()> {
        let mut places = Places::default();
        places.long(rows.left as u64).long(rows.right as u64).long(rows.out as u64).long(rows.number);
        // SAFETY: the parameters that the text declares; the rest is by the caller.
        unsafe { launch(entry, here, self.0, rows.number, &mut places) }
    }
}

/// Each word with each, as numbers of an arithmetic: the left row, and the right one behind it.
fn fill(arithmetic: &Arithmetic, rows: &mut [u8]) {
    let size = arithmetic.bytes();
    let mut chance = 0x9e37_79b9_7f4a_7c15u64;
    let by_chance = std::iter::repeat_with(|| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        // Sums of numbers of all sizes are one of both mostly; these are near each other.
        match (arithmetic.number, size) {
            (Number::Float, 4) => 0x3f00_0000 | chance >> 39,
            (Number::Float, _) => 0x3fe0_0000_0000_0000 | chance >> 11,
            _ => chance,
        }
    });
    let words: Vec<u64> = WORDS.into_iter().chain(by_chance).take(ALL).collect();
    let (left, right) = rows.split_at_mut(PAIRS * size);
    for pair in 0..PAIRS {
        let place = pair * size..(pair + 1) * size;
        left[place.clone()].copy_from_slice(&words[pair / ALL].to_le_bytes()[..size]);
        right[place].copy_from_slice(&words[pair % ALL].to_le_bytes()[..size]);
    }
}
