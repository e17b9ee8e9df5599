//! How Fortran declares an argument: for `use mpi` and for `use mpi_f08`.

use crate::declaration::{Argument, Declaration};
use crate::kind::{Direction, Handle, Kind};

/// For whom it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// `use mpi`: handles and statuses are integers, a buffer is anything.
    Mpi,
    /// `use mpi_f08`: they have types, a buffer comes with a descriptor.
    F08,
}

/// An argument: its name, and how it is declared.
pub struct Dummy {
    /// Its name.
    pub name: String,
    /// The line that declares it.
    pub line: String,
    /// Whether it may be anything, which compilers have to be told.
    pub is_anything: bool,
}

/// Arguments that Fortran has otherwise than C: routine, argument (all of them without one), what Fortran declares
/// (nothing where it has no such argument).
const OTHERS: [(&str, &str, &str); 11] = [
    ("MPI_Init", "", ""),
    ("MPI_Init_thread", "argc", ""),
    ("MPI_Init_thread", "argv", ""),
    ("MPI_Info_create_env", "argc", ""),
    ("MPI_Info_create_env", "argv", ""),
    ("MPI_Comm_spawn", "argv", "character(len=*), intent(in) :: argv(*)"),
    ("MPI_Comm_spawn_multiple", "array_of_commands", "character(len=*), intent(in) :: array_of_commands(*)"),
    ("MPI_Comm_spawn_multiple", "array_of_argv", "character(len=*), intent(in) :: array_of_argv(count, *)"),
    ("MPI_Keyval_create", "extra_state", "integer, intent(in) :: extra_state"),
    ("MPI_Attr_put", "attribute_val", "integer, intent(in) :: attribute_val"),
    ("MPI_Attr_get", "attribute_val", "integer, intent(out) :: attribute_val"),
];

/// The arguments of a routine.
pub fn dummies(declaration: &Declaration, module: Module, wide: bool) -> Vec<Dummy> {
    let other = |argument: &Argument| {
        let of_this = OTHERS.iter().filter(|(routine, ..)| *routine == declaration.name);
        of_this
            .filter(|(_, name, _)| name.is_empty() || *name == argument.name)
            .map(|(.., line)| *line)
            .next()
    };
    let arguments = declaration.arguments.iter().filter_map(|argument| {
        let name = argument.name.clone();
        let (line, is_anything) = match other(argument) {
            Some("") => return None,
            Some(line) => (line.to_string(), false),
            None => line(argument, declaration, module, wide),
        };
        Some(Dummy { name, line, is_anything })
    });
    let mut all: Vec<Dummy> = arguments.collect();
    if declaration.returns.is_none() && declaration.name != "MPI_Pcontrol" {
        let optional = if module == Module::F08 { ", optional" } else { "" };
        let line = format!("integer{optional}, intent(out) :: ierror");
        all.push(Dummy { name: "ierror".to_string(), line, is_anything: false });
    }
    all
}

/// How one is declared, and whether it may be anything.
fn line(argument: &Argument, declaration: &Declaration, module: Module, wide: bool) -> (String, bool) {
    let name = &argument.name;
    let plain = |line: String| (line.replace('%', name), false);
    let goes_on = declaration.arguments.iter().any(|other| other.kind.name() == "request");
    match (&argument.kind, module) {
        (Kind::Handle(handle), _) => plain(handle_line(handle, module)),
        (Kind::Function(_), Module::Mpi) => plain("external :: %".into()),
        (Kind::Function(c_type), Module::F08) => plain(format!("procedure({c_type}) :: %")),
        (Kind::Raw(_), _) if declaration.name.contains("_range_") => {
            plain("integer, intent(in) :: %(3, *)".into())
        }
        (Kind::Raw(_), _) => plain("integer, intent(in) :: %".into()),
        // A target: what the call keeps the address of may change later, and compilers have to know it.
        (kind, Module::Mpi) if is_anything(kind) => {
            (format!("type(*), dimension(*), target :: {name}"), true)
        }
        (kind, Module::F08) if kind.is_buffer() => {
            let input = if kind.name() == "in buffer" { ", intent(in)" } else { "" };
            let asynchronous = if goes_on { ", asynchronous" } else { "" };
            plain(format!("type(*), dimension(..), target{input}{asynchronous} :: %"))
        }
        (Kind::Plain(_), _) => plain(plain_line(argument, declaration, module, wide)),
    }
}

