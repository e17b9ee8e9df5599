//! Rust made from the tables: the `extern "C"` functions of an ABI, its
//! constants, the names of all calls.
//!
//! Each function exists twice, as `PMPI_…` with the work and as `MPI_…` that
//! jumps there, so that a profiling tool can take over `MPI_…`.

use crate::constant::Value;
use crate::declaration::Declaration;
use crate::kind::raw_rust_type;
use crate::{Abi, Api, Problem};
use std::fmt::Write;

/// The names of all calls of both ABIs, in an order that every build shares;
/// the first is empty (no call).
pub fn names(api: &Api) -> Vec<String> {
    let mut names = vec![String::new()];
    for declaration in &api.declarations {
        names.push(declaration.name.clone());
        if declaration.has_wide_form() {
            names.push(format!("{}_c", declaration.name));
        }
    }
    names
}

/// The functions of `abi`, and `NAMES`, the names of all calls.
///
/// # Errors
/// A declaration that cannot be made into a function.
pub fn functions(api: &Api, abi: Abi) -> Result<String, Problem> {
    let names = names(api);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "/// The names of all calls; a call is known by its index.\npub static NAMES: &[&str] = &{names:?};"
    );
    for declaration in api.declarations.iter().filter(|declaration| declaration.is_in(abi)) {
        for wide in [false, true] {
            if !wide || declaration.has_wide_form() {
                let name = format!("{}{}", declaration.name, if wide { "_c" } else { "" });
                let index = names.iter().position(|known| *known == name).ok_or("a name got lost")?;
                text.push_str(&function(declaration, &name, index, wide));
            }
        }
    }
    Ok(text)
}

fn function(declaration: &Declaration, name: &str, index: usize, wide: bool) -> String {
    let parameters: Vec<String> = declaration
        .arguments
        .iter()
        .map(|argument| format!("{}: {}", argument.name, argument.kind.rust_type(wide)))
        .collect();
    let arguments: Vec<&str> = declaration.arguments.iter().map(|argument| argument.name.as_str()).collect();
    let (parameters, arguments) = (parameters.join(", "), arguments.join(", "));
    let returned = declaration.returns.as_deref().map_or("c_int", raw_rust_type);
    let work = if declaration.absent {
        absent(declaration, name, index, returned)
    } else if declaration.raw {
        format!("functions::{}::{}({arguments})", declaration.chapter, declaration.body())
    } else {
        checked_call(declaration, index, wide)
    };
    format!(
        "#[no_mangle]\npub unsafe extern \"C\" fn P{name}({parameters}) -> {returned} {{\n    {work}\n}}\n\
         #[no_mangle]\npub unsafe extern \"C\" fn {name}({parameters}) -> {returned} {{\n    P{name}({arguments})\n}}\n"
    )
}

fn checked_call(declaration: &Declaration, index: usize, wide: bool) -> String {
    let blame = blame(declaration);
    let when = if declaration.anytime { "Anytime" } else { "Running" };
    let form = declaration.forms.then(|| wide.to_string());
    let arguments = declaration.arguments.iter().map(|argument| argument.kind.convert(&argument.name));
    let converted: Vec<String> = form.into_iter().chain(arguments).collect();
    let (chapter, body, converted) = (&declaration.chapter, declaration.body(), converted.join(", "));
    format!("border::call({index}, When::{when}, {blame}, |call| functions::{chapter}::{body}({converted}))")
}

fn absent(declaration: &Declaration, name: &str, index: usize, returned: &str) -> String {
    match returned {
        "c_int" => format!("border::absent({index}, \"{name}\", {})", blame(declaration)),
        _ => "std::mem::zeroed()".to_string(),
    }
}

/// Whose error handler answers: that of the first communicator or session among
/// the arguments, else that of `MPI_COMM_SELF`.
fn blame(declaration: &Declaration) -> String {
    if declaration.chapter == "tool" {
        return "Blame::Nobody".to_string();
    }
    if declaration.chapter == "file" {
        return "Blame::File".to_string();
    }
    for argument in &declaration.arguments {
        if let Some(object) = argument.kind.answers_for_errors() {
            let name = &argument.name;
            return match object {
                "File" => "Blame::File".to_string(),
                _ if argument.kind.is_pointer_to_handle() => {
                    format!("Blame::{object}(arguments::peek({name}))")
                }
                _ => format!("Blame::{object}({name})"),
            };
        }
    }
    "Blame::CommSelf".to_string()
}

/// The constants of `abi` as Rust constants with the types of that ABI.
pub fn constants(api: &Api, abi: Abi) -> String {
    let mut text = String::new();
    for constant in &api.constants {
        let (name, c_type) = (&constant.name, constant.c_type.as_str());
        let rust = constant_type(c_type);
        let value = match constant.value(abi) {
            Value::None | Value::Symbol => continue,
            Value::Alias(other) => other.clone(),
            Value::Number(number) if rust.starts_with('*') => format!("{number}_isize as {rust}"),
            Value::Number(number) => format!("{number}_i64 as {rust}"),
        };
        let _ = writeln!(text, "/// `{c_type} {name}`\npub const {name}: {rust} = {value};");
    }
    text
}

fn constant_type(c_type: &str) -> &'static str {
    match c_type {
        "int" => "c_int",
        "MPI_Status*" => "*mut Status",
        "MPI_File" => "FileHandle",
        "MPI_Offset" => "i64",
        _ if c_type.ends_with('*') || c_type.starts_with("MPI_T_") => "*mut c_void",
        _ => "Handle",
    }
}
