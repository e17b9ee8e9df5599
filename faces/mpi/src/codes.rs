//! Error codes: the class's number in this ABI in the low 16 bits, and above
//! them the number of a message in a ring, so that `MPI_Error_string` gives the
//! whole sentence of one of the last 256 errors (MPI-5.0 §9.4).
//!
//! Classes and codes that a program adds (§9.5) are numbers after
//! `MPI_ERR_LASTCODE`; they carry no message number. Numbers that it has removed
//! are given out again, the lowest first.

use crate::class::{class_number, DESCRIPTIONS};
use crate::{abi, wording};
use serried_engine::{Class, Error, Result};
use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

const CLASS_BITS: u32 = 16;
const RING: usize = 256;
/// Numbers of messages go round after this many, so that codes stay positive
/// and below the numbers of added codes in every ABI.
const SERIALS: u32 = 1 << 13;
/// The number of the first class or code that a program adds.
const FIRST_ADDED: c_int = abi::MPI_ERR_LASTCODE + 1;
/// How many classes and codes of a program there can be at a time.
const MOST_ADDED: usize = 4096;

struct Book {
    next: u32,
    ring: Vec<(u32, String)>,
    added: Vec<Added>,
}

/// A class or code that the program added.
#[derive(Clone)]
struct Added {
    /// Its class, which for a class is itself.
    class: c_int,
    text: String,
    removed: bool,
}

static BOOK: Mutex<Book> = Mutex::new(Book { next: 1, ring: Vec::new(), added: Vec::new() });

fn lock() -> MutexGuard<'static, Book> {
    BOOK.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// The last bare code of this thread that has a sentence, and that.
    static BARE: RefCell<(c_int, String)> = const { RefCell::new((abi::MPI_SUCCESS, String::new())) };
}

/// The code of an error; remembers its sentence. Classes that programs compare
/// codes with (`MPI_ERR_IN_STATUS`, `MPI_ERR_PENDING`, and those of failed processes: programs that go on without
/// them look for these) and the program's own stay bare.
#[cold]
pub fn code(error: &Error) -> c_int {
    with_words(error, wording::sentence)
}

fn with_words(error: &Error, sentence: impl FnOnce(&Error) -> String) -> c_int {
    let class = class_number(error.class());
    match error.class() {
        Class::User(_) | Class::InStatus | Class::Pending => class,
        Class::ProcFailed | Class::ProcFailedPending | Class::Revoked => {
            BARE.set((class, sentence(error)));
            class
        }
        _ => with_message(class, &sentence(error)),
    }
}

/// As [`code`], with the name of the call in the sentence.
#[cold]
pub fn code_of_call(function: &str, error: &Error) -> c_int {
    with_words(error, |error| format!("{function}: {}", wording::sentence(error)))
}

/// The bare code that a function of the tool interface returns.
pub fn code_of_tool(error: &Error) -> c_int {
    match error.class() {
        Class::User(code) => code,
        Class::NoMem => abi::MPI_T_ERR_MEMORY,
        Class::UnsupportedOperation => abi::MPI_T_ERR_NOT_SUPPORTED,
        _ => abi::MPI_T_ERR_INVALID,
    }
}

/// A code of a class with a sentence.
pub fn with_message(class: c_int, message: &str) -> c_int {
    let mut book = lock();
    let serial = book.next;
    book.next = if serial + 1 == SERIALS { 1 } else { serial + 1 };
    let slot = serial as usize % RING;
    if book.ring.len() < RING {
        book.ring.resize(RING, (0, String::new()));
    }
    book.ring[slot] = (serial, message.to_string());
    class | (serial << CLASS_BITS) as c_int
}

/// The class of a code.
///
/// # Errors
/// `Arg` for what is no code.
pub fn class_of(code: c_int) -> Result<c_int> {
    let book = lock();
    if let Some(index) = added_index(code) {
        return book
            .added
            .get(index)
            .filter(|added| !added.removed)
            .map(|added| added.class)
            .ok_or_else(|| no_code(code));
    }
    let class = code & ((1 << CLASS_BITS) - 1);
    if code < 0 || !DESCRIPTIONS.iter().any(|(known, _)| *known == class) {
        return Err(no_code(code));
    }
    Ok(class)
}

/// The sentence of a code: the whole one if it is remembered, else that of its
/// class.
///
/// # Errors
/// `Arg` for what is no code.
pub fn text_of(code: c_int) -> Result<String> {
    let class = class_of(code)?;
    let book = lock();
    if let Some(index) = added_index(code) {
        return Ok(book.added[index].text.clone());
    }
    let (_, name) = DESCRIPTIONS.iter().find(|(known, _)| *known == class).ok_or_else(|| no_code(code))?;
    if let Some(message) = BARE.with_borrow(|(bare, message)| (*bare == code).then(|| message.clone())) {
        return Ok(format!("{name}: {message}"));
    }
    let serial = code as u32 >> CLASS_BITS;
    match book.ring.get(serial as usize % RING) {
        Some((remembered, message)) if *remembered == serial && serial != 0 => {
            Ok(format!("{name}: {message}"))
        }
        _ => Ok((*name).to_string()),
    }
}

