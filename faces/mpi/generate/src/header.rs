//! `mpi.h` of the standard ABI: types and callback types as they stand in
//! `types.h` and `callbacks.h`, constants and prototypes made from the tables.

use crate::constant::{Constant, Value};
use crate::declaration::Declaration;
use crate::{Abi, Api};
use std::fmt::Write;

const TYPES: &str = include_str!("types.h");
const CALLBACKS: &str = include_str!("callbacks.h");
const EPILOGUE: &str = "\n#if defined(__cplusplus)\n}\n#endif\n\n#endif\n";

/// The whole header.
pub fn header(api: &Api) -> String {
    let mut text = TYPES.to_string() + CALLBACKS;
    let mut section = "";
    for constant in &api.constants {
        let Some(value) = value(constant) else { continue };
        if section != constant.section {
            section = &constant.section;
            let _ = writeln!(text, "\n/* {section} */");
        }
        let _ = writeln!(text, "#define {:<34} {value}", constant.name);
    }
    text + &prototypes(api, Abi::Standard) + EPILOGUE
}

/// The callback types and the prototypes of an ABI, to be compiled after
/// another header of that ABI: where they differ, the compiler says so.
pub fn declarations(api: &Api, abi: Abi) -> String {
    CALLBACKS.to_string() + &prototypes(api, abi)
}

/// `name value` of every constant of an ABI that has a number, a line each.
pub fn numbers(api: &Api, abi: Abi) -> String {
    let value_of = |constant: &Constant| match constant.value(abi) {
        Value::Number(number) => Some(number.clone()),
        Value::Alias(name) => match api.constants.iter().find(|other| other.name == *name)?.value(abi) {
            Value::Number(number) => Some(number.clone()),
            _ => None,
        },
        _ => None,
    };
    let line = |constant: &Constant| Some(format!("{} {}\n", constant.name, value_of(constant)?));
    api.constants.iter().filter_map(line).collect()
}

fn prototypes(api: &Api, abi: Abi) -> String {
    let mut text = String::new();
    for profiling in ["", "P"] {
        let mut chapter = "";
        for declaration in &api.declarations {
            if !declaration.is_in(abi) || declaration.unlisted && abi == Abi::Standard {
                continue;
            }
            if chapter != declaration.chapter {
                chapter = &declaration.chapter;
                let _ = writeln!(text, "\n/* {chapter} */");
            }
            text.push_str(&prototype(declaration, profiling, false));
            if declaration.has_wide_form() {
                text.push_str(&prototype(declaration, profiling, true));
            }
        }
    }
    text
}

fn value(constant: &Constant) -> Option<String> {
    match constant.value(Abi::Standard) {
        Value::None | Value::Symbol => None,
        Value::Alias(other) => Some(other.clone()),
        Value::Number(number) if constant.c_type == "int" && number.starts_with('-') => {
            Some(format!("({number})"))
        }
        Value::Number(number) if constant.c_type == "int" => Some(number.clone()),
        Value::Number(number) => Some(format!("(({}){number})", constant.c_type)),
    }
}

fn prototype(declaration: &Declaration, profiling: &str, wide: bool) -> String {
    let returns = declaration.returns.as_deref().unwrap_or("int");
    let mut arguments: Vec<String> = declaration
        .arguments
        .iter()
        .map(|argument| argument.kind.c_declaration(&argument.name, wide))
        .collect();
    if declaration.name == "MPI_Pcontrol" {
        arguments.push("...".to_string());
    }
    if arguments.is_empty() {
        arguments.push("void".to_string());
    }
    let name = &declaration.name;
    let suffix = if wide { "_c" } else { "" };
    format!("{returns} {profiling}{name}{suffix}({});\n", arguments.join(", "))
}
