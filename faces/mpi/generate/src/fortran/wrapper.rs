//! Rust made for a Fortran library: the wrapper of each routine, and its further names.

use super::library::{Library, Style};
use super::passing::{Context, Passed};
use super::routine::{called, is_by_hand, names, routines, ONLY_FORTRAN};
use crate::abi::Abi;
use crate::declaration::Declaration;
use crate::kind::raw_rust_type;
use crate::Api;
use std::fmt::Write;

/// All wrappers of a library.
pub fn wrappers(api: &Api, abi: &Abi, library: &Library) -> String {
    let mut text = String::new();
    for declaration in routines(api, abi, &library.sets) {
        let mut all = vec![declaration.name.clone()];
        all.extend(
            abi.aliases.iter().filter(|(_, whose)| *whose == declaration.name).map(|(name, _)| name.clone()),
        );
        for (patterns, wide) in [(&library.names, false), (&library.large, true)] {
            if patterns.is_empty() || wide && !declaration.has_wide_form() {
                continue;
            }
            let known: Vec<String> = all.iter().flat_map(|name| names(patterns, name)).collect();
            let (first, others) = known.split_first().expect("there is a pattern");
            match is_by_hand(declaration) {
                true => also(&mut text, &format!("by_hand::{}", declaration.body()), &known),
                false => {
                    let context = Context { abi, library, declaration, wide };
                    text.push_str(&wrapper(&context, first));
                    also(&mut text, first, others);
                }
            }
        }
    }
    for name in ONLY_FORTRAN {
        also(&mut text, &format!("by_hand::{}", name[4..].to_lowercase()), &names(&library.names, name));
    }
    text
}

/// More names of a routine.
fn also(text: &mut String, target: &str, names: &[String]) {
    if !names.is_empty() {
        let _ = writeln!(text, "also! {{ {target}: {} }}", names.join(" "));
    }
}

fn wrapper(context: &Context<'_>, name: &str) -> String {
    let declaration = context.declaration;
    let passed: Vec<Passed> = declaration.arguments.iter().map(|argument| context.pass(argument)).collect();
    let function = called(context.library, &declaration.name) + if context.wide { "_c" } else { "" };
    let arguments: Vec<&str> = passed.iter().map(|one| one.expression.as_str()).collect();
    let mut call = format!("{function}({})", arguments.join(", "));
    let mut parameters: Vec<String> = passed.iter().map(|one| one.parameter.clone()).collect();
    let returned = match &declaration.returns {
        Some(c_type) => format!(" -> {}", raw_rust_type(c_type)),
        None => {
            parameters.push("ierror: *mut c_int".to_string());
            call = format!("let code = {call};");
            String::new()
        }
    };
    parameters.extend(passed.iter().filter_map(|one| one.length.clone()));
    let mut body = String::new();
    let statements = |part: fn(&Passed) -> &String| {
        passed
            .iter()
            .map(part)
            .filter(|text| !text.is_empty())
            .fold(String::new(), |all, one| all + "    " + one + "\n")
    };
    body += &statements(|one| &one.before);
    body += &format!("    {call}\n");
    let after_success = statements(|one| &one.after_success);
    if !after_success.is_empty() {
        let _ = writeln!(body, "    if code == abi::MPI_SUCCESS {{\n{after_success}    }}");
    }
    body += &statements(|one| &one.after);
    if declaration.returns.is_none() {
        body += "    report(ierror, code);\n";
    }
    format!(
        "#[no_mangle]\npub unsafe extern \"C\" fn {name}({}){returned} {{\n{body}}}\n",
        parameters.join(", ")
    )
}

/// The functions of the C library, as Rust declares them.
pub fn functions_of_c(api: &Api, abi: &Abi, library: &Library) -> String {
    let mut text = "extern \"C\" {\n".to_string();
    for declaration in api.declarations_of(abi) {
        if ["tool", "extension"].contains(&declaration.chapter.as_str()) {
            continue;
        }
        for wide in [false, true] {
            if !wide || declaration.has_wide_form() {
                text.push_str(&function_of_c(library, declaration, wide));
            }
        }
    }
    text + "}\n"
}

fn function_of_c(library: &Library, declaration: &Declaration, wide: bool) -> String {
    let name = called(library, &declaration.name) + if wide { "_c" } else { "" };
    let parameters: Vec<String> = declaration
        .arguments
        .iter()
        .map(|argument| format!("{}: {}", argument.name, argument.kind.rust_type(wide)))
        .collect();
    let returned = declaration.returns.as_deref().map_or("c_int", raw_rust_type);
    let short = declaration.body() + if wide { "_c" } else { "" };
    // By hand they are known by a name that does not depend on the library.
    format!(
        "    pub fn {name}({0}) -> {returned};\n    #[link_name = \"{name}\"]\n    pub fn c_{short}({0}) -> {returned};\n",
        parameters.join(", ")
    )
}

/// Whether wrappers of a library look into descriptors.
pub fn has_descriptors(library: &Library) -> bool {
    library.style != Style::Plain
}
