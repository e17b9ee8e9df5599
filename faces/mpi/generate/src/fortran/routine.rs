//! Which functions of MPI Fortran has, and by what names.

use super::library::{Library, Style};
use crate::abi::Abi;
use crate::declaration::Declaration;
use crate::kind::Kind;
use crate::Api;

/// Chapters that are C's alone.
const OF_C: [&str; 4] = ["fortran", "handle", "tool", "support"];
/// Functions that are C's alone.
const FUNCTIONS_OF_C: [&str; 5] = [
    "MPI_Abi_get_fortran_booleans",
    "MPI_Abi_set_fortran_booleans",
    "MPI_Abi_set_fortran_info",
    "MPI_Precv_init_c",
    "MPI_Psend_init_c",
];

/// Routines whose wrappers are written by hand, in `faces/fortran/src/by_hand`: what they do to their arguments
/// does not follow from the kinds of these.
const BY_HAND: [&str; 38] = [
    "MPI_Address",
    "MPI_Attr_get",
    "MPI_Attr_put",
    "MPI_Comm_create_errhandler",
    "MPI_Comm_create_keyval",
    "MPI_Comm_get_attr",
    "MPI_Comm_set_attr",
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
    "MPI_Errhandler_create",
    "MPI_File_create_errhandler",
    "MPI_Grequest_start",
    "MPI_Info_create_env",
    "MPI_Info_get",
    "MPI_Info_get_string",
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Keyval_create",
    "MPI_Op_create",
    "MPI_Op_create_c",
    "MPI_Pcontrol",
    "MPI_Register_datarep",
    "MPI_Register_datarep_c",
    "MPI_Session_create_errhandler",
    "MPI_Session_get_nth_pset",
    "MPI_Type_create_keyval",
    "MPI_Type_extent",
    "MPI_Type_get_attr",
    "MPI_Type_hindexed",
    "MPI_Type_hvector",
    "MPI_Type_lb",
    "MPI_Type_set_attr",
    "MPI_Type_struct",
    "MPI_Type_ub",
    "MPI_Win_create_errhandler",
    "MPI_Win_create_keyval",
    "MPI_Win_get_attr",
    "MPI_Win_set_attr",
];

/// What Fortran has and C has not, or under another name: routines by hand, as those of [`BY_HAND`].
pub const ONLY_FORTRAN: [&str; 21] = [
    "MPI_Alloc_mem_cptr",
    "MPI_Comm_dup_fn",
    "MPI_Comm_null_copy_fn",
    "MPI_Comm_null_delete_fn",
    "MPI_Conversion_fn_null",
    "MPI_Conversion_fn_null_c",
    "MPI_Dup_fn",
    "MPI_F_sync_reg",
    "MPI_Null_copy_fn",
    "MPI_Null_delete_fn",
    "MPI_Status_f082f",
    "MPI_Status_f2f08",
    "MPI_Type_dup_fn",
    "MPI_Type_null_copy_fn",
    "MPI_Type_null_delete_fn",
    "MPI_Win_allocate_cptr",
    "MPI_Win_allocate_shared_cptr",
    "MPI_Win_dup_fn",
    "MPI_Win_null_copy_fn",
    "MPI_Win_null_delete_fn",
    "MPI_Win_shared_query_cptr",
];

/// The functions that Fortran has of those of an ABI.
pub fn routines<'a>(api: &'a Api, abi: &'a Abi, sets: &'a [String]) -> impl Iterator<Item = &'a Declaration> {
    api.declarations_of(abi).filter(move |declaration| {
        let set = declaration.marks.set.as_ref();
        set.is_none_or(|set| sets.contains(set))
            && !OF_C.contains(&declaration.chapter.as_str())
            && !FUNCTIONS_OF_C.contains(&declaration.name.as_str())
    })
}

/// Whether a routine gets functions of the program.
pub fn has_callback(declaration: &Declaration) -> bool {
    declaration.arguments.iter().any(|argument| matches!(argument.kind, Kind::Function(_)))
}

/// Of these, the ones that have strings, which may come as descriptors.
const WITH_TEXT: [&str; 7] = [
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
    "MPI_Info_get",
    "MPI_Info_get_string",
    "MPI_Register_datarep",
    "MPI_Register_datarep_c",
    "MPI_Session_get_nth_pset",
];

/// The wrapper of a routine, if it is written by hand.
pub fn by_hand(declaration: &Declaration, style: Style) -> Option<String> {
    let name = declaration.name.as_str();
    let room = if style == Style::Bound && WITH_TEXT.contains(&name) { "by_hand::bound" } else { "by_hand" };
    BY_HAND.contains(&name).then(|| format!("{room}::{}", declaration.body()))
}

/// The names of a routine by patterns, the first of which is that of the wrapper itself.
pub fn names(patterns: &[String], name: &str) -> Vec<String> {
    // `MPI_Send` is `x`; `MPIX_Send` is `x` too, and the prefix has its X.
    let (prefix, short) = name.split_once('_').unwrap_or(("MPI", name));
    let of = |pattern: &String| {
        let full = pattern.replacen("mpi", &prefix.to_lowercase(), 1).replacen("MPI", prefix, 1);
        let middle = match style(pattern) {
            Case::Lower => short.to_lowercase(),
            Case::Upper => short.to_uppercase(),
            Case::AsIs => short.to_string(),
        };
        let (before, after) = split(&full);
        format!("{before}{middle}{after}")
    };
    patterns.iter().map(of).collect()
}

enum Case {
    Lower,
    Upper,
    AsIs,
}

/// `mpi_x` in lower case, `MPI_X` in upper case, `MPI_x` as it is.
fn style(pattern: &str) -> Case {
    match (pattern.contains("MPI"), pattern.contains("_X")) {
        (false, _) => Case::Lower,
        (true, true) => Case::Upper,
        (true, false) => Case::AsIs,
    }
}

/// What stands before and behind the `x` of a pattern, which follows the last `_`x in it.
fn split(pattern: &str) -> (&str, &str) {
    let place = pattern.rfind("_x").or_else(|| pattern.rfind("_X")).map_or(pattern.len(), |place| place + 1);
    (&pattern[..place], pattern.get(place + 1..).unwrap_or(""))
}

/// What a library calls a function of C.
pub fn called(library: &Library, name: &str) -> String {
    match library.calls.as_str() {
        "PMPI_" => format!("P{name}"),
        _ => name.to_string(),
    }
}
