//! The types of the standard, and the sets of them that functions come in.
//!
//! ```text
//! NAME: RUST TYPE = C TYPE [(NAME of the one with the same C type)]
//! set NAME: NAME …
//! ```

use crate::Problem;
use std::collections::HashMap;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its name in functions: `longlong`.
    pub name: String,
    /// Its type in Rust.
    pub rust: String,
    /// Its type in C.
    pub c: String,
    /// The name of the type that is the same in C, if this is an alias.
    pub alias_of: Option<String>,
}

/// All types and sets.
#[derive(Clone, Debug, Default)]
pub struct Types {
    types: Vec<Type>,
    sets: HashMap<String, Vec<Type>>,
}

impl Types {
    /// Reads the table; the problem comes with its line number.
    ///
    /// # Errors
    /// The first line that is neither a type nor a set.
    pub fn parse(text: &str) -> Result<Types, (usize, Problem)> {
        let mut found = Types::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                found.add(line).map_err(|problem| (index + 1, problem))?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, line: &str) -> Result<(), Problem> {
        let (name, rest) = line.split_once(':').ok_or("no : in this line")?;
        if let Some(set) = name.strip_prefix("set ") {
            let members = rest.split_whitespace().map(|member| self.named(member).cloned());
            let members = members.collect::<Result<_, _>>()?;
            self.sets.insert(set.to_owned(), members);
            return Ok(());
        }
        let (rust, c) = rest.split_once('=').ok_or("no = in this line")?;
        let (c, alias_of) = match c.split_once('(') {
            Some((c, alias)) => (c, Some(alias.trim_end_matches(')').to_owned())),
            None => (c, None),
        };
        let trimmed = |text: &str| text.trim().to_owned();
        self.types.push(Type { name: trimmed(name), rust: trimmed(rust), c: trimmed(c), alias_of });
        Ok(())
    }

    fn named(&self, name: &str) -> Result<&Type, Problem> {
        self.types.iter().find(|one| one.name == name).ok_or_else(|| format!("there is no type `{name}`"))
    }

    /// The members of a set.
    ///
    /// # Errors
    /// When there is no such set.
    pub fn set(&self, name: &str) -> Result<&[Type], Problem> {
        self.sets.get(name).map(Vec::as_slice).ok_or_else(|| format!("there is no set `{name}` of types"))
    }
}

/// Those of some types that differ in C.
pub fn distinct(types: &[Type]) -> Vec<&Type> {
    let same = |one: &Type| one.alias_of.clone().unwrap_or_else(|| one.name.clone());
    let is_first = |index: usize| types[..index].iter().all(|earlier| same(earlier) != same(&types[index]));
    (0..types.len()).filter(|&index| is_first(index)).map(|index| &types[index]).collect()
}