/// Adds a class (`None`) or a code of a class.
///
/// # Errors
/// `Arg` for what is no class, `NoMem` when there are too many.
pub fn add(class: Option<c_int>) -> Result<c_int> {
    if let Some(class) = class {
        if class_of(class)? != class {
            return Err(Error::new(
                Class::Arg,
                format!("argument errorclass ({class}) is an error code, not a class"),
            ));
        }
    }
    let mut book = lock();
    let index = book.added.iter().position(|added| added.removed).unwrap_or(book.added.len());
    if index == MOST_ADDED {
        let sentence = format!(
            "the program has added {MOST_ADDED} error classes and codes; MPI_Remove_error_class and \
             MPI_Remove_error_code make room"
        );
        return Err(Error::new(Class::NoMem, sentence));
    }
    let number = FIRST_ADDED + index as c_int;
    let fresh = Added { class: class.unwrap_or(number), text: String::new(), removed: false };
    match book.added.get_mut(index) {
        Some(place) => *place = fresh,
        None => book.added.push(fresh),
    }
    Ok(number)
}

/// Removes what [`add`] has made.
///
/// # Errors
/// `Arg` for anything else, for what still has a sentence, or for a class that
/// still has codes.
pub fn remove(number: c_int, is_class: bool) -> Result<()> {
    let mut book = lock();
    let (index, mut added) = find_added(&book, number)?;
    if (added.class == number) != is_class {
        let (is, not) = if is_class { ("code", "class") } else { ("class", "code") };
        return Err(Error::new(Class::Arg, format!("{number} is an error {is}, not an error {not}")));
    }
    let users = |other: &Added| !other.removed && other.class == number;
    if is_class && book.added.iter().filter(|other| users(other)).count() > 1 {
        return Err(Error::new(
            Class::Arg,
            format!("error class {number} still has error codes; remove them first"),
        ));
    }
    if !added.text.is_empty() {
        let hint = "remove it with MPI_Remove_error_string first";
        return Err(Error::new(Class::Arg, format!("{number} still has an error string; {hint}")));
    }
    added.removed = true;
    book.added[index] = added;
    Ok(())
}

/// Gives an added class or code its sentence, or takes it away (empty).
///
/// # Errors
/// `Arg` for what the program has not added.
pub fn set_text(number: c_int, text: &str) -> Result<()> {
    let mut book = lock();
    let (index, _) = find_added(&book, number)?;
    book.added[index].text = text.to_string();
    Ok(())
}

/// The value of the attribute `MPI_LASTUSEDCODE`.
pub fn last_used() -> c_int {
    match lock().added.iter().rposition(|added| !added.removed) {
        Some(last) => FIRST_ADDED + last as c_int,
        None => abi::MPI_ERR_LASTCODE,
    }
}

fn find_added(book: &Book, number: c_int) -> Result<(usize, Added)> {
    let found = added_index(number).and_then(|index| Some((index, book.added.get(index)?.clone())));
    found.filter(|(_, added)| !added.removed).ok_or_else(|| {
        Error::new(Class::Arg, format!("{number} is no error class or code that the program has added"))
    })
}

/// The index of an added class or code; `None` for numbers of the library.
fn added_index(code: c_int) -> Option<usize> {
    let index = usize::try_from(code.checked_sub(FIRST_ADDED)?).ok()?;
    (index < MOST_ADDED).then_some(index)
}

