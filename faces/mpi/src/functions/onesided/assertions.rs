//! Assertions and types of locks as an ABI numbers them.

use crate::abi;
use serried_engine::onesided::{Assertions, Lock};
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;

/// All that there are.
const ALL: [(c_int, Assertions, &str); 5] = [
    (abi::MPI_MODE_NOCHECK, Assertions::NOCHECK, "MPI_MODE_NOCHECK"),
    (abi::MPI_MODE_NOSTORE, Assertions::NOSTORE, "MPI_MODE_NOSTORE"),
    (abi::MPI_MODE_NOPUT, Assertions::NOPUT, "MPI_MODE_NOPUT"),
    (abi::MPI_MODE_NOPRECEDE, Assertions::NOPRECEDE, "MPI_MODE_NOPRECEDE"),
    (abi::MPI_MODE_NOSUCCEED, Assertions::NOSUCCEED, "MPI_MODE_NOSUCCEED"),
];

/// The assertions of an argument, of which a call takes some (§12.5.5).
///
/// # Errors
/// `Assert` for one that it does not take, or that is none.
#[inline]
pub fn assertions(assert: c_int, taken: Assertions) -> Result<Assertions> {
    match assert {
        0 => Ok(Assertions::NONE),
        _ => some(assert, taken),
    }
}

fn some(assert: c_int, taken: Assertions) -> Result<Assertions> {
    let (mut found, mut left) = (Assertions::NONE, assert);
    for (bit, assertion, _) in ALL.into_iter().filter(|(_, assertion, _)| taken.has(*assertion)) {
        if assert & bit != 0 {
            found = found.and(assertion);
            left &= !bit;
        }
    }
    match left {
        0 => Ok(found),
        _ => Err(not_taken(assert, left, taken)),
    }
}

#[cold]
fn not_taken(assert: c_int, left: c_int, taken: Assertions) -> Error {
    let named = |wanted: &dyn Fn(&(c_int, Assertions, &str)) -> bool| {
        let names: Vec<_> = ALL.iter().filter(|one| wanted(one)).map(|one| one.2).collect();
        names.join(", ")
    };
    let wrong = match named(&|one| left & one.0 != 0) {
        none if none.is_empty() => "a bit that is no assertion".to_owned(),
        names => names,
    };
    let right = named(&|one| taken.has(one.1));
    Error::new(Class::Assert, format!("argument assert ({assert}) has {wrong}; this call takes 0 or {right}"))
}

/// The type of a lock.
///
/// # Errors
/// `Locktype` for what is none.
pub fn lock_type(lock_type: c_int) -> Result<Lock> {
    match lock_type {
        abi::MPI_LOCK_SHARED => Ok(Lock::Shared),
        abi::MPI_LOCK_EXCLUSIVE => Ok(Lock::Exclusive),
        _ => Err(Error::new(
            Class::Locktype,
            format!(
                "argument lock_type ({lock_type}) is neither MPI_LOCK_SHARED ({}) nor MPI_LOCK_EXCLUSIVE ({})",
                abi::MPI_LOCK_SHARED,
                abi::MPI_LOCK_EXCLUSIVE
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_takes_its_own_assertions_and_no_others() {
        let taken = Assertions::NOCHECK.and(Assertions::NOPUT);
        assert_eq!(assertions(0, Assertions::NONE).unwrap(), Assertions::NONE);
        assert_eq!(assertions(abi::MPI_MODE_NOPUT, taken).unwrap(), Assertions::NOPUT);
        assert_eq!(assertions(abi::MPI_MODE_NOPUT | abi::MPI_MODE_NOCHECK, taken).unwrap(), taken);
        let refused = |assert| assertions(assert, taken).unwrap_err();
        let error = refused(abi::MPI_MODE_NOPUT | abi::MPI_MODE_NOSUCCEED);
        assert_eq!(error.class(), Class::Assert);
        assert!(error
            .message()
            .contains("has MPI_MODE_NOSUCCEED; this call takes 0 or MPI_MODE_NOCHECK, MPI_MODE_NOPUT"));
        assert!(refused(1 << 30).message().contains("a bit that is no assertion"));
        assert!(refused(-1).class() == Class::Assert);
    }

    #[test]
    fn a_lock_is_shared_or_exclusive() {
        assert_eq!(lock_type(abi::MPI_LOCK_SHARED).unwrap(), Lock::Shared);
        assert_eq!(lock_type(abi::MPI_LOCK_EXCLUSIVE).unwrap(), Lock::Exclusive);
        assert_eq!(lock_type(0).unwrap_err().class(), Class::Locktype);
    }
}
