//! A page of the manual for every function: its prototypes, its arguments by their kinds, its
//! errors and where it stands in the standard. All of it is what the tables say.

use crate::abi::Abi;
use crate::declaration::{Argument, Declaration, Raises};
use crate::header::prototype;
use crate::kind::{Direction, Handle, Kind};
use crate::{Api, Problem};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Kinds that are no handles: the kind, what its argument is, and the class of error where it is bad.
const MEANINGS: &[(&str, &str, &str)] = &[
    ("in buffer", "address of data that the call reads, or a special address such as MPI_IN_PLACE where the standard allows it", "MPI_ERR_BUFFER"),
    ("out buffer", "address of memory for data, or a special address such as MPI_IN_PLACE where the standard allows it", "MPI_ERR_BUFFER"),
    ("pointer", "an address", "MPI_ERR_ARG"),
    ("out pointer", "where an address is stored", "MPI_ERR_ARG"),
    ("out detached", "where the address of the buffer is stored", "MPI_ERR_ARG"),
    ("count", "number of elements, not negative", "MPI_ERR_COUNT"),
    ("count?", "number of elements; it does not matter at every rank", "MPI_ERR_COUNT"),
    ("displacement", "a displacement or a size", "MPI_ERR_ARG"),
    ("unit", "size of a unit of displacements in bytes", "MPI_ERR_DISP"),
    ("aint", "an address or a displacement", "MPI_ERR_ARG"),
    ("large", "a number of 64 bits", "MPI_ERR_ARG"),
    ("extent", "an extent or a displacement in bytes", "MPI_ERR_ARG"),
    ("offset", "an offset in a file", "MPI_ERR_ARG"),
    ("counts", "numbers of elements, one for each block or rank", "MPI_ERR_COUNT"),
    ("displacements", "displacements, one for each block or rank", "MPI_ERR_ARG"),
    ("aints", "displacements in bytes", "MPI_ERR_ARG"),
    ("extents", "displacements in bytes", "MPI_ERR_ARG"),
    ("ints", "array of numbers", "MPI_ERR_ARG"),
    ("logicals", "array of truth values: 0 is false", "MPI_ERR_ARG"),
    ("out ints", "array in which numbers are stored", "MPI_ERR_ARG"),
    ("out logicals", "array in which truth values are stored", "MPI_ERR_ARG"),
    ("out indices", "array in which indices are stored, from 0", "MPI_ERR_ARG"),
    ("out aints", "array in which addresses are stored", "MPI_ERR_ARG"),
    ("out larges", "array in which numbers of 64 bits are stored", "MPI_ERR_ARG"),
    ("out count", "where a number is stored; MPI_UNDEFINED if it is too large for its type", "MPI_ERR_ARG"),
    ("inout count", "a number that the call changes", "MPI_ERR_ARG"),
    ("out unit", "where a size in bytes is stored", "MPI_ERR_ARG"),
    ("out extent", "where an extent in bytes is stored", "MPI_ERR_ARG"),
    ("inout extent", "a position in bytes that the call changes", "MPI_ERR_ARG"),
    ("out large", "where a number of 64 bits is stored", "MPI_ERR_ARG"),
    ("out int", "where a number is stored", "MPI_ERR_ARG"),
    ("out logical", "where a truth value is stored: 0 is false, 1 is true", "MPI_ERR_ARG"),
    ("out index", "where an index is stored, from 0, or MPI_UNDEFINED", "MPI_ERR_ARG"),
    ("inout int", "a number that the call changes", "MPI_ERR_ARG"),
    ("out aint", "where an address or a displacement is stored", "MPI_ERR_ARG"),
    ("out offset", "where an offset is stored", "MPI_ERR_ARG"),
    ("int", "a number", "MPI_ERR_ARG"),
    ("logical", "a truth value: 0 is false", "MPI_ERR_ARG"),
    ("number", "length of an array, not negative", "MPI_ERR_ARG"),
    ("rank", "rank of a process, or a special value such as MPI_PROC_NULL or MPI_ANY_SOURCE where the standard allows it", "MPI_ERR_RANK"),
    ("root", "rank of the root; MPI_ROOT or MPI_PROC_NULL between two groups", "MPI_ERR_ROOT"),
    ("tag", "tag of the message, up to the value of MPI_TAG_UB, or MPI_ANY_TAG to receive", "MPI_ERR_TAG"),
    ("string", "a string of C", "MPI_ERR_ARG"),
    ("out string", "memory for a string of C", "MPI_ERR_ARG"),
    ("status", "a status", "MPI_ERR_ARG"),
    ("inout status", "a status that the call changes", "MPI_ERR_ARG"),
    ("out status", "where the status is stored, or MPI_STATUS_IGNORE", "MPI_ERR_ARG"),
    ("out statuses", "array in which statuses are stored, or MPI_STATUSES_IGNORE", "MPI_ERR_ARG"),
];

