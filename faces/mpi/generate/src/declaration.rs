//! One function of MPI as a line of a table.
//!
//! ```text
//! [absent] [anytime] [raw] [forms] [collective] [of(SET)] [raises(WHOM)] Name(argument: kind, …) [-> C type]
//! ```
//! `absent`: has no body yet. `anytime`: callable before initialisation and
//! after finalization. `raw`: the body gets the C values as they are and what
//! it returns is the result. `forms`: the body's first argument says whether the
//! `_c` form was called. `collective`: a collective operation begins with it.
//! `of(SET)`: only in ABIs whose file names this set of functions. `raises(WHOM)`:
//! whose error handler answers, where the arguments do not say it: `nobody` (the
//! code is returned) or `file`. A line `all: …` puts its words before every name of
//! the table. The argument `...` stands for more of any kind.

use crate::kind::Kind;
use crate::Problem;

/// A function as its table says.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The table it stands in, which is also the module of its body.
    pub chapter: String,
    /// The name with its prefix: `MPI_Send`.
    pub name: String,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// Whether there are more, of any kind.
    pub variadic: bool,
    /// The C type of the result; `None` for an error code.
    pub returns: Option<String>,
    /// What stands before the name.
    pub marks: Marks,
}

/// What stands before the name of a function.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Has no body yet.
    pub absent: bool,
    /// Callable before initialisation and after finalization.
    pub anytime: bool,
    /// Nothing is converted or checked.
    pub raw: bool,
    /// The body wants to know which form was called.
    pub forms: bool,
    /// A collective operation begins with it.
    pub collective: bool,
    /// The set of functions that it belongs to; `None`: every ABI has it.
    pub set: Option<String>,
    /// Whose error handler answers, where the arguments do not say it.
    pub raises: Option<Raises>,
}

/// Whose error handler answers for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raises {
    /// Nobody's: the code is returned.
    Nobody,
    /// That of files.
    File,
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

    /// The name of its body in the chapter's module: `send`, `comm_rank`.
    pub fn body(&self) -> String {
        let short = self.name.strip_prefix("MPI_").unwrap_or(&self.name);
        short.to_lowercase()
    }
}

impl Marks {
    fn add(&mut self, word: &str) -> Result<(), Problem> {
        let given = |name: &str| word.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        match word {
            "absent" => self.absent = true,
            "anytime" => self.anytime = true,
            "raw" => self.raw = true,
            "forms" => self.forms = true,
            "collective" => self.collective = true,
            "raises(nobody)" => self.raises = Some(Raises::Nobody),
            "raises(file)" => self.raises = Some(Raises::File),
            _ => match given("of") {
                Some(set) => self.set = Some(set.to_string()),
                None => return Err(format!("unknown word `{word}` before the name")),
            },
        }
        Ok(())
    }
}

/// Reads a table; the problem comes with its line number.
///
/// # Errors
/// The first line that is not a declaration.
pub fn parse(chapter: &str, text: &str) -> Result<Vec<Declaration>, (usize, Problem)> {
    let mut found = Vec::new();
    let mut all = Marks::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let at = |problem| (index + 1, problem);
        if let Some(words) = line.strip_prefix("all:") {
            words.split_whitespace().try_for_each(|word| all.add(word)).map_err(at)?;
        } else if !line.is_empty() {
            found.push(parse_line(chapter, line, all.clone()).map_err(at)?);
        }
    }
    Ok(found)
}

fn parse_line(chapter: &str, line: &str, mut marks: Marks) -> Result<Declaration, Problem> {
    let (words, rest) = split_name(line)?;
    let open = rest.find('(').ok_or("no ( in this line")?;
    let close = rest.rfind(')').ok_or("no ) in this line")?;
    let short = rest[..open].trim();
    let name = if ["MPIX_", "MPII_"].iter().any(|prefix| short.starts_with(prefix)) {
        short.to_string()
    } else {
        format!("MPI_{short}")
    };
    let after = rest[close + 1..].trim();
    let returns = match after.strip_prefix("->") {
        Some(returned) => Some(returned.trim().to_string()),
        None if after.is_empty() => None,
        None => return Err(format!("`{after}` after the arguments is no `-> type`")),
    };
    words.iter().try_for_each(|word| marks.add(word))?;
    marks.raw |= returns.is_some();
    let (arguments, variadic) = parse_arguments(&rest[open + 1..close])?;
    Ok(Declaration { chapter: chapter.to_string(), name, arguments, variadic, returns, marks })
}

/// The words before the name, and the line from the name on: names begin with a
/// capital, words do not.
fn split_name(line: &str) -> Result<(Vec<&str>, &str), Problem> {
    let mut rest = line;
    let mut words = Vec::new();
    while !rest.starts_with(|sign: char| sign.is_ascii_uppercase()) {
        let (word, behind) = rest.split_once(' ').ok_or("no name in this line")?;
        words.push(word);
        rest = behind.trim_start();
    }
    Ok((words, rest))
}

fn parse_arguments(text: &str) -> Result<(Vec<Argument>, bool), Problem> {
    let mut arguments = Vec::new();
    let mut variadic = false;
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if part == "..." {
            variadic = true;
            continue;
        }
        let (name, kind) = part.split_once(':').ok_or_else(|| format!("`{part}` has no kind"))?;
        arguments.push(Argument { name: name.trim().to_string(), kind: Kind::parse(kind.trim())? });
    }
    Ok((arguments, variadic))
}
