//! An ABI of MPI as data: one file, `NAME.abi`, says what handles are, how a
//! status lies in memory, what the library is called and exports, and the value
//! of every constant.
//!
//! ```text
//! name       MPICH ABI                     what MPI_Get_library_version says
//! soname     libmpi.so.12                  what programs ask the linker for
//! version    -1 -1                         what MPI_Abi_get_version says
//! handles    integers|pointers|objects     see `faces/common/src/handles/form.rs`
//! files      pointers                      the form of MPI_File, if it is another
//! tags       MPI_ABI_                      how the structures behind handles are called in mpi.h
//! object     comm 512                      bytes of the objects of a kind (form `objects`)
//! align      64                            their alignment
//! status     source tag error …            the fields of MPI_Status, in order
//! declares   SET …                         sets of functions that it has
//! exports    SET …                         sets that it has, but not in its mpi.h
//! keyvals    1                             what Fortran's numbers of predefined attributes have more than C's
//! lacks      MPI_Name …                    functions that it has not
//! alias      NAME MPI_Name                 one more name of a function
//! bytes      NAME 20                       an exported object of zeros
//! pointer    NAME own|1|OBJECT             an exported pointer: to an int of its own, a number, an object
//! function   NAME duplicate|null_copy|null_delete   an exported attribute function
//! internal   NAME                          an exported function of that library's inside: a call ends the program
//! MPI_X      VALUE                         a constant (see `value.rs`)
//! ```

use crate::constant::Constant;
use crate::declaration::Declaration;
use crate::kind;
use crate::status::Field;
use crate::symbol::{AttributeFunction, Symbol, Target};
use crate::value::Value;
use crate::{Api, Problem};
use std::collections::HashMap;
use std::path::Path;

/// What a handle is in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An int.
    Integers,
    /// A pointer whose predefined values are small numbers.
    Pointers,
    /// A pointer whose predefined values are addresses of exported objects.
    Objects,
}

/// An ABI.
#[derive(Clone, Debug)]
pub struct Abi {
    /// What it is called.
    pub name: String,
    /// What programs ask the dynamic linker for.
    pub soname: String,
    /// What `MPI_Abi_get_version` says: two values.
    pub version: [String; 2],
    /// The form of handles.
    pub handles: Form,
    /// The form of file handles.
    pub files: Form,
    /// How the structures behind handles are called in `mpi.h`.
    pub tags: String,
    /// Bytes of the objects behind predefined handles, by kind.
    pub sizes: HashMap<String, usize>,
    /// The alignment of these objects.
    pub align: usize,
    /// The fields of a status, in order.
    pub status: Vec<Field>,
    /// Sets of functions that it has and declares.
    pub declares: Vec<String>,
    /// Sets of functions that it has and does not declare.
    pub exports: Vec<String>,
    /// What Fortran's numbers of predefined attributes have more than C's.
    pub keyvals: usize,
    /// Functions that it has not.
    pub lacks: Vec<String>,
    /// Further names of functions: the name and whose.
    pub aliases: Vec<(String, String)>,
    /// What else it exports.
    pub symbols: Vec<Symbol>,
    values: HashMap<String, Value>,
}

