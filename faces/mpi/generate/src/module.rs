//! Rust made from an ABI's file: the module `abi` of its library, with the types,
//! the status, the constants, the predefined datatypes, and what is exported
//! besides functions.

use crate::abi::{Abi, Form};
use crate::constant::Constant;
use crate::kind::{object, OBJECTS};
use crate::symbol::{Symbol, Target};
use crate::value::Value;
use crate::{status, Api};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The module.
pub fn module(api: &Api, abi: &Abi) -> String {
    let exported = exported(abi) + &objects(api, abi);
    types(abi)
        + &status::in_rust(&abi.status)
        + &constants(api, abi)
        + &datatypes(api, abi)
        + &format!("/// What is exported besides functions of MPI.\npub mod symbols {{\nuse super::*;\n{exported}}}\n")
        + &list(api, abi)
}

fn types(abi: &Abi) -> String {
    let (name, [major, minor]) = (&abi.name, &abi.version);
    let form = |form| match form {
        Form::Integers => "IntegerHandle",
        Form::Pointers => "PointerHandle",
        Form::Objects => "ObjectHandle<Objects>",
    };
    let (handles, files) = (form(abi.handles), form(abi.files));
    let mut text = format!(
        "/// What the library is called among those of other ABIs.\n\
         pub const ABI_NAME: &str = {name:?};\n\
         /// What `MPI_Abi_get_version` says.\n\
         pub const ABI_VERSION: (c_int, c_int) = ({major}, {minor});\n\
         /// `MPI_Comm`, `MPI_Datatype` …\n\
         pub type Handle = {handles};\n\
         /// What Fortran's numbers of predefined attributes have more than C's.\n\
         pub const FORTRAN_KEYVALS: c_int = {};\n\
         /// `MPI_File`.\n\
         pub type FileHandle = {files};\n",
        abi.keyvals
    );
    for kind in OBJECTS {
        let (name, c_type, number) = (kind.name.to_uppercase(), kind.c, kind.number);
        let _ = writeln!(text, "/// The kind of `{c_type}`.\npub const KIND_OF_{name}: u32 = {number};");
    }
    text
}

/// The constants with the types of the ABI.
fn constants(api: &Api, abi: &Abi) -> String {
    let mut text = String::new();
    for constant in &api.constants {
        let (name, c_type) = (&constant.name, constant.c_type.as_str());
        let rust = constant_type(c_type);
        let is_handle = matches!(rust, "Handle" | "FileHandle");
        let value = match abi.value(constant).for_bodies() {
            Value::None | Value::Hidden(_) => continue,
            Value::Alias(other) => other.clone(),
            Value::Object(symbol, _) => format!("{rust}::new((&raw const symbols::{symbol}).cast())"),
            Value::Exported(symbol) => address(abi, symbol, rust),
            Value::Number(number) if is_handle => format!("{rust}::new({number})"),
            Value::Number(number) if rust.starts_with('*') => format!("{number}_isize as {rust}"),
            Value::Number(number) => format!("{number}_i64 as {rust}"),
        };
        let _ = writeln!(text, "/// `{c_type} {name}`\npub const {name}: {rust} = {value};");
    }
    text
}

/// The address that an exported pointer holds, or that of an exported function.
fn address(abi: &Abi, symbol: &str, rust: &str) -> String {
    match abi.symbols.iter().find(|known| known.name() == symbol) {
        Some(Symbol::Pointer(name, Target::Own)) => {
            format!("(&raw const symbols::OWN_{name}).cast_mut().cast()")
        }
        Some(Symbol::Pointer(_, Target::Number(number))) => format!("{number}_usize as {rust}"),
        Some(Symbol::Function(name, _)) => format!("symbols::{name} as *const () as {rust}"),
        _ => format!("(&raw const symbols::{symbol}).cast_mut().cast()"),
    }
}

fn constant_type(c_type: &str) -> &'static str {
    match c_type {
        "int" => "c_int",
        "int*" => "*mut c_int",
        "MPI_Status*" => "*mut Status",
        "MPI_File" => "FileHandle",
        "MPI_Offset" => "i64",
        _ if c_type.ends_with('*') || c_type.starts_with("MPI_T_") => "*mut c_void",
        _ => "Handle",
    }
}