/// Handles: the word of the tables, what it stands for, the class of error where it is bad.
const OBJECTS: &[(&str, &str, &str)] = &[
    ("comm", "communicator", "MPI_ERR_COMM"),
    ("group", "group", "MPI_ERR_GROUP"),
    ("datatype", "datatype", "MPI_ERR_TYPE"),
    ("op", "operation", "MPI_ERR_OP"),
    ("info", "info object", "MPI_ERR_INFO"),
    ("errhandler", "error handler", "MPI_ERR_ERRHANDLER"),
    ("session", "session", "MPI_ERR_SESSION"),
    ("message", "message", "MPI_ERR_ARG"),
    ("request", "request", "MPI_ERR_REQUEST"),
    ("win", "window", "MPI_ERR_WIN"),
    ("file", "file", "MPI_ERR_FILE"),
];

/// Writes the page of every function of an ABI, as `MPI_Send.3`, into a folder. The form with
/// counts of 64 bits is a page that leads to the other.
///
/// # Errors
/// A table or a page that cannot be read or written.
pub fn write(api: &Api, abi: &Abi, tables: &Path, folder: &Path) -> Result<(), Problem> {
    let mut titles = BTreeMap::new();
    for declaration in api.declarations_of(abi).filter(|one| abi.has(one.marks.set.as_deref()).1) {
        let chapter = declaration.chapter.as_str();
        if !titles.contains_key(chapter) {
            titles.insert(chapter, title(&tables.join(chapter).with_extension("api"))?);
        }
        let put = |name: &str, text: &str| {
            let file = folder.join(format!("{name}.3"));
            std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
        };
        let name = &declaration.name;
        put(name, &page(declaration, &titles[chapter]))?;
        if declaration.has_wide_form() {
            put(&format!("{name}_c"), &format!(".so man3/{name}.3\n"))?;
        }
    }
    Ok(())
}

/// What a table is about and where that stands in the standard: its first line.
fn title(table: &Path) -> Result<(String, String), Problem> {
    let text = std::fs::read_to_string(table).map_err(|error| format!("{}: {error}", table.display()))?;
    let line = text.lines().next().unwrap_or_default().trim_start_matches("# ");
    let (title, rest) = line.split_once(" (").unwrap_or((line.trim_end_matches('.'), ""));
    Ok((title.to_string(), rest.split(')').next().unwrap_or_default().to_string()))
}

fn page(declaration: &Declaration, (title, place): &(String, String)) -> String {
    let name = &declaration.name;
    let wide = declaration.has_wide_form();
    let both = if wide { format!("{name}, {name}_c") } else { name.clone() };
    let mut text = format!(
        ".\\\" Made from faces/mpi/api by serried-mpi-generate.\n.TH {name} 3 \"\" \"Serried {}\" \"MPI-5.0\"\n.SH NAME\n{both} \\- {}\n",
        env!("CARGO_PKG_VERSION"),
        lowered(title)
    );
    text.push_str(".SH SYNOPSIS\n.nf\n#include <mpi.h>\n\n");
    for wide in [false, true].into_iter().filter(|form| wide || !form) {
        text.push_str(&broken(&prototype(declaration, "", wide)));
    }
    text.push_str(".fi\n");
    if !declaration.arguments.is_empty() {
        text.push_str(".SH ARGUMENTS\n");
        for argument in &declaration.arguments {
            let _ = writeln!(text, ".TP\n.I {}\n{}.", argument.name, meaning(&argument.kind));
        }
    }
    text + &description(declaration, title, place) + &errors(declaration)
        + ".SH SEE ALSO\n.BR serried-run (1),\n.BR serried-why (1),\nthe MPI standard at https://www.mpi-forum.org/docs\n"
}

/// A prototype with an argument to a line where it is long.
fn broken(prototype: &str) -> String {
    if prototype.len() <= 78 {
        return prototype.to_string();
    }
    let width = prototype.find('(').unwrap_or(0) + 1;
    prototype.replace(", ", &format!(",\n{}", " ".repeat(width)))
}

