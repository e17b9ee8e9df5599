//! What the conversions of arguments promise.

use super::*;

#[test]
fn special_ranks_and_tags_cross_the_entry_and_come_back() {
    for value in [abi::MPI_ANY_SOURCE, abi::MPI_PROC_NULL, abi::MPI_ROOT, 0, 5, i32::MAX] {
        assert_eq!(rank_out(rank(value)), value);
    }
    for value in [abi::MPI_ANY_TAG, 0, 77] {
        assert_eq!(tag_out(tag(value)), value);
    }
    assert_eq!((rank(abi::MPI_PROC_NULL), rank(abi::MPI_ANY_SOURCE)), (PROC_NULL, ANY_SOURCE));
    assert_eq!((rank(-77), tag(-77)), (-77, -77));
    let special = [ANY_SOURCE, PROC_NULL, ROOT, ANY_TAG];
    for value in i32::MIN..i32::MIN + 20 {
        assert!(!special.contains(&rank(value)) && !special.contains(&tag(value)), "{value}");
    }
}

#[test]
fn counts_of_both_widths_read_alike() {
    let (narrow, wide) = ([3, -4, 5], [3_i64, -4, 5]);
    let (narrow, wide) = (Counts::from(narrow.as_ptr()), Counts::from(wide.as_ptr()));
    assert_eq!(narrow.to_vec("counts", 3).unwrap(), wide.to_vec("counts", 3).unwrap());
    let none = Counts::from(std::ptr::null::<i64>());
    assert!(none.to_vec("counts", 0).unwrap().is_empty());
    assert!(none.to_vec("counts", 1).unwrap_err().message().contains("counts"));
}

#[test]
fn a_result_that_an_int_cannot_hold_is_undefined() {
    let (mut narrow, mut wide) = (0_i32, 0_i64);
    // SAFETY: both live longer than the results.
    let (a, b) =
        unsafe { (OutCount::new("a", &raw mut narrow).unwrap(), OutCount::new("b", &raw mut wide).unwrap()) };
    a.set(1 << 40);
    b.set(1 << 40);
    assert_eq!((a.get(), b.get()), (i64::from(abi::MPI_UNDEFINED), 1 << 40));
    // SAFETY: a null pointer is what it is made to refuse.
    assert!(unsafe { OutCount::new("c", std::ptr::null_mut::<c_int>()) }.is_err());
}

#[test]
fn strings_are_cut_at_a_character_and_ended() {
    let mut place = [1 as c_char; 6];
    assert_eq!(write_string("name", place.as_mut_ptr(), 6, "abcdé").unwrap(), 4);
    assert_eq!(read_string("name", place.as_ptr()).unwrap(), "abcd");
    assert_eq!(write_string("name", place.as_mut_ptr(), 6, "").unwrap(), 0);
    assert_eq!(read_string("name", place.as_ptr()).unwrap(), "");
    assert!(write_string("name", std::ptr::null_mut(), 6, "x").is_err());
    assert!(read_string("name", std::ptr::null()).is_err());
}

#[test]
fn negative_counts_are_refused_with_their_value() {
    assert_eq!(count("count", -3).unwrap_err().message(), "argument count is -3; a count cannot be negative");
    assert_eq!(number("incount", 4).unwrap(), 4);
    assert_eq!(number("incount", -1).unwrap_err().class(), Class::Arg);
}
