//! Strings: Fortran's have a length and blanks at the end, C's a 0.

use std::ffi::{c_char, CString};

/// Where a string lies, and its length.
pub type Place = (*const c_char, usize);

/// A string for C without the blanks at its end.
///
/// # Safety
/// So many bytes can be read there.
pub unsafe fn trimmed(place: Place) -> CString {
    // SAFETY: by the contract.
    of_bytes(without_end(unsafe { bytes(place) }))
}

/// A string for C without the blanks on both sides, as keys and values of info objects (MPI-5.0 chapter 10).
///
/// # Safety
/// So many bytes can be read there.
pub unsafe fn stripped(place: Place) -> CString {
    // SAFETY: by the contract.
    let text = without_end(unsafe { bytes(place) });
    let begin = text.iter().position(|byte| *byte != b' ').unwrap_or(0);
    of_bytes(&text[begin..])
}

fn without_end(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1)]
}

/// # Safety
/// So many bytes can be read there.
unsafe fn bytes<'a>((first, length): Place) -> &'a [u8] {
    if first.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(first.cast(), length) }
}

/// A string ends at a 0, if it has one.
fn of_bytes(text: &[u8]) -> CString {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Room for a string of C that becomes one of Fortran.
pub struct Out {
    place: *mut c_char,
    length: usize,
    room: Vec<u8>,
}

/// No string that MPI gives is longer.
const LONGEST: usize = 8192;
/// What stands in the room as long as C has stored nothing: no text begins with it.
const NOTHING: u8 = 0xff;

impl Out {
    /// Room for what shall go to this place.
    pub fn new((place, length): (*const c_char, usize)) -> Out {
        Out::with_room((place, length), 0)
    }

    /// As [`Out::new`], with room for so many bytes at least.
    pub fn with_room((place, length): (*const c_char, usize), room: usize) -> Out {
        let mut room = vec![0; room.max(length).max(LONGEST) + 1];
        room[0] = NOTHING;
        Out { place: place.cast_mut(), length, room }
    }

    /// What C gets.
    pub fn as_mut_ptr(&mut self) -> *mut c_char {
        self.room.as_mut_ptr().cast()
    }

    /// Gives the program what C has stored, cut to its length or filled with blanks; nothing if C has stored nothing.
    ///
    /// # Safety
    /// The program's string can be written.
    pub unsafe fn put(&self) {
        if self.room[0] == NOTHING || self.place.is_null() {
            return;
        }
        let end = self.room.iter().position(|byte| *byte == 0).unwrap_or(self.room.len());
        // SAFETY: by the contract, `length` bytes can be written there.
        unsafe { put_bytes((self.place, self.length), &self.room[..end]) };
    }
}

/// Stores bytes as a string of Fortran.
///
/// # Safety
/// So many bytes can be written there.
pub unsafe fn put_bytes((place, length): (*mut c_char, usize), text: &[u8]) {
    let kept = text.len().min(length);
    // SAFETY: by the contract, and `kept` is no more.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), kept);
        place.add(kept).write_bytes(b' ', length - kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        (text.as_ptr().cast(), text.len())
    }

    #[test]
    fn blanks_go_and_come() {
        // SAFETY: places of texts that live.
        unsafe {
            assert_eq!(trimmed(place("  a b  ")).as_bytes(), b"  a b");
            assert_eq!(stripped(place("  a b  ")).as_bytes(), b"a b");
            assert_eq!(trimmed(place("   ")).as_bytes(), b"");
            assert_eq!(trimmed(place("ab\0cd")).as_bytes(), b"ab");
            assert_eq!(trimmed((std::ptr::null(), 3)).as_bytes(), b"");
        }
    }

    #[test]
    fn a_result_is_cut_or_filled_and_left_alone_without_one() {
        let mut target = *b"xxxxx";
        let mut out = Out::new((target.as_mut_ptr().cast(), 5));
        // SAFETY: the room is longer, the target is there.
        unsafe {
            out.put();
            assert_eq!(&target, b"xxxxx");
            std::ptr::copy_nonoverlapping(c"abc".as_ptr(), out.as_mut_ptr(), 4);
            out.put();
            assert_eq!(&target, b"abc  ");
            std::ptr::copy_nonoverlapping(c"abcdefg".as_ptr(), out.as_mut_ptr(), 8);
            out.put();
            assert_eq!(&target, b"abcde");
        }
    }
}
