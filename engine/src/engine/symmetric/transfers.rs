//! Putting, getting, and changing words of symmetric memory. What is written on other nodes is done at a quiet.

use super::finding::Remote;
use crate::datatype::Basic;
use crate::engine::Engine;
use crate::onesided::{Element, Elements, Region};
use crate::reduce::Builtin;
use crate::symmetric::Symmetric;
use crate::{Class, Error, Result};
use std::ptr;

/// Equal blocks with gaps between them, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    /// Bytes of a block.
    pub block: usize,
    /// How many blocks.
    pub blocks: usize,
    /// From the beginning of a block to that of the next, in symmetric memory.
    pub there: usize,
    /// The same in the own memory.
    pub here: usize,
}

impl Strided {
    /// From the first byte to the last in symmetric memory.
    fn span(&self) -> Option<usize> {
        self.there.checked_mul(self.blocks - 1)?.checked_add(self.block)
    }
}

/// # Errors
/// All: `RmaRange` when an address is not symmetric, `Buffer` for a null pointer, and where words are changed `Disp` when
/// one is not at a multiple of its size. Nothing is written then.
// The addresses name what the program lends.
#[allow(clippy::not_unsafe_ptr_arg_deref)]
impl Engine {
    /// Copies own memory to that of a rank.
    ///
    /// # Errors
    /// As above.
    #[inline]
    pub fn put_symmetric(
        &self,
        symmetric: &Symmetric,
        remote: Remote,
        source: *const u8,
        bytes: usize,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let (region, offset) = self.find(symmetric, remote, bytes)?;
        if source.is_null() {
            return Err(null("source", bytes));
        }
        // SAFETY: the program lends the source; the bytes lie within the region.
        unsafe {
            match region.here(offset, bytes as u64) {
                Some(here) => ptr::copy(source, here, bytes),
                None => self.write_to(region, offset, source, bytes as u64)?,
            }
        }
        region.changed();
        Ok(())
    }

    /// The other way round.
    ///
    /// # Errors
    /// As above.
    #[inline]
    pub fn get_symmetric(
        &self,
        symmetric: &Symmetric,
        remote: Remote,
        dest: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        self.get_by(symmetric, remote, (dest, bytes), |region, offset| {
            // SAFETY: the program lends the destination; the bytes lie within the region.
            unsafe { self.read_from(region, offset, dest, bytes as u64) }
        })
    }

    /// The same, but what another node's server brings may come later, until [`Engine::quiet`].
    ///
    /// # Errors
    /// As above.
    #[inline]
    pub fn get_symmetric_later(
        &self,
        symmetric: &Symmetric,
        remote: Remote,
        dest: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        self.get_by(symmetric, remote, (dest, bytes), |region, offset| {
            // SAFETY: the program lends the destination until then; the bytes lie within the region.
            unsafe { self.read_from(&region.answering_late(), offset, dest, bytes as u64) }
        })
    }

    /// Copies memory of a rank by loads and stores, or as `read` does it where that is not possible.
    #[inline]
    fn get_by(
        &self,
        symmetric: &Symmetric,
        remote: Remote,
        (dest, bytes): (*mut u8, usize),
        read: impl FnOnce(&Region, u64) -> Result<()>,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let (region, offset) = self.find(symmetric, remote, bytes)?;
        if dest.is_null() {
            return Err(null("dest", bytes));
        }
        match region.here(offset, bytes as u64) {
            // SAFETY: the program lends the destination; the bytes lie within the region.
            Some(here) => unsafe { ptr::copy(here, dest, bytes) },
            None => read(region, offset)?,
        }
        Ok(())
    }

    /// Copies blocks of own memory to blocks in that of a rank.
    ///
    /// # Errors
    /// As above.
    pub fn put_strided(
        &self,
        symmetric: &Symmetric,
        remote: Remote,
        source: *const u8,
        layout: Strided,
    ) -> Result<()> {
        let Some((region, offset)) = self.find_strided(symmetric, remote, &layout)? else { return Ok(()) };
        if source.is_null() {
            return Err(null("source", layout.block));
        }
        // SAFETY: the program lends the source; all blocks lie within the region.
        unsafe {
            each_block(region, offset, &layout, |there, number| {
                let source = source.add(number * layout.here);
                match there {
                    Ok(here) => copy_block(source, here, layout.block),
                    Err(offset) => self.write_to(region, offset, source, layout.block as u64)?,
                }
                Ok(())
            })?;
        }
        region.changed();
        Ok(())
    }

