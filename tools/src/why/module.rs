//! A file that a process has mapped, and what it says of addresses in it: the function
//! and the source line, by its own debugging information or that of a file beside it.

use addr2line::Loader;
use object::read::{Object, ObjectSection, ObjectSegment, ReadCache};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Where debugging information lies that was taken out of programs.
const DEBUG_FILES: &str = "/usr/lib/debug";

/// One call, or one that was made part of another by the compiler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The function; empty if nobody knows.
    pub function: String,
    /// `file:line`; empty likewise.
    pub place: String,
}

/// A program or a library.
pub struct Module {
    name: String,
    /// Offset in the file, length, address that it is linked for.
    segments: Vec<(u64, u64, u64)>,
    symbols: Loader,
    lines: Option<Loader>,
}

impl Module {
    /// The file at `path`, which has been mapped by the name `name`; `None` if it cannot
    /// be read, or is no program.
    pub fn open(path: &Path, name: &str) -> Option<Module> {
        let data = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&data).ok()?;
        let segments = file.segments().map(|segment| {
            let (offset, size) = segment.file_range();
            (offset, size, segment.address())
        });
        let has_lines = |file: &object::File<&ReadCache<File>>| {
            file.section_by_name(".debug_info").is_some_and(|section| section.size() > 0)
        };
        let lines = if has_lines(&file) { None } else { debug_file(&file, path) };
        Some(Module {
            name: Path::new(name).file_name()?.to_string_lossy().into_owned(),
            segments: segments.collect(),
            symbols: Loader::new(path).ok()?,
            lines: lines.and_then(|path| Loader::new(path).ok()),
        })
    }

    /// Whether this is the C library or what belongs to it, whose calls say nothing.
    pub fn is_of_the_system(&self) -> bool {
        ["libc.so", "libc-", "libpthread", "ld-linux", "ld-musl", "[vdso]"]
            .iter()
            .any(|name| self.name.starts_with(name))
    }

    /// The function at an offset of the file, by its symbols alone.
    pub fn function(&self, offset: u64) -> Option<String> {
        let address = self.address(offset)?;
        let symbol = |loader: &Loader| loader.find_symbol(address).map(str::to_owned);
        let found = symbol(&self.symbols).or_else(|| symbol(self.lines.as_ref()?))?;
        // Versions of symbols, and parts that compilers divide functions into.
        let plain = found.split(['@']).next().unwrap_or_default().trim_end_matches(".cold");
        Some(addr2line::demangle_auto(plain.into(), None).into_owned())
    }

    /// The calls at an offset of the file, innermost first: at least one.
    pub fn calls(&self, offset: u64) -> Vec<Call> {
        let mut calls = self.address(offset).map_or(Vec::new(), |address| self.by_lines(address));
        if let Some(last) = calls.last_mut().filter(|last| last.function.is_empty()) {
            last.function = self.function(offset).unwrap_or_default();
        }
        if calls.is_empty() {
            let unknown = || format!("{}+{offset:#x}", self.name);
            let function = self.function(offset).unwrap_or_else(unknown);
            calls.push(Call { function, place: String::new() });
        }
        calls
    }

    fn address(&self, offset: u64) -> Option<u64> {
        let inside =
            |&&(from, size, _): &&(u64, u64, u64)| (from..from.saturating_add(size)).contains(&offset);
        self.segments.iter().find(inside).map(|&(from, _, address)| address + (offset - from))
    }

    fn by_lines(&self, address: u64) -> Vec<Call> {
        let Ok(mut frames) = self.lines.as_ref().unwrap_or(&self.symbols).find_frames(address) else {
            return Vec::new();
        };
        let mut calls = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref().and_then(|name| name.demangle().ok());
            let place = frame.location.and_then(|place| Some(format!("{}:{}", place.file?, place.line?)));
            calls.push(Call {
                function: function.unwrap_or_default().into_owned(),
                place: place.unwrap_or_default(),
            });
        }
        calls
    }
}

/// The file with the debugging information of another, as debuggers look for it.
fn debug_file<'a>(file: &object::File<'a, &'a ReadCache<File>>, path: &Path) -> Option<PathBuf> {
    let by_id = file.build_id().ok().flatten().filter(|id| id.len() > 2).map(|id| {
        let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        Path::new(DEBUG_FILES).join(".build-id").join(&digits[..2]).join(format!("{}.debug", &digits[2..]))
    });
    let by_name = file.gnu_debuglink().ok().flatten().and_then(|(name, _)| {
        let name = std::str::from_utf8(name).ok()?;
        let folder = path.parent()?;
        let inside = Path::new(DEBUG_FILES).join(folder.strip_prefix("/").unwrap_or(folder)).join(name);
        Some([folder.join(name), folder.join(".debug").join(name), inside])
    });
    by_id.into_iter().chain(by_name.into_iter().flatten()).find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_ours_is_found_with_its_line() {
        let path = std::env::current_exe().unwrap();
        let module = Module::open(&path, "/somewhere/tests").unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let function = Module::address as *const () as u64;
        let offset = maps.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let number = |word| u64::from_str_radix(word, 16).ok();
            let (start, end, offset) = (number(start)?, number(end)?, number(words.nth(1)?)?);
            (start..end).contains(&function).then(|| function - start + offset)
        });
        let offset = offset.unwrap();
        assert!(module.function(offset).unwrap().contains("Module::address"));
        let calls = module.calls(offset);
        assert!(calls[0].place.contains("module.rs:"), "{calls:?}");
        let nowhere = module.calls(1 << 60);
        assert_eq!(nowhere[0].function, format!("tests+{:#x}", 1u64 << 60));
        assert!(Module::open(Path::new("/proc/self/status"), "status").is_none());
    }
}
