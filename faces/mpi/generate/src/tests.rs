//! What the tables and the texts made from them promise.

use crate::{rust, Abi, Api};
use std::path::Path;

fn tables() -> Api {
    Api::read(Path::new("../api")).expect("the tables can be read")
}

#[test]
fn no_function_stands_twice() {
    let names = rust::names(&tables());
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), names.len());
}

#[test]
fn send_has_two_forms_and_each_a_profiling_twin() {
    let text = rust::functions(&tables(), Abi::Standard).unwrap();
    for name in ["MPI_Send", "PMPI_Send", "MPI_Send_c", "PMPI_Send_c", "PMPI_Barrier"] {
        assert_eq!(text.matches(&format!("fn {name}(")).count(), 1, "{name}");
    }
    assert!(!text.contains("fn MPI_Barrier_c("));
}

#[test]
fn functions_of_mpich_alone_are_not_in_the_standard_abi() {
    let tables = tables();
    assert!(!rust::functions(&tables, Abi::Standard).unwrap().contains("fn MPI_Comm_c2f("));
    assert!(rust::functions(&tables, Abi::Mpich).unwrap().contains("fn MPI_Comm_c2f("));
}

#[test]
fn a_bad_line_is_named() {
    let problem = crate::declaration::parse("x", "# title\nSend(buf: nonsense)").unwrap_err();
    assert_eq!(problem, (2, "unknown kind `nonsense`".to_string()));
}

#[test]
fn an_alias_keeps_its_name_and_a_missing_constant_is_left_out() {
    let text = rust::constants(&tables(), Abi::Standard);
    assert!(text.contains("pub const MPI_C_COMPLEX: Handle = MPI_C_FLOAT_COMPLEX;"));
    assert!(!text.contains("MPI_LB"));
}
