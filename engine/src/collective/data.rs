//! Slices of data: the arithmetic that schedules do on buffers.
//!
//! Everything here is address arithmetic; no byte of a buffer is touched. [`Data::new`] and
//! [`Data::times`] return an error where sizes do not fit 64 bits; slices of such data always fit.

use super::port::Data;
use crate::datatype::{Basic, Datatype};
use crate::{Class, Error, Result};
use std::sync::Arc;

impl Data {
    /// `count` items of `datatype` whose item 0 is `displacement` extents after
    /// `address`.
    ///
    /// # Errors
    /// `Count` when the count is negative or the data do not fit 64 bits.
    #[inline(always)]
    pub fn new(address: *mut u8, displacement: i64, count: i64, datatype: &Arc<Datatype>) -> Result<Data> {
        let extent = datatype.extent();
        let offset = displacement.checked_mul(extent).ok_or_else(|| too_large(displacement, datatype))?;
        let span = count.checked_mul(extent).and_then(|span| span.checked_add(offset));
        if span.is_none() || count.checked_mul(datatype.size() as i64).is_none() {
            return Err(too_large(count, datatype));
        }
        let count = u64::try_from(count).map_err(|_| negative(count))?;
        Ok(Data { address: address.wrapping_offset(offset as isize), count, datatype: datatype.into() })
    }

    /// No data at all: what a message carries whose arrival is its meaning.
    pub fn nothing() -> Data {
        Data { address: std::ptr::null_mut(), count: 0, datatype: Datatype::shared(Basic::Packed).into() }
    }

    /// `bytes` bytes of packed data, nowhere yet.
    pub(super) fn packed(bytes: u64) -> Data {
        Data { count: bytes, ..Data::nothing() }
    }

    /// The same place, `number` times as many items: the whole of a buffer of
    /// which `self` is the first of `number` equal blocks.
    ///
    /// # Errors
    /// `Count` when that does not fit 64 bits.
    pub fn times(&self, number: u32) -> Result<Data> {
        self.fits_times(number)?;
        Ok(Data { count: self.count * u64::from(number), ..self.clone() })
    }

    /// Whether [`Data::times`] can be had.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub(super) fn fits_times(&self, number: u32) -> Result<()> {
        let items = (self.count as i64).checked_mul(i64::from(number));
        let fits = |each: i64| items.is_some_and(|items| items.checked_mul(each).is_some());
        match fits(self.datatype.extent()) && fits(self.datatype.size() as i64) {
            true => Ok(()),
            false => Err(too_large(items.unwrap_or(self.count as i64), &self.datatype)),
        }
    }

    /// Block `index` of a buffer of which `self` is the first of `number` equal
    /// blocks.
    ///
    /// # Errors
    /// `Count` when the blocks together do not fit 64 bits.
    pub fn block(&self, index: u32, number: u32) -> Result<Data> {
        self.fits_times(number.max(index.saturating_add(1)))?;
        Ok(self.blocks(index, 1))
    }

    /// `count` items from item `first` on.
    pub fn items(&self, first: u64, count: u64) -> Data {
        let offset = (first as i64).wrapping_mul(self.datatype.extent());
        Data {
            address: self.address.wrapping_offset(offset as isize),
            count,
            datatype: self.datatype.clone(),
        }
    }

    /// Blocks `first` up to `first + number` of a buffer of which `self` is the
    /// first block.
    pub(super) fn blocks(&self, first: u32, number: u32) -> Data {
        self.items(u64::from(first) * self.count, u64::from(number) * self.count)
    }

    /// How many bytes of payload this is.
    pub fn bytes(&self) -> u64 {
        self.count * self.datatype.size()
    }

    /// Where all the bytes lie, and how many they are, if they lie without gaps.
    #[inline]
    pub fn dense(&self) -> Option<(*mut u8, u64)> {
        let (offset, bytes) = self.datatype.dense(self.count)?;
        Some((self.address.wrapping_offset(offset as isize), bytes))
    }

    /// The same bytes as packed data, where they lie without gaps.
    pub(super) fn as_packed(&self) -> Option<Data> {
        let (address, bytes) = self.dense()?;
        Some(Data { address, count: bytes, datatype: Datatype::shared(Basic::Packed).into() })
    }
}

#[cold]
fn negative(count: i64) -> Error {
    Error::new(Class::Count, format!("the count is {count}; it must not be negative"))
}

#[cold]
fn too_large(count: i64, datatype: &Datatype) -> Error {
    let sentence = format!(
        "{count} items of a datatype of {} bytes and extent {} do not fit 64 bits",
        datatype.size(),
        datatype.extent()
    );
    Error::new(Class::Count, sentence)
}
