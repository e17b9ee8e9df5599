//! Hints of windows (MPI-5.0 §12.2.1 to §12.2.3, §12.2.8): those that MPI names are kept
//! and told, with their defaults until they are given.
//!
//! All of them but `alloc_shared_noncontig` allow an implementation to do less. This one
//! does not need it: accumulates are atomic and in order whatever the hints say.

use crate::memory_kinds::ASSERTED;
use crate::objects::{Info, Win};
use serried_engine::onesided::Kind;

const ORDER: &str = "rar,raw,war,waw";

/// A hint: its key, its default, and what values it can have.
struct Hint(&'static str, &'static str, fn(&str) -> bool);

const HINTS: [Hint; 6] = [
    Hint("no_locks", "false", is_flag),
    Hint("accumulate_ordering", ORDER, is_order),
    Hint("accumulate_ops", "same_op_no_op", |value| ["same_op", "same_op_no_op"].contains(&value)),
    Hint("mpi_accumulate_granularity", "0", |value| value.parse::<u64>().is_ok()),
    Hint("same_size", "false", is_flag),
    Hint("same_disp_unit", "false", is_flag),
];
/// Windows of shared memory have one more.
const APART: Hint = Hint("alloc_shared_noncontig", "false", is_flag);

fn is_flag(value: &str) -> bool {
    ["true", "false"].contains(&value)
}

fn is_order(value: &str) -> bool {
    value == "none" || value.split(',').all(|pair| ORDER.split(',').any(|known| known == pair.trim()))
}

/// Whether each member's part of shared memory may begin anywhere.
pub fn apart(info: Option<&Info>) -> bool {
    info.and_then(|info| info.get(APART.0)).is_some_and(|value| value == "true")
}

/// The kinds of memory that a program says it uses with a window.
fn keep_assertion(hints: &Info, given: Option<&Info>) {
    if let Some(kinds) = given.and_then(|info| info.get(ASSERTED)) {
        let _ = hints.set(ASSERTED, &kinds); // it has been one
    }
}

/// The hints of a new window.
pub fn begin(window: &Win, info: Option<&Info>) {
    let hints = Info::default();
    let shared = (window.kind() == Kind::Shared).then_some(APART);
    for Hint(key, default, valid) in HINTS.into_iter().chain(shared) {
        let given = info.and_then(|info| info.get(key)).filter(|value| valid(value));
        let _ = hints.set(key, given.as_deref().unwrap_or(default)); // has been one, or is short
    }
    keep_assertion(&hints, info);
    window.members().set_hints(&hints);
}

/// Takes the hints of an info object that are of windows and have a value of theirs, and
/// leaves the others, as MPI wants it.
pub fn change(window: &Win, info: &Info) {
    let taken = Info::default();
    for Hint(key, _, valid) in HINTS {
        if let Some(value) = info.get(key).filter(|value| valid(value)) {
            let _ = taken.set(key, &value); // it has been one
        }
    }
    keep_assertion(&taken, Some(info));
    window.members().set_hints(&taken);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_that_the_standard_has() {
        let valid = |key: &str, value: &str| {
            let found = HINTS.iter().find(|hint| hint.0 == key);
            found.is_some_and(|hint| (hint.2)(value))
        };
        assert!(HINTS.iter().all(|Hint(key, default, _)| valid(key, default)));
        assert!(valid("accumulate_ordering", "none") && valid("accumulate_ordering", "rar,waw"));
        assert!(!valid("accumulate_ordering", "sometimes") && !valid("no_locks", "perhaps"));
        assert!(valid("mpi_accumulate_granularity", "64") && !valid("mpi_accumulate_granularity", "-1"));
        assert!(valid("accumulate_ops", "same_op") && !valid("accumulate_ops", "any"));
    }

    #[test]
    fn shared_memory_is_apart_where_the_program_says_so() {
        let info = Info::default();
        assert!(!apart(None) && !apart(Some(&info)));
        info.set("alloc_shared_noncontig", "true").unwrap();
        assert!(apart(Some(&info)));
    }
}