impl Abi {
    /// Reads the file of an ABI that is to have these functions and constants.
    ///
    /// # Errors
    /// A file that cannot be read; the first line that cannot be understood; what is
    /// missing or does not fit together.
    pub fn read(file: &Path, api: &Api) -> Result<Abi, Problem> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let abi = Abi::parse(&text).map_err(|(line, what)| format!("{}:{line}: {what}", file.display()))?;
        abi.check(api).map_err(|what| format!("{}: {what}", file.display()))?;
        Ok(abi)
    }

    /// The value of a constant.
    pub fn value(&self, constant: &Constant) -> &Value {
        self.values.get(&constant.name).unwrap_or(&Value::None)
    }

    /// Whether it has the functions of a set (`None`: those of all ABIs), and whether
    /// its header declares them.
    pub fn has(&self, set: Option<&str>) -> (bool, bool) {
        let Some(set) = set else { return (true, true) };
        let (declares, exports) = (self.declares.iter(), self.exports.iter());
        let is = |name: &String| name == set;
        let declared = declares.into_iter().any(is);
        (declared || exports.into_iter().any(is), declared)
    }

    /// Whether it has a function.
    pub fn has_function(&self, declaration: &Declaration) -> bool {
        self.has(declaration.marks.set.as_deref()).0 && !self.lacks.contains(&declaration.name)
    }

    fn parse(text: &str) -> Result<Abi, (usize, Problem)> {
        let mut abi = Abi {
            name: String::new(),
            soname: String::new(),
            version: ["-1".into(), "-1".into()],
            handles: Form::Pointers,
            files: Form::Pointers,
            tags: "MPI_ABI_".into(),
            sizes: HashMap::new(),
            align: 64,
            status: Vec::new(),
            declares: Vec::new(),
            exports: Vec::new(),
            keyvals: 0,
            lacks: Vec::new(),
            aliases: Vec::new(),
            symbols: Vec::new(),
            values: HashMap::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                abi.parse_line(line).map_err(|problem| (index + 1, problem))?;
            }
        }
        Ok(abi)
    }

    fn parse_line(&mut self, line: &str) -> Result<(), Problem> {
        let (key, rest) =
            line.split_once(char::is_whitespace).ok_or("a line has a name and something behind it")?;
        let rest = rest.trim();
        let words: Vec<String> = rest.split_whitespace().map(str::to_string).collect();
        match (key, &words[..]) {
            ("name", _) => self.name = rest.to_string(),
            ("soname", [soname]) => self.soname.clone_from(soname),
            ("version", [major, minor]) => self.version = [major.clone(), minor.clone()],
            ("handles", [form]) => (self.handles, self.files) = (Form::parse(form)?, Form::parse(form)?),
            ("files", [form]) => self.files = Form::parse(form)?,
            ("tags", [prefix]) => self.tags.clone_from(prefix),
            ("object", [kind, bytes]) => {
                self.sizes.insert(kind.clone(), number(bytes)?);
            }
            ("align", [bytes]) => self.align = number(bytes)?,
            ("status", fields) => {
                self.status = fields.iter().map(|field| Field::parse(field)).collect::<Result<_, _>>()?;
            }
            ("declares", sets) => self.declares.extend_from_slice(sets),
            ("exports", sets) => self.exports.extend_from_slice(sets),
            ("keyvals", [more]) => self.keyvals = number(more)?,
            ("lacks", names) => self.lacks.extend_from_slice(names),
            ("alias", [name, whose]) => self.aliases.push((name.clone(), whose.clone())),
            ("bytes", [name, bytes]) => self.symbols.push(Symbol::Bytes(name.clone(), number(bytes)?)),
            ("pointer", [name, target]) => {
                self.symbols.push(Symbol::Pointer(name.clone(), Target::parse(target)));
            }
            ("function", [name, body]) => {
                self.symbols.push(Symbol::Function(name.clone(), AttributeFunction::parse(body)?));
            }
            ("internal", [name]) => self.symbols.push(Symbol::Internal(name.clone())),
            (name, [value]) if name.starts_with("MPI") => {
                let value = Value::parse(value)?;
                if self.values.insert(name.to_string(), value).is_some() {
                    return Err(format!("{name} has a value already"));
                }
            }
            _ => return Err(format!("`{line}` is nothing that an ABI says")),
        }
        Ok(())
    }

    /// Every constant has a value, every value a constant, and what is named exists.
    fn check(&self, api: &Api) -> Result<(), Problem> {
        if self.soname.is_empty() || self.name.is_empty() || self.status.is_empty() {
            return Err("name, soname and status are needed".into());
        }
        for constant in &api.constants {
            let name = &constant.name;
            let value = self
                .values
                .get(name)
                .ok_or_else(|| format!("{name} has no value; `-` if the ABI has it not"))?;
            self.check_value(constant, value.for_bodies(), api)?;
        }
        self.check_objects(api)?;
        let unknown =
            self.values.keys().find(|name| !api.constants.iter().any(|constant| constant.name == **name));
        if let Some(name) = unknown {
            return Err(format!("{name} is not in constants.api"));
        }
        let is_function = |name: &String| api.declarations.iter().any(|known| known.name == *name);
        let named = self.lacks.iter().chain(self.aliases.iter().map(|(_, whose)| whose));
        match named.into_iter().find(|name| !is_function(name)) {
            Some(name) => Err(format!("there is no function {name}")),
            None => Ok(()),
        }
    }

    /// An object is behind one handle, and a handle's number stands for one object; each
    /// fits its alignment.
    fn check_objects(&self, api: &Api) -> Result<(), Problem> {
        if let Some((kind, bytes)) = self.sizes.iter().find(|(_, bytes)| **bytes % self.align != 0) {
            return Err(format!(
                "the {bytes} bytes of an `object {kind}` do not fit the alignment {}",
                self.align
            ));
        }
        let mut known: Vec<(&str, &str, u32)> = Vec::new();
        for constant in &api.constants {
            if let Value::Object(symbol, number) = self.value(constant).for_bodies() {
                let this = (symbol.as_str(), constant.c_type.as_str(), *number);
                let same =
                    |other: &&(&str, &str, u32)| other.0 == this.0 || (other.1, other.2) == (this.1, this.2);
                match known.iter().find(same) {
                    Some(other) if *other != this => {
                        return Err(format!(
                            "{} has the object or the number of another handle",
                            constant.name
                        ))
                    }
                    Some(_) => {}
                    None => known.push(this),
                }
            }
        }
        Ok(())
    }

    fn check_value(&self, constant: &Constant, value: &Value, api: &Api) -> Result<(), Problem> {
        let name = &constant.name;
        match value {
            Value::Alias(other) if !api.constants.iter().any(|known| known.name == *other) => {
                Err(format!("{name} is {other}, which is no constant"))
            }
            Value::Object(..) => match kind::object(&constant.c_type) {
                Some(object) if self.sizes.contains_key(object.name) => Ok(()),
                Some(object) => Err(format!("{name}: the size of an `object {}` is not given", object.name)),
                None => Err(format!("{name} is no handle, so no object")),
            },
            Value::Exported(symbol) if !self.symbols.iter().any(|known| known.name() == symbol) => {
                Err(format!("{name}: nothing is exported as {symbol}"))
            }
            _ => Ok(()),
        }
    }
}

impl Form {
    fn parse(word: &str) -> Result<Form, Problem> {
        match word {
            "integers" => Ok(Form::Integers),
            "pointers" => Ok(Form::Pointers),
            "objects" => Ok(Form::Objects),
            _ => Err(format!("handles are integers, pointers or objects, not `{word}`")),
        }
    }
}

fn number(word: &str) -> Result<usize, Problem> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}
