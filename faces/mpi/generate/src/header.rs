//! `mpi.h` of an ABI: types and constants made from its file, callback types as they
//! stand in `callbacks.h`, prototypes made from the tables.

use crate::abi::{Abi, Form};
use crate::constant::Constant;
use crate::declaration::Declaration;
use crate::kind::{object, OBJECTS};
use crate::status::{self, Field};
use crate::symbol::Symbol;
use crate::value::Value;
use crate::Api;
use std::fmt::Write;

const CALLBACKS: &str = include_str!("callbacks.h");
const EPILOGUE: &str = "\n#if defined(__cplusplus)\n}\n#endif\n\n#endif\n";
/// The types of the tool interface, which are the same in all ABIs.
const TOOL_TYPES: &str = "
typedef struct MPI_T_enum_t *MPI_T_enum;
typedef struct MPI_T_cvar_handle_t *MPI_T_cvar_handle;
typedef struct MPI_T_pvar_handle_t *MPI_T_pvar_handle;
typedef struct MPI_T_pvar_session_t *MPI_T_pvar_session;
typedef struct MPI_T_event_registration_t *MPI_T_event_registration;
typedef struct MPI_T_event_instance_t *MPI_T_event_instance;
typedef int MPI_T_cb_safety;
typedef int MPI_T_source_order;
";

/// The whole header.
pub fn header(api: &Api, abi: &Abi) -> String {
    let mut text = prologue(abi) + &types(abi) + TOOL_TYPES + CALLBACKS + &exported(api, abi);
    let mut section = "";
    for constant in &api.constants {
        let Some(value) = value(constant, abi) else { continue };
        if section != constant.section {
            section = &constant.section;
            let _ = writeln!(text, "\n/* {section} */");
        }
        let _ = writeln!(text, "#define {:<34} {value}", constant.name);
    }
    text + &without_extension_types(&prototypes(api, abi)) + &for_fortran(abi) + EPILOGUE
}

/// Where the library has no functions for Fortran's handles and statuses, programs get them here:
/// they are not of the standard any more, and old programs call them (MPI-5.0 §20.4).
fn for_fortran(abi: &Abi) -> String {
    if abi.has(Some("fortran")).0 {
        return String::new();
    }
    let mut text = "\n/* for programs from before MPI-5.0: handles and statuses of Fortran */\n".to_string();
    for kind in OBJECTS {
        let short = if kind.name == "datatype" { "Type" } else { &kind.c[4..] };
        let _ = write!(
            text,
            "static __inline__ {0} MPI_{short}_f2c(MPI_Fint handle) {{ return MPI_{short}_fromint(handle); }}\n\
             static __inline__ MPI_Fint MPI_{short}_c2f({0} handle) {{ return MPI_{short}_toint(handle); }}\n\
             #define PMPI_{short}_f2c MPI_{short}_f2c\n#define PMPI_{short}_c2f MPI_{short}_c2f\n",
            kind.c
        );
    }
    let ints = status::ints(&abi.status);
    let copy =
        format!("int i;\n    for (i = 0; i < {ints}; i++) to[i] = from[i];\n    return MPI_SUCCESS;\n}}\n");
    let _ = write!(
        text,
        "static __inline__ int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *to)\n{{\n    \
         const MPI_Fint *from = (const MPI_Fint *)c_status;\n    {copy}\
         static __inline__ int MPI_Status_f2c(const MPI_Fint *from, MPI_Status *c_status)\n{{\n    \
         MPI_Fint *to = (MPI_Fint *)c_status;\n    {copy}\
         #define PMPI_Status_c2f MPI_Status_c2f\n#define PMPI_Status_f2c MPI_Status_f2c\n"
    );
    text
}

/// The prototypes but for those that take types of extensions, which the header has not.
fn without_extension_types(prototypes: &str) -> String {
    let takes_one =
        |line: &str| line.split_once('(').is_some_and(|(_, arguments)| arguments.contains("MPIX_"));
    prototypes.split_inclusive('\n').filter(|line| !takes_one(line)).collect()
}

