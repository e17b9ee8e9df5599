//! One constant of MPI as a line of `constants.api`: name, C type, value in the
//! standard ABI, value in MPICH's.

use crate::{Abi, Problem};

/// A value as the table writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number, kept as written (hexadecimal or decimal).
    Number(String),
    /// The name of another constant.
    Alias(String),
    /// The address of an object or function of this name in the library.
    Symbol,
    /// This ABI has no such constant.
    None,
}

/// A constant.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The section of the table, for the header.
    pub section: String,
    /// `MPI_ANY_TAG`.
    pub name: String,
    /// `int`, `MPI_Datatype`, `void*`.
    pub c_type: String,
    standard: Value,
    mpich: Value,
}

impl Constant {
    /// The value in an ABI.
    pub fn value(&self, abi: Abi) -> &Value {
        match abi {
            Abi::Standard => &self.standard,
            Abi::Mpich => &self.mpich,
        }
    }
}

/// Reads the table; the problem comes with its line number.
///
/// # Errors
/// The first line that has not four columns.
pub fn parse(text: &str) -> Result<Vec<Constant>, (usize, Problem)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("# ") {
            section = title.to_string();
            continue;
        }
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [] => (),
            [name, c_type, standard, mpich] => found.push(Constant {
                section: section.clone(),
                name: name.to_string(),
                c_type: c_type.to_string(),
                standard: value(standard),
                mpich: value(mpich),
            }),
            _ => return Err((index + 1, "a constant has a name, a type and two values".to_string())),
        }
    }
    Ok(found)
}

fn value(word: &str) -> Value {
    match word {
        "-" => Value::None,
        "symbol" => Value::Symbol,
        _ if word.starts_with("MPI") => Value::Alias(word.to_string()),
        _ => Value::Number(word.to_string()),
    }
}
