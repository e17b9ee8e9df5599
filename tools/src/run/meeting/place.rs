//! What lies in the folder of a meeting: a file, whose lock the leader holds and which has the secret, and a socket.
//!
//! A lock ends with the process that holds it, so what a job has left that was killed is in nobody's way: the next leader
//! takes the lock, draws another secret, and listens at a socket of its own.

use super::super::agent::Shared;
use super::super::guard::Guard;
use super::talk::{self, own_user, NotJoined, Party};
use super::{of_folder, wait, Meeting};
use serried_engine::job::JobKey;
use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The name of a socket has room for so many bytes, and a zero.
const ADDRESS_BYTES: usize = 107;

/// The folder of a meeting.
pub struct Place<'a> {
    meeting: &'a Meeting,
    /// The folder itself, so that the names of sockets are short.
    folder: File,
    file: File,
}

/// What a leader has.
pub struct Lead {
    /// Where the others come.
    pub listener: UnixListener,
    /// What all can read who may come.
    pub key: JobKey,
    file: File,
    paths: [PathBuf; 2],
}

impl Drop for Lead {
    /// Nothing is left of the meeting; the lock ends last.
    fn drop(&mut self) {
        self.paths.iter().for_each(|path| drop(std::fs::remove_file(path)));
        let _ = self.file.unlock();
    }
}

impl<'a> Place<'a> {
    /// Looks at the folder.
    ///
    /// # Errors
    /// A sentence: it cannot be used, or belongs to somebody else.
    pub fn look(meeting: &'a Meeting) -> Result<Place<'a>, String> {
        let cannot = |cause: io::Error| match cause.kind() {
            io::ErrorKind::PermissionDenied => foreign(meeting, &file_path(meeting), &cause),
            _ => of_folder("the parties cannot meet there", meeting, &cause),
        };
        let flags = libc::O_DIRECTORY | libc::O_PATH;
        let folder = File::options().read(true).custom_flags(flags).open(&meeting.folder).map_err(cannot)?;
        let mut options = File::options();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW);
        let file = options.open(file_path(meeting)).map_err(cannot)?;
        let owner = file.metadata().map_err(cannot)?.uid();
        if owner != own_user() {
            let cause = io::Error::other(format!("it is of user {owner}"));
            return Err(foreign(meeting, &file_path(meeting), &cause));
        }
        Ok(Place { meeting, folder, file })
    }

    /// Leads, if nobody does.
    ///
    /// # Errors
    /// A sentence.
    pub fn lead(&self) -> Result<Option<Lead>, String> {
        let cannot = |cause: io::Error| of_folder("this party cannot lead the others", self.meeting, &cause);
        match self.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(cause)) => return Err(cannot(cause)),
        }
        // A leader that has gone may have removed the file before it let go of the lock.
        let named = std::fs::symlink_metadata(file_path(self.meeting)).ok();
        let is_same =
            |named: std::fs::Metadata| self.file.metadata().is_ok_and(|own| own.ino() == named.ino());
        if !named.is_some_and(is_same) {
            return Ok(None);
        }
        let key = JobKey::random().map_err(cannot)?;
        self.file
            .set_len(0)
            .and_then(|()| self.file.write_all_at(key.to_text().as_bytes(), 0))
            .map_err(cannot)?;
        let _ = std::fs::remove_file(socket_path(self.meeting));
        let listener = UnixListener::bind(self.short_path()).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(socket_path(self.meeting), private).map_err(cannot)?;
        let file = self.file.try_clone().map_err(cannot)?;
        Ok(Some(Lead { listener, key, file, paths: [socket_path(self.meeting), file_path(self.meeting)] }))
    }

    /// Joins the leader; waits until all are there.
    ///
    /// # Errors
    /// See [`NotJoined`].
    pub fn join(&self, own: &Party, guard: &mut Guard) -> Result<(UnixStream, Shared), NotJoined> {
        let stream = UnixStream::connect(self.short_path())?;
        let mut text = [0; 64];
        self.file.read_exact_at(&mut text, 0)?;
        let key = std::str::from_utf8(&text).ok().and_then(JobKey::from_text);
        let key = key.ok_or_else(|| NotJoined::Yet("its secret is not there".into()))?;
        talk::introduce(&stream, &key, own, self.meeting)?;
        // The leader says when it does not want to wait any more.
        loop {
            if wait(&[&stream], guard, Instant::now() + Duration::from_secs(60))[0] {
                break;
            }
            if guard.wants_the_end() {
                return Err(NotJoined::ForGood("ended before all parties had come".into()));
            }
        }
        let shared = talk::hear_verdict(&stream)?;
        Ok((stream, shared))
    }

    /// The path of the socket; through the descriptor of the folder if it is long, for there is little room in an address.
    fn short_path(&self) -> PathBuf {
        let path = socket_path(self.meeting);
        if path.as_os_str().len() < ADDRESS_BYTES {
            return path;
        }
        format!("/proc/self/fd/{}/{}", self.folder.as_raw_fd(), socket_name(self.meeting)).into()
    }
}

fn socket_name(meeting: &Meeting) -> String {
    format!("serried-{}.socket", meeting.name)
}

fn socket_path(meeting: &Meeting) -> PathBuf {
    meeting.folder.join(socket_name(meeting))
}

fn file_path(meeting: &Meeting) -> PathBuf {
    meeting.folder.join(format!("serried-{}.lock", meeting.name))
}

fn foreign(meeting: &Meeting, file: &std::path::Path, cause: &io::Error) -> String {
    let text = format!(
        "user {} cannot use {} ({}); all parties of a job have to be of one user",
        own_user(),
        file.display(),
        super::because(cause)
    );
    format!("--meet {}: {text}", meeting.folder.display())
}
