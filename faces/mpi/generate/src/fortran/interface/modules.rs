//! The source of the modules: what both share, then `mpi` and `mpi_f08`.

use super::constants::{common, failures, handles, kinds, numbers, Shape, SENTINELS};
use super::declare::{dummies, Dummy, Module};
use crate::abi::Abi;
use crate::declaration::Declaration;
use crate::fortran::library::{Library, Style};
use crate::fortran::routine::{has_callback, names, routines};
use crate::header::has_to_do_with_failures;
use crate::kind::OBJECTS;
use crate::Api;
use std::fmt::Write;

/// Callback types and predefined functions, as each module has them.
const CALLBACKS_OF_MPI: &str = include_str!("callbacks_mpi.f90");
const CALLBACKS_OF_F08: &str = include_str!("callbacks_f08.f90");
/// `MPI_Sizeof` and conversions of statuses.
const PROCEDURES: &str = include_str!("procedures.f90");

/// The whole source, for programs whose integers are those of the library.
pub fn modules(api: &Api, abi: &Abi, library: &Library) -> String {
    let mut text = format!(
        "! The modules of Serried for Fortran: MPI-5.0 over the {} ({}).\n\
         ! Made by serried-mpi-generate; `mpifort` compiles it at its first use.\n\n",
        abi.name, abi.soname
    );
    text += &types(api, abi, library);
    text += &module(api, abi, library, Module::Mpi);
    text += &module(api, abi, library, Module::F08);
    text + &extension(api, abi, library, "mpi", "mpi_ext")
        + &extension(api, abi, library, "mpi_f08", "mpi_f08_ext")
}

/// What a module has for programs that go on without processes that fail, in a module by the name that Open MPI has for it.
fn extension(api: &Api, abi: &Abi, library: &Library, of: &str, name: &str) -> String {
    let routines = routines(api, abi, &library.sets).filter(|one| has_to_do_with_failures(one));
    let names = failures(api, abi).into_iter().map(|(name, _)| name);
    let names = names.chain(routines.flat_map(|one| [one.name.clone(), format!("P{}", one.name)]));
    let names: Vec<String> = names.collect();
    format!("module {name}\n  use {of}, only: {}\nend module\n\n", names.join(", &\n    "))
}

/// Types, kinds and numbers.
fn types(api: &Api, abi: &Abi, library: &Library) -> String {
    let mut text = "module mpi_types\n  implicit none\n".to_string();
    for (name, bytes) in kinds(library.is_wide()) {
        let _ = writeln!(text, "  integer, parameter :: {name} = {bytes}");
    }
    for (name, value) in numbers(api, abi) {
        let _ = writeln!(text, "  integer, parameter :: {name} = {value}");
    }
    text += "  integer(kind=MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1\n";
    for object in OBJECTS {
        let _ = writeln!(text, "  type, bind(C) :: {0}\n    integer :: MPI_VAL\n  end type", object.c);
    }
    let others = crate::status::ints(&abi.status) - 3;
    let _ = writeln!(
        text,
        "  type, bind(C) :: MPI_Status\n    integer :: MPI_SOURCE\n    integer :: MPI_TAG\n    integer :: MPI_ERROR\n    \
         integer, private :: internal({others})\n  end type"
    );
    let operators = [("equal", "operator(==)", "=="), ("unequal", "operator(/=)", "/=")];
    for (name, generic, _) in operators {
        generic_of(&mut text, generic, OBJECTS.iter().map(|object| format!("{name}_{}", object.name)));
    }
    let ranked = SIZED.iter().flat_map(|one| (0..=MOST_DIMENSIONS).map(move |rank| (one, rank)));
    generic_of(
        &mut text,
        "MPI_Sizeof",
        ranked.clone().map(|((name, _), rank)| format!("size_of_{name}_{rank}")),
    );
    text += "contains\n";
    for (object, (name, _, operator)) in OBJECTS.iter().flat_map(|one| operators.map(|other| (one, other))) {
        let (short, c) = (object.name, object.c);
        let _ = writeln!(
            text,
            "  elemental logical function {name}_{short}(a, b)\n    type({c}), intent(in) :: a, b\n    \
             {name}_{short} = a%MPI_VAL {operator} b%MPI_VAL\n  end function"
        );
    }
    for ((name, declared), rank) in ranked {
        let dimensions = if rank == 0 { String::new() } else { format!("({})", vec![":"; rank].join(", ")) };
        let _ = writeln!(
            text,
            "  subroutine size_of_{name}_{rank}(x, size, ierror)\n    {declared}, intent(in) :: x{dimensions}\n    \
             integer, intent(out) :: size\n    integer, optional, intent(out) :: ierror\n    \
             size = storage_size(x) / 8\n    if (present(ierror)) ierror = MPI_SUCCESS\n  end subroutine"
        );
    }
    text + PROCEDURES + "end module\n\n"
}

