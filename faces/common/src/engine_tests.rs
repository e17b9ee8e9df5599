//! Two faces share the engine of a process.

use super::*;
use std::sync::atomic::AtomicI32;

static IN_TABLES: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];
static LIBRARY: Library = Library { names: &[&["", "first_call"], &["second_call"]], directory: |_| () };
static FIRST: Participant =
    Participant::new("the first has not begun", "the first has ended", |_| join(0), || leave(0));
static SECOND: Participant =
    Participant::new("the second has not begun", "the second has ended", |_| join(1), || leave(1));

fn join(face: usize) -> Result<()> {
    IN_TABLES[face].fetch_add(1, Ordering::Relaxed);
    Ok(())
}

fn leave(face: usize) {
    IN_TABLES[face].fetch_sub(1, Ordering::Relaxed);
}

fn running() -> (bool, bool, bool) {
    (FIRST.engine().is_ok(), SECOND.engine().is_ok(), super::running().is_some())
}

fn in_tables() -> [i32; 2] {
    IN_TABLES.each_ref().map(|count| count.load(Ordering::Relaxed))
}

/// One test, for a process joins a job once.
#[test]
fn faces_come_and_go_in_any_order_and_the_last_ends_the_engine() {
    let _turn = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(running(), (false, false, false));
    assert_eq!(SECOND.engine().err().unwrap().message(), "the second has not begun");
    assert!(SECOND.release().is_err());

    let engine = SECOND.acquire(&LIBRARY).unwrap();
    assert_eq!((running(), in_tables()), ((false, true, true), [0, 1]));
    assert_eq!(engine.job().node.name(2).as_deref(), Some("second_call"));
    assert!(std::ptr::eq(engine, FIRST.acquire(&LIBRARY).unwrap()));
    FIRST.acquire(&LIBRARY).unwrap();
    assert_eq!((running(), in_tables()), ((true, true, true), [1, 1]));

    SECOND.release().unwrap();
    assert_eq!((running(), in_tables()), ((true, false, true), [1, 0]));
    assert_eq!(SECOND.engine().err().unwrap().message(), "the second has ended");
    let error = SECOND.explain(Error::new(Class::Comm, "there is no such communicator"));
    assert_eq!(error.message(), "the second has ended");
    let error = FIRST.explain(Error::new(Class::Comm, "there is no such communicator"));
    assert_eq!(error.message(), "there is no such communicator");

    FIRST.release().unwrap();
    assert_eq!(running(), (true, false, true));
    FIRST.release().unwrap();
    assert_eq!(running(), (false, false, false));
    // The tables of the last face stay: errors after the end are raised on it.
    assert_eq!(in_tables(), [1, 0]);

    assert!(std::ptr::eq(engine, SECOND.acquire(&LIBRARY).unwrap()));
    assert_eq!((running(), in_tables()), ((false, true, true), [0, 1]));
    SECOND.release().unwrap();
    assert_eq!(running(), (false, false, false));
}
