//! Sockets in the folder of names: by them processes connect that were started apart and share no network, such as those in
//! containers that have a folder in common.
//!
//! The folder is that of the setting `SERRIED_NAMES`. A socket is a file there whose name says which process listens, so nobody has to be
//! told of it. Who connects proves himself as anywhere else. A process removes its own file when it finalizes, and those of processes that were
//! killed when it comes.

use super::pass_descriptor::connect_to_file;
use super::ProcessName;
use crate::settings::NAMES;
use std::fs::{self, DirEntry, File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

const BEFORE: &str = ".serried-";
const BEHIND: &str = ".door";
/// A socket that is younger may be about to listen.
const YOUNG: Duration = Duration::from_secs(10);
/// The name of a socket has room for so many bytes, and a zero.
const ADDRESS_BYTES: usize = 107;

/// Where a process listens in the folder of names.
#[derive(Debug)]
pub struct FolderDoor {
    /// The folder itself, so that the names of sockets are short.
    folder: File,
    path: PathBuf,
    own: ProcessName,
    listener: UnixListener,
}

impl FolderDoor {
    /// That of a process, if the environment names a folder in which there can be sockets.
    pub fn of_environment(own: ProcessName) -> Option<FolderDoor> {
        let folder = std::env::var_os(NAMES).filter(|folder| !folder.is_empty())?;
        FolderDoor::open(PathBuf::from(folder), own).ok()
    }

    /// The same in this folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: PathBuf, own: ProcessName) -> io::Result<FolderDoor> {
        let folder = File::open(&path)?;
        fs::read_dir(&path)?.flatten().filter(|entry| has_been_left(&folder, &path, entry)).for_each(
            |entry| {
                let _ = fs::remove_file(entry.path());
            },
        );
        let place = short(&folder, &path, &file_name(own));
        let listener = UnixListener::bind(&place)?;
        fs::set_permissions(&place, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(FolderDoor { folder, path, own, listener })
    }

    /// Where it listens.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Connects to another process, if that has a socket in the folder.
    pub fn connect(&self, other: ProcessName) -> Option<io::Result<OwnedFd>> {
        let connected = connect_to_file(&short(&self.folder, &self.path, &file_name(other)));
        let is_there = !connected.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        is_there.then(|| connected.map(OwnedFd::from))
    }

    /// Nobody shall come any more.
    pub fn close(&self) {
        let _ = fs::remove_file(short(&self.folder, &self.path, &file_name(self.own)));
    }
}

fn file_name(of: ProcessName) -> String {
    format!("{BEFORE}{:016x}{BEHIND}", of.0)
}

/// The path of a file of the folder; through the descriptor of that if it is long, for there is little room in an address.
fn short(folder: &File, path: &Path, name: &str) -> PathBuf {
    let whole = path.join(name);
    match whole.as_os_str().len() < ADDRESS_BYTES {
        true => whole,
        false => format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()).into(),
    }
}

/// Whether a file is the socket of a process that has gone without removing it.
fn has_been_left(folder: &File, path: &Path, entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let Some(name) = name.to_str().filter(|name| name.starts_with(BEFORE) && name.ends_with(BEHIND)) else {
        return false;
    };
    let age = entry.metadata().and_then(|known| known.modified()).ok().and_then(|made| made.elapsed().ok());
    let is_refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    age.is_some_and(|age| age > YOUNG) && connect_to_file(&short(folder, path, name)).is_err_and(is_refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::SystemTime;

    fn folder_of_test(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("unit-test-doors-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn processes_connect_by_their_names_as_long_as_they_listen() {
        for folder in [folder_of_test("short"), folder_of_test(&"long".repeat(30))] {
            let [one, two] = [1, 2].map(|number| ProcessName::new(7, number));
            let (first, second) = (
                FolderDoor::open(folder.clone(), one).unwrap(),
                FolderDoor::open(folder.clone(), two).unwrap(),
            );
            let mut stream = UnixStream::from(first.connect(two).unwrap().unwrap());
            stream.write_all(b"here").unwrap();
            drop(stream);
            let mut said = String::new();
            second.listener.accept().unwrap().0.read_to_string(&mut said).unwrap();
            assert_eq!(said, "here");
            assert!(first.connect(ProcessName::new(7, 3)).is_none());
            second.close();
            assert!(first.connect(two).is_none());
            first.close();
            fs::remove_dir(&folder).expect("nothing is left there");
        }
    }

    #[test]
    fn what_killed_processes_have_left_is_removed_and_nothing_else() {
        let folder = folder_of_test("left");
        let [killed, lives, young, comes] = [1, 2, 3, 4].map(|number| ProcessName::new(9, number));
        for gone in [killed, young] {
            drop(UnixListener::bind(folder.join(file_name(gone))).unwrap());
        }
        let listens = FolderDoor::open(folder.clone(), lives).unwrap();
        let old = std::ffi::CString::new(folder.join(file_name(killed)).to_str().unwrap()).unwrap();
        let then =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as libc::time_t - 60;
        let times = [libc::timeval { tv_sec: then, tv_usec: 0 }; 2];
        for file in [old, std::ffi::CString::new(folder.join(file_name(lives)).to_str().unwrap()).unwrap()] {
            // SAFETY: a path and two times, both valid.
            assert_eq!(unsafe { libc::utimes(file.as_ptr(), times.as_ptr()) }, 0);
        }
        let new = FolderDoor::open(folder.clone(), comes).unwrap();
        assert!(new.connect(killed).is_none());
        assert!(new.connect(lives).unwrap().is_ok() && new.connect(young).unwrap().is_err());
        listens.close();
        new.close();
        fs::remove_dir_all(folder).unwrap();
    }
}
