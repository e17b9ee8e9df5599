//! How an argument of Fortran becomes one of C: one rule for each kind of argument.
//!
//! In Fortran every argument is an address. What C takes by value is read there, what C
//! takes by address is passed on. Only handles, strings, indices, sentinels and (with
//! descriptors, see `buffers.rs`) buffers need more.

use super::library::{Library, Style};
use crate::abi::{Abi, Form};
use crate::declaration::{Argument, Declaration};
use crate::kind::{Direction, Handle, Kind};

/// One argument of a wrapper: what Fortran passes, and what is done before and after the call.
#[derive(Clone, Debug, Default)]
pub struct Passed {
    /// The parameter in Rust.
    pub parameter: String,
    /// A parameter behind all others: the length of a string.
    pub length: Option<String>,
    /// Statements before the call.
    pub before: String,
    /// What C gets.
    pub expression: String,
    /// Statements after a call that succeeded.
    pub after_success: String,
    /// Statements after any call.
    pub after: String,
}

/// What the rules depend on.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The ABI of the C library.
    pub abi: &'a Abi,
    /// The Fortran library.
    pub library: &'a Library,
    /// How arguments come.
    pub style: Style,
    /// The routine.
    pub declaration: &'a Declaration,
    /// Whether its counts have 64 bits.
    pub wide: bool,
}

impl Context<'_> {
    /// How an argument is passed.
    pub fn pass(&self, argument: &Argument) -> Passed {
        match &argument.kind {
            kind if kind.is_buffer() && self.style != Style::Plain => self.section(argument),
            Kind::Handle(handle) => self.handle(&argument.name, handle),
            kind => {
                let widened = self.library.is_wide().then(|| self.widened(&argument.name, kind)).flatten();
                widened.unwrap_or_else(|| self.plain(&argument.name, kind))
            }
        }
    }

    /// An argument that is no handle.
    fn plain(&self, name: &str, kind: &Kind) -> Passed {
        let rust = kind.rust_type(self.wide);
        let simple = |parameter: &str, expression: &str| Passed {
            parameter: format!("{name}: {parameter}"),
            expression: expression.replace('%', name),
            ..Passed::default()
        };
        match kind.name() {
            "in buffer" | "out buffer" => simple("*mut c_void", "special::buffer(%)"),
            "out detached" if self.style == Style::Plain => Passed {
                before: format!("let mut {name}_c: *mut c_void = std::ptr::null_mut();"),
                ..simple("*mut c_void", "(&raw mut %_c).cast()")
            },
            "status" | "out status" | "inout status" => simple("*mut c_int", "special::status(%)"),
            "out statuses" => simple("*mut c_int", "special::statuses(%)"),
            "ints" | "out ints" | "logicals" | "out logicals" => simple("*mut c_int", "special::ints(%)"),
            "string" => self.string(name),
            "out string" => self.out_string(name),
            "out index" => Passed {
                before: format!("*{name} = abi::MPI_UNDEFINED;"),
                after: format!("index_from_one({name});"),
                ..simple("*mut c_int", "%")
            },
            "out indices" => Passed {
                before: "*outcount = 0;".to_string(),
                after: format!("indices_from_one({name}, outcount);"),
                ..simple("*mut c_int", "%")
            },
            _ if rust.starts_with('*') => simple(&rust, "%"),
            _ => simple(&format!("*const {rust}"), "*%"),
        }
    }

    /// Where a string lies and how long it is: two parameters, or one descriptor.
    fn text(&self, name: &str) -> (Passed, String) {
        if self.style == Style::Bound {
            let parameter = format!("{name}: *const CfiDescriptor");
            return (Passed { parameter, ..Passed::default() }, format!("(*{name}).text()"));
        }
        let passed = Passed {
            parameter: format!("{name}: *mut c_char"),
            length: Some(format!("{name}_length: usize")),
            ..Passed::default()
        };
        (passed, format!("({name}.cast_const(), {name}_length)"))
    }

    fn string(&self, name: &str) -> Passed {
        let (passed, place) = self.text(name);
        let read = if self.declaration.chapter == "info" { "stripped" } else { "trimmed" };
        Passed {
            before: format!("let {name}_c = text::{read}({place});"),
            expression: format!("{name}_c.as_ptr()"),
            ..passed
        }
    }

    fn out_string(&self, name: &str) -> Passed {
        let (passed, place) = self.text(name);
        Passed {
            before: format!("let mut {name}_c = text::Out::new({place});"),
            expression: format!("{name}_c.as_mut_ptr()"),
            after_success: format!("{name}_c.put();"),
            ..passed
        }
    }

    /// Whether handles of a kind are Fortran's integers as they are.
    fn is_integer(&self, handle: &Handle) -> bool {
        let form = if handle.object().name == "file" { self.abi.files } else { self.abi.handles };
        form == Form::Integers
    }

    fn handle(&self, name: &str, handle: &Handle) -> Passed {
        let object = handle.object().name;
        let is_input = handle.direction() == Direction::In;
        let parameter =
            format!("{name}: {} Fint", if is_input && !handle.is_array() { "*const" } else { "*mut" });
        let passed = Passed { parameter, ..Passed::default() };
        let by_value = is_input && !handle.is_array();
        let value = if self.library.is_wide() { format!("narrow(*{name})") } else { format!("*{name}") };
        if self.is_integer(handle) {
            let expression = if by_value { value } else { format!("{name}.cast()") };
            return Passed { expression, ..passed };
        }
        let store = format!("{name}_c.store(handles::from_{object});");
        match (handle.is_array(), handle.direction()) {
            (false, Direction::In) => {
                Passed { expression: format!("handles::to_{object}({value})"), ..passed }
            }
            (false, Direction::Out) => Passed {
                before: format!("let mut {name}_c = handles::Place::empty({name});"),
                expression: format!("{name}_c.as_mut_ptr()"),
                after_success: store,
                ..passed
            },
            (false, Direction::InOut) => Passed {
                before: format!("let mut {name}_c = handles::Place::new({name}, handles::to_{object});"),
                expression: format!("{name}_c.as_mut_ptr()"),
                after: store,
                ..passed
            },
            (true, direction) => Passed {
                before: format!(
                    "let mut {name}_c = handles::Array::new({name}, {}, handles::to_{object});",
                    self.length(name)
                ),
                expression: format!("{name}_c.as_mut_ptr()"),
                after: if direction == Direction::In { String::new() } else { store },
                ..passed
            },
        }
    }

    /// How long an array of handles is: as an argument says, or as the communicator has members or neighbours.
    fn length(&self, name: &str) -> String {
        let has =
            |wanted: &&&str| self.declaration.arguments.iter().any(|argument| argument.name == ***wanted);
        if let Some(length) = ["count", "incount", "max_datatypes"].iter().find(has) {
            return format!("i64::from(*{length})");
        }
        let side = if name == "sendtypes" { "sending" } else { "receiving" };
        let whom = if self.declaration.name.contains("eighbor") { "neighbors" } else { "members" };
        let comm = if self.library.is_wide() { "narrow(*comm)" } else { "*comm" };
        format!("lengths::{whom}_{side}(handles::to_comm({comm}), sendbuf.cast())")
    }
}
