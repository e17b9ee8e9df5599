//! One function of OpenSHMEM as a line of a table.
//!
//! ```text
//! [words] C TYPE NAME(C TYPE ARGUMENT, …)
//! ```
//! as in C, without the prefix `shmem_`. `TYPE` stands for each type of a set. Words: `types(SET)`: a function for each
//! type (`shmem_int_put`); `sizes` or `sizes(32 64)`: one for each size in bits (`shmem_put32`); `mem`: one for bytes
//! (`shmem_putmem`); none of these: one function. `ctx`: each also with a context. `generic`: in C11 and C++ one
//! name for all types. `status`: the result says whether it failed. `anytime`: callable before the beginning and after
//! the end. `asks`: it changes nothing, and is not noted. `variadic`: more arguments may follow. `bare`: without the prefix. `as(NAME)`: its body is that of another
//! function.

use crate::types::{Type, Types};
use crate::Problem;

/// Sizes in bits of functions that take any type.
const SIZES: [u32; 5] = [8, 16, 32, 64, 128];

/// A function as its table says.
#[derive(Clone, Debug, Default)]
pub struct Declaration {
    /// The table that it stands in, which is also the module of its body.
    pub chapter: String,
    /// Its name without prefix.
    pub name: String,
    /// The name of its body.
    pub body: String,
    /// The C type of its result.
    pub returns: String,
    /// C types and names of its arguments.
    pub arguments: Vec<(String, String)>,
    /// The types that it comes in.
    pub types: Vec<Type>,
    /// The sizes that it comes in.
    pub sizes: Vec<u32>,
    /// What stands before.
    pub marks: Marks,
}

/// Words before a function.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// It comes for bytes.
    pub mem: bool,
    /// Each also takes a context.
    pub ctx: bool,
    /// One name for all types.
    pub generic: bool,
    /// The result says whether it failed.
    pub status: bool,
    /// It may be called at any time.
    pub anytime: bool,
    /// It only asks.
    pub asks: bool,
    /// It takes more arguments.
    pub variadic: bool,
    /// It has no prefix.
    pub bare: bool,
}

impl Declaration {
    /// Its name, and that of its call.
    pub fn full_name(&self) -> String {
        if self.marks.bare {
            self.name.clone()
        } else {
            format!("shmem_{}", self.name)
        }
    }

    fn add(&mut self, word: &str, types: &Types) -> Result<bool, Problem> {
        let given = |name: &str| word.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        match word {
            "mem" => self.marks.mem = true,
            "ctx" => self.marks.ctx = true,
            "generic" => self.marks.generic = true,
            "status" => self.marks.status = true,
            "anytime" => self.marks.anytime = true,
            "asks" => self.marks.asks = true,
            "variadic" => self.marks.variadic = true,
            "bare" => self.marks.bare = true,
            "sizes" => self.sizes = SIZES.to_vec(),
            _ => match (given("types"), given("sizes"), given("as")) {
                (Some(set), _, _) => self.types = types.set(set)?.to_vec(),
                (_, Some(sizes), _) => {
                    let size = |text: &str| text.parse().map_err(|_| format!("`{text}` is no size"));
                    self.sizes = sizes.split_whitespace().map(size).collect::<Result<_, _>>()?;
                }
                (_, _, Some(body)) => self.body = body.to_owned(),
                _ => return Ok(false),
            },
        }
        Ok(true)
    }
}

/// Reads a table; the problem comes with its line number.
///
/// # Errors
/// The first line that is not a declaration.
pub fn parse(chapter: &str, text: &str, types: &Types) -> Result<Vec<Declaration>, (usize, Problem)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            found.push(parse_line(chapter, line, types).map_err(|problem| (index + 1, problem))?);
        }
    }
    Ok(found)
}

fn parse_line(chapter: &str, line: &str, types: &Types) -> Result<Declaration, Problem> {
    let mut declaration = Declaration { chapter: chapter.to_owned(), ..Declaration::default() };
    let mut rest = line;
    while let Some((word, behind)) = next_word(rest) {
        if !declaration.add(word, types)? {
            break;
        }
        rest = behind;
    }
    let (head, arguments) = rest.split_once('(').ok_or("no ( in this line")?;
    let arguments = arguments.strip_suffix(')').ok_or("no ) at the end of this line")?;
    (declaration.returns, declaration.name) = typed(head)?;
    if declaration.body.is_empty() {
        declaration.body.clone_from(&declaration.name);
    }
    if arguments != "void" {
        declaration.arguments = arguments.split(',').map(typed).collect::<Result<_, _>>()?;
    }
    Ok(declaration)
}

/// The next word, with what stands in brackets behind it, and the rest.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let space = text.find(' ')?;
    let end = match text.find('(').filter(|&open| open < space) {
        Some(open) => open + text[open..].find(')')? + 1,
        None => space,
    };
    Some((&text[..end], text[end..].trim_start()))
}

/// A C type and the name behind it.
fn typed(text: &str) -> Result<(String, String), Problem> {
    let text = text.trim();
    let from = text.rfind([' ', '*']).ok_or_else(|| format!("`{text}` has no type"))?;
    Ok((text[..=from].trim().to_owned(), text[from + 1..].to_owned()))
}
