//! A Fortran library as data: one file, `NAME.fortran`, says over which C library it lies, by what names compilers
//! know its routines, and where programs have their sentinels.
//!
//! ```text
//! abi        openmpi                    the ABI of the C library, a folder in `faces/mpi`
//! integers   8                          bytes of an `INTEGER` of the program, if not 4
//! soname     libmpi_mpifh.so.40         what programs ask the dynamic linker for
//! calls      PMPI_                      under which names it calls the C library
//! style      plain|native|bound         how buffers and strings come: a block of routines begins
//! names      mpi_x_ MPI_X ompi_x_f …    their names: `x` as it is, in lower or in upper case
//! buffered   mpi_x_f08ts_               the names of those with buffers, if they are others
//! large      mpi_x_f08_large_ …         the names of those with 64-bit counts
//! buffered_large mpi_x_f08ts_large_     the names of those with both
//! sets       removed …                  sets of functions that it has besides those of all ABIs
//! exports    NAME 24                    bytes that it exports (a common block, a variable)
//! tells      NAME mpipriv1_+8           a pointer of the C library that it sets at its start, and where to
//! functions  __m_MOD_x                  further names of routines that Fortran alone has: `x` is `mpi_comm_dup_fn`
//! handles    __m_MOD_x                  predefined handles as variables: `x` is `mpi_comm_world`
//! handle     NAME MPI_INT8_T            one that has another name
//! equal      __m_MOD_x_eq …             functions that compare handles: `x` is `comm`, `datatype` …
//! unequal    __m_MOD_x_ne …             the same for `/=`
//! sizes      4 mpi_sizeof_int32_RANK_   `MPI_Sizeof` of so many bytes; RANK is `scalar` and `r1` to `r15`
//! sentinel   bottom NAME+8 …            where programs may have a sentinel of this meaning
//! ```

use crate::declaration::Declaration;
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

/// Routines of one style, and what they are called.
#[derive(Clone, Debug)]
pub struct Block {
    /// How arguments come.
    pub style: Style,
    /// The patterns of the names.
    pub names: Vec<String>,
    /// The patterns of those with buffers; empty if they are the same.
    pub buffered: Vec<String>,
    /// The patterns of those with 64-bit counts; empty if there are none.
    pub large: Vec<String>,
    /// The patterns of those with both.
    pub buffered_large: Vec<String>,
}

/// A library.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// The ABI of the C library.
    pub abi: String,
    /// What programs ask the dynamic linker for.
    pub soname: String,
    /// Bytes of an `INTEGER` of the program.
    pub integers: usize,
    /// `MPI_` or `PMPI_`.
    pub calls: String,
    /// The routines.
    pub blocks: Vec<Block>,
    /// Sets of functions that it has.
    pub sets: Vec<String>,
    /// What it exports besides routines: name and bytes.
    pub exports: Vec<(String, usize)>,
    /// Where programs have their sentinels.
    pub sentinels: Vec<Sentinel>,
    /// Pointers of the C library, and the places that it is told.
    pub told: Vec<(String, (String, usize))>,
    /// Patterns of further names of what Fortran alone has.
    pub functions: Vec<String>,
    /// Patterns of predefined handles as variables.
    pub handles: Vec<String>,
    /// Names of variables and of the predefined handles that they are, where no pattern fits.
    pub handle_names: Vec<(String, String)>,
    /// Patterns of functions that compare handles: for `==` and `/=`.
    pub compared: [Vec<String>; 2],
    /// Names of `MPI_Sizeof` and the bytes that it tells.
    pub sizes: Vec<(String, usize)>,
}

impl Block {
    /// The patterns of the names of a routine.
    pub fn patterns(&self, declaration: &Declaration, wide: bool) -> &[String] {
        let has_buffers = declaration.arguments.iter().any(|argument| argument.kind.is_buffer());
        let (names, buffered) =
            if wide { (&self.large, &self.buffered_large) } else { (&self.names, &self.buffered) };
        if has_buffers && !buffered.is_empty() {
            buffered
        } else {
            names
        }
    }
}

impl Library {
    /// Whether the integers of programs are wider than C's.
    pub fn is_wide(&self) -> bool {
        self.integers == 8
    }

    /// Reads the file of a library.
    ///
    /// # Errors
    /// A file that cannot be read, or the first line that cannot be understood.
    pub fn read(file: &Path) -> Result<Library, Problem> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut library = Library { calls: "MPI_".into(), integers: 4, ..Library::default() };
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                library
                    .parse_line(line)
                    .map_err(|problem| format!("{}:{}: {problem}", file.display(), index + 1))?;
            }
        }
        match library.blocks.is_empty() || library.soname.is_empty() || library.abi.is_empty() {
            true => Err(format!("{}: abi, soname and a style are needed", file.display())),
            false => Ok(library),
        }
    }

    fn parse_line(&mut self, line: &str) -> Result<(), Problem> {
        let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        let (key, rest) = words.split_first().ok_or("an empty line")?;
        match (key.as_str(), rest) {
            ("abi", [name]) => self.abi.clone_from(name),
            ("soname", [name]) => self.soname.clone_from(name),
            ("integers", [bytes]) => {
                let known = [4, 8].into_iter().find(|known| known.to_string() == *bytes);
                self.integers = known.ok_or_else(|| format!("an INTEGER has 4 or 8 bytes, not {bytes}"))?;
            }
            ("calls", [prefix]) => self.calls.clone_from(prefix),
            ("style", [style]) => {
                let style = match style.as_str() {
                    "plain" => Style::Plain,
                    "native" => Style::Native,
                    "bound" => Style::Bound,
                    _ => return Err(format!("`{style}` is no style")),
                };
                let none = Vec::new;
                let (names, buffered, large, buffered_large) = (none(), none(), none(), none());
                self.blocks.push(Block { style, names, buffered, large, buffered_large });
            }
            ("names" | "buffered" | "large" | "buffered_large", patterns) => {
                let block = self.blocks.last_mut().ok_or("names come behind a style")?;
                let list = match key.as_str() {
                    "names" => &mut block.names,
                    "buffered" => &mut block.buffered,
                    "large" => &mut block.large,
                    _ => &mut block.buffered_large,
                };
                list.extend_from_slice(patterns);
            }
            ("tells", [name, place]) => self.told.push((name.clone(), parse_place(place)?)),
            ("functions", patterns) => self.functions.extend_from_slice(patterns),
            ("handles", patterns) => self.handles.extend_from_slice(patterns),
            ("handle", [name, constant]) => self.handle_names.push((name.clone(), constant.clone())),
            ("equal", patterns) => self.compared[0].extend_from_slice(patterns),
            ("unequal", patterns) => self.compared[1].extend_from_slice(patterns),
            ("sizes", [bytes, names @ ..]) => {
                let bytes = bytes.parse().map_err(|_| format!("`{bytes}` is no number of bytes"))?;
                self.sizes.extend(names.iter().flat_map(|name| of_each_rank(name)).map(|name| (name, bytes)));
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

/// A name for each rank that an array can have, if it differs by that.
fn of_each_rank(name: &str) -> Vec<String> {
    if !name.contains("RANK") {
        return vec![name.to_string()];
    }
    let ranks = (0..=15).map(|rank| if rank == 0 { "scalar".to_string() } else { format!("r{rank}") });
    ranks.map(|rank| name.replace("RANK", &rank)).collect()
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