fn lowered(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn meaning(kind: &Kind) -> String {
    match kind {
        Kind::Handle(handle) => of_handle(handle),
        Kind::Function(c_type) => format!("a function of the type {c_type}"),
        Kind::Raw(c_type) => format!("of the C type {c_type}"),
        Kind::Plain(_) => row(MEANINGS, kind.name()).0.to_string(),
    }
}

fn of_handle(handle: &Handle) -> String {
    let word = row(OBJECTS, handle.object().name).0;
    match (handle.direction(), handle.is_array()) {
        (Direction::In, false) => {
            format!("the {word}{}", if handle.may_be_null() { ", or its null handle" } else { "" })
        }
        (Direction::In, true) => format!("an array of {word}s"),
        (Direction::Out, false) => format!("where the handle of the {word} is stored"),
        (Direction::Out, true) => format!("array in which handles of {word}s are stored"),
        (Direction::InOut, false) => format!("handle of the {word}, which the call may change"),
        (Direction::InOut, true) => format!("array of handles of {word}s, which the call may change"),
    }
}

fn row(table: &'static [(&str, &'static str, &'static str)], name: &str) -> (&'static str, &'static str) {
    let found = table.iter().find(|row| row.0 == name);
    found.map_or(("an argument", "MPI_ERR_ARG"), |row| (row.1, row.2))
}

fn description(declaration: &Declaration, title: &str, place: &str) -> String {
    let marks = &declaration.marks;
    let mut text = format!(".SH DESCRIPTION\n{title}");
    let _ = writeln!(text, "{}.", if place.is_empty() { String::new() } else { format!(": {place}") });
    if marks.collective {
        text.push_str("The operation is collective: all members of the communicator begin it, in the same order of operations.\n");
    }
    if marks.anytime {
        text.push_str("It may be called before initialisation and after finalization.\n");
    }
    if declaration.has_wide_form() {
        let _ = writeln!(text, "{}_c takes counts and displacements of 64 bits.", declaration.name);
    }
    if marks.absent {
        text.push_str(
            ".PP\nIt is not there yet in this version of Serried: a call returns an error that says so.\n",
        );
    }
    text
}

fn errors(declaration: &Declaration) -> String {
    if let Some(returned) = &declaration.returns {
        return format!(".SH RETURN VALUE\nA value of the type {returned}. It does not fail.\n");
    }
    let mut text = ".SH RETURN VALUE\nMPI_SUCCESS, or an error code. ".to_string();
    text.push_str(
        match (
            declaration.marks.raises,
            declaration.arguments.iter().find_map(|one| one.kind.answers_for_errors()),
        ) {
            (Some(Raises::Nobody), _) => "No error handler is called.\n",
            (Some(Raises::File), None) => "The error handler of MPI_FILE_NULL answers first.\n",
            (_, Some("Comm")) => {
                "The error handler of the communicator answers first; as a rule it ends the job.\n"
            }
            (_, Some("Win")) => "The error handler of the window answers first; as a rule it ends the job.\n",
            (_, Some("Session")) => "The error handler of the session answers first.\n",
            (_, Some("File")) => {
                "The error handler of the file answers first; as a rule it returns the code.\n"
            }
            _ => "The error handler of MPI_COMM_SELF answers first; as a rule it ends the job.\n",
        },
    );
    let mut classes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for argument in &declaration.arguments {
        if let Some(class) = class(argument) {
            classes.entry(class).or_default().push(&argument.name);
        }
    }
    text.push_str(
        ".SH ERRORS\nClasses of errors that arguments cause, besides those of the operation itself:\n",
    );
    for (class, names) in classes {
        let _ = writeln!(text, ".TP\n.B {class}\n{}", names.join(", "));
    }
    text
}

fn class(argument: &Argument) -> Option<&'static str> {
    match &argument.kind {
        Kind::Handle(handle) if handle.direction() == Direction::Out => Some("MPI_ERR_ARG"),
        Kind::Handle(handle) => Some(row(OBJECTS, handle.object().name).1),
        Kind::Plain(_) => Some(row(MEANINGS, argument.kind.name()).1),
        Kind::Function(_) => Some("MPI_ERR_ARG"),
        Kind::Raw(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::PLAIN;

    #[test]
    fn every_kind_has_a_meaning() {
        let known = |name: &str| MEANINGS.iter().any(|row| row.0 == name);
        let missing: Vec<&str> = PLAIN.iter().map(|plain| plain.name()).filter(|name| !known(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let known = |name: &str| OBJECTS.iter().any(|row| row.0 == name);
        assert!(crate::kind::OBJECTS.iter().all(|object| known(object.name)));
    }

    #[test]
    fn a_page_tells_both_forms_the_arguments_and_the_place_in_the_standard() {
        let tables = Path::new("../api");
        let api = Api::read(tables).unwrap();
        let send = api.declarations.iter().find(|one| one.name == "MPI_Send").unwrap();
        let page = page(send, &title(&tables.join("point_to_point.api")).unwrap());
        for words in [
            "MPI_Send, MPI_Send_c \\- point-to-point communication",
            "int MPI_Send(const void *buf,\n             int count,",
            "MPI_Count count,",
            ".I dest\nrank of a process",
            "MPI-5.0 chapter 3",
            ".B MPI_ERR_TAG\ntag",
            "The error handler of the communicator",
        ] {
            assert!(page.contains(words), "{words} is missing in\n{page}");
        }
    }
}