/// `mpi-ext.h` of an ABI whose header is the standard's alone: what there is for programs that go on without processes that fail.
/// Programs find it by the name and by the macros that Open MPI has for it.
pub fn extensions(api: &Api, abi: &Abi) -> String {
    let mut text = format!(
        "/* mpi-ext.h of Serried: functions and error classes beyond MPI-5.0 under the {} ({}).\n \
         * Made by serried-mpi-generate from faces/mpi/api. */\n\
         #ifndef OMPI_MPI_EXT_H\n#define OMPI_MPI_EXT_H 1\n\n#include <mpi.h>\n\n#define OMPI_HAVE_MPI_EXT 1\n\n\
         /* Processes that fail (ULFM). */\n#define OMPI_HAVE_MPI_EXT_FTMPI 1\n",
        abi.name, abi.soname
    );
    for constant in api.constants.iter().filter(|constant| is_of_failures(constant)) {
        if let Value::Number(number) = abi.value(constant).for_bodies() {
            let _ = writeln!(text, "#define {:<34} {number}", constant.name);
            // Programs of Open MPI leave the X out.
            let _ = writeln!(text, "#define {:<34} {}", constant.name.replacen('X', "", 1), constant.name);
        }
    }
    text += "\n#if defined(__cplusplus)\nextern \"C\" {\n#endif\n\n";
    for profiling in ["", "P"] {
        for declaration in api.declarations_of(abi).filter(|one| has_to_do_with_failures(one)) {
            text.push_str(&prototype(declaration, profiling, false));
        }
    }
    text + EPILOGUE
}

/// Whether it is a function for programs that go on without processes that fail.
pub fn has_to_do_with_failures(declaration: &Declaration) -> bool {
    declaration.marks.set.as_deref() == Some("ulfm")
}

/// Whether it is one of their error classes.
pub fn is_of_failures(constant: &Constant) -> bool {
    ["MPIX_ERR_PROC_", "MPIX_ERR_REVOKED"].iter().any(|prefix| constant.name.starts_with(prefix))
}

/// The callback types and the prototypes of an ABI, to be compiled after
/// another header of that ABI: where they differ, the compiler says so.
pub fn declarations(api: &Api, abi: &Abi) -> String {
    CALLBACKS.to_string() + &prototypes(api, abi)
}

/// `name value` of every constant of an ABI that has a number, a line each.
pub fn numbers(api: &Api, abi: &Abi) -> String {
    let value_of = |constant: &Constant| match abi.value(constant) {
        Value::Number(number) => Some(number.clone()),
        Value::Alias(name) => match abi.value(api.constants.iter().find(|other| other.name == *name)?) {
            Value::Number(number) => Some(number.clone()),
            _ => None,
        },
        _ => None,
    };
    let line = |constant: &Constant| Some(format!("{} {}\n", constant.name, value_of(constant)?));
    api.constants.iter().filter_map(line).collect()
}

fn prologue(abi: &Abi) -> String {
    let (name, library) = (&abi.name, &abi.soname);
    let size_t = if abi.status.contains(&Field::Bytes) { "#include <stddef.h>\n" } else { "" };
    format!(
        "/* mpi.h of Serried: the C interface of MPI-5.0 under the {name} ({library}).\n \
         * Made by serried-mpi-generate from faces/mpi/api; programs built with it run with any MPI library of that ABI. */\n\
         #ifndef MPI_H_ABI\n#define MPI_H_ABI\n\n{size_t}#include <stdint.h>\n\n\
         #if defined(__cplusplus)\nextern \"C\" {{\n#endif\n\n\
         typedef intptr_t MPI_Aint;\ntypedef int64_t MPI_Offset;\ntypedef int64_t MPI_Count;\n\n"
    )
}

