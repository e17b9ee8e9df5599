//! What an ELF file says of itself: what it needs, where it looks, what it
//! defines. Only the parts asked for are read.

use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::read::{Object, ObjectSymbol, ReadCache, ReadRef};
use object::Endianness;
use std::fs::File;
use std::path::{Path, PathBuf};

type Data<'a> = &'a ReadCache<File>;

/// A program or a library.
#[derive(Clone, Debug, Default)]
pub struct Elf {
    /// Its path.
    pub path: PathBuf,
    /// `e_machine`: which processor it is for.
    pub machine: u16,
    /// Libraries that it asks for, in order.
    pub needed: Vec<String>,
    /// By what name others ask for it.
    pub soname: Option<String>,
    /// Folders searched before `LD_LIBRARY_PATH`.
    pub rpath: Vec<String>,
    /// Folders searched after it.
    pub runpath: Vec<String>,
    /// The program that loads it; none for libraries and static programs.
    pub interpreter: Option<String>,
}

/// Why a file is not read as ELF.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It cannot be opened.
    Unreadable(String),
    /// It is something else.
    NotElf,
    /// It is for a 32-bit machine, or damaged.
    Foreign,
}

impl Elf {
    /// Reads one.
    ///
    /// # Errors
    /// Why not.
    pub fn read(path: &Path) -> Result<Elf, Refusal> {
        let data = open(path)?;
        parse(&data, path).ok_or_else(|| match data.read_bytes_at(0, 4) {
            Ok(magic) if magic == elf::ELFMAG => Refusal::Foreign,
            _ => Refusal::NotElf,
        })
    }

    /// Where it lies, as `$ORIGIN` has it.
    pub fn origin(&self) -> PathBuf {
        let full = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        full.parent().map(Path::to_path_buf).unwrap_or_default()
    }

    /// A list of folders with `$ORIGIN` put in.
    pub fn folders(&self, list: &[String]) -> Vec<PathBuf> {
        let origin = self.origin().display().to_string();
        let put = |entry: &String| entry.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
        list.iter().map(|entry| PathBuf::from(put(entry))).collect()
    }

    /// Whether it defines one of these functions or variables.
    pub fn defines(&self, names: &[&str]) -> bool {
        let Ok(data) = open(&self.path) else { return false };
        let Ok(file) = ElfFile64::<Endianness, _>::parse(&data) else { return false };
        let found = file
            .dynamic_symbols()
            .chain(file.symbols())
            .any(|symbol| symbol.is_definition() && symbol.name().is_ok_and(|name| names.contains(&name)));
        found
    }
}

fn open(path: &Path) -> Result<ReadCache<File>, Refusal> {
    File::open(path).map(ReadCache::new).map_err(|cause| Refusal::Unreadable(cause.to_string()))
}

fn parse(data: Data<'_>, path: &Path) -> Option<Elf> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let mut found = Elf { path: path.to_owned(), machine: header.e_machine(endian).0, ..Elf::default() };
    found.interpreter = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, data).ok()?)
        .map(|name| String::from_utf8_lossy(name).into_owned());
    let Some(entries) = segments.iter().find_map(|segment| segment.dynamic(endian, data).ok()?) else {
        return Some(found);
    };
    let value =
        |tag| entries.iter().find(|entry| entry.d_tag(endian) == tag).map(|entry| entry.d_val(endian));
    let strings = place_in_file(segments, endian, value(elf::DT_STRTAB)?)?;
    let size = value(elf::DT_STRSZ)?;
    let text = |offset: u64| {
        let range = strings.checked_add(offset)?..strings.checked_add(size)?;
        let bytes = data.read_bytes_at_until(range, 0).ok()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    let list = |tag| value(tag).and_then(text).map(split).unwrap_or_default();
    found.soname = value(elf::DT_SONAME).and_then(text);
    found.rpath = list(elf::DT_RPATH);
    found.runpath = list(elf::DT_RUNPATH);
    let needed = entries.iter().filter(|entry| entry.d_tag(endian) == elf::DT_NEEDED);
    found.needed = needed.filter_map(|entry| text(entry.d_val(endian))).collect();
    Some(found)
}

fn split(list: String) -> Vec<String> {
    list.split(':').filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// Where in the file an address of the loaded image lies.
fn place_in_file(
    segments: &[elf::ProgramHeader64<Endianness>],
    endian: Endianness,
    address: u64,
) -> Option<u64> {
    segments.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD).find_map(|segment| {
        let within = address.checked_sub(segment.p_vaddr(endian))?;
        (within < segment.p_filesz(endian)).then(|| segment.p_offset(endian) + within)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_the_c_library() {
        let elf = Elf::read(&std::env::current_exe().unwrap()).unwrap();
        assert!(elf.needed.iter().any(|name| name.starts_with("libc.so")), "{elf:?}");
        assert!(elf.interpreter.is_some() && elf.soname.is_none());
        assert!(elf.defines(&["main"]) && !elf.defines(&["MPI_Init"]));
    }

    #[test]
    fn what_is_no_elf_is_said_so() {
        assert_eq!(Elf::read(Path::new("/etc/passwd")).unwrap_err(), Refusal::NotElf);
        assert!(matches!(Elf::read(Path::new("/no/such")).unwrap_err(), Refusal::Unreadable(_)));
    }
}
