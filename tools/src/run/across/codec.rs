//! Plain values as bytes and back: numbers in little endian, everything of varying length behind its length.

use std::ffi::CString;

/// Bytes under way.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// A number of 8 bits.
    pub fn byte(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    /// A number of 32 bits.
    pub fn number(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A number of 64 bits.
    pub fn long(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Bytes behind their length.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.number(value.len() as u32).0.extend(value);
        self
    }

    /// That is all.
    pub fn end(&mut self) {}

    /// Several values behind their number.
    pub fn list<T>(&mut self, values: &[T], mut each: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.number(values.len() as u32);
        values.iter().for_each(|value| each(self, value));
        self
    }
}

/// Bytes that are taken apart; every method is `None` at the end of them.
#[derive(Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of 8 bits.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// A number of 32 bits.
    pub fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// A number of 64 bits.
    pub fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// Bytes.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.take(count as usize)
    }

    /// A text.
    pub fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// A text for the system.
    pub fn c_string(&mut self) -> Option<CString> {
        CString::new(self.bytes()?).ok()
    }

    /// Several values.
    pub fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.number()?).map(|_| each(self)).collect()
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_cut_bytes_are_noticed() {
        let mut writer = Writer::default();
        writer.byte(7).number(70_000).long(1 << 40).bytes(b"abc").list(&[1, 2], |writer, &value| {
            writer.number(value);
        });
        let read = |bytes: &[u8]| {
            let mut reader = Reader(bytes);
            let numbers = (reader.byte()?, reader.number()?, reader.long()?);
            Some((numbers, reader.text()?, reader.list(Reader::number)?, reader.rest().len()))
        };
        assert_eq!(read(&writer.0), Some(((7, 70_000, 1 << 40), "abc".into(), vec![1, 2], 0)));
        for length in 0..writer.0.len() {
            assert_eq!(read(&writer.0[..length]), None, "{length}");
        }
    }
}
