//! What the wrappers of a Fortran library use: types and constants of its ABI, the functions
//! of the C library, handles as integers, the sentinels of programs.

use super::library::Library;
use super::names::integer;
use super::routine::called;
use super::wrapper::functions_of_c;
use crate::abi::{Abi, Form};
use crate::kind::OBJECTS;
use crate::value::Value;
use crate::{status, Api, Problem};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The module `abi` of a Fortran library.
///
/// # Errors
/// A sentinel of no meaning, or one whose value in C the ABI does not have.
pub fn environment(api: &Api, abi: &Abi, library: &Library) -> Result<String, Problem> {
    Ok(types(abi, library)
        + &constants(api, abi)
        + &format!(
            "/// `MPI_COMM_WORLD` as Fortran has it.\npub const WORLD: c_int = {}_i64 as c_int;\n",
            integer(api, abi, "MPI_COMM_WORLD").unwrap_or_default()
        )
        + &handles(abi, library)
        + &sentinels(api, abi, library)?
        + &functions_of_c(api, abi, library))
}

fn types(abi: &Abi, library: &Library) -> String {
    let c_type = |form| if form == Form::Integers { "c_int" } else { "*mut c_void" };
    format!(
        "/// `INTEGER` of the program.\npub type Fint = {};\n/// `MPI_Comm`, `MPI_Datatype` …\npub type Handle = {};\n/// `MPI_File`.\npub type FileHandle = {};\n\
         /// What Fortran's numbers of predefined attributes have more than C's.\npub const FORTRAN_KEYVALS: c_int = {};\n{}",
        if library.is_wide() { "i64" } else { "c_int" },
        c_type(abi.handles),
        c_type(abi.files),
        abi.keyvals,
        status::in_rust(&abi.status)
    )
}

/// The numbers of the ABI.
fn constants(api: &Api, abi: &Abi) -> String {
    let mut text = String::new();
    for constant in api.constants.iter().filter(|constant| constant.c_type == "int") {
        if let Value::Number(number) = abi.value(constant).for_bodies() {
            let name = &constant.name;
            let _ = writeln!(text, "/// `{name}`\npub const {name}: c_int = {number}_i64 as c_int;");
        }
    }
    text
}

/// Handles from and to Fortran's integers.
fn handles(abi: &Abi, library: &Library) -> String {
    let mut text =
        "/// Handles as Fortran's integers, and back.\npub mod convert {\nuse super::*;\n".to_string();
    for object in OBJECTS {
        let (form, c_type) = match object.name {
            "file" => (abi.files, "FileHandle"),
            _ => (abi.handles, "Handle"),
        };
        let short = if object.name == "datatype" { "Type" } else { &object.c[4..] };
        let (to, from) = match form {
            Form::Integers => ("integer".to_string(), "handle".to_string()),
            _ => (
                format!("{}(integer)", called(library, &format!("MPI_{short}_fromint"))),
                format!("{}(handle)", called(library, &format!("MPI_{short}_toint"))),
            ),
        };
        let name = object.name;
        let _ = write!(
            text,
            "#[inline]\npub fn to_{name}(integer: c_int) -> {c_type} {{ unsafe {{ {to} }} }}\n\
             #[inline]\npub fn from_{name}(handle: {c_type}) -> c_int {{ unsafe {{ {from} }} }}\n"
        );
    }
    text + "}\n"
}

/// The meaning of a sentinel and the constant that C has for it.
const MEANINGS: [(&str, &str); 10] = [
    ("bottom", "MPI_BOTTOM"),
    ("buffer_automatic", "MPI_BUFFER_AUTOMATIC"),
    ("in_place", "MPI_IN_PLACE"),
    ("status_ignore", "MPI_STATUS_IGNORE"),
    ("statuses_ignore", "MPI_STATUSES_IGNORE"),
    ("errcodes_ignore", "MPI_ERRCODES_IGNORE"),
    ("argv_null", "MPI_ARGV_NULL"),
    ("argvs_null", "MPI_ARGVS_NULL"),
    ("unweighted", "MPI_UNWEIGHTED"),
    ("weights_empty", "MPI_WEIGHTS_EMPTY"),
];

