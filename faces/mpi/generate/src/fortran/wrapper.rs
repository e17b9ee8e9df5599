//! Rust made for a Fortran library: the wrapper of each routine, and its further names.

use super::library::{Library, Style};
use super::passing::{Context, Passed};
use super::routine::{by_hand, called, has_callback, names, routines, ONLY_FORTRAN};
use super::widened::takes_large_counts;
use crate::abi::Abi;
use crate::declaration::Declaration;
use crate::kind::raw_rust_type;
use crate::Api;
use std::fmt::Write;

/// All wrappers of a library.
pub fn wrappers(api: &Api, abi: &Abi, library: &Library) -> String {
    let mut text = String::new();
    for block in &library.blocks {
        for declaration in routines(api, abi, &library.sets) {
            let of_large = declaration.name.strip_suffix("_c");
            let mut all = vec![of_large.unwrap_or(&declaration.name).to_string()];
            let aliases = abi.aliases.iter().filter(|(_, whose)| *whose == declaration.name);
            all.extend(aliases.map(|(name, _)| name.clone()));
            // A function that is there for large counts alone has their names and one form.
            let forms: &[(bool, bool)] = match (of_large.is_some(), declaration.has_wide_form()) {
                (true, _) => &[(true, false)],
                _ if library.is_wide() => &[(false, takes_large_counts(declaration))],
                (_, true) => &[(false, false), (true, true)],
                (_, false) => &[(false, false)],
            };
            for &(large, wide) in forms {
                let patterns = block.patterns(declaration, large);
                // An interface of C takes no procedure of Fortran, so these routines have an ordinary one.
                let is_ordinary = block.style == Style::Bound && has_callback(declaration);
                let (end, style) = if is_ordinary { ("_", Style::Plain) } else { ("", block.style) };
                let known = all.iter().flat_map(|name| names(patterns, name)).map(|name| name + end);
                let known: Vec<String> = known.collect();
                let Some(first) = known.first() else { continue };
                match by_hand(declaration, style) {
                    Some(target) => also(&mut text, &target, &known),
                    None => {
                        let context = Context { abi, library, style: block.style, declaration, wide };
                        // No name that a program may have too: `PMPI_Send` must come here though it brings an `MPI_Send`.
                        let routine = format!("routine_{first}");
                        text.push_str(&wrapper(&context, &routine));
                        also(&mut text, &routine, &known);
                    }
                }
            }
        }
        for name in ONLY_FORTRAN {
            let target = format!("by_hand::{}", name[4..].to_lowercase());
            let known = [names(&block.names, name), names(&block.buffered, name)].concat();
            also(&mut text, &target, &known);
        }
    }
    text
}

/// The names of a routine.
fn also(text: &mut String, target: &str, names: &[String]) {
    if !names.is_empty() {
        let _ = writeln!(text, "also! {{ {target}: {} }}", names.join(" "));
    }
}

fn wrapper(context: &Context<'_>, name: &str) -> String {
    let declaration = context.declaration;
    let passed: Vec<Passed> = declaration.arguments.iter().map(|argument| context.pass(argument)).collect();
    let mut call = call(context);
    if let Some(fit) = context.counts_fit() {
        call =
            format!("if {fit} {{ {call} }} else {{ {} }}", self::call(&Context { wide: true, ..*context }));
    }
    let mut parameters: Vec<String> = passed.iter().map(|one| one.parameter.clone()).collect();
    let returned = match &declaration.returns {
        Some(c_type) => format!(" -> {}", raw_rust_type(c_type)),
        None => {
            parameters.push("ierror: *mut Fint".to_string());
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
    let after_success = statements(|one| &one.after_success) + &context.kept();
    if !after_success.is_empty() {
        let _ = writeln!(body, "    if code == abi::MPI_SUCCESS {{\n{after_success}    }}");
    }
    body += &statements(|one| &one.after);
    if declaration.returns.is_none() {
        body += "    report(ierror, code);\n";
    }
    format!("unsafe extern \"C\" fn {name}({}){returned} {{\n{body}}}\n", parameters.join(", "))
}

/// The call of the C function.
fn call(context: &Context<'_>) -> String {
    let declaration = context.declaration;
    let function = called(context.library, &declaration.name) + if context.wide { "_c" } else { "" };
    let expression =
        |argument| context.replaced(argument).unwrap_or_else(|| context.pass(argument).expression);
    let arguments: Vec<String> = declaration.arguments.iter().map(expression).collect();
    format!("{function}({})", arguments.join(", "))
}

/// The functions of the C library, as Rust declares them.
pub fn functions_of_c(api: &Api, abi: &Abi, library: &Library) -> String {
    let mut text = "extern \"C\" {\n".to_string();
    for declaration in api.declarations_of(abi) {
        if declaration.chapter == "tool" {
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
