//! What a library exports besides functions of MPI: objects, pointers, attribute
//! functions, as the file of its ABI lists them.

use crate::Problem;

/// Something that the library exports besides functions of MPI.
#[derive(Clone, Debug)]
pub enum Symbol {
    /// So many bytes of zeros.
    Bytes(String, usize),
    /// A pointer, and where it points.
    Pointer(String, Target),
    /// An attribute function.
    Function(String, AttributeFunction),
    /// A function inside the library whose ABI it is, which nobody can call here.
    Internal(String),
}

/// The attribute functions of MPI itself (MPI-5.0 §7.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeFunction {
    /// `MPI_COMM_DUP_FN` and its kin.
    Duplicate,
    /// `MPI_COMM_NULL_COPY_FN` and its kin.
    NullCopy,
    /// `MPI_COMM_NULL_DELETE_FN` and its kin.
    NullDelete,
}

/// Where an exported pointer points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To an int that is only there to have an address.
    Own,
    /// To this address.
    Number(usize),
    /// To an exported object.
    Object(String),
}

impl Symbol {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Symbol::Bytes(name, _)
            | Symbol::Pointer(name, _)
            | Symbol::Function(name, _)
            | Symbol::Internal(name) => name,
        }
    }
}

impl AttributeFunction {
    const ALL: [AttributeFunction; 3] =
        [AttributeFunction::Duplicate, AttributeFunction::NullCopy, AttributeFunction::NullDelete];

    /// Reads the name of one.
    ///
    /// # Errors
    /// A word that is none.
    pub fn parse(word: &str) -> Result<AttributeFunction, Problem> {
        let found = AttributeFunction::ALL.into_iter().find(|function| function.name() == word);
        found.ok_or_else(|| format!("there is no attribute function `{word}`"))
    }

    /// The name of its body.
    pub fn name(self) -> &'static str {
        match self {
            AttributeFunction::Duplicate => "duplicate",
            AttributeFunction::NullCopy => "null_copy",
            AttributeFunction::NullDelete => "null_delete",
        }
    }

    /// Its parameters in Rust.
    pub fn parameters(self) -> &'static str {
        match self {
            AttributeFunction::NullDelete => {
                "object: Handle, keyval: c_int, value: *mut c_void, extra_state: *mut c_void"
            }
            _ => {
                "object: Handle, keyval: c_int, extra_state: *mut c_void, value: *mut c_void, copy: *mut c_void, \
                 flag: *mut c_int"
            }
        }
    }

    /// Its parameters in C; a handle is a pointer or an int, and is not looked at.
    pub fn parameters_in_c(self) -> &'static str {
        match self {
            AttributeFunction::NullDelete => "MPI_Comm comm, int keyval, void *attribute_val, void *extra_state",
            _ => {
                "MPI_Comm comm, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, \
                 int *flag"
            }
        }
    }

    /// What of them its body wants.
    pub fn arguments(self) -> &'static str {
        match self {
            AttributeFunction::Duplicate => "value, copy, flag",
            AttributeFunction::NullCopy => "flag",
            AttributeFunction::NullDelete => "",
        }
    }
}

impl Target {
    /// Reads `own`, a number, or the name of an object.
    pub fn parse(word: &str) -> Target {
        match (word, word.parse()) {
            ("own", _) => Target::Own,
            (_, Ok(number)) => Target::Number(number),
            (object, _) => Target::Object(object.to_string()),
        }
    }
}
