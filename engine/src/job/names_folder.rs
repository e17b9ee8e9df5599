//! Names under which ports are published for jobs that are started apart (MPI-5.0 §11.9.4): files of a folder that
//! they share.
//!
//! The folder is that of the setting `SERRIED_NAMES`, else the user's own for such things (`XDG_RUNTIME_DIR`). A name is
//! a file that only its owner can read: the service, an empty line, the port. Whoever has published it holds a lock of its
//! first byte. So one whose publisher has died counts for nothing, and its place is taken by the next, who holds a lock of
//! the second byte meanwhile.

use super::node_card::hexadecimal;
use crate::settings::NAMES;
use crate::{Class, Error, Result};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder, and what this process has published there.
#[derive(Debug)]
pub struct NamesFolder {
    folder: PathBuf,
    published: HashMap<String, (PathBuf, File)>,
}

/// The byte of a file whose lock its publisher holds as long as it lives.
const PUBLISHED: libc::off_t = 0;
/// The byte whose lock is held by who replaces a file. Another one, so that nobody who looks the name up takes the file for
/// one whose publisher lives.
const REPLACED: libc::off_t = 1;

/// Between the service and the port.
const BETWEEN: &str = "\n\n";

impl NamesFolder {
    /// The one that the environment names.
    pub fn of_environment() -> Option<NamesFolder> {
        let named =
            |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let own = || named("XDG_RUNTIME_DIR").filter(|folder| may_write(folder));
        named(NAMES).or_else(own).map(NamesFolder::at)
    }

    /// This one.
    pub fn at(folder: PathBuf) -> NamesFolder {
        NamesFolder { folder, published: HashMap::new() }
    }

    fn place_of(&self, service: &str) -> PathBuf {
        let digest = Sha256::digest(service.as_bytes());
        self.folder.join(format!("serried-{}.name", hexadecimal(&digest[..12])))
    }

    /// Publishes a port.
    ///
    /// # Errors
    /// `Service` for a name that is published already; `Other` where the folder cannot be written.
    pub fn publish(&mut self, service: &str, port: &str) -> Result<()> {
        let place = self.place_of(service);
        let fresh = self.folder.join(format!(".serried-{}.name", std::process::id()));
        let refused = |cause: io::Error| {
            let folder = self.folder.display();
            let text = format!(
                "the service name {service:?} cannot be published for other jobs in the folder {folder}: {cause} \
                 (the folder is that of {NAMES}, else of XDG_RUNTIME_DIR)"
            );
            Error::new(Class::Other, text)
        };
        let mut file = OpenOptions::new();
        let mut file =
            file.read(true).write(true).create_new(true).mode(0o600).open(&fresh).map_err(refused)?;
        let written = file
            .write_all(format!("{service}{BETWEEN}{port}").as_bytes())
            .and_then(|()| lock(&file, PUBLISHED))
            .and_then(|()| put_in_place(&fresh, &place));
        let _ = std::fs::remove_file(&fresh);
        match written {
            Ok(true) => {
                self.published.insert(service.to_owned(), (place, file));
                Ok(())
            }
            Ok(false) => Err(published_already(service)),
            Err(cause) => Err(refused(cause)),
        }
    }

    /// Takes back the name of a port, whoever of the user's processes has published it; whether there was one.
    pub fn unpublish(&mut self, service: &str, port: &str) -> bool {
        let is_it = self.look_up(service).is_some_and(|found| found == port);
        self.published.remove(service);
        is_it && std::fs::remove_file(self.place_of(service)).is_ok()
    }

    /// The port that is published under a name, if one is.
    pub fn look_up(&self, service: &str) -> Option<String> {
        let mut file = File::open(self.place_of(service)).ok()?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        let is_held = self.published.contains_key(service) || is_locked(&file, PUBLISHED);
        let (found, port) = text.rsplit_once(BETWEEN)?;
        (is_held && found == service).then(|| port.to_owned())
    }
}

/// What this process has published ends with it.
impl Drop for NamesFolder {
    fn drop(&mut self) {
        for (place, _) in self.published.values() {
            let _ = std::fs::remove_file(place);
        }
    }
}

/// The error of a name that is published.
#[cold]
pub fn published_already(service: &str) -> Error {
    Error::new(Class::Service, format!("the service name {service:?} is published already"))
}