fn is_anything(kind: &Kind) -> bool {
    kind.is_buffer() || kind.name() == "out detached"
}

fn handle_line(handle: &Handle, module: Module) -> String {
    let array = if handle.is_array() { "(*)" } else { "" };
    let intent = match handle.direction() {
        Direction::In => "in",
        Direction::Out => "out",
        Direction::InOut => "inout",
    };
    match module {
        Module::Mpi => format!("integer, intent({intent}) :: %{array}"),
        Module::F08 => format!("type({}), intent({intent}) :: %{array}", handle.object().c),
    }
}

fn plain_line(argument: &Argument, declaration: &Declaration, module: Module, wide: bool) -> String {
    let kind = argument.kind.name();
    let is_status = kind.contains("status");
    match (kind, module) {
        ("string", _) => "character(len=*), intent(in) :: %".into(),
        // It may be left as it is.
        ("out string", _) => "character(len=*), intent(inout) :: %".into(),
        ("logical", _) => "logical, intent(in) :: %".into(),
        ("out logical", _) => "logical, intent(out) :: %".into(),
        ("logicals", _) => "logical, intent(in) :: %(*)".into(),
        ("out logicals", _) => "logical, intent(out) :: %(*)".into(),
        ("out pointer" | "out detached", Module::F08) => "type(c_ptr), intent(out) :: %".into(),
        ("out pointer", Module::Mpi) => "integer(kind=MPI_ADDRESS_KIND), intent(out) :: %".into(),
        ("pointer", _) => {
            let intent = if declaration.name.contains("get_attr") { "out" } else { "in" };
            format!("integer(kind=MPI_ADDRESS_KIND), intent({intent}) :: %")
        }
        // Programs may pass MPI_STATUS_IGNORE, so a result has no intent.
        (_, Module::Mpi) if is_status && kind.ends_with("statuses") => {
            "integer :: %(MPI_STATUS_SIZE, *)".into()
        }
        (_, Module::Mpi) if is_status => "integer :: %(MPI_STATUS_SIZE)".into(),
        (_, Module::F08) if kind == "status" => "type(MPI_Status), intent(in) :: %".into(),
        (_, Module::F08) if kind.ends_with("statuses") => "type(MPI_Status) :: %(*)".into(),
        (_, Module::F08) if is_status => "type(MPI_Status) :: %".into(),
        _ => integer_line(argument, wide),
    }
}

/// An integer, or an array of integers, as wide as C says.
fn integer_line(argument: &Argument, wide: bool) -> String {
    let c = argument.kind.c_declaration("%", wide);
    let width = match c.trim_start_matches("const ").split([' ', '*']).next() {
        Some("MPI_Aint") => "(kind=MPI_ADDRESS_KIND)",
        Some("MPI_Count") => "(kind=MPI_COUNT_KIND)",
        Some("MPI_Offset") => "(kind=MPI_OFFSET_KIND)",
        _ => "",
    };
    let kind = argument.kind.name();
    let is_array = kind.ends_with('s') && !kind.ends_with("ss");
    let intent = match kind.split(' ').next() {
        Some("out") => "out",
        Some("inout") => "inout",
        _ => "in",
    };
    // Weights and error codes may be sentinels.
    let intent = if is_array && intent == "out" { String::new() } else { format!(", intent({intent})") };
    format!("integer{width}{intent} :: %{}", if is_array { "(*)" } else { "" })
}
