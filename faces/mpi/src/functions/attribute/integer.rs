//! Attribute values that Fortran has set: integers. A cached value is one word; the word of an integer is the address
//! of a place that holds it, which is what MPI wants C to get of it (MPI-5.0 §19.3.7).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The places by their addresses. They stay where they are, for programs may keep the address.
static PLACES: Mutex<BTreeMap<usize, Box<i64>>> = Mutex::new(BTreeMap::new());

fn places() -> MutexGuard<'static, BTreeMap<usize, Box<i64>>> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The word of an integer, which lives until it is forgotten.
pub fn keep(value: i64) -> usize {
    let place = Box::new(value);
    let word = &raw const *place as usize;
    places().insert(word, place);
    word
}

/// The integer of a word, if it is that of one.
pub fn of(word: usize) -> Option<i64> {
    // C may have written there since: it has the address.
    // SAFETY: the place is in the book, so it lives; it is read as the program may write it, without a reference.
    places().get(&word).map(|place| unsafe { (&raw const **place).read_volatile() })
}

/// The word of an integer is cached no longer.
pub fn forget(word: usize) {
    places().remove(&word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_has_an_address_until_it_is_forgotten() {
        let word = keep(-7);
        // SAFETY: the place lives until it is forgotten.
        assert_eq!(unsafe { *(word as *const i64) }, -7);
        assert_eq!((of(word), of(0), of(word + 1)), (Some(-7), None, None));
        forget(word);
        assert_eq!(of(word), None);
    }
}
