//! Arguments of programs whose `INTEGER` has 8 bytes (`-fdefault-integer-8`): what has an int in C is copied there and
//! back. Counts are no trouble: the C functions with 64-bit counts take them as they are.

use super::passing::{Context, Passed};
use crate::declaration::Declaration;
use crate::kind::Kind;

/// Whether a routine with a form for 64-bit counts calls that. One that makes a datatype does so only for counts that no
/// int can hold: what such a type is made of cannot be asked for in ints.
pub fn takes_large_counts(declaration: &Declaration) -> bool {
    declaration.has_wide_form() && !makes_a_type(declaration)
}

fn makes_a_type(declaration: &Declaration) -> bool {
    declaration.arguments.iter().any(|argument| argument.name == "newtype")
}

/// Arguments that say how long an array is, where it has no rule of its own.
const LENGTHS: [&str; 10] = [
    "ndims",
    "maxdims",
    "count",
    "incount",
    "n",
    "length",
    "nnodes",
    "maxneighbors",
    "max_integers",
    "maxindex",
];

/// Arrays whose length is said otherwise: routine, argument, length.
const OTHERS: [(&str, &str, &str); 19] = [
    ("MPI_Cart_rank", "coords", "lengths::dimensions(handles::to_comm(narrow(*comm)))"),
    ("MPI_Cart_sub", "remain_dims", "lengths::dimensions(handles::to_comm(narrow(*comm)))"),
    ("MPI_Dist_graph_create", "destinations", "lengths::total(degrees, *n)"),
    ("MPI_Dist_graph_create", "weights", "lengths::total(degrees, *n)"),
    ("MPI_Dist_graph_create_adjacent", "sources", "i64::from(*indegree)"),
    ("MPI_Dist_graph_create_adjacent", "sourceweights", "i64::from(*indegree)"),
    ("MPI_Dist_graph_create_adjacent", "destinations", "i64::from(*outdegree)"),
    ("MPI_Dist_graph_create_adjacent", "destweights", "i64::from(*outdegree)"),
    ("MPI_Dist_graph_neighbors", "sources", "i64::from(*maxindegree)"),
    ("MPI_Dist_graph_neighbors", "sourceweights", "i64::from(*maxindegree)"),
    ("MPI_Dist_graph_neighbors", "destinations", "i64::from(*maxoutdegree)"),
    ("MPI_Dist_graph_neighbors", "destweights", "i64::from(*maxoutdegree)"),
    ("MPI_Graph_create", "edges", "lengths::last(indx, *nnodes)"),
    ("MPI_Graph_map", "edges", "lengths::last(indx, *nnodes)"),
    ("MPI_Graph_get", "edges", "i64::from(*maxedges)"),
    ("MPI_Group_range_excl", "ranges", "i64::from(*n) * 3"),
    ("MPI_Group_range_incl", "ranges", "i64::from(*n) * 3"),
    ("MPI_Type_create_darray", "array_of_psizes", "i64::from(*ndims)"),
    ("MPI_Type_create_struct", "array_of_blocklengths", "i64::from(*count)"),
];

impl Context<'_> {
    /// An argument that is no handle, if it has to be copied.
    pub(super) fn widened(&self, name: &str, kind: &Kind) -> Option<Passed> {
        let rust = kind.rust_type(self.wide);
        let passed =
            |constness: &str| Passed { parameter: format!("{name}: *{constness} Fint"), ..Passed::default() };
        let array = |make: String, is_stored: bool| Passed {
            before: format!("let mut {name}_c = {make};"),
            expression: format!("{name}_c.as_mut_ptr().cast()"),
            after: if is_stored { format!("{name}_c.store();") } else { String::new() },
            ..passed("mut")
        };
        let cell = |before: &str, after: &str| Passed {
            before: format!("let mut {name}_c = Cell::new({name});{before}"),
            expression: format!("{name}_c.as_mut_ptr()"),
            after: format!("{after}{name}_c.store();"),
            ..passed("mut")
        };
        let ints = || format!("Ints::new({name}, {})", self.length_of_ints(name));
        Some(match kind.name() {
            "status" => array(format!("Ints::status({name})"), false),
            "out status" | "inout status" => array(format!("Ints::status({name})"), true),
            "out statuses" => array(format!("Ints::statuses({name}, {})", self.length_of_ints(name)), true),
            "out index" => cell(
                &format!(" {name}_c.set(abi::MPI_UNDEFINED);"),
                &format!("index_from_one({name}_c.as_mut_ptr()); "),
            ),
            "out indices" => Passed {
                before: format!("outcount_c.set(0); let mut {name}_c = {};", ints()),
                after: format!(
                    "indices_from_one({name}_c.as_mut_ptr(), outcount_c.as_mut_ptr()); {name}_c.store();"
                ),
                ..array(String::new(), true)
            },
            "logical" => Passed { expression: format!("c_int::from(*{name} != 0)"), ..passed("const") },
            "ints" | "logicals" | "counts" | "displacements" if rust == "*const c_int" => {
                array(ints(), false)
            }
            "out ints" | "out logicals" => array(ints(), true),
            _ if matches!(kind, Kind::Raw(_)) && rust.starts_with('*') => array(ints(), false),
            _ if rust == "*mut c_int" => cell("", ""),
            _ if rust == "c_int" => Passed { expression: format!("narrow(*{name})"), ..passed("const") },
            _ => return None,
        })
    }

    /// For a routine that makes a datatype: whether ints can hold all its counts, if it has any.
    pub(super) fn counts_fit(&self) -> Option<String> {
        if !self.library.is_wide() || !self.declaration.has_wide_form() || !makes_a_type(self.declaration) {
            return None;
        }
        let counted =
            self.declaration.arguments.iter().filter(|argument| argument.kind.differs_between_forms());
        let fit = counted.filter_map(|argument| match argument.kind.rust_type(false).as_str() {
            "c_int" => Some(format!("fits(*{})", argument.name)),
            "*const c_int" => Some(format!("{}_c.fit()", argument.name)),
            _ => None,
        });
        let all: Vec<String> = fit.collect();
        (!all.is_empty()).then(|| all.join(" && "))
    }

    fn length_of_ints(&self, name: &str) -> String {
        let routine = self.declaration.name.as_str();
        let other = OTHERS.iter().find(|(whose, argument, _)| *whose == routine && *argument == name);
        if let Some((.., length)) = other {
            return length.to_string();
        }
        let has =
            |wanted: &&&str| self.declaration.arguments.iter().any(|argument| argument.name == ***wanted);
        match LENGTHS.iter().find(has) {
            Some(length) => format!("i64::from(*{length})"),
            // The compiler says so of a routine for which there is no rule.
            None => format!("length_of_{name}_in_{routine}"),
        }
    }
}
