//! What the dynamic linker would load for a program, told without running it:
//! the rules of `ld.so(8)`.

use super::elf::Elf;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

/// By which rule a library was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// The program itself.
    Program,
    /// `LD_PRELOAD`.
    Preload,
    /// A name with a slash in it.
    Path,
    /// `DT_RPATH`, which comes before `LD_LIBRARY_PATH`, of this file.
    Rpath(PathBuf),
    /// `LD_LIBRARY_PATH`.
    LibraryPath,
    /// `DT_RUNPATH` of the file that asks.
    Runpath,
    /// The system's own folders.
    System,
}

/// A file that is loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it is.
    pub elf: Elf,
    /// By which rule it was found.
    pub how: How,
    /// Place in the list of who asked first.
    parent: Option<usize>,
}

/// Everything that a program loads at its start.
#[derive(Debug, Default)]
pub struct Image {
    /// The program first, then in the order of loading.
    pub loaded: Vec<Loaded>,
    /// Names that are nowhere, each with the file that asks for it.
    pub missing: Vec<(String, PathBuf)>,
}

/// Where libraries are looked for.
#[derive(Debug)]
pub struct Search {
    library_path: Vec<PathBuf>,
    preload: Vec<String>,
    cache: HashMap<String, Vec<PathBuf>>,
}

const SYSTEM_FOLDERS: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];

impl Search {
    /// As these values of `LD_LIBRARY_PATH` and `LD_PRELOAD` have it.
    pub fn new(library_path: &str, preload: &str) -> Search {
        let folders = library_path.split([':', ';']).filter(|_| !library_path.is_empty());
        Search {
            // An empty entry is the working directory.
            library_path: folders.map(|f| PathBuf::from(if f.is_empty() { "." } else { f })).collect(),
            preload: preload.split([':', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            cache: std::fs::read("/etc/ld.so.cache").ok().and_then(|bytes| cache(&bytes)).unwrap_or_default(),
        }
    }

    /// Everything that `program` loads.
    pub fn load(&self, program: Elf) -> Image {
        let machine = program.machine;
        let mut image = Image::default();
        let mut known = HashMap::new();
        let mut wanted: VecDeque<(usize, String, bool)> =
            self.preload.iter().map(|name| (0, name.clone(), true)).collect();
        wanted.extend(program.needed.iter().map(|name| (0, name.clone(), false)));
        image.loaded.push(Loaded { elf: program, how: How::Program, parent: None });
        while let Some((asker, name, preload)) = wanted.pop_front() {
            if known.contains_key(&name) {
                continue;
            }
            let Some((elf, how)) = self.find(&name, &image, asker, machine) else {
                if !preload {
                    image.missing.push((name.clone(), image.loaded[asker].elf.path.clone()));
                }
                known.insert(name, usize::MAX);
                continue;
            };
            let place = image.loaded.len();
            known.insert(name, place);
            if let Some(soname) = &elf.soname {
                known.insert(soname.clone(), place);
            }
            wanted.extend(elf.needed.iter().map(|name| (place, name.clone(), false)));
            let how = if preload { How::Preload } else { how };
            image.loaded.push(Loaded { elf, how, parent: Some(asker) });
        }
        image
    }

    /// The file that a lone `dlopen(name)` would load.
    pub fn find_alone(&self, name: &str, machine: u16) -> Option<Elf> {
        let mut image = Image::default();
        image.loaded.push(Loaded { elf: Elf::default(), how: How::Program, parent: None });
        self.find(name, &image, 0, machine).map(|(elf, _)| elf)
    }

    fn find(&self, name: &str, image: &Image, asker: usize, machine: u16) -> Option<(Elf, How)> {
        let usable = |path: PathBuf| Elf::read(&path).ok().filter(|elf| elf.machine == machine);
        if name.contains('/') {
            return usable(PathBuf::from(name)).map(|elf| (elf, How::Path));
        }
        let within = |folders: &[PathBuf]| folders.iter().find_map(|folder| usable(folder.join(name)));
        let asking = &image.loaded[asker].elf;
        if asking.runpath.is_empty() {
            let mut next = Some(asker);
            while let Some(place) = next {
                let above = &image.loaded[place];
                if above.elf.runpath.is_empty() {
                    if let Some(elf) = within(&above.elf.folders(&above.elf.rpath)) {
                        return Some((elf, How::Rpath(above.elf.path.clone())));
                    }
                }
                next = above.parent;
            }
        }
        if let Some(elf) = within(&self.library_path) {
            return Some((elf, How::LibraryPath));
        }
        if let Some(elf) = within(&asking.folders(&asking.runpath)) {
            return Some((elf, How::Runpath));
        }
        let cached = self.cache.get(name).into_iter().flatten().cloned();
        let system = SYSTEM_FOLDERS.iter().map(|folder| Path::new(folder).join(name));
        cached.chain(system).find_map(usable).map(|elf| (elf, How::System))
    }
}

impl Image {
    /// Folders that files of this image name in RPATH or RUNPATH and that do
    /// not exist, each with the file.
    pub fn dangling(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut found = Vec::new();
        for Loaded { elf, .. } in &self.loaded {
            let folders = elf.folders(if elf.runpath.is_empty() { &elf.rpath } else { &elf.runpath });
            found
                .extend(folders.into_iter().filter(|f| !f.is_dir()).map(|folder| (folder, elf.path.clone())));
        }
        found
    }
}

/// The table of `/etc/ld.so.cache`, in glibc's format of 2.2 and later.
fn cache(bytes: &[u8]) -> Option<HashMap<String, Vec<PathBuf>>> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const HEADER: usize = 48;
    const ENTRY: usize = 24;
    let start = bytes.windows(MAGIC.len()).position(|window| window == MAGIC)?;
    let table = &bytes[start..];
    let number = |at: usize| Some(u32::from_le_bytes(table.get(at..at + 4)?.try_into().ok()?) as usize);
    let text = |at: usize| {
        let rest = table.get(at..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    };
    let mut found: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for entry in 0..number(MAGIC.len())? {
        let at = HEADER + entry * ENTRY;
        let (name, path) = (text(number(at + 4)?)?, text(number(at + 8)?)?);
        found.entry(name).or_default().push(path.into());
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_loads_the_c_library_from_the_system() {
        let program = Elf::read(&std::env::current_exe().unwrap()).unwrap();
        let image = Search::new("/nowhere", "").load(program);
        assert!(image.missing.is_empty(), "{:?}", image.missing);
        let libc = image.loaded.iter().find(|one| one.elf.soname.as_deref() == Some("libc.so.6")).unwrap();
        assert_eq!(libc.how, How::System);
    }

    #[test]
    fn a_damaged_cache_is_no_cache() {
        assert!(cache(b"glibc-ld.so.cache1.1\xff\xff\xff\xff").is_none());
        assert!(cache(b"something else").is_none());
    }
}