/// Where programs have their sentinels, and what C has for them.
fn sentinels(api: &Api, abi: &Abi, library: &Library) -> Result<String, Problem> {
    let mut text = String::new();
    for (name, bytes) in &library.exports {
        let (width, integer) = if bytes % 4 == 0 { (4, "u32") } else { (1, "u8") };
        let memory = format!("Exported<{integer}, {}>", bytes / width);
        let _ = writeln!(text, "#[no_mangle]\npub static {name}: {memory} = Exported::new();");
    }
    let imported = |name: &String| !library.exports.iter().any(|(known, _)| known == name);
    let mut names: Vec<&String> =
        library.sentinels.iter().flat_map(|one| one.places.iter().map(|(name, _)| name)).collect();
    names.sort();
    names.dedup();
    // Unit tests are linked without a C library.
    for name in names.into_iter().filter(|name| imported(name)) {
        let _ = writeln!(
            text,
            "#[cfg(not(test))]\nextern \"C\" {{ static {name}: Exported<u32, 1>; }}\n\
             #[cfg(test)]\nstatic {name}: Exported<u32, 1> = Exported::new();"
        );
    }
    for (meaning, constant) in MEANINGS {
        let places =
            library.sentinels.iter().find(|one| one.meaning == meaning).map(|one| one.places.as_slice());
        let compared: Vec<String> = places
            .unwrap_or_default()
            .iter()
            .map(|(name, offset)| format!("place == (&raw const {name} as usize) + {offset}"))
            .collect();
        let compared = if compared.is_empty() { "false".to_string() } else { compared.join(" || ") };
        let value = value(api, abi, constant)?;
        let _ = write!(
            text,
            "/// Whether a program has `{constant}` at this address.\n#[inline]\npub fn is_{meaning}(place: *const c_void) -> bool {{\n    \
             let place = place as usize;\n    unsafe {{ {compared} }}\n}}\n\
             /// `{constant}` of C.\n#[inline]\npub fn {meaning}() -> *mut c_void {{\n    {value}\n}}\n"
        );
    }
    Ok(text)
}

/// A constant of C that is an address.
fn value(api: &Api, abi: &Abi, name: &str) -> Result<String, Problem> {
    let constant = api.constants.iter().find(|known| known.name == name);
    let constant = constant.ok_or_else(|| format!("there is no constant {name}"))?;
    match abi.value(constant).for_bodies() {
        Value::Number(number) => Ok(format!("{number}_isize as *mut c_void")),
        Value::Exported(symbol) => Ok(format!(
            "extern \"C\" {{ static {symbol}: *mut c_void; }}\n    unsafe {{ (&raw const {symbol}).read_volatile() }}"
        )),
        other => Err(format!("{name} is {other:?}, which is no address")),
    }
}

/// How a Fortran library is linked: after the C library, which is found beside it. What it calls
/// there is looked for when a program starts, so an empty library of the same name will do here.
///
/// # Errors
/// A linker that cannot be run.
pub fn link(abi: &Abi, library: &Library, out: &Path) -> Result<(), Problem> {
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".into());
    let stub = out.join(&abi.soname);
    let mut command = Command::new(&linker);
    command.args(["-shared", "-nostdlib", "-x", "c", "/dev/null"]);
    command.arg(format!("-Wl,-soname,{}", abi.soname)).arg("-o").arg(&stub);
    let done = command.status().map_err(|error| format!("{linker}: {error}"))?;
    if !done.success() {
        return Err(format!("{linker} cannot make {}", stub.display()));
    }
    let tell = |argument: &str| println!("cargo:rustc-cdylib-link-arg={argument}");
    tell(&format!("-Wl,-soname,{}", library.soname));
    // Not `-Bsymbolic-functions`: the addresses of functions are compared with what programs pass.
    tell("-Wl,-rpath,$ORIGIN");
    tell("-Wl,--no-as-needed");
    tell(&stub.display().to_string());
    Ok(())
}