fn no_code(code: c_int) -> Error {
    Error::new(Class::Arg, format!("{code} is no error code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that count on the ring take turns.
    static RING_IS_MINE: Mutex<()> = Mutex::new(());

    #[test]
    fn a_code_gives_back_its_class_and_its_sentence() {
        let _turn = RING_IS_MINE.lock();
        let code = code(&Error::new(Class::Tag, "argument tag is -9"));
        assert_eq!(class_of(code).unwrap(), abi::MPI_ERR_TAG);
        assert_eq!(text_of(code).unwrap(), "MPI_ERR_TAG: invalid tag: argument tag is -9");
    }

    #[test]
    fn an_old_code_falls_back_to_the_words_of_its_class() {
        let _turn = RING_IS_MINE.lock();
        let old = code(&Error::new(Class::Rank, "the first"));
        for number in 0..RING {
            code(&Error::new(Class::Rank, format!("later {number}")));
        }
        assert_eq!(class_of(old).unwrap(), abi::MPI_ERR_RANK);
        assert_eq!(text_of(old).unwrap(), "MPI_ERR_RANK: invalid rank");
    }

    #[test]
    fn codes_stay_positive_and_below_added_ones_when_the_numbers_come_round() {
        let _turn = RING_IS_MINE.lock();
        for _ in 0..2 * SERIALS {
            let code = with_message(abi::MPI_ERR_OTHER, "again");
            assert!(code > 0 && added_index(code).is_none(), "{code:#x}");
            assert_eq!(class_of(code).unwrap(), abi::MPI_ERR_OTHER);
        }
    }

    #[test]
    fn what_programs_compare_with_stays_bare() {
        assert_eq!(code(&Error::new(Class::InStatus, "")), abi::MPI_ERR_IN_STATUS);
        assert_eq!(code(&Error::new(Class::Pending, "")), abi::MPI_ERR_PENDING);
        let failed = code(&Error::new(Class::ProcFailed, "rank 3 has gone"));
        assert_eq!(failed, abi::MPIX_ERR_PROC_FAILED);
        assert!(text_of(failed).unwrap().ends_with("rank 3 has gone"));
        let revoked = code_of_call("MPI_Barrier", &Error::new(Class::Revoked, "it was"));
        assert_eq!(revoked, abi::MPIX_ERR_REVOKED);
        assert!(text_of(revoked).unwrap().ends_with("MPI_Barrier: it was"));
        assert!(!text_of(failed).unwrap().contains("gone"), "another error came since");
    }

    /// Tests that add classes and codes take turns.
    static ADDED_ARE_MINE: Mutex<()> = Mutex::new(());

    #[test]
    fn removed_numbers_come_again() {
        let _turn = ADDED_ARE_MINE.lock();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..20_000 {
            let class = add(None).unwrap();
            let code = add(Some(class)).unwrap();
            seen.extend([class, code]);
            set_text(code, "for a while").unwrap();
            set_text(code, "").unwrap();
            remove(code, false).unwrap();
            remove(class, true).unwrap();
            assert!(class_of(code).is_err() && class_of(class).is_err());
        }
        assert_eq!(seen.len(), 2);
        let most: Vec<c_int> = std::iter::from_fn(|| add(None).ok()).collect();
        assert_eq!(most.len(), MOST_ADDED);
        assert_eq!(add(None).unwrap_err().class(), Class::NoMem);
        assert_eq!(last_used(), most[MOST_ADDED - 1]);
        remove(most[7], true).unwrap();
        assert_eq!(add(Some(abi::MPI_ERR_ARG)).unwrap(), most[7]);
        assert_eq!(
            (class_of(most[7]).unwrap(), text_of(most[7]).unwrap()),
            (abi::MPI_ERR_ARG, String::new())
        );
        remove(most[7], false).unwrap();
        most.iter().filter(|number| **number != most[7]).for_each(|&class| remove(class, true).unwrap());
        assert_eq!(last_used(), abi::MPI_ERR_LASTCODE);
    }

    #[test]
    fn added_classes_and_codes_live_and_go() {
        let _turn = ADDED_ARE_MINE.lock();
        let class = add(None).unwrap();
        let code = add(Some(class)).unwrap();
        let of_mpi = add(Some(abi::MPI_ERR_ARG)).unwrap();
        set_text(code, "too late").unwrap();
        assert!(class > abi::MPI_ERR_LASTCODE && last_used() >= of_mpi);
        assert_eq!((class_of(class).unwrap(), class_of(code).unwrap()), (class, class));
        assert_eq!(class_of(of_mpi).unwrap(), abi::MPI_ERR_ARG);
        assert_eq!((text_of(code).unwrap().as_str(), text_of(class).unwrap().as_str()), ("too late", ""));
        assert!(remove(class, true).unwrap_err().message().contains("still has error codes"));
        assert!(remove(code, true).is_err());
        assert!(remove(code, false).unwrap_err().message().contains("error string"));
        set_text(code, "").unwrap();
        for (number, is_class) in [(code, false), (of_mpi, false), (class, true)] {
            remove(number, is_class).unwrap();
            assert!(class_of(number).is_err());
        }
    }

    #[test]
    fn nonsense_is_no_code() {
        let _turn = ADDED_ARE_MINE.lock();
        for nonsense in [-1, 999, abi::MPI_ERR_LASTCODE, FIRST_ADDED + 4000, c_int::MIN] {
            assert!(class_of(nonsense).is_err(), "{nonsense}");
        }
        assert!(set_text(abi::MPI_ERR_TAG, "no").is_err());
        assert!(remove(abi::MPI_ERR_TAG, true).is_err());
    }
}
