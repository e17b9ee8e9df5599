//! Where a Python looks for packages, told without running it: the rules of
//! Python's `site` module, and Debian's own.

use std::path::{Path, PathBuf};

/// A Python, by the places that belong to it.
#[derive(Debug)]
pub struct Python {
    /// Its own installation (or venv), the user's, and the one that it was made from.
    pub prefixes: [PathBuf; 3],
    /// Folders in which packages are, in the order of the search.
    folders: Vec<PathBuf>,
    /// Its distribution wants packages of pip in a venv only (PEP 668).
    pub managed: bool,
}

impl Python {
    /// The Python of this path. `search` is the value of `PYTHONPATH`, `home`
    /// the user's folder. `None` if there is no such file.
    pub fn at(path: &Path, search: &str, home: &Path) -> Option<Python> {
        let real = std::fs::canonicalize(path).ok()?;
        let own = path.parent()?.parent()?.to_owned();
        let venv = std::fs::read_to_string(own.join("pyvenv.cfg")).ok();
        let bin = venv.as_deref().and_then(|text| setting(text, "home")).map(Path::new);
        let base = bin.or(real.parent())?.parent()?.to_owned();
        let name = real.file_name()?.to_str()?;
        let alone =
            venv.as_deref().is_some_and(|text| setting(text, "include-system-site-packages") != Some("true"));
        let prefixes = [own, home.join(".local"), base];
        let mut searched = prefixes[..if alone { 1 } else { 3 }].to_vec();
        if venv.is_none() {
            searched.swap(0, 1);
        }
        if !alone && prefixes[2] == Path::new("/usr") {
            // Debian's Python looks there for what pip installs for all users.
            searched.push("/usr/local".into());
        }
        let mut folders: Vec<PathBuf> =
            search.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from).collect();
        for folder in searched.iter().flat_map(|prefix| package_folders(prefix, name)) {
            folders.extend(added(&folder));
            folders.push(folder);
        }
        let mut of_base = libraries(&prefixes[2], name).into_iter();
        let managed = venv.is_none() && of_base.any(|library| library.join("EXTERNALLY-MANAGED").exists());
        Some(Python { prefixes, folders, managed })
    }

    /// The folder of a package.
    pub fn package(&self, name: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|package| package.is_dir())
    }

    /// A file that says that a package is there though its folder is not: it is
    /// found only when Python runs, as after `pip install --editable`.
    pub fn trace(&self, name: &str) -> Option<PathBuf> {
        let entries = self.folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten());
        entries.flatten().map(|entry| entry.path()).find(|path| {
            let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
            file.starts_with(&format!("{name}-")) || file.starts_with(&format!("__editable__.{name}-"))
        })
    }
}

/// The value of a line `name = value`.
fn setting<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The folders `lib/python3.N` of an installation that fit a Python of this name.
fn libraries(prefix: &Path, name: &str) -> Vec<PathBuf> {
    let entries = ["lib", "lib64"].map(|lib| std::fs::read_dir(prefix.join(lib)).into_iter().flatten());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut fitting: Vec<PathBuf> = paths
        .filter(|path| {
            let folder = path.file_name().and_then(|folder| folder.to_str()).unwrap_or_default();
            folder == "python3" || folder == name || (!name.contains('.') && folder.starts_with("python3."))
        })
        .collect();
    fitting.sort();
    fitting
}

fn package_folders(prefix: &Path, name: &str) -> Vec<PathBuf> {
    let both = |library: PathBuf| ["site-packages", "dist-packages"].map(|folder| library.join(folder));
    libraries(prefix, name).into_iter().flat_map(both).filter(|folder| folder.is_dir()).collect()
}

/// Folders that files `*.pth` in a folder of packages add to the search.
fn added(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let texts = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "pth"))
        .filter_map(|path| std::fs::read_to_string(path).ok());
    let lines = texts.flat_map(|text| text.lines().map(|line| folder.join(line.trim())).collect::<Vec<_>>());
    lines.filter(|path| path != folder && path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    /// A base installation, a user's folder and a venv, in a folder that goes in the end.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let place = Place(std::env::temp_dir().join(format!("unit-test-{name}-{}", std::process::id())));
            for folder in ["base/bin", "venv/bin", "home/.local/lib/python3.11/site-packages"] {
                create_dir_all(place.0.join(folder)).unwrap();
            }
            write(place.0.join("base/bin/python3.11"), "").unwrap();
            std::os::unix::fs::symlink(place.0.join("base/bin/python3.11"), place.0.join("venv/bin/python3"))
                .unwrap();
            place
        }

        fn put(&self, package: &str) {
            create_dir_all(self.0.join(package)).unwrap();
        }

        fn venv(&self, others: bool) {
            let home = self.0.join("base/bin");
            let text = format!("home = {}\ninclude-system-site-packages = {others}\n", home.display());
            write(self.0.join("venv/pyvenv.cfg"), text).unwrap();
        }

        /// Where the Python of this path finds mpi4py, from here.
        fn found(&self, python: &str, search: &str) -> Option<String> {
            let python = Python::at(&self.0.join(python), search, &self.0.join("home")).unwrap();
            let found = python.package("mpi4py")?;
            Some(found.strip_prefix(&self.0).unwrap().display().to_string())
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_venv_sees_what_its_base_has_only_if_it_is_made_so() {
        let place = Place::new("packages-venv");
        place.put("base/lib64/python3.11/site-packages/mpi4py");
        place.put("base/lib/python3.12/site-packages/mpi4py");
        let in_base = Some("base/lib64/python3.11/site-packages/mpi4py".to_owned());
        assert_eq!(place.found("base/bin/python3.11", ""), in_base);
        place.venv(true);
        assert_eq!(place.found("venv/bin/python3", ""), in_base);
        place.venv(false);
        assert_eq!(place.found("venv/bin/python3", ""), None);
        place.put("venv/lib/python3.11/site-packages/mpi4py");
        assert!(place.found("venv/bin/python3", "").unwrap().starts_with("venv/"));
    }

    #[test]
    fn packages_are_found_by_the_environment_by_path_files_and_by_their_traces() {
        let place = Place::new("packages-path");
        let there = || Python::at(&place.0.join("base/bin/python3.11"), "", &place.0.join("home")).unwrap();
        assert!(there().package("mpi4py").is_none() && there().trace("mpi4py").is_none() && !there().managed);
        place.put("elsewhere/mpi4py");
        let search = place.0.join("elsewhere").display().to_string();
        assert_eq!(place.found("base/bin/python3.11", &search), Some("elsewhere/mpi4py".into()));
        let user = place.0.join("home/.local/lib/python3.11/site-packages");
        write(user.join("more.pth"), format!("import os\n{search}\n")).unwrap();
        assert_eq!(place.found("base/bin/python3.11", ""), Some("elsewhere/mpi4py".into()));
        place.put("base/lib/python3.11/site-packages/mpi4py");
        assert_eq!(
            place.found("base/bin/python3.11", ""),
            Some("elsewhere/mpi4py".into()),
            "the user's first"
        );
        std::fs::remove_dir(place.0.join("base/lib/python3.11/site-packages/mpi4py")).unwrap();
        std::fs::remove_file(user.join("more.pth")).unwrap();
        write(user.join("__editable__.mpi4py-4.1.2.pth"), "import finder\n").unwrap();
        assert!(there().package("mpi4py").is_none() && there().trace("mpi4py").is_some());
        place.put("base/lib/python3.11");
        write(place.0.join("base/lib/python3.11/EXTERNALLY-MANAGED"), "").unwrap();
        assert!(there().managed);
    }
}
