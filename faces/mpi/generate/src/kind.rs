//! The kinds of arguments: how C declares one, in the int form and in the form
//! with 64-bit counts (`_c`), and how the entry makes of it what a body gets.
//!
//! In the rows below `%` stands for the name of the argument.

use crate::Problem;

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A row of [`PLAIN`].
    Plain(&'static Plain),
    /// A handle, or a pointer to or an array of handles.
    Handle(Handle),
    /// A pointer to a function of this C type.
    Function(String),
    /// A C type passed as it is.
    Raw(String),
}

/// A kind that is no handle.
#[derive(Debug, PartialEq, Eq)]
pub struct Plain {
    name: &'static str,
    c: &'static str,
    c_wide: &'static str,
    rust: &'static str,
    rust_wide: &'static str,
    convert: &'static str,
}

/// How a handle is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    object: &'static Object,
    direction: Direction,
    demand: Demand,
    array: bool,
}

/// What a handle that a call reads must be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Demand {
    /// That of an object.
    Object,
    /// That of an object, or null (`info?`).
    Nullable,
    /// Anything, until the body asks for the object (`late datatype`).
    Late,
    /// That of an object, or null where this other argument is 0 (`datatype of count`).
    NullableWithout(String),
}

/// What a call does with a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It reads it.
    In,
    /// It stores one.
    Out,
    /// Both.
    InOut,
}

/// A kind of object that handles stand for.
#[derive(Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name in the tables.
    pub name: &'static str,
    /// Its type in C.
    pub c: &'static str,
    /// Its number, which stands in the 32 bits of a handle.
    pub number: u32,
    table: &'static str,
}

/// All kinds.
pub const OBJECTS: &[Object] = &[
    Object { name: "comm", c: "MPI_Comm", number: 1, table: "COMMS" },
    Object { name: "group", c: "MPI_Group", number: 2, table: "GROUPS" },
    Object { name: "datatype", c: "MPI_Datatype", number: 3, table: "DATATYPES" },
    Object { name: "op", c: "MPI_Op", number: 6, table: "OPS" },
    Object { name: "info", c: "MPI_Info", number: 7, table: "INFOS" },
    Object { name: "errhandler", c: "MPI_Errhandler", number: 5, table: "ERRHANDLERS" },
    Object { name: "session", c: "MPI_Session", number: 14, table: "SESSIONS" },
    Object { name: "message", c: "MPI_Message", number: 13, table: "MESSAGES" },
    Object { name: "request", c: "MPI_Request", number: 11, table: "" },
    Object { name: "win", c: "MPI_Win", number: 8, table: "WINS" },
    Object { name: "file", c: "MPI_File", number: 4, table: "FILES" },
];

/// The kind of object of a C type.
pub fn object(c_type: &str) -> Option<&'static Object> {
    OBJECTS.iter().find(|object| object.c == c_type)
}

