//! What modules of other makers look for in their library besides routines: predefined handles as
//! variables, functions that compare handles, `MPI_Sizeof`, names that a module has for functions.

use super::library::Library;
use super::routine::ONLY_FORTRAN;
use crate::abi::Abi;
use crate::kind::{object, OBJECTS};
use crate::value::Value;
use crate::Api;
use std::fmt::Write;

/// All of it, as Rust.
pub fn exported(api: &Api, abi: &Abi, library: &Library) -> String {
    let mut text = String::new();
    for name in ONLY_FORTRAN {
        let names = filled(&library.functions, &name.to_lowercase());
        if !names.is_empty() {
            let target = name[4..].to_lowercase();
            let _ = writeln!(text, "also! {{ by_hand::{target}: {} }}", names.join(" "));
        }
    }
    for constant in &api.constants {
        let mut names = filled(&library.handles, &constant.name.to_lowercase());
        let others = library.handle_names.iter().filter(|(_, whose)| *whose == constant.name);
        names.extend(others.map(|(name, _)| name.clone()));
        let Some(number) = integer(api, abi, &constant.name).filter(|_| object(&constant.c_type).is_some())
        else {
            continue;
        };
        for name in names {
            let _ = writeln!(text, "#[no_mangle]\npub static {name}: c_int = {number}_i64 as c_int;");
        }
    }
    for (patterns, operator) in library.compared.iter().zip(["==", "!="]) {
        let names: Vec<String> = OBJECTS.iter().flat_map(|object| filled(patterns, object.name)).collect();
        let _ = writeln!(text, "compared! {{ {operator} {} }}", names.join(" "));
    }
    if !library.told.is_empty() {
        let told = library.told.iter();
        let told =
            told.map(|(name, (symbol, offset))| format!("{name} {symbol} + {offset}")).collect::<Vec<_>>();
        let _ = writeln!(text, "told! {{ {} }}", told.join(", "));
    }
    for (name, bytes) in &library.sizes {
        let _ = writeln!(text, "sized! {{ {name} {bytes} }}");
    }
    text
}

fn filled(patterns: &[String], name: &str) -> Vec<String> {
    patterns
        .iter()
        .map(|pattern| match pattern.split_once("_MOD_") {
            // Only behind the name of the module: that may have an x too.
            Some((module, rest)) => format!("{module}_MOD_{}", rest.replacen('x', name, 1)),
            None => pattern.replacen('x', name, 1),
        })
        .collect()
}

/// The integer that Fortran has for a predefined handle.
pub fn integer(api: &Api, abi: &Abi, name: &str) -> Option<String> {
    let constant = api.constants.iter().find(|constant| constant.name == name)?;
    match abi.value(constant).visible() {
        Value::Number(number) => Some(number.clone()),
        Value::Object(_, number) => Some(number.to_string()),
        Value::Alias(other) => integer(api, abi, other),
        _ => None,
    }
}
