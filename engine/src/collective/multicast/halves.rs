//! A broadcast in pieces, and these in half windows.

/// How so many bytes are cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halves {
    /// All bytes.
    pub bytes: u64,
    /// Bytes of a piece; the last one may be shorter.
    pub piece: u32,
    /// Pieces of a half window; the last one may have fewer.
    pub half: u32,
}

impl Halves {
    /// How many pieces there are.
    pub fn pieces(&self) -> u32 {
        self.bytes.div_ceil(u64::from(self.piece)) as u32
    }

    /// How many half windows there are.
    pub fn number(&self) -> u32 {
        self.pieces().div_ceil(self.half)
    }

    /// The first piece behind a half window.
    pub fn end(&self, half: u32) -> u32 {
        (half + 1).saturating_mul(self.half).min(self.pieces())
    }

    /// The half window of a piece.
    pub fn of(&self, piece: u32) -> u32 {
        piece / self.half
    }

    /// Where a piece begins, and how many bytes it has.
    pub fn place(&self, piece: u32) -> (u64, u64) {
        let begin = u64::from(piece) * u64::from(self.piece);
        (begin, u64::from(self.piece).min(self.bytes.saturating_sub(begin)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_whole() {
        for bytes in [1, 99, 100, 101, 1000, 1234] {
            let halves = Halves { bytes, piece: 100, half: 4 };
            let sum: u64 = (0..halves.pieces()).map(|piece| halves.place(piece).1).sum();
            assert_eq!(sum, bytes);
            assert_eq!(halves.end(halves.number() - 1), halves.pieces());
            assert_eq!(halves.of(halves.pieces() - 1) + 1, halves.number());
        }
    }
}
