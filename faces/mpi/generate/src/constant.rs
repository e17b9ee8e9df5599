//! One constant of MPI as a line of `constants.api`: name, C type, and for a
//! predefined datatype its element. Each ABI's file says the value.

use crate::Problem;

/// A constant.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The section of the table, for the header.
    pub section: String,
    /// `MPI_ANY_TAG`.
    pub name: String,
    /// `int`, `MPI_Datatype`, `void*`.
    pub c_type: String,
    /// What the engine calls the element of a predefined datatype (`Basic::Int32`);
    /// with `/2` if external32 gives it half the bytes. `Edge::Lower` for one that marks a bound.
    pub element: Option<String>,
}

/// Reads the table; the problem comes with its line number.
///
/// # Errors
/// The first line that is no constant.
pub fn parse(text: &str) -> Result<Vec<Constant>, (usize, Problem)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("# ") {
            section = title.to_string();
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, c_type, element) = match words[..] {
            [] => continue,
            [name, c_type] => (name, c_type, None),
            [name, c_type @ "MPI_Datatype", element] => (name, c_type, Some(element.to_string())),
            _ => {
                return Err((index + 1, "a constant has a name and a type; a datatype has an element".into()))
            }
        };
        let (name, c_type) = (name.to_string(), c_type.to_string());
        found.push(Constant { section: section.clone(), name, c_type, element });
    }
    Ok(found)
}