impl Plain {
    /// Its name in the tables.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

macro_rules! rows {
    ($($name:literal: $c:literal | $c_wide:literal, $rust:literal | $rust_wide:literal => $convert:literal;)*) => {
        &[$(Plain { name: $name, c: $c, c_wide: $c_wide, rust: $rust, rust_wide: $rust_wide, convert: $convert },)*]
    };
}

/// Every kind that is no handle.
pub const PLAIN: &[Plain] = rows! {
    "in buffer": "const void *%" | "const void *%", "*const c_void" | "*const c_void" => "%";
    "out buffer": "void *%" | "void *%", "*mut c_void" | "*mut c_void" => "%";
    "pointer": "void *%" | "void *%", "*mut c_void" | "*mut c_void" => "%";
    "out pointer": "void *%" | "void *%", "*mut c_void" | "*mut c_void" => "%";
    "out detached": "void *%" | "void *%", "*mut c_void" | "*mut c_void" => "%";
    "count": "int %" | "MPI_Count %", "c_int" | "i64" => "arguments::count(\"%\", i64::from(%))?";
    "count?": "int %" | "MPI_Count %", "c_int" | "i64" => "i64::from(%)";
    "displacement": "int %" | "MPI_Count %", "c_int" | "i64" => "i64::from(%)";
    "unit": "int %" | "MPI_Aint %", "c_int" | "i64" => "i64::from(%)";
    "aint": "MPI_Aint %" | "MPI_Aint %", "i64" | "i64" => "%";
    "large": "MPI_Count %" | "MPI_Count %", "i64" | "i64" => "%";
    "extent": "MPI_Aint %" | "MPI_Count %", "i64" | "i64" => "%";
    "offset": "MPI_Offset %" | "MPI_Offset %", "i64" | "i64" => "%";
    "counts": "const int %[]" | "const MPI_Count %[]", "*const c_int" | "*const i64" => "Counts::from(%)";
    "displacements": "const int %[]" | "const MPI_Aint %[]", "*const c_int" | "*const i64" => "Counts::from(%)";
    "aints": "const MPI_Aint %[]" | "const MPI_Aint %[]", "*const i64" | "*const i64" => "Counts::from(%)";
    "extents": "const MPI_Aint %[]" | "const MPI_Count %[]", "*const i64" | "*const i64" => "Counts::from(%)";
    "ints": "const int *%" | "const int *%", "*const c_int" | "*const c_int" => "Ints::new(\"%\", %)";
    "logicals": "const int *%" | "const int *%", "*const c_int" | "*const c_int" => "Ints::new(\"%\", %)";
    "out ints": "int *%" | "int *%", "*mut c_int" | "*mut c_int" => "OutArray::new(\"%\", %)";
    "out logicals": "int *%" | "int *%", "*mut c_int" | "*mut c_int" => "OutArray::new(\"%\", %)";
    "out indices": "int *%" | "int *%", "*mut c_int" | "*mut c_int" => "OutArray::new(\"%\", %)";
    "out aints": "MPI_Aint %[]" | "MPI_Aint %[]", "*mut i64" | "*mut i64" => "OutArray::new(\"%\", %)";
    "out larges": "MPI_Count %[]" | "MPI_Count %[]", "*mut i64" | "*mut i64" => "OutArray::new(\"%\", %)";
    "out count": "int *%" | "MPI_Count *%", "*mut c_int" | "*mut i64" => "OutCount::new(\"%\", %)?";
    "inout count": "int *%" | "MPI_Count *%", "*mut c_int" | "*mut i64" => "OutCount::new(\"%\", %)?";
    "out unit": "int *%" | "MPI_Aint *%", "*mut c_int" | "*mut i64" => "OutCount::new(\"%\", %)?";
    "out extent": "MPI_Aint *%" | "MPI_Count *%", "*mut i64" | "*mut i64" => "OutCount::new(\"%\", %)?";
    "inout extent": "MPI_Aint *%" | "MPI_Count *%", "*mut i64" | "*mut i64" => "OutCount::new(\"%\", %)?";
    "out large": "MPI_Count *%" | "MPI_Count *%", "*mut i64" | "*mut i64" => "OutCount::new(\"%\", %)?";
    "out int": "int *%" | "int *%", "*mut c_int" | "*mut c_int" => "OutValue::new(\"%\", %)?";
    "out logical": "int *%" | "int *%", "*mut c_int" | "*mut c_int" => "OutValue::new(\"%\", %)?";
    "out index": "int *%" | "int *%", "*mut c_int" | "*mut c_int" => "OutValue::new(\"%\", %)?";
    "inout int": "int *%" | "int *%", "*mut c_int" | "*mut c_int" => "OutValue::new(\"%\", %)?";
    "out aint": "MPI_Aint *%" | "MPI_Aint *%", "*mut i64" | "*mut i64" => "OutValue::new(\"%\", %)?";
    "out offset": "MPI_Offset *%" | "MPI_Offset *%", "*mut i64" | "*mut i64" => "OutValue::new(\"%\", %)?";
    "int": "int %" | "int %", "c_int" | "c_int" => "%";
    "logical": "int %" | "int %", "c_int" | "c_int" => "%";
    "number": "int %" | "int %", "c_int" | "c_int" => "arguments::number(\"%\", %)?";
    "rank": "int %" | "int %", "c_int" | "c_int" => "arguments::rank(%)";
    "root": "int %" | "int %", "c_int" | "c_int" => "arguments::rank(%)";
    "tag": "int %" | "int %", "c_int" | "c_int" => "arguments::tag(%)";
    "string": "const char *%" | "const char *%", "*const c_char" | "*const c_char" => "%";
    "out string": "char *%" | "char *%", "*mut c_char" | "*mut c_char" => "%";
    "status": "const MPI_Status *%" | "const MPI_Status *%", "*const abi::Status" | "*const abi::Status"
        => "StatusIn::new(\"%\", %)?";
    "inout status": "MPI_Status *%" | "MPI_Status *%", "*mut abi::Status" | "*mut abi::Status" => "StatusOut::new(%)";
    "out status": "MPI_Status *%" | "MPI_Status *%", "*mut abi::Status" | "*mut abi::Status" => "StatusOut::new(%)";
    "out statuses": "MPI_Status %[]" | "MPI_Status %[]", "*mut abi::Status" | "*mut abi::Status" => "StatusOut::new(%)";
};

impl Kind {
    /// Reads the kind as a table writes it.
    ///
    /// # Errors
    /// A word that is no kind.
    pub fn parse(text: &str) -> Result<Kind, Problem> {
        if let Some(plain) = PLAIN.iter().find(|plain| plain.name == text) {
            return Ok(Kind::Plain(plain));
        }
        if let Some(c_type) = text.strip_prefix("c:") {
            return Ok(Kind::Raw(c_type.trim().to_string()));
        }
        if let Some(c_type) = text.strip_prefix("function ") {
            return Ok(Kind::Function(c_type.trim().to_string()));
        }
        Handle::parse(text).map(Kind::Handle).ok_or_else(|| format!("unknown kind `{text}`"))
    }

