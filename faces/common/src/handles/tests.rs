//! What the tables and the forms of handles promise.

use super::super::entry::Call;
use super::table::place;
use super::*;
use serried_engine::{Class, Result};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, LazyLock};

/// Three objects as an ABI would export them.
#[repr(align(64))]
struct Exported(#[allow(dead_code)] [u8; 256]);
static NULL: Exported = Exported([0; 256]);
static FIRST: Exported = Exported([0; 256]);
static SECOND: Exported = Exported([0; 256]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Three;

impl Predefinitions for Three {
    fn index() -> &'static Index {
        static OBJECTS: [Object; 3] = [
            Object::new(9 << 26, (&raw const NULL).cast()),
            Object::new(9 << 26 | 1, (&raw const FIRST).cast()),
            Object::new(9 << 26 | 2, (&raw const SECOND).cast()),
        ];
        static INDEX: LazyLock<Index> = LazyLock::new(|| Index::new(&OBJECTS));
        &INDEX
    }
}

type Address = ObjectHandle<Three>;

fn address_of(object: &'static Exported) -> Address {
    Address::new(std::ptr::from_ref(object).cast::<c_void>())
}

/// A table of its own for a test; it lives for ever, as the real ones do.
fn table() -> &'static Table<u32, PointerHandle> {
    Box::leak(Box::new(Table::new(9, Class::Other, "number", PointerHandle::new(0x130))))
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
fn what_is_put_in_alone_is_taken_once() {
    let (table, call) = (table(), Call::for_tests());
    let handles = [1, 2].map(|number| table.put_alone(number).unwrap());
    assert_eq!(handles.map(|handle| table.get(&call, handle).map(|number| **number)), [Some(1), Some(2)]);
    let taken = table.take("x", handles[0]).unwrap();
    assert_eq!((*taken, Arc::strong_count(&taken)), (1, 1));
    assert!(table.take("x", handles[0]).is_err() && table.get(&call, handles[1]).is_some());
}

#[test]
fn a_handle_stands_for_what_has_replaced_its_object() {
    let (table, call) = (table(), Call::for_tests());
    let (old, new) = (Arc::new(5), Arc::new(6));
    let handle = table.put(old.clone()).unwrap();
    table.replace(&old, new.clone());
    assert_eq!((table.get(&call, handle), table.handle_of(&new)), (Some(&new), Some(handle)));
    assert_eq!((table.handle_of(&old), Arc::strong_count(&old)), (None, 1));
    assert_eq!(*table.take("x", handle).unwrap(), 6);
    table.replace(&new, old.clone());
    assert_eq!((table.get(&call, handle), table.handle_of(&old)), (None, None));
}

/// A predefined handle of a table whose handles have any form.
fn check_predefined<H: Handle>(table: &'static Table<u32, H>, handle: H, null: H) {
    let (call, object) = (Call::for_tests(), Arc::new(1));
    table.put_predefined(handle, object.clone());
    assert!(table.take("x", handle).is_err());
    assert_eq!(table.put(object.clone()).unwrap(), handle);
    table.take("x", handle).unwrap();
    assert!(table.take("x", handle).is_err());
    assert!(table.get(&call, handle).is_some());
    assert_eq!(H::from_integer(9, handle.to_integer()), handle);
    assert_eq!(H::from_word(handle.word()), handle);
    let made = table.put(Arc::new(2)).unwrap();
    assert_eq!(table.get(&call, made).map(|number| **number), Some(2));
    assert_eq!((H::from_integer(9, made.to_integer()), made.to_integer() < 0), (made, true));
    let none: Result<&Arc<u32>> = required(table, &call, "info", null);
    assert!(none.unwrap_err().message().contains("null number"));
    assert!(optional(table, &call, "info", null).unwrap().is_none());
    table.withdraw(handle);
    assert!(table.get(&call, handle).is_none() && table.handle_of(&object).is_none());
    assert!(table.get(&call, made).is_some());
}

#[test]
fn a_predefined_handle_can_be_freed_only_as_often_as_it_was_handed_out() {
    check_predefined(table(), PointerHandle::new(0x131), PointerHandle::new(0x130));
}

#[test]
fn handles_that_are_ints_or_addresses_do_the_same() {
    let (handle, null) = (IntegerHandle::new(0x5c00_0001), IntegerHandle::new(0x1c00_0000));
    check_predefined(Box::leak(Box::new(Table::new(9, Class::Other, "number", null))), handle, null);
    let (handle, null) = (address_of(&FIRST), address_of(&NULL));
    check_predefined(Box::leak(Box::new(Table::new(9, Class::Other, "number", null))), handle, null);
}

#[test]
fn null_and_nonsense_stand_for_nothing() {
    let (table, call) = (table(), Call::for_tests());
    for raw in [0x130, 0, !0, 0x101, prefix(9) | 3] {
        let handle = PointerHandle::from_raw(raw);
        assert!(table.get(&call, handle).is_none(), "{handle:#x}");
        assert!(table.take("x", handle).is_err(), "{handle:#x}");
    }
    assert_eq!(PointerHandle::from_word(1 << 32 | 0x131).raw(), 0);
}

#[test]
fn an_address_that_is_no_object_is_no_handle() {
    let wild = [0, 1, 8, usize::MAX, usize::MAX - 1, address_of(&FIRST).word() + 8, 0x0400_0000 << 1 | 1];
    for word in wild {
        assert_eq!(Address::from_word(word).raw(), 0, "{word:#x}");
    }
    assert_eq!(address_of(&SECOND).raw(), 9 << 26 | 2);
    assert_eq!(address_of(&SECOND).to_integer(), 2);
    assert_eq!(Address::from_integer(9, 77).word(), 0);
    assert_eq!(Address::from_word(12).to_integer(), -1);
    let made = Address::from_raw(prefix(9) | 7);
    assert_eq!(
        (made.word() & 1, made.raw(), made.to_integer()),
        (1, prefix(9) | 7, (prefix(9) | 7) as c_int)
    );
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
