//! The functions that a declaration stands for: one for each type and size, without and with a context.

use crate::declaration::Declaration;
use crate::types::Type;

/// What stands for `TYPE` in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// There is none.
    Nothing,
    /// This type.
    Type(Type),
    /// Anything of so many bits.
    Bits(u32),
    /// Bytes.
    Bytes,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Symbol<'a> {
    /// What it is made from.
    pub declaration: &'a Declaration,
    /// Of what.
    pub of: Of,
    /// It takes a context.
    pub ctx: bool,
}

/// All functions of a declaration.
pub fn symbols(declaration: &Declaration) -> Vec<Symbol<'_>> {
    let mut of: Vec<Of> = declaration.types.iter().cloned().map(Of::Type).collect();
    of.extend(declaration.sizes.iter().copied().map(Of::Bits));
    of.extend(declaration.marks.mem.then_some(Of::Bytes));
    if of.is_empty() {
        of.push(Of::Nothing);
    }
    let contexts: &[bool] = if declaration.marks.ctx { &[false, true] } else { &[false] };
    let both = |&ctx| of.iter().cloned().map(move |of| Symbol { declaration, of, ctx });
    contexts.iter().flat_map(both).collect()
}

impl Symbol<'_> {
    /// Its name; `profiling`: the one that begins with a p.
    pub fn name(&self, profiling: bool) -> String {
        let name = &self.declaration.name;
        let (first, rest) = name.split_once('_').map_or((name.as_str(), ""), |(first, rest)| (first, rest));
        let rest = if rest.is_empty() { String::new() } else { format!("_{rest}") };
        let typed = match &self.of {
            Of::Nothing => name.clone(),
            Of::Type(one) => format!("{}_{name}", one.name),
            Of::Bits(bits) => format!("{first}{bits}{rest}"),
            Of::Bytes => format!("{first}mem{rest}"),
        };
        let prefix = match (self.declaration.marks.bare, profiling) {
            (true, false) => "",
            (true, true) => "p",
            (false, false) => "shmem_",
            (false, true) => "pshmem_",
        };
        format!("{prefix}{}{typed}", if self.ctx { "ctx_" } else { "" })
    }

    /// A C type of the table, for this function.
    pub fn in_c(&self, c_type: &str) -> String {
        let name = match &self.of {
            Of::Type(one) => one.c.as_str(),
            _ => "void",
        };
        c_type.replace("TYPE", name)
    }

    /// Result, name and arguments, as C declares them.
    pub fn prototype(&self, profiling: bool) -> String {
        let ctx = self.ctx.then(|| "shmem_ctx_t ctx".to_owned());
        let arguments = self.declaration.arguments.iter();
        let arguments = arguments.map(|(c_type, name)| declare(&self.in_c(c_type), name));
        let mut all: Vec<String> = ctx.into_iter().chain(arguments).collect();
        if all.is_empty() {
            all.push("void".to_owned());
        }
        if self.declaration.marks.variadic {
            all.push("...".to_owned());
        }
        declare(
            &self.in_c(&self.declaration.returns),
            &format!("{}({})", self.name(profiling), all.join(", ")),
        )
    }
}

/// A name behind its type.
pub fn declare(c_type: &str, name: &str) -> String {
    match c_type.ends_with('*') {
        true => format!("{c_type}{name}"),
        false => format!("{c_type} {name}"),
    }
}