fn types(abi: &Abi) -> String {
    let mut text = status::in_c(&abi.status) + "\n";
    for kind in OBJECTS {
        let c_type = kind.c;
        let form = if kind.name == "file" { abi.files } else { abi.handles };
        let _ = match form {
            Form::Integers => writeln!(text, "typedef int {c_type};"),
            Form::Pointers | Form::Objects => writeln!(text, "typedef {} *{c_type};", structure(abi, c_type)),
        };
    }
    if abi.has(Some("fortran")).1 {
        let fields = status::in_c(&abi.status).replace("MPI_Status", "MPI_F08_status");
        let _ = write!(text, "\ntypedef int MPI_Fint;\n{fields}");
    } else {
        text += "\n/* A Fortran INTEGER of the usual size; MPI-5.0 has no such type, and old programs name it. */\ntypedef int MPI_Fint;\n";
    }
    text
}

/// The incomplete structure behind a handle.
fn structure(abi: &Abi, c_type: &str) -> String {
    format!("struct {}{}", abi.tags, c_type.trim_start_matches("MPI_"))
}

/// Declarations of the objects whose addresses are predefined handles, and of what
/// else constants are found by.
fn exported(api: &Api, abi: &Abi) -> String {
    let mut lines = Vec::new();
    for constant in &api.constants {
        let c_type = &constant.c_type;
        let line = match abi.value(constant) {
            Value::Object(symbol, _) => format!("extern {} {symbol};\n", structure(abi, c_type)),
            Value::Exported(symbol) => match abi.symbols.iter().find(|known| known.name() == symbol) {
                Some(Symbol::Function(name, function)) => {
                    format!("int {name}({});\n", function.parameters_in_c())
                }
                _ if *symbol == constant.name => format!("extern {} const {symbol};\n", pointer(c_type)),
                _ => format!("extern void *const {symbol};\n"),
            },
            _ => continue,
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    match lines.is_empty() {
        true => String::new(),
        false => format!("\n/* what constants are found by */\n{}", lines.concat()),
    }
}

/// A pointer type as C writes it.
fn pointer(c_type: &str) -> String {
    c_type.replacen('*', " *", 1)
}

fn prototypes(api: &Api, abi: &Abi) -> String {
    let mut text = String::new();
    for profiling in ["", "P"] {
        let mut chapter = "";
        for declaration in api.declarations_of(abi) {
            if !abi.has(declaration.marks.set.as_deref()).1 {
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

fn value(constant: &Constant, abi: &Abi) -> Option<String> {
    let c_type = &constant.c_type;
    match abi.value(constant) {
        Value::None | Value::Hidden(_) => None,
        Value::Exported(symbol) if *symbol == constant.name => None,
        Value::Exported(symbol) => Some(format!("(({}){symbol})", pointer(c_type))),
        Value::Alias(other) => Some(other.clone()),
        Value::Object(symbol, _) => object(c_type).map(|_| format!("(&{symbol})")),
        Value::Number(number) if c_type == "int" && number.starts_with('-') => Some(format!("({number})")),
        Value::Number(number) if c_type == "int" => Some(number.clone()),
        Value::Number(number) => Some(format!("(({c_type}){number})")),
    }
}

pub(crate) fn prototype(declaration: &Declaration, profiling: &str, wide: bool) -> String {
    let returns = declaration.returns.as_deref().unwrap_or("int");
    let declared =
        |argument: &crate::declaration::Argument| argument.kind.c_declaration(&argument.name, wide);
    let mut arguments: Vec<String> = declaration.arguments.iter().map(declared).collect();
    if declaration.variadic {
        arguments.push("...".to_string());
    }
    if arguments.is_empty() {
        arguments.push("void".to_string());
    }
    let name = &declaration.name;
    let suffix = if wide { "_c" } else { "" };
    format!("{returns} {profiling}{name}{suffix}({});\n", arguments.join(", "))
}
