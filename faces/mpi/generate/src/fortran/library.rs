//! A Fortran library as data: one file, `NAME.fortran`, says over which C library it lies, by what names compilers
//! know its routines, and where programs have their sentinels.
//!
//! ```text
//! abi        openmpi                    the ABI of the C library, a folder in `faces/mpi`
//! soname     libmpi_mpifh.so.40         what programs ask the dynamic linker for
//! calls      PMPI_                      under which names it calls the C library
//! names      mpi_x_ MPI_X ompi_x_f …    the names of a routine: `x` as it is, in lower or in upper case
//! large      mpi_x_f08ts_large_ …       the same for routines with 64-bit counts
//! style      plain|native|bound         how buffers and strings come (see `passing.rs`)
//! sets       removed …                  sets of functions that it has besides those of all ABIs
//! exports    NAME 24                    bytes that it exports (a common block, a variable)
//! sentinel   bottom NAME+8 …            where programs may have a sentinel of this meaning
//! ```

use crate::Problem;
use std::path::Path;

/// How arguments come that are more than an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Buffers are addresses; the lengths of strings come behind all arguments.
    Plain,
    /// Buffers are descriptors of gfortran's own; strings as in `Plain`.
    Native,
    /// Buffers and strings are descriptors as C knows them (`CFI_cdesc_t`).
    Bound,
}

/// A place where programs may have a sentinel.
#[derive(Clone, Debug)]
pub struct Sentinel {
    /// What it means: `bottom`, `in_place`, `status_ignore` …
    pub meaning: String,
    /// The symbol and how far behind it the place is, for each place.
    pub places: Vec<(String, usize)>,
}

/// A library.
#[derive(Clone, Debug)]
pub struct Library {
    /// The ABI of the C library.
    pub abi: String,
    /// What programs ask the dynamic linker for.
    pub soname: String,
    /// `MPI_` or `PMPI_`.
    pub calls: String,
    /// The patterns of the names of a routine.
    pub names: Vec<String>,
    /// The patterns of those with 64-bit counts; empty if it has none.
    pub large: Vec<String>,
    /// How arguments come.
    pub style: Style,
    /// Sets of functions that it has.
    pub sets: Vec<String>,
    /// What it exports besides routines: name and bytes.
    pub exports: Vec<(String, usize)>,
    /// Where programs have their sentinels.
    pub sentinels: Vec<Sentinel>,
}

impl Library {
    /// Reads the file of a library.
    ///
    /// # Errors
    /// A file that cannot be read, or the first line that cannot be understood.
    pub fn read(file: &Path) -> Result<Library, Problem> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut library = Library {
            abi: String::new(),
            soname: String::new(),
            calls: "MPI_".into(),
            names: Vec::new(),
            large: Vec::new(),
            style: Style::Plain,
            sets: Vec::new(),
            exports: Vec::new(),
            sentinels: Vec::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                library
                    .parse_line(line)
                    .map_err(|problem| format!("{}:{}: {problem}", file.display(), index + 1))?;
            }
        }
        match library.names.is_empty() || library.soname.is_empty() || library.abi.is_empty() {
            true => Err(format!("{}: abi, soname and names are needed", file.display())),
            false => Ok(library),
        }
    }

    fn parse_line(&mut self, line: &str) -> Result<(), Problem> {
        let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        let (key, rest) = words.split_first().ok_or("an empty line")?;
        match (key.as_str(), rest) {
            ("abi", [name]) => self.abi.clone_from(name),
            ("soname", [name]) => self.soname.clone_from(name),
            ("calls", [prefix]) => self.calls.clone_from(prefix),
            ("names", patterns) => self.names.extend_from_slice(patterns),
            ("large", patterns) => self.large.extend_from_slice(patterns),
            ("style", [style]) => {
                self.style = match style.as_str() {
                    "plain" => Style::Plain,
                    "native" => Style::Native,
                    "bound" => Style::Bound,
                    _ => return Err(format!("`{style}` is no style")),
                };
            }
            ("sets", sets) => self.sets.extend_from_slice(sets),
            ("exports", [name, bytes]) => {
                let bytes = bytes.parse().map_err(|_| format!("`{bytes}` is no number of bytes"))?;
                self.exports.push((name.clone(), bytes));
            }
            ("sentinel", [meaning, places @ ..]) => {
                let places = places.iter().map(|place| parse_place(place)).collect::<Result<_, _>>()?;
                self.sentinels.push(Sentinel { meaning: meaning.clone(), places });
            }
            _ => return Err(format!("`{line}` is nothing that a library says")),
        }
        Ok(())
    }
}

fn parse_place(word: &str) -> Result<(String, usize), Problem> {
    match word.split_once('+') {
        None => Ok((word.to_string(), 0)),
        Some((symbol, offset)) => {
            let offset = offset.parse().map_err(|_| format!("`{word}` is no place"))?;
            Ok((symbol.to_string(), offset))
        }
    }
}