/// The predefined datatypes and their elements; one that is an alias has no
/// element of its own.
fn datatypes(api: &Api, abi: &Abi) -> String {
    let has = |constant: &&Constant| *abi.value(constant).visible() != Value::None;
    let (mut rows, mut markers) = (String::new(), String::new());
    for constant in api.constants.iter().filter(has) {
        let (name, Some(element)) = (&constant.name, &constant.element) else { continue };
        let (element, is_narrow) =
            element.strip_suffix("/2").map_or((&**element, false), |whole| (whole, true));
        let _ = match element.starts_with("Edge::") {
            true => writeln!(markers, "    ({name}, {name:?}, {element}),"),
            false => writeln!(rows, "    ({name}, {name:?}, Basic::{element}, {is_narrow}),"),
        };
    }
    format!(
        "/// The predefined datatypes: handle, name, element, whether it is narrow in external32.\n\
         pub static PREDEFINED_DATATYPES: &[(Handle, &str, Basic, bool)] = &[\n{rows}];\n\
         /// Those without an element: handle, name, which bound of a type they mark.\n\
         pub static PREDEFINED_MARKERS: &[(Handle, &str, Edge)] = &[\n{markers}];\n"
    )
}

/// The type of so many bytes, aligned as far as their number allows.
fn memory(bytes: usize) -> String {
    let (width, integer) = match bytes {
        bytes if bytes % 8 == 0 => (8, "u64"),
        bytes if bytes % 4 == 0 => (4, "u32"),
        _ => (1, "u8"),
    };
    format!("Memory<{integer}, {}>", bytes / width)
}

/// What is exported besides functions of MPI.
fn exported(abi: &Abi) -> String {
    let mut text = String::new();
    for symbol in &abi.symbols {
        let _ = match symbol {
            Symbol::Bytes(name, bytes) => {
                writeln!(text, "#[no_mangle]\npub static {name}: {} = Memory::new();", memory(*bytes))
            }
            Symbol::Pointer(name, target) => {
                let to = match target {
                    Target::Own => format!("(&raw const OWN_{name}).cast_mut().cast()"),
                    Target::Number(number) => format!("{number}_usize as *mut c_void"),
                    Target::Object(object) => format!("(&raw const {object}).cast_mut().cast()"),
                };
                if *target == Target::Own {
                    let _ = writeln!(text, "pub static OWN_{name}: c_int = 0;");
                }
                writeln!(text, "#[no_mangle]\npub static {name}: AtomicPtr<c_void> = AtomicPtr::new({to});")
            }
            Symbol::Function(name, body) => writeln!(
                text,
                "#[no_mangle]\npub unsafe extern \"C\" fn {name}({}) -> c_int {{\n    attribute_functions::{}({})\n}}",
                body.parameters(),
                body.name(),
                body.arguments(),
            ),
            Symbol::Internal(name) => writeln!(
                text,
                "#[no_mangle]\npub extern \"C\" fn {name}() -> c_int {{\n    crate::internals::called({name:?})\n}}"
            ),
        };
    }
    text
}

/// The objects whose addresses are predefined handles: by symbol, the bytes of each and
/// the 32 bits that its address stands for.
fn predefined<'a>(api: &'a Api, abi: &'a Abi) -> BTreeMap<&'a str, (usize, u32)> {
    let constants = api.constants.iter();
    let found = constants.filter_map(|constant| match abi.value(constant).for_bodies() {
        Value::Object(symbol, number) => {
            let kind = object(&constant.c_type)?;
            Some((symbol.as_str(), (abi.sizes[kind.name], kind.number << 26 | number)))
        }
        _ => None,
    });
    found.collect()
}

fn objects(api: &Api, abi: &Abi) -> String {
    let align = abi.align;
    let mut text = format!(
        "/// What is behind a predefined handle: only its address says anything.\n\
         #[repr(C, align({align}))]\npub struct Predefined<const BYTES: usize>(Memory<u8, BYTES>);\n"
    );
    for (symbol, (bytes, _)) in predefined(api, abi) {
        let _ = writeln!(
            text,
            "#[no_mangle]\npub static {symbol}: Predefined<{bytes}> = Predefined(Memory::new());"
        );
    }
    text
}

/// The list by which an address finds its number.
fn list(api: &Api, abi: &Abi) -> String {
    let mut rows = String::new();
    for (symbol, (_, raw)) in predefined(api, abi) {
        let _ = writeln!(rows, "    Object::new({raw:#x}, (&raw const symbols::{symbol}).cast()),");
    }
    format!(
        "/// The predefined handles that are addresses.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub struct Objects;\n\
         static OBJECTS: &[Object] = &[\n{rows}];\n\
         impl Predefinitions for Objects {{\n    fn index() -> &'static Index {{\n        \
         static INDEX: LazyLock<Index> = LazyLock::new(|| Index::new(OBJECTS));\n        &INDEX\n    }}\n}}\n"
    )
}
