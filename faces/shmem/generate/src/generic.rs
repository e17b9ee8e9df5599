//! One name for all types: macros for C11, overloaded functions for C++.
//!
//! A macro looks at the type behind the first pointer to it. Where a context may come first, the number of arguments
//! says whether one does.

use crate::declaration::Declaration;
use crate::symbol::{symbols, Of, Symbol};
use crate::types::distinct;
use crate::Api;
use std::fmt::Write;

/// The part of the header for C11 and C++.
pub fn generics(api: &Api) -> String {
    let generic: Vec<&Declaration> = api.declarations.iter().filter(|one| one.marks.generic).collect();
    let mut text = String::from(
        "\n#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(SHMEM_NO_GENERICS)\n\
         /* C11: one name for all types. */\n",
    );
    let most = generic.iter().map(|one| one.arguments.len()).max().unwrap_or(0);
    let contexts = (1..=most).filter(|&count| generic.iter().any(|one| is_with(one, count)));
    contexts.for_each(|count| text.push_str(&picker(count)));
    generic.iter().for_each(|declaration| text.push_str(&macros(declaration)));
    text += "#define SHMEM_C11_sync_set shmem_sync\n\
             #define SHMEM_C11_pick_sync(a, b, c, d, x, ...) x\n\
             #define shmem_sync(...) SHMEM_C11_pick_sync(__VA_ARGS__, SHMEM_C11_sync_set, , , shmem_team_sync, )(__VA_ARGS__)\n\
             #endif\n\n\
             #if defined(__cplusplus) && !defined(SHMEM_NO_GENERICS)\n\
             /* C++: the same, by overloading. */\n\
             static inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }\n";
    generic.iter().for_each(|declaration| text.push_str(&overloads(api, declaration)));
    text + "#endif\n" + &complex_of_c(api)
}

/// For C++, functions of complex numbers with the types of C, which compilers know there as well.
fn complex_of_c(api: &Api) -> String {
    let mut text = String::from(
        "\n#if defined(__cplusplus) && defined(__GNUC__)\n\
         /* C++: complex numbers as C has them. */\n\
         __extension__ typedef float _Complex shmem_complexf_of_c;\n\
         __extension__ typedef double _Complex shmem_complexd_of_c;\n",
    );
    let is_complex = |symbol: &Symbol| matches!(&symbol.of, Of::Type(one) if one.name.starts_with("complex"));
    for symbol in api.declarations.iter().flat_map(symbols).filter(is_complex) {
        let Of::Type(one) = &symbol.of else { continue };
        let of_c = format!("shmem_{}_of_c", one.name);
        let given = symbol.declaration.arguments.iter().map(|(c_type, name)| match c_type.contains("TYPE") {
            true => format!("reinterpret_cast<{}>({name})", symbol.in_c(c_type)),
            false => name.clone(),
        });
        let given = given.collect::<Vec<_>>().join(", ");
        let prototype = symbol.prototype(false).replace(&one.c, &of_c);
        let returned = if symbol.declaration.returns == "void" { "" } else { "return " };
        let _ = writeln!(text, "static inline {prototype} {{ {returned}{}({given}); }}", symbol.name(false));
    }
    text + "#endif\n"
}

fn is_with(declaration: &Declaration, count: usize) -> bool {
    declaration.marks.ctx && declaration.arguments.len() == count
}

/// The macro that takes the argument behind `count + 1` ones and one more.
fn picker(count: usize) -> String {
    let arguments: Vec<String> = (0..=count).map(|number| format!("a{number}")).collect();
    format!("#define SHMEM_C11_PICK_{count}({}, x, ...) x\n", arguments.join(", "))
}

/// The place of the argument whose type counts.
fn place(declaration: &Declaration) -> usize {
    declaration.arguments.iter().position(|(c_type, _)| c_type.ends_with("TYPE *")).unwrap_or(0)
}

fn macros(declaration: &Declaration) -> String {
    let name = declaration.full_name();
    let mut text = String::new();
    if !declaration.marks.ctx {
        text.push_str(&select(declaration, &name, false));
        return text;
    }
    let (plain, with) =
        (format!("SHMEM_C11_{}", declaration.name), format!("SHMEM_C11_ctx_{}", declaration.name));
    text.push_str(&select(declaration, &plain, false));
    text.push_str(&select(declaration, &with, true));
    let count = declaration.arguments.len();
    let _ = writeln!(
        text,
        "#define {name}(...) SHMEM_C11_PICK_{count}(__VA_ARGS__, {with}, {plain}, )(__VA_ARGS__)"
    );
    text
}

/// A macro that selects the function by the type behind a pointer.
fn select(declaration: &Declaration, name: &str, ctx: bool) -> String {
    let place = place(declaration) + usize::from(ctx);
    let mut arguments: Vec<String> = (0..place).map(|number| format!("a{number}")).collect();
    arguments.push("object".to_owned());
    let of = |one: &&crate::types::Type| {
        let symbol = Symbol { declaration, of: Of::Type((*one).clone()), ctx };
        format!("    {}: {}", one.c, symbol.name(false))
    };
    let functions: Vec<String> = distinct(&declaration.types).iter().map(of).collect();
    let given = arguments.join(", ");
    format!(
        "#define {name}({given}, ...) _Generic(*(object), \\\n{})({given}, __VA_ARGS__)\n",
        functions.join(", \\\n")
    )
}

fn overloads(api: &Api, declaration: &Declaration) -> String {
    let mut text = String::new();
    // A function of C that has the name and the arguments of one of them.
    let is_in_c = |one: &&Declaration| one.types.is_empty() && one.sizes.is_empty();
    let in_c = api.declarations.iter().find(|one| one.name == declaration.name && is_in_c(one));
    let contexts: &[bool] = if declaration.marks.ctx { &[false, true] } else { &[false] };
    for &ctx in contexts {
        for one in distinct(&declaration.types) {
            if in_c.is_some() && one.c == "long" {
                continue;
            }
            let symbol = Symbol { declaration, of: Of::Type(one.clone()), ctx };
            let prototype =
                symbol.prototype(false).replacen(&symbol.name(false), &declaration.full_name(), 1);
            let names = declaration.arguments.iter().map(|(_, name)| name.as_str());
            let names: Vec<&str> = ctx.then_some("ctx").into_iter().chain(names).collect();
            let returned = if declaration.returns == "void" { "" } else { "return " };
            let _ = writeln!(
                text,
                "static inline {prototype} {{ {returned}{}({}); }}",
                symbol.name(false),
                names.join(", ")
            );
        }
    }
    text
}