    /// The name of a kind that is no handle, as tables write it.
    pub fn name(&self) -> &str {
        match self {
            Kind::Plain(plain) => plain.name,
            Kind::Handle(handle) => handle.object.name,
            Kind::Function(c_type) | Kind::Raw(c_type) => c_type,
        }
    }

    /// Whether this is memory of the program, of any type.
    pub fn is_buffer(&self) -> bool {
        ["in buffer", "out buffer"].contains(&self.name())
    }

    /// Whether the `_c` form declares this argument otherwise.
    pub fn differs_between_forms(&self) -> bool {
        matches!(self, Kind::Plain(plain) if plain.c != plain.c_wide)
    }

    /// The C declaration of an argument of this kind.
    pub fn c_declaration(&self, name: &str, wide: bool) -> String {
        match self {
            Kind::Plain(plain) => (if wide { plain.c_wide } else { plain.c }).replace('%', name),
            Kind::Handle(handle) => handle.c_declaration(name),
            Kind::Function(c_type) => format!("{c_type} *{name}"),
            Kind::Raw(c_type) => match c_type.find('[') {
                Some(bracket) => format!("{} {name}{}", c_type[..bracket].trim(), &c_type[bracket..]),
                None if c_type.ends_with('*') => format!("{c_type}{name}"),
                None => format!("{c_type} {name}"),
            },
        }
    }

    /// The type of the argument in the generated function.
    pub fn rust_type(&self, wide: bool) -> String {
        match self {
            Kind::Plain(plain) => (if wide { plain.rust_wide } else { plain.rust }).to_string(),
            Kind::Handle(handle) => handle.rust_type().to_string(),
            Kind::Function(_) => "*const c_void".to_string(),
            Kind::Raw(c_type) => raw_rust_type(c_type).to_string(),
        }
    }

    /// The expression that makes of the argument what the body gets.
    pub fn convert(&self, name: &str) -> String {
        match self {
            Kind::Plain(plain) => plain.convert.replace('%', name),
            Kind::Handle(handle) => handle.convert().replace('%', name),
            Kind::Function(_) | Kind::Raw(_) => name.to_string(),
        }
    }

    /// Whether this is the error handler of an object that the call makes.
    pub fn is_error_handler(&self) -> bool {
        matches!(self, Kind::Handle(handle) if handle.object.name == "errhandler" && handle.direction == Direction::In)
    }

