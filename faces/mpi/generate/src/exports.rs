//! Rust made from the tables: the names of all calls, and the `extern "C"`
//! functions of an ABI.
//!
//! Each function exists twice, as `PMPI_…` with the work and as `MPI_…` that
//! jumps there, so that a profiling tool can take over `MPI_…`.

use crate::abi::Abi;
use crate::declaration::{Declaration, Raises};
use crate::kind::raw_rust_type;
use crate::{Api, Problem};
use std::fmt::Write;

/// All calls of all ABIs, in an order that every build shares: name, and whether
/// it is the start of a collective operation. The first is no call.
fn calls(api: &Api) -> Vec<(String, bool)> {
    let mut calls = vec![(String::new(), false)];
    for declaration in &api.declarations {
        let collective = declaration.marks.collective;
        calls.push((declaration.name.clone(), collective));
        if declaration.has_wide_form() {
            calls.push((format!("{}_c", declaration.name), collective));
        }
    }
    calls
}

/// The names of all calls; the first is empty (no call).
pub fn names(api: &Api) -> Vec<String> {
    calls(api).into_iter().map(|(name, _)| name).collect()
}

/// `NAMES` and `COLLECTIVE`: what is known of every call, by its number.
pub fn lists(api: &Api) -> String {
    let (names, collective): (Vec<_>, Vec<_>) = calls(api).into_iter().unzip();
    let count = names.len();
    format!(
        "/// The names of all calls; a call is known by its number.\n\
         pub static NAMES: [&str; {count}] = {names:?};\n\
         /// Whether a collective operation begins with a call.\n\
         pub static COLLECTIVE: [bool; {count}] = {collective:?};\n"
    )
}

/// The functions of an ABI.
///
/// # Errors
/// A declaration that cannot be made into a function.
pub fn functions(api: &Api, abi: &Abi) -> Result<String, Problem> {
    let names = names(api);
    let mut text = String::new();
    for declaration in api.declarations_of(abi) {
        for wide in [false, true] {
            if !wide || declaration.has_wide_form() {
                let name = format!("{}{}", declaration.name, if wide { "_c" } else { "" });
                let index = names.iter().position(|known| *known == name).ok_or("a name got lost")?;
                text.push_str(&function(declaration, &name, index, wide));
            }
        }
        for (alias, _) in abi.aliases.iter().filter(|(_, whose)| *whose == declaration.name) {
            text.push_str(&twins(declaration, alias, false, &format!("P{}", declaration.name)));
        }
    }
    Ok(text + &bodies_of_others(api, abi))
}

/// Names the bodies of functions that this ABI has not, so that the compiler does not
/// take them for forgotten ones.
fn bodies_of_others(api: &Api, abi: &Abi) -> String {
    let others = api.declarations.iter().filter(|declaration| !abi.has_function(declaration));
    let with_bodies = others.filter(|declaration| !declaration.marks.absent);
    let named = with_bodies.map(|one| format!("    let _ = functions::{}::{};\n", one.chapter, one.body()));
    format!("#[allow(dead_code)]\nfn bodies_of_others() {{\n{}}}\n", named.collect::<String>())
}

fn function(declaration: &Declaration, name: &str, index: usize, wide: bool) -> String {
    let arguments = arguments(declaration);
    let returned = returned(declaration);
    let work = if declaration.marks.absent {
        absent(declaration, name, index, returned)
    } else if declaration.marks.raw {
        format!("functions::{}::{}({arguments})", declaration.chapter, declaration.body())
    } else {
        checked_call(declaration, index, wide)
    };
    let parameters = parameters(declaration, wide);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "#[no_mangle]\npub unsafe extern \"C\" fn P{name}({parameters}) -> {returned} {{\n    {work}\n}}"
    );
    text + &one(declaration, name, wide, &format!("P{name}"))
}

/// Two functions of one name, without and with the P, that jump to another.
fn twins(declaration: &Declaration, name: &str, wide: bool, target: &str) -> String {
    one(declaration, &format!("P{name}"), wide, target) + &one(declaration, name, wide, target)
}

fn one(declaration: &Declaration, name: &str, wide: bool, target: &str) -> String {
    let (parameters, arguments) = (parameters(declaration, wide), arguments(declaration));
    let returned = returned(declaration);
    format!(
        "#[no_mangle]\npub unsafe extern \"C\" fn {name}({parameters}) -> {returned} {{\n    {target}({arguments})\n}}\n"
    )
}

fn parameters(declaration: &Declaration, wide: bool) -> String {
    let parameters = declaration.arguments.iter();
    let parameters =
        parameters.map(|argument| format!("{}: {}", argument.name, argument.kind.rust_type(wide)));
    parameters.collect::<Vec<_>>().join(", ")
}

fn arguments(declaration: &Declaration) -> String {
    declaration.arguments.iter().map(|argument| argument.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn returned(declaration: &Declaration) -> &'static str {
    declaration.returns.as_deref().map_or("c_int", raw_rust_type)
}

fn checked_call(declaration: &Declaration, index: usize, wide: bool) -> String {
    let raised_on = raised_on(declaration);
    let when = if declaration.marks.anytime { "Anytime" } else { "Running" };
    let form = declaration.marks.forms.then(|| wide.to_string());
    let arguments = declaration.arguments.iter().map(|argument| argument.kind.convert(&argument.name));
    let converted: Vec<String> = form.into_iter().chain(arguments).collect();
    let (chapter, body, converted) = (&declaration.chapter, declaration.body(), converted.join(", "));
    format!(
        "entry::call({index}, When::{when}, {raised_on}, |call| functions::{chapter}::{body}({converted}))"
    )
}

fn absent(declaration: &Declaration, name: &str, index: usize, returned: &str) -> String {
    match returned {
        "c_int" => format!("entry::absent({index}, \"{name}\", {})", raised_on(declaration)),
        _ => "std::mem::zeroed()".to_string(),
    }
}

/// On what an error is raised, where the table does not say it: the first communicator or
/// session among the arguments, else the one that the call makes, if its error handler is
/// an argument, else no object.
fn raised_on(declaration: &Declaration) -> String {
    match declaration.marks.raises {
        Some(Raises::Nobody) => return "RaisedOn::Nobody".to_string(),
        Some(Raises::File) | None => (),
    }
    let is_of_files = declaration.marks.raises == Some(Raises::File);
    for argument in &declaration.arguments {
        if let Some(object) =
            argument.kind.answers_for_errors().filter(|object| !is_of_files || *object == "File")
        {
            let name = &argument.name;
            return match object {
                "File" if argument.kind.is_pointer_to_handle() => {
                    format!("RaisedOn::File(arguments::peek_file({name}))")
                }
                _ if argument.kind.is_pointer_to_handle() => {
                    format!("RaisedOn::{object}(arguments::peek({name}))")
                }
                _ => format!("RaisedOn::{object}({name})"),
            };
        }
    }
    if is_of_files {
        return "RaisedOn::File(abi::MPI_FILE_NULL)".to_string();
    }
    let handler = declaration.arguments.iter().find(|argument| argument.kind.is_error_handler());
    let made = declaration.arguments.iter().find_map(|argument| argument.kind.made_with_handler());
    match (handler, made) {
        (Some(handler), Some(made)) => format!("RaisedOn::{made}({})", handler.name),
        _ => "RaisedOn::NoObject".to_string(),
    }
}