/// The types that `MPI_Sizeof` knows, scalar and in arrays of so many dimensions.
const SIZED: [(&str, &str); 10] = [
    ("character", "character(len=*)"),
    ("logical", "logical"),
    ("int8", "integer(kind=1)"),
    ("int16", "integer(kind=2)"),
    ("int32", "integer(kind=4)"),
    ("int64", "integer(kind=8)"),
    ("real32", "real(kind=4)"),
    ("real64", "real(kind=8)"),
    ("complex64", "complex(kind=4)"),
    ("complex128", "complex(kind=8)"),
];
const MOST_DIMENSIONS: usize = 7;

/// One name for several procedures of the module, whose own names programs do not see.
fn generic_of(text: &mut String, generic: &str, procedures: impl Iterator<Item = String>) {
    let procedures: Vec<String> = procedures.collect();
    let _ = writeln!(text, "  interface {generic}");
    for procedure in &procedures {
        let _ = writeln!(text, "    module procedure {procedure}");
    }
    text.push_str("  end interface\n");
    for procedure in &procedures {
        let _ = writeln!(text, "  private :: {procedure}");
    }
}

fn module(api: &Api, abi: &Abi, library: &Library, module: Module) -> String {
    let is_f08 = module == Module::F08;
    let name = if is_f08 { "mpi_f08" } else { "mpi" };
    let mut text =
        format!("module {name}\n  use, intrinsic :: iso_c_binding, only: c_ptr, c_int\n  use mpi_types\n  implicit none\n");
    // A program's own names may be these.
    text += "  private :: c_ptr, c_int\n";
    for (name, object, value) in handles(api, abi, library.is_wide()) {
        let _ = match is_f08 {
            true => writeln!(text, "  type({0}), parameter :: {name} = {0}({value})", object.c),
            false => writeln!(text, "  integer, parameter :: {name} = {value}"),
        };
    }
    for (name, shape) in SENTINELS {
        let _ = writeln!(text, "  {}\n  common /{}/ {name}", sentinel(name, shape, is_f08), common(name));
    }
    let supported = if is_f08 { ".true." } else { ".false." };
    let _ = writeln!(text, "  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = {supported}");
    let _ = writeln!(text, "  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = {supported}");
    text += if is_f08 { CALLBACKS_OF_F08 } else { CALLBACKS_OF_MPI };
    for declaration in routines(api, abi, &library.sets) {
        for profiling in ["", "P"] {
            text += &interface(declaration, library, module, profiling);
        }
    }
    text + "end module\n\n"
}

fn sentinel(name: &str, shape: Shape, is_f08: bool) -> String {
    match (shape, is_f08) {
        (Shape::Integer(0), _) => format!("integer :: {name}"),
        (Shape::Integer(_), _) => format!("integer :: {name}(1)"),
        (Shape::Character(dimensions), _) => {
            format!("character(len=1) :: {name}({})", vec!["1"; dimensions].join(", "))
        }
        (Shape::Status(false), true) => format!("type(MPI_Status) :: {name}"),
        (Shape::Status(true), true) => format!("type(MPI_Status) :: {name}(1)"),
        (Shape::Status(false), false) => format!("integer :: {name}(MPI_STATUS_SIZE)"),
        (Shape::Status(true), false) => format!("integer :: {name}(MPI_STATUS_SIZE, 1)"),
    }
}

