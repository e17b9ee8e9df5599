//! The constants of MPI as Fortran has them.

use crate::abi::Abi;
use crate::constant::Constant;
use crate::fortran::names::integer;
use crate::header::is_of_failures;
use crate::kind::{object, Object};
use crate::value::Value;
use crate::Api;

/// Kinds of integers, which are constants too: addresses, offsets and counts have 8 bytes, the default kind 4, or 8 in
/// programs with wide integers.
pub fn kinds(is_wide: bool) -> [(&'static str, usize); 4] {
    let integer = if is_wide { 8 } else { 4 };
    [("MPI_ADDRESS_KIND", 8), ("MPI_COUNT_KIND", 8), ("MPI_OFFSET_KIND", 8), ("MPI_INTEGER_KIND", integer)]
}

/// What an `INTEGER` or a `LOGICAL` of 8 bytes is for MPI; there is no pair of the first.
const WIDE: [(&str, &str); 3] =
    [("MPI_INTEGER", "MPI_INTEGER8"), ("MPI_LOGICAL", "MPI_LOGICAL8"), ("MPI_2INTEGER", "")];

/// Variables that stand for something by their address: their names, and what they are in an array of `INTEGER` or a
/// `CHARACTER`.
pub const SENTINELS: [(&str, Shape); 10] = [
    ("MPI_BOTTOM", Shape::Integer(0)),
    ("MPI_IN_PLACE", Shape::Integer(0)),
    ("MPI_BUFFER_AUTOMATIC", Shape::Integer(0)),
    ("MPI_STATUS_IGNORE", Shape::Status(false)),
    ("MPI_STATUSES_IGNORE", Shape::Status(true)),
    ("MPI_ERRCODES_IGNORE", Shape::Integer(1)),
    ("MPI_ARGV_NULL", Shape::Character(1)),
    ("MPI_ARGVS_NULL", Shape::Character(2)),
    ("MPI_UNWEIGHTED", Shape::Integer(1)),
    ("MPI_WEIGHTS_EMPTY", Shape::Integer(1)),
];

/// What a sentinel is declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An integer or an array with so many dimensions.
    Integer(usize),
    /// A character in an array with so many dimensions.
    Character(usize),
    /// A status, or several.
    Status(bool),
}

/// The common block that a sentinel stands in: the library knows its address.
pub fn common(name: &str) -> String {
    name.to_lowercase().replacen("mpi_", "mpi_f_", 1)
}

/// The error classes for programs that go on without processes that fail, if there are any.
pub fn failures(api: &Api, abi: &Abi) -> Vec<(String, i64)> {
    let constants = api.constants.iter().filter(|constant| is_of_failures(constant));
    let value = |one: &Constant| Some((one.name.clone(), number(abi.value(one).for_bodies())?));
    constants.filter_map(value).collect()
}

/// The constants that are integers, with their values: not handles, and not those of C alone.
pub fn numbers(api: &Api, abi: &Abi) -> Vec<(String, i64)> {
    let of_c =
        |name: &str| name.starts_with("MPI_T_") || name.starts_with("MPI_F_") || name.starts_with("MPIX_");
    let constants = api.constants.iter().filter(|one| one.c_type == "int" && !of_c(&one.name));
    let value = |constant: &Constant| {
        let number = number(abi.value(constant).visible())?;
        // A string of C has a 0 at its end.
        let less = i64::from(constant.name.starts_with("MPI_MAX_"));
        Some((constant.name.clone(), number - less))
    };
    let status = [("MPI_SOURCE", "MPI_F_SOURCE"), ("MPI_TAG", "MPI_F_TAG"), ("MPI_ERROR", "MPI_F_ERROR")];
    let find = |name: &str| api.constants.iter().find(|one| one.name == name);
    let place = |name: &str| number(abi.value(find(name)?).for_bodies());
    let mut found: Vec<(String, i64)> = constants.filter_map(value).collect();
    found.extend(status.iter().filter_map(|(name, of_c)| Some((name.to_string(), place(of_c)? + 1))));
    found.extend(failures(api, abi));
    found.extend(place("MPI_F_STATUS_SIZE").map(|size| ("MPI_STATUS_SIZE".to_string(), size)));
    found
}

/// The predefined handles, with their kinds and their integers.
pub fn handles(api: &Api, abi: &Abi, is_wide: bool) -> Vec<(String, &'static Object, i64)> {
    let found = api.constants.iter().filter(|one| !one.name.starts_with("MPIX_")).filter_map(|constant| {
        let kind = object(&constant.c_type)?;
        let wide = WIDE.iter().find(|(name, _)| is_wide && *name == constant.name);
        let text = integer(api, abi, wide.map_or(&constant.name, |(_, instead)| instead))?;
        Some((constant.name.clone(), kind, number(&Value::Number(text))?))
    });
    found.collect()
}

fn number(value: &Value) -> Option<i64> {
    let Value::Number(text) = value else { return None };
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok().map(|number| i64::from(number as u32 as i32)),
        None => text.parse().ok(),
    }
}
