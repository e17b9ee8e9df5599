//! What the tables of handles promise.

use super::*;

type Numbers = Table<u32>;

/// A table of its own for a test; it lives for ever, as the real ones do.
fn table() -> &'static Numbers {
    Box::leak(Box::new(Table::new(9, Class::Other, "number", abi::MPI_INFO_NULL)))
}

#[test]
fn a_handle_finds_its_object_until_it_is_taken() {
    let (table, call) = (table(), Call::for_tests());
    let handle = table.put(Arc::new(7)).unwrap();
    assert_eq!(table.get(&call, handle).map(|number| **number), Some(7));
    assert_eq!(*table.take("x", handle).unwrap(), 7);
    assert!(table.get(&call, handle).is_none());
}

#[test]
fn a_stale_handle_is_an_error_even_when_its_slot_is_used_again() {
    let (table, call) = (table(), Call::for_tests());
    let stale = table.put(Arc::new(0)).unwrap();
    table.take("x", stale).unwrap();
    for number in 1..200 {
        let handle = table.put(Arc::new(number)).unwrap();
        assert_ne!(handle, stale);
        assert!(table.get(&call, stale).is_none());
        table.take("x", handle).unwrap();
    }
    let error = table.take("x", stale).unwrap_err();
    assert_eq!(error.class(), Class::Other);
    assert!(error.message().contains("argument x"), "{error}");
}

#[test]
fn the_same_object_keeps_its_handle_until_it_was_freed_as_often_as_put_in() {
    let (table, call) = (table(), Call::for_tests());
    let object = Arc::new(5);
    let handle = table.put(object.clone()).unwrap();
    assert_eq!(table.put(object.clone()).unwrap(), handle);
    table.take("x", handle).unwrap();
    assert!(table.get(&call, handle).is_some());
    assert_eq!(table.handle_of(&object), Some(handle));
    table.take("x", handle).unwrap();
    assert!(table.get(&call, handle).is_none());
    assert_eq!(table.handle_of(&object), None);
    assert_eq!(Arc::strong_count(&object), 1);
}

#[test]
fn a_predefined_handle_can_be_freed_only_as_often_as_it_was_handed_out() {
    let (table, call) = (table(), Call::for_tests());
    let object = Arc::new(1);
    table.put_predefined(abi::MPI_INFO_ENV, object.clone());
    assert!(table.take("x", abi::MPI_INFO_ENV).is_err());
    assert_eq!(table.put(object).unwrap(), abi::MPI_INFO_ENV);
    table.take("x", abi::MPI_INFO_ENV).unwrap();
    assert!(table.take("x", abi::MPI_INFO_ENV).is_err());
    assert!(table.get(&call, abi::MPI_INFO_ENV).is_some());
}

#[test]
fn null_and_nonsense_stand_for_nothing() {
    let (table, call) = (table(), Call::for_tests());
    for handle in
        [abi::MPI_INFO_NULL, 0, !0, abi::MPI_COMM_WORLD, abi::handle(prefix(9) | 3), abi::handle(!0)]
    {
        assert!(table.get(&call, handle).is_none(), "{handle:#x}");
        assert!(table.take("x", handle).is_err(), "{handle:#x}");
    }
    let null: Result<&Arc<u32>> = required(table, &call, "info", abi::MPI_INFO_NULL);
    assert!(null.unwrap_err().message().contains("null number"));
    assert!(optional(table, &call, "info", abi::MPI_INFO_NULL).unwrap().is_none());
}

#[test]
fn many_handles_live_at_once_and_keep_their_places() {
    let (table, call) = (table(), Call::for_tests());
    let handles: Vec<_> = (0..5000).map(|number| table.put(Arc::new(number)).unwrap()).collect();
    for (number, &handle) in handles.iter().enumerate() {
        assert_eq!(table.get(&call, handle).map(|found| **found), Some(number as u32));
    }
    assert_eq!(place(0), (0, 0));
    assert_eq!(place(64), (1, 0));
    assert_eq!(place(191), (1, 127));
    assert_eq!(place(192), (2, 0));
}

#[test]
fn every_predefined_datatype_has_a_place_of_its_own() {
    crate::predefined::install();
    let call = Call::for_tests();
    let name = |handle| required(&DATATYPES, &call, "datatype", handle).map(|datatype| datatype.name());
    assert_eq!(name(abi::MPI_INT).unwrap(), "MPI_INT");
    assert_eq!(name(abi::MPI_CHAR).unwrap(), "MPI_CHAR");
    assert_eq!(name(abi::MPI_LONG_DOUBLE_INT).unwrap(), "MPI_LONG_DOUBLE_INT");
    assert_eq!(name(abi::MPI_FLOAT_INT).unwrap(), "MPI_FLOAT_INT");
    assert_eq!(name(abi::MPI_SHORT_INT).unwrap(), "MPI_SHORT_INT");
    assert_eq!(name(abi::MPI_COMPLEX16).unwrap(), "MPI_COMPLEX16");
}

#[test]
fn threads_put_and_take_without_losing_anything() {
    let table = table();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let call = Call::for_tests();
                for number in 0..500 {
                    let handle = table.put(Arc::new(thread * 1000 + number)).unwrap();
                    assert_eq!(table.get(&call, handle).map(|found| **found), Some(thread * 1000 + number));
                    table.take("x", handle).unwrap();
                }
            });
        }
    });
}
