//! Rust made from the tables: the names of all calls, and the `extern "C"` functions.
//!
//! Each function exists twice, as `pshmem_…` with the work and as `shmem_…` that jumps there, so that a profiling tool
//! can take over `shmem_…`.

use crate::declaration::Declaration;
use crate::symbol::{symbols, Of, Symbol};
use crate::{Api, Problem};
use std::fmt::Write;

/// What takes or gives a long double by value stands in `long_double.rs`, for Rust has no such type.
const LONG_DOUBLE: &str = "LongDouble";

/// `NAMES`: the name of each call.
pub fn names(api: &Api) -> String {
    let names: Vec<String> = calls(api);
    format!("/// The names of all calls.\npub static NAMES: [&str; {}] = {names:?};\n", names.len())
}

/// A function in all types is one call.
fn calls(api: &Api) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in api.declarations.iter().map(Declaration::full_name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// All functions.
///
/// # Errors
/// A declaration that cannot be made into a function.
pub fn functions(api: &Api) -> Result<String, Problem> {
    let calls = calls(api);
    let mut text = String::new();
    for declaration in &api.declarations {
        let name = declaration.full_name();
        let call = calls.iter().position(|known| *known == name).ok_or("a name got lost")?;
        let constant = format!("CALL_{}", name.to_uppercase());
        if !text.contains(&format!("const {constant}:")) {
            let _ = writeln!(text, "pub const {constant}: usize = FIRST_CALL + {call};");
        }
        let takes_ctx = takes_ctx(api, declaration);
        for symbol in symbols(declaration).iter().filter(|symbol| !is_by_hand(symbol)) {
            text.push_str(&function(symbol, &constant, takes_ctx)?);
        }
    }
    Ok(text)
}

/// Whether the body takes a context, which may be that of a newer function.
fn takes_ctx(api: &Api, declaration: &Declaration) -> bool {
    let is_body = |one: &&Declaration| one.chapter == declaration.chapter && one.name == declaration.body;
    api.declarations.iter().find(is_body).is_some_and(|body| body.marks.ctx)
}

fn is_by_hand(symbol: &Symbol) -> bool {
    let declaration = symbol.declaration;
    let mut all = declaration.arguments.iter().map(|(c_type, _)| c_type).chain([&declaration.returns]);
    matches!(&symbol.of, Of::Type(one) if one.rust == LONG_DOUBLE) && all.any(|c_type| c_type == "TYPE")
}

fn function(symbol: &Symbol, constant: &str, takes_ctx: bool) -> Result<String, Problem> {
    let declaration = symbol.declaration;
    let mut parameters: Vec<String> = Vec::new();
    let mut arguments: Vec<String> = vec!["call".to_owned()];
    if symbol.ctx {
        parameters.push("ctx: shmem_ctx_t".to_owned());
    }
    if takes_ctx {
        arguments.push(if symbol.ctx { "ctx" } else { "SHMEM_CTX_DEFAULT" }.to_owned());
    }
    for (c_type, name) in &declaration.arguments {
        parameters.push(format!("{name}: {}", rust_type(symbol, c_type)?));
        arguments.push(name.clone());
    }
    let names: Vec<&str> = parameters.iter().filter_map(|one| one.split_once(':')).map(|one| one.0).collect();
    let (names, parameters) = (names.join(", "), parameters.join(", "));
    let returned = rust_type(symbol, &declaration.returns)?;
    let (public, inner) = (symbol.name(false), symbol.name(true));
    let of = match generic(symbol) {
        Some(of) => format!("::<{of}>"),
        None => String::new(),
    };
    let (chapter, body) = (&declaration.chapter, &declaration.body);
    let when = if declaration.marks.anytime { "Anytime" } else { "Running" };
    let wall = match (declaration.marks.status, declaration.marks.asks) {
        (true, _) => "status",
        (_, true) => "asked",
        _ => "call",
    };
    let arguments = arguments.join(", ");
    let mut text = String::new();
    let _ = write!(
        text,
        "#[no_mangle]\npub unsafe extern \"C\" fn {inner}({parameters}) -> {returned} {{\n    \
         entry::{wall}({constant}, When::{when}, |call| functions::{chapter}::{body}{of}({arguments}))\n}}\n\
         #[no_mangle]\npub unsafe extern \"C\" fn {public}({parameters}) -> {returned} {{\n    {inner}({names})\n}}\n"
    );
    Ok(text)
}

/// What a body in several types is made for.
fn generic(symbol: &Symbol) -> Option<String> {
    match &symbol.of {
        Of::Nothing if symbol.declaration.body != symbol.declaration.name || is_wait(symbol) => {
            symbol.declaration.arguments.first().filter(|one| one.0 == "long *").map(|_| "i64".to_owned())
        }
        Of::Nothing => None,
        Of::Type(one) => Some(one.rust.clone()),
        Of::Bits(bits) => Some(format!("u{bits}")),
        Of::Bytes => Some("u8".to_owned()),
    }
}

/// The old functions for a long, whose bodies are those for all types.
fn is_wait(symbol: &Symbol) -> bool {
    symbol.declaration.name.starts_with("wait")
}

fn rust_type(symbol: &Symbol, c_type: &str) -> Result<String, Problem> {
    let of = generic(symbol).unwrap_or_default();
    Ok(match c_type {
        "void" => "()".to_owned(),
        "int" => "c_int".to_owned(),
        "long" => "c_long".to_owned(),
        "char" => "c_char".to_owned(),
        "size_t" => "usize".to_owned(),
        "ptrdiff_t" => "isize".to_owned(),
        "uint64_t" => "u64".to_owned(),
        "TYPE" => of,
        "shmem_team_t" | "shmem_ctx_t" | "shmem_team_config_t" | "shmem_ctx_session_config_t" => {
            c_type.to_owned()
        }
        _ => match c_type.strip_suffix('*').map(str::trim) {
            Some("void") if !of.is_empty() => format!("*mut {of}"),
            Some("const void") if !of.is_empty() => format!("*const {of}"),
            Some("void") => "*mut c_void".to_owned(),
            Some("const void") => "*const c_void".to_owned(),
            Some(pointee) => match pointee.strip_prefix("const ") {
                Some(constant) => format!("*const {}", rust_type(symbol, constant)?),
                None => format!("*mut {}", rust_type(symbol, pointee)?),
            },
            None => return Err(format!("{}: no type of Rust for `{c_type}`", symbol.declaration.name)),
        },
    })
}
