//! Functions of a language's library around the operation of a request: before each begin of a persistent one, and
//! after each end. So a section of an array can be copied to where the operation has its buffer, and back.

use serried_engine::request::RequestId;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What happens to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its operation begins once more.
    Begin = 0,
    /// Its operation has ended, and it can begin again.
    End = 1,
    /// It is gone, after its operation ended or without.
    Gone = 2,
}

/// Called with the word and the event.
pub type Hook = unsafe extern "C" fn(*mut c_void, c_int);

#[derive(Clone, Copy)]
struct Known {
    hook: Hook,
    word: usize,
}

static HOOKS: Mutex<Option<HashMap<u32, Known>>> = Mutex::new(None);
/// How many there are: programs without any do not take the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn hooks() -> MutexGuard<'static, Option<HashMap<u32, Known>>> {
    HOOKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there are any.
#[inline]
pub fn any() -> bool {
    COUNT.load(Relaxed) != 0
}

/// Has a function called at what happens to a request.
pub fn set(id: RequestId, hook: Hook, word: *mut c_void) {
    let known = Known { hook, word: word as usize };
    if hooks().get_or_insert_default().insert(id.0, known).is_none() {
        COUNT.fetch_add(1, Relaxed);
    }
}

/// Something happens to a request. The hook runs with no lock held.
#[inline]
pub fn tell(id: RequestId, event: Event) {
    if any() {
        tell_hook(id, event);
    }
}

fn tell_hook(id: RequestId, event: Event) {
    let found = match event {
        Event::Gone => hooks().as_mut().and_then(|all| all.remove(&id.0)).inspect(|_| {
            COUNT.fetch_sub(1, Relaxed);
        }),
        Event::Begin | Event::End => hooks().as_ref().and_then(|all| all.get(&id.0)).copied(),
    };
    if let Some(Known { hook, word }) = found {
        // SAFETY: the function that the caller of `set` gave, with its own word.
        unsafe { hook(word as *mut c_void, event as c_int) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn note(word: *mut c_void, event: c_int) {
        // SAFETY: the test's own place.
        unsafe { (*word.cast::<Vec<c_int>>()).push(event) };
    }

    #[test]
    fn a_hook_is_told_until_its_request_is_gone() {
        let mut events: Vec<c_int> = Vec::new();
        let id = RequestId(77);
        set(id, note, (&raw mut events).cast());
        for event in [Event::Begin, Event::End, Event::Begin, Event::End, Event::Gone, Event::Begin] {
            tell(id, event);
        }
        assert_eq!((events, any()), (vec![0, 1, 0, 1, 2], false));
    }
}
