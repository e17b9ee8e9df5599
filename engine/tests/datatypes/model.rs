//! The naive model of a datatype: where each of its elements lies.

use serried_engine::datatype::Basic;

/// One element, or one member of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Bytes here.
    pub size: u64,
    /// Bytes in external32.
    pub external: u64,
    /// Bytes of one number in it: what is turned round in external32. `None`
    /// where the format itself is another there.
    pub number: Option<u64>,
    /// Where it lies.
    pub place: i64,
}

/// The naive type map.
#[derive(Clone, Default, Debug)]
pub struct Model {
    /// In the order of sending.
    pub pieces: Vec<Piece>,
    alignment: i64,
    /// Extents of elements without markers: (lower, upper).
    plain: Option<(i64, i64)>,
    /// Lower and upper markers.
    marked: Option<(i64, i64)>,
}

fn widen(range: &mut Option<(i64, i64)>, more: Option<(i64, i64)>, by: i64) {
    if let Some((lower, upper)) = more {
        let (lower, upper) = (lower + by, upper + by);
        *range = Some(range.map_or((lower, upper), |(low, high)| (low.min(lower), high.max(upper))));
    }
}

fn piece(basic: Basic, place: i64) -> Piece {
    use Basic::*;
    let size = basic.size();
    let (external, number) = match basic {
        WideCharacter => (2, None),
        LongDouble | ComplexLongDouble => (size, None),
        ComplexFloat16 | ComplexFloat32 | ComplexFloat64 | ComplexFloat128 => (size, Some(size / 2)),
        _ => (size, Some(size)),
    };
    Piece { size, external, number, place }
}

/// The first member of `MPI_LONG_INT` is a `long`, which has 4 bytes there.
fn first_of(pair: Basic, first: Piece) -> Piece {
    match pair {
        Basic::LongInt => Piece { external: 4, number: None, ..first },
        _ => first,
    }
}

impl Model {
    fn nothing() -> Model {
        Model { alignment: 1, ..Model::default() }
    }

    pub fn basic(basic: Basic) -> Model {
        let pieces = match basic.pair() {
            Some((first, second)) => {
                vec![first_of(basic, piece(first, 0)), piece(second, basic.second_offset() as i64)]
            }
            None => vec![piece(basic, 0)],
        };
        let plain = Some((0, basic.extent() as i64));
        Model { pieces, alignment: basic.alignment() as i64, plain, marked: None }
    }

    pub fn bounds(&self) -> (i64, i64) {
        self.marked.or(self.plain).unwrap_or((0, 0))
    }

    pub fn extent(&self) -> i64 {
        self.bounds().1 - self.bounds().0
    }

    pub fn size(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.size).sum()
    }

    /// Before the first byte of data, behind the last.
    pub fn true_bounds(&self) -> (i64, i64) {
        let begin = self.pieces.iter().map(|piece| piece.place).min().unwrap_or(0);
        let end = self.pieces.iter().map(|piece| piece.place + piece.size as i64).max().unwrap_or(0);
        (begin, end)
    }

    fn place(&mut self, length: i64, displacement: i64, old: &Model) {
        for index in 0..length {
            let by = displacement + index * old.extent();
            self.pieces.extend(old.pieces.iter().map(|&piece| Piece { place: piece.place + by, ..piece }));
            widen(&mut self.plain, old.plain, by);
            widen(&mut self.marked, old.marked, by);
            self.alignment = self.alignment.max(old.alignment);
        }
    }

    /// Blocks at displacements, which count in `unit` bytes.
    pub fn blocks(lengths: &[i64], displacements: &[i64], unit: i64, old: &Model) -> Model {
        let mut model = Model::nothing();
        for (&length, &displacement) in lengths.iter().zip(displacements) {
            model.place(length, displacement * unit, old);
        }
        model
    }

    pub fn resized(mut self, lower: i64, extent: i64) -> Model {
        self.marked = Some((lower, lower + extent));
        self
    }

    pub fn structure(lengths: &[i64], displacements: &[i64], olds: &[Model]) -> Model {
        let mut model = Model::nothing();
        for ((&length, &displacement), old) in lengths.iter().zip(displacements).zip(olds) {
            model.place(length, displacement, old);
        }
        if let (Some((lower, upper)), None) = (&mut model.plain, model.marked) {
            *upper = *lower + (*upper - *lower + model.alignment - 1) / model.alignment * model.alignment;
        }
        model
    }

    /// The cells of an array that `inside` says are in, given (dimension, index).
    /// `fastest` is the dimension that runs fastest.
    pub fn cells(
        sizes: &[i64],
        last_is_fastest: bool,
        inside: impl Fn(usize, i64) -> bool,
        old: &Model,
    ) -> Model {
        let mut model = Model::nothing();
        let total: i64 = sizes.iter().product();
        for cell in 0..total {
            let (mut rest, mut within) = (cell, true);
            for step in 0..sizes.len() {
                let dimension = if last_is_fastest { sizes.len() - 1 - step } else { step };
                within &= inside(dimension, rest % sizes[dimension]);
                rest /= sizes[dimension];
            }
            if within {
                model.place(1, cell * old.extent(), old);
            }
        }
        model.resized(0, total * old.extent())
    }

    /// Where each byte of `count` items lies, in the order of sending.
    pub fn bytes(&self, count: u64) -> Vec<i64> {
        let mut bytes = Vec::new();
        for item in 0..count as i64 {
            for piece in &self.pieces {
                bytes.extend((0..piece.size as i64).map(|byte| item * self.extent() + piece.place + byte));
            }
        }
        bytes
    }

    /// Whether two of those bytes are one.
    pub fn overlaps(&self, count: u64) -> bool {
        let mut bytes = self.bytes(count);
        bytes.sort_unstable();
        bytes.windows(2).any(|pair| pair[0] == pair[1])
    }
}
