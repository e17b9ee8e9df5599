//! The tables as they are, and lines that are wrong.

use super::declaration::parse;
use super::symbol::symbols;
use super::types::{distinct, Types};
use super::{exports, header, Api};
use std::path::Path;

fn api() -> Api {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api");
    Api::read(&folder).expect("the tables are right")
}

#[test]
fn a_line_stands_for_functions_of_all_types_and_sizes() {
    let api = api();
    let names: Vec<String> =
        api.declarations.iter().flat_map(symbols).map(|symbol| symbol.name(false)).collect();
    for name in [
        "shmem_put8",
        "shmem_putmem",
        "shmem_ctx_put128_signal_nbi",
        "shmem_putmem_signal",
        "shmem_longdouble_g",
        "shmem_ctx_size_atomic_fetch_add_nbi",
        "shmem_iput64",
        "shmem_broadcastmem",
        "shmem_broadcast32",
        "shmem_complexd_sum_to_all",
        "shmem_int8_xor_reduce",
        "shmem_wait",
        "start_pes",
        "shmem_ctx_pe_quiet",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
    for name in
        ["shmem_float_atomic_fetch_add", "shmem_iputmem", "shmem_double_and_reduce", "shmem_ctx_finalize"]
    {
        assert!(!names.iter().any(|known| known == name), "{name}");
    }
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), names.len(), "no function comes twice");
}

#[test]
fn prototypes_are_those_of_the_standard() {
    let text = header::header(&api());
    for line in [
        "void shmem_float_put(float *dest, const float *source, size_t nelems, int pe);",
        "void shmem_ctx_put64_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, \
         uint64_t signal, int sig_op, int pe);",
        "long double shmem_longdouble_g(const long double *source, int pe);",
        "void *shmem_malloc(size_t size);",
        "void shmem_pcontrol(int level, ...);",
        "int shmem_my_pe(void);",
        "size_t shmem_long_wait_until_any_vector(long *ivars, size_t nelems, const int *status, int cmp, \
         const long *cmp_values);",
    ] {
        assert!(text.contains(line), "{line}");
    }
}

#[test]
fn a_call_has_one_name_for_all_types_and_fits_the_segment() {
    let names = exports::names(&api());
    assert_eq!(names.matches("\"shmem_put\"").count(), 1);
    let longest = names.split('"').skip(1).step_by(2).map(str::len).max();
    assert!(longest.is_some_and(|length| length < 40), "{longest:?}");
}

#[test]
fn types_that_are_one_in_c_are_told_apart_by_the_first() {
    let api = api();
    let of = |set: &str| -> Vec<String> {
        distinct(api.types.set(set).unwrap()).iter().map(|one| one.name.clone()).collect()
    };
    assert_eq!(of("bitwise"), ["uint", "ulong", "ulonglong", "int32", "int64"]);
    assert_eq!(of("rma").len(), 14);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let types = Types::parse("int: i32 = int\nset all: int\n").unwrap();
    let wrong = |text: &str| parse("chapter", text, &types).map(|_| ()).unwrap_err();
    assert_eq!(wrong("void f(void)\n\nvoid g(void").0, 3);
    assert!(wrong("types(none) void f(TYPE *x)").1.contains("no set `none`"));
    assert!(wrong("void f(x)").1.contains("`x` has no type"));
    assert!(wrong("sizes(many) void f(void)").1.contains("`many` is no size"));
    assert_eq!(Types::parse("set all: nothing").unwrap_err().1, "there is no type `nothing`");
}