/// Gives a file its place, unless another has it whose publisher lives.
fn put_in_place(fresh: &Path, place: &Path) -> io::Result<bool> {
    for _ in 0..16 {
        match std::fs::hard_link(fresh, place) {
            Ok(()) => return Ok(true),
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(cause),
            Err(_) => {}
        }
        // No two take a dead one's place at a time.
        let Ok(old) = OpenOptions::new().read(true).write(true).open(place) else { continue };
        if lock(&old, REPLACED).is_err() || is_locked(&old, PUBLISHED) {
            return Ok(false);
        }
        let is_still_there = std::fs::metadata(place).is_ok_and(|now| {
            old.metadata().is_ok_and(|then| (now.dev(), now.ino()) == (then.dev(), then.ino()))
        });
        if is_still_there {
            std::fs::remove_file(place)?;
        }
    }
    Ok(false)
}

fn may_write(folder: &Path) -> bool {
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes());
    // SAFETY: the path ends with a zero.
    path.is_ok_and(|path| unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) } == 0)
}

fn lock_of(byte: libc::off_t) -> libc::flock {
    // SAFETY: zeros are a valid value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence) = (libc::F_WRLCK as libc::c_short, libc::SEEK_SET as libc::c_short);
    (lock.l_start, lock.l_len) = (byte, 1);
    lock
}

/// Takes the lock of a byte of a file, if nobody has it. It goes with the descriptor.
fn lock(file: &File, byte: libc::off_t) -> io::Result<()> {
    let wanted = lock_of(byte);
    // SAFETY: `wanted` is valid during the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const wanted) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether another one has the lock of a byte of a file.
fn is_locked(file: &File, byte: libc::off_t) -> bool {
    let mut found = lock_of(byte);
    found.l_type = libc::F_RDLCK as libc::c_short;
    // SAFETY: `found` is valid during the call, which says there who has the lock.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut found) };
    asked == 0 && found.l_type != libc::F_UNLCK as libc::c_short
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders of two jobs that share one.
    fn folders(name: &str) -> (PathBuf, [NamesFolder; 2]) {
        let folder = std::env::temp_dir().join(format!("names-of-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        (folder.clone(), [NamesFolder::at(folder.clone()), NamesFolder::at(folder)])
    }

    fn files(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_name_is_found_by_others_until_it_is_taken_back() {
        let (folder, [mut one, mut other]) = folders("found");
        for service in ["ocean", "a / strange\nname", &"s".repeat(256)] {
            assert_eq!(other.look_up(service), None);
            one.publish(service, "a port").unwrap();
            assert_eq!(
                [one.look_up(service), other.look_up(service)],
                [Some("a port".to_owned()), Some("a port".to_owned())]
            );
            for again in [&mut one, &mut other] {
                assert_eq!(again.publish(service, "another").unwrap_err().class(), Class::Service);
            }
            assert!(!other.unpublish(service, "another"));
            let [taken_back, again] = [0; 2].map(|_| other.unpublish(service, "a port"));
            assert!(taken_back && !again);
            one.unpublish(service, "a port");
            assert_eq!(other.look_up(service), None);
        }
        one.publish("left", "a port").unwrap();
        drop(one);
        assert_eq!(files(&folder), 0);
        std::fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_name_whose_publisher_has_died_is_free() {
        let (folder, [mut one, mut other]) = folders("died");
        one.publish("ocean", "a port").unwrap();
        // As the system leaves it: the file stays, the lock goes.
        let (place, _) = one.published.remove("ocean").unwrap();
        assert!(place.exists() && other.look_up("ocean").is_none());
        // While another one takes its place the port is not found either, and nobody else does.
        let taken = OpenOptions::new().read(true).write(true).open(&place).unwrap();
        lock(&taken, REPLACED).unwrap();
        assert!(other.look_up("ocean").is_none());
        assert_eq!(other.publish("ocean", "another").unwrap_err().class(), Class::Service);
        drop(taken);
        other.publish("ocean", "another").unwrap();
        assert_eq!(one.look_up("ocean").as_deref(), Some("another"));
        drop(other);
        assert_eq!(files(&folder), 0);
        std::fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_it() {
        let mut one = NamesFolder::at("/nowhere/at all".into());
        let error = one.publish("ocean", "a port").unwrap_err();
        assert!(error.message().contains("/nowhere/at all") && error.message().contains(NAMES));
    }
}