/// The routines that a program means by one name.
fn interface(declaration: &Declaration, library: &Library, module: Module, profiling: &str) -> String {
    let base = declaration.name.strip_suffix("_c").unwrap_or(&declaration.name);
    let of_large = base != declaration.name;
    if module == Module::Mpi {
        if of_large {
            return String::new();
        }
        let name = format!("{profiling}{}", declaration.name);
        let body = body(declaration, &dummies(declaration, module, false), &name, None);
        let memory = pointer_form(declaration, &name);
        return format!(
            "  interface {}\n{body}{memory}  end interface\n",
            if memory.is_empty() { "" } else { &name }
        );
    }
    // Deprecated routines are no part of mpi_f08 (MPI-5.0 §19.1.2).
    if ["MPI_Attr_delete", "MPI_Attr_get", "MPI_Attr_put", "MPI_Keyval_create", "MPI_Keyval_free"]
        .contains(&base)
    {
        return String::new();
    }
    let block = library.blocks.iter().find(|block| block.style == Style::Bound);
    let bound = |large: bool| {
        let patterns = block.map_or(&[][..], |block| block.patterns(declaration, large));
        let names = names(patterns, base);
        names.into_iter().find(|name| name.starts_with('p') != profiling.is_empty()).unwrap_or_default()
    };
    // Procedures do not tell two forms apart, nor do counts that are as wide as integers: these have the name of C.
    let generic = if has_callback(declaration) || library.is_wide() { &declaration.name } else { base };
    let mut text = format!("  interface {profiling}{generic}\n");
    let narrow = dummies(declaration, module, false);
    let specific = if of_large { "_large" } else { "" };
    text += &body(declaration, &narrow, &format!("{profiling}{base}_f08{specific}"), Some(&bound(of_large)));
    if declaration.has_wide_form() && !library.is_wide() {
        let wide = dummies(declaration, module, true);
        let differs =
            narrow.iter().zip(&wide).any(|(one, other)| same_width(&one.line) != same_width(&other.line));
        if differs {
            text += &body(declaration, &wide, &format!("{profiling}{base}_f08_large"), Some(&bound(true)));
        }
    }
    text + "  end interface\n"
}

/// Addresses and counts are as wide as each other, so no compiler can tell which is meant.
fn same_width(line: &str) -> String {
    line.replace("MPI_COUNT_KIND", "MPI_ADDRESS_KIND").replace("MPI_OFFSET_KIND", "MPI_ADDRESS_KIND")
}

/// A routine of `use mpi` that gives an address gives it as a pointer of C too, under the same name.
fn pointer_form(declaration: &Declaration, name: &str) -> String {
    let is_address = |argument: &crate::declaration::Argument| argument.kind.name() == "out pointer";
    if !declaration.arguments.iter().any(is_address) {
        return String::new();
    }
    let mut dummies = dummies(declaration, Module::Mpi, false);
    for dummy in dummies.iter_mut().filter(|dummy| dummy.name == "baseptr") {
        dummy.line = "type(c_ptr), intent(out) :: baseptr".to_string();
    }
    body(declaration, &dummies, &format!("{name}_cptr"), None)
}

/// An interface body. `bound` is the name that the linker knows, where the compiler does not make it of the other.
fn body(declaration: &Declaration, dummies: &[Dummy], name: &str, bound: Option<&str>) -> String {
    let result = match declaration.returns.as_deref() {
        None => None,
        Some("double") => Some("double precision"),
        Some(_) => Some("integer(kind=MPI_ADDRESS_KIND)"),
    };
    let what = if result.is_some() { "function" } else { "subroutine" };
    let names: Vec<&str> = dummies.iter().map(|dummy| dummy.name.as_str()).collect();
    let mut text = format!("    {what} {name}({})", wrapped(&names));
    // An interface of C takes no procedure of Fortran, so such a routine has an ordinary one.
    if let Some(bound) = bound.filter(|_| !has_callback(declaration)) {
        let _ = write!(text, " &\n        bind(C, name=\"{bound}\")");
    }
    text += "\n      import\n      implicit none\n";
    for dummy in dummies.iter().filter(|dummy| dummy.is_anything) {
        let name = &dummy.name;
        let _ =
            writeln!(text, "      !GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n      !DIR$ IGNORE_TKR {name}");
    }
    for dummy in dummies {
        let _ = writeln!(text, "      {}", dummy.line);
    }
    if let Some(result) = result {
        let _ = writeln!(text, "      {result} :: {name}");
    }
    text + &format!("    end {what}\n")
}

/// Names in lines that are short enough.
fn wrapped(names: &[&str]) -> String {
    let lines: Vec<String> = names.chunks(4).map(|chunk| chunk.join(", ")).collect();
    lines.join(", &\n        ")
}