    /// The other way round.
    ///
    /// # Errors
    /// As above.
    pub fn get_strided(
        &self,
        symmetric: &Symmetric,
        remote: Remote,
        dest: *mut u8,
        layout: Strided,
    ) -> Result<()> {
        let Some((region, offset)) = self.find_strided(symmetric, remote, &layout)? else { return Ok(()) };
        if dest.is_null() {
            return Err(null("dest", layout.block));
        }
        // SAFETY: the program lends the destination; all blocks lie within the region.
        unsafe {
            each_block(region, offset, &layout, |there, number| {
                let dest = dest.add(number * layout.here);
                match there {
                    Ok(here) => copy_block(here, dest, layout.block),
                    Err(offset) => self.read_from(region, offset, dest, layout.block as u64)?,
                }
                Ok(())
            })
        }
    }

    fn find_strided<'a>(
        &self,
        symmetric: &'a Symmetric,
        remote: Remote,
        layout: &Strided,
    ) -> Result<Option<(&'a Region, u64)>> {
        if layout.block == 0 || layout.blocks == 0 {
            return Ok(None);
        }
        self.find(symmetric, remote, layout.span().unwrap_or(usize::MAX)).map(Some)
    }

    /// Changes a word of a rank by `by`; what it was goes to `old`, unless that is null.
    ///
    /// # Errors
    /// As above.
    #[inline]
    pub fn change_word(
        &self,
        symmetric: &Symmetric,
        remote: Remote,
        (basic, builtin): (Basic, Builtin),
        (by, old): (*const u8, *mut u8),
    ) -> Result<()> {
        let element = Element(basic);
        let (region, offset) = self.find_word(symmetric, remote, element.size())?;
        let elements = Elements::known(builtin, element)?;
        // SAFETY: the program lends both, or they are the face's; the word lies within the region.
        unsafe { self.change_together(region, elements, (offset, 1), (by, old))? };
        if builtin != Builtin::NoOp {
            region.changed();
        }
        Ok(())
    }

    /// Puts `new` in the place of a word of a rank that is `compare`; what it was goes to `old`.
    ///
    /// # Errors
    /// As above.
    #[inline]
    pub fn swap_word(
        &self,
        symmetric: &Symmetric,
        remote: Remote,
        size: usize,
        items: (*const u8, *const u8, *mut u8),
    ) -> Result<()> {
        let (region, offset) = self.find_word(symmetric, remote, size)?;
        // SAFETY: as above.
        unsafe { self.swap(region, (offset, size), items)? };
        region.changed();
        Ok(())
    }

    #[inline]
    fn find_word<'a>(
        &self,
        symmetric: &'a Symmetric,
        remote: Remote,
        size: usize,
    ) -> Result<(&'a Region, u64)> {
        if !(remote.address as usize).is_multiple_of(size) {
            return Err(unaligned(remote, size));
        }
        self.find(symmetric, remote, size)
    }
}

/// Calls `work` for each block: where it lies in this process, or else its offset in the region; and its number.
///
/// # Safety
/// All blocks lie within the region.
unsafe fn each_block(
    region: &Region,
    offset: u64,
    layout: &Strided,
    mut work: impl FnMut(std::result::Result<*mut u8, u64>, usize) -> Result<()>,
) -> Result<()> {
    let all = layout.there * (layout.blocks - 1) + layout.block;
    let here = region.here(offset, all as u64);
    (0..layout.blocks).try_for_each(|number| {
        let at = number * layout.there;
        // SAFETY: by the caller.
        work(here.map(|here| unsafe { here.add(at) }).ok_or(offset + at as u64), number)
    })
}

/// # Safety
/// As of a copy.
#[inline(always)]
unsafe fn copy_block(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe {
        match bytes {
            1 => to.write(from.read()),
            2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            16 => to.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned()),
            _ => ptr::copy(from, to, bytes),
        }
    }
}

#[cold]
fn null(name: &str, bytes: usize) -> Error {
    Error::new(Class::Buffer, format!("argument {name} is a null pointer, but there are {bytes} bytes"))
}

#[cold]
fn unaligned(remote: Remote, size: usize) -> Error {
    let Remote { name, address, .. } = remote;
    let sentence = format!(
        "argument {name}: the address {address:p} is no multiple of {size}; atomic operations take aligned words"
    );
    Error::new(Class::Disp, sentence)
}
