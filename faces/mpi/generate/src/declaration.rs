//! One function of MPI as a line of a table.
//!
//! ```text
//! [absent] [anytime] [raw] [forms] [mpich] [unlisted] Name(argument: kind, …) [-> C type]
//! ```
//! `absent`: has no body yet. `anytime`: callable before initialisation and
//! after finalization. `raw`: the body gets the C values as they are and what
//! it returns is the result. `forms`: the body's first argument says whether the
//! `_c` form was called. `mpich`: only in that ABI. `unlisted`: a symbol
//! that the standard's header does not declare.

use crate::kind::Kind;
use crate::{Abi, Problem};

/// A function as its table says.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The table it stands in, which is also the module of its body.
    pub chapter: String,
    /// The name with its prefix: `MPI_Send`.
    pub name: String,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// The C type of the result; `None` for an error code.
    pub returns: Option<String>,
    /// Has no body yet.
    pub absent: bool,
    /// Callable before initialisation and after finalization.
    pub anytime: bool,
    /// Nothing is converted or checked.
    pub raw: bool,
    /// The body wants to know which form was called.
    pub forms: bool,
    /// Only in MPICH's ABI.
    pub mpich: bool,
    /// Not in the standard's header.
    pub unlisted: bool,
}

/// One argument.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name in MPI.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

impl Declaration {
    /// Whether there is a second form with 64-bit counts (`MPI_Send_c`).
    pub fn has_wide_form(&self) -> bool {
        self.arguments.iter().any(|argument| argument.kind.differs_between_forms())
    }

    /// Whether this ABI has the function.
    pub fn is_in(&self, abi: Abi) -> bool {
        abi == Abi::Mpich || !self.mpich
    }

    /// The name of its body in the chapter's module: `send`, `comm_rank`.
    pub fn body(&self) -> String {
        let short = self.name.strip_prefix("MPI_").unwrap_or(&self.name);
        short.to_lowercase()
    }
}

/// Reads a table; the problem comes with its line number.
///
/// # Errors
/// The first line that is not a declaration.
pub fn parse(chapter: &str, text: &str) -> Result<Vec<Declaration>, (usize, Problem)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            found.push(parse_line(chapter, line).map_err(|problem| (index + 1, problem))?);
        }
    }
    Ok(found)
}

fn parse_line(chapter: &str, line: &str) -> Result<Declaration, Problem> {
    let open = line.find('(').ok_or("no ( in this line")?;
    let close = line.rfind(')').ok_or("no ) in this line")?;
    let mut words: Vec<&str> = line[..open].split_whitespace().collect();
    let short = words.pop().ok_or("no name before (")?;
    let name = if short.starts_with("MPIX_") { short.to_string() } else { format!("MPI_{short}") };
    let after = line[close + 1..].trim();
    let returns = match after.strip_prefix("->") {
        Some(returned) => Some(returned.trim().to_string()),
        None if after.is_empty() => None,
        None => return Err(format!("`{after}` after the arguments is no `-> type`")),
    };
    let mut declaration = Declaration {
        chapter: chapter.to_string(),
        name,
        arguments: parse_arguments(&line[open + 1..close])?,
        raw: returns.is_some(),
        returns,
        absent: false,
        anytime: false,
        forms: false,
        mpich: false,
        unlisted: false,
    };
    for word in words {
        match word {
            "absent" => declaration.absent = true,
            "anytime" => declaration.anytime = true,
            "raw" => declaration.raw = true,
            "forms" => declaration.forms = true,
            "mpich" => declaration.mpich = true,
            "unlisted" => declaration.unlisted = true,
            _ => return Err(format!("unknown word `{word}` before the name")),
        }
    }
    Ok(declaration)
}

fn parse_arguments(text: &str) -> Result<Vec<Argument>, Problem> {
    let mut arguments = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, kind) = part.split_once(':').ok_or_else(|| format!("`{part}` has no kind"))?;
        arguments.push(Argument { name: name.trim().to_string(), kind: Kind::parse(kind.trim())? });
    }
    Ok(arguments)
}