    /// Whether this is where a new communicator or session goes: its name in [`crate::rust`].
    pub fn made_with_handler(&self) -> Option<&'static str> {
        match self {
            Kind::Handle(Handle { object, direction: Direction::Out, array: false, .. }) => match object.name
            {
                "comm" => Some("NewComm"),
                "session" => Some("NewSession"),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether this is one communicator, session, window or file whose error
    /// handler answers for the call: its name in [`crate::rust`].
    pub fn answers_for_errors(&self) -> Option<&'static str> {
        match self {
            Kind::Handle(Handle { object, direction, array: false, .. }) if *direction != Direction::Out => {
                match object.name {
                    "comm" => Some("Comm"),
                    "session" => Some("Session"),
                    "win" => Some("Win"),
                    "file" => Some("File"),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether the argument is a pointer to the handle.
    pub fn is_pointer_to_handle(&self) -> bool {
        matches!(self, Kind::Handle(handle) if handle.direction != Direction::In)
    }
}

/// The type in Rust of a C type that is passed as it is.
pub fn raw_rust_type(c_type: &str) -> &'static str {
    match c_type {
        "int" | "const int" | "MPI_Fint" | "MPI_T_cb_safety" | "MPIX_Stream" | "MPIX_Grequest_class" => {
            "c_int"
        }
        "MPI_Aint" | "MPI_Count" | "MPI_Offset" => "i64",
        "double" => "f64",
        "MPI_Status *" => "*mut abi::Status",
        "const MPI_Status *" => "*const abi::Status",
        "MPI_File" => "abi::FileHandle",
        "int *" | "MPI_Fint *" | "MPI_F08_status *" => "*mut c_int",
        "const int *" | "const MPI_Fint *" | "const MPI_F08_status *" => "*const c_int",
        "char ***" => "*mut *mut *mut c_char",
        _ if object(c_type).is_some() => "abi::Handle",
        _ => "*mut c_void",
    }
}

impl Handle {
    /// The kind of object.
    pub fn object(&self) -> &'static Object {
        self.object
    }

    /// What the call does with it.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Whether a null handle may be given.
    pub fn may_be_null(&self) -> bool {
        self.demand == Demand::Nullable
    }

    /// Whether there are several.
    pub fn is_array(&self) -> bool {
        self.array
    }

    fn parse(text: &str) -> Option<Handle> {
        let (text, demand) = match text.split_once(" of ") {
            Some((rest, count)) => (rest, Demand::NullableWithout(count.to_string())),
            None => match (text.strip_prefix("late "), text.strip_suffix('?')) {
                (Some(rest), _) => (rest, Demand::Late),
                (None, Some(rest)) => (rest, Demand::Nullable),
                (None, None) => (text, Demand::Object),
            },
        };
        let (direction, rest) = match text.split_once(' ') {
            Some(("out", rest)) => (Direction::Out, rest),
            Some(("inout", rest)) => (Direction::InOut, rest),
            Some(_) => return None,
            None => (Direction::In, text),
        };
        let find = |name: &str| OBJECTS.iter().find(|object| object.name == name);
        match (find(rest), rest.strip_suffix('s').and_then(find)) {
            (Some(object), _) => Some(Handle { object, direction, demand, array: false }),
            (None, Some(object)) => Some(Handle { object, direction, demand, array: true }),
            (None, None) => None,
        }
    }

    fn c_declaration(&self, name: &str) -> String {
        let c = self.object.c;
        match (self.array, self.direction) {
            (true, Direction::In) => format!("const {c} {name}[]"),
            (true, _) => format!("{c} {name}[]"),
            (false, Direction::In) => format!("{c} {name}"),
            (false, _) => format!("{c} *{name}"),
        }
    }

    fn rust_type(&self) -> &'static str {
        match (self.object.name, self.array, self.direction) {
            ("file", false, Direction::In) => "abi::FileHandle",
            ("file", ..) => "*mut abi::FileHandle",
            (_, false, Direction::In) => "abi::Handle",
            (_, true, Direction::In) => "*const abi::Handle",
            _ => "*mut abi::Handle",
        }
    }

    fn convert(&self) -> String {
        let table = format!("&handle::{}", self.object.table);
        match (self.object.name, self.array, self.direction) {
            ("request", false, Direction::In) => "request::get(\"%\", %)?".to_string(),
            ("request", false, Direction::Out) => "OutRequest::new(\"%\", %)?".to_string(),
            ("request", false, Direction::InOut) => "InOutRequest::new(\"%\", %)?".to_string(),
            ("request", true, _) => "Requests::new(\"%\", % as *mut abi::Handle)".to_string(),
            (_, false, Direction::In) => match &self.demand {
                Demand::Object => format!("handle::required({table}, call, \"%\", %)?"),
                Demand::Nullable => format!("handle::optional({table}, call, \"%\", %)?"),
                Demand::Late => format!("Late::new({table}, call, \"%\", %)"),
                Demand::NullableWithout(count) => {
                    format!("handle::datatype_of(call, \"%\", %, i64::from({count}))?")
                }
            },
            (_, false, Direction::Out) => format!("Out::new({table}, \"%\", %)?"),
            (_, false, Direction::InOut) => format!("InOut::new({table}, call, \"%\", %)?"),
            (_, true, Direction::In) => format!("Handles::new({table}, call, \"%\", %)"),
            (_, true, _) => format!("OutHandles::new({table}, \"%\", %)"),
        }
    }
}
