//! The driver of file systems that behave as POSIX says: ext4, xfs, btrfs, tmpfs and all that have nothing special.

use super::driver::Driver;
use super::failure::failed;
use super::file_system::FileSystem;
use super::mode::Mode;
use crate::Result;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The most bytes of one system call, a multiple of all block sizes; Linux moves no more than 2 GiB at a time.
const AT_ONCE: usize = 1 << 30;

/// A byte that no access reaches, for [`Ufs::hold`].
const HELD: u64 = i64::MAX as u64 - 1;
/// Shorter writes do not begin to bring anything to the device.
const EARLY: u64 = 256 << 10;
/// A file of this process was synchronised. A program that does so once does so again, and the device may begin while
/// data are still coming.
static SYNCHRONISED: AtomicBool = AtomicBool::new(false);

/// An open file.
pub struct Ufs {
    file: File,
    name: String,
    file_system: FileSystem,
}

impl Ufs {
    /// Opens a file. `first`: this rank may have to make it; the others find it there.
    ///
    /// # Errors
    /// What the file system says, in its class.
    pub fn open(name: &str, mode: &Mode, first: bool, permissions: u32) -> Result<Ufs> {
        let mut options = OpenOptions::new();
        options.read(mode.reads()).write(mode.writes()).mode(permissions);
        if first && mode.create {
            match mode.exclusive {
                true => options.create_new(true),
                false => options.create(true),
            };
        }
        let open = || options.open(Path::new(name));
        let opened = loop {
            match open() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => break other,
            }
        };
        let file = opened.map_err(|error| failed("open", name, &error))?;
        if file.metadata().is_ok_and(|data| data.is_dir()) {
            return Err(failed("open", name, &io::Error::from_raw_os_error(libc::EISDIR)));
        }
        let file_system = FileSystem::of(file.as_raw_fd());
        Ok(Ufs { file, name: name.to_owned(), file_system })
    }

    /// One call of `fcntl` about a range.
    fn about_range(
        &self,
        (offset, bytes): (u64, u64),
        kind: libc::c_int,
        call: libc::c_int,
    ) -> io::Result<()> {
        // SAFETY: all bits zero are a value of this structure of integers.
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        range.l_type = kind as libc::c_short;
        range.l_whence = libc::SEEK_SET as libc::c_short;
        range.l_start = offset.min(i64::MAX as u64) as i64;
        range.l_len = bytes.min(i64::MAX as u64 - range.l_start as u64) as i64;
        loop {
            // SAFETY: the descriptor is open; the structure is complete.
            if unsafe { libc::fcntl(self.file.as_raw_fd(), call, &range) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn wait_for_range(&self, range: (u64, u64), kind: libc::c_int) -> Result<()> {
        let done = self.about_range(range, kind, libc::F_OFD_SETLKW);
        done.map_err(|error| failed("lock a range of", &self.name, &error))
    }

    /// Holds the file against all others that would hold it, until this handle is closed; `false` if another one does.
    /// No access is kept out.
    ///
    /// # Errors
    /// What the file system says.
    pub(super) fn hold(&self) -> Result<bool> {
        match self.about_range((HELD, 1), libc::F_WRLCK, libc::F_OFD_SETLK) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Err(error) => Err(failed("lock", &self.name, &error)),
        }
    }

    /// The numbers by which this machine knows the file: of its device, and its own.
    pub(super) fn identity(&self) -> Option<[u64; 2]> {
        self.file.metadata().ok().map(|data| [data.dev(), data.ino()])
    }

    /// Whether it is the file of that number.
    pub(super) fn is_inode(&self, device: u64, number: u64) -> bool {
        self.identity() == Some([device, number])
    }

    /// Begins to bring a range to the device, if files are synchronised here.
    fn begin_writing_out(&self, offset: u64, bytes: u64) {
        if bytes >= EARLY && SYNCHRONISED.load(Relaxed) {
            let (from, flags) = (offset as i64, libc::SYNC_FILE_RANGE_WRITE);
            // SAFETY: the descriptor is open. What goes wrong is found by the call that waits for it.
            unsafe { libc::sync_file_range(self.file.as_raw_fd(), from, bytes as i64, flags) };
        }
    }
}

impl Driver for Ufs {
    fn read(&self, offset: u64, target: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < target.len() {
            let end = target.len().min(done + AT_ONCE);
            match self.file.read_at(&mut target[done..end], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("read", &self.name, &error)),
            }
        }
        Ok(done)
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<()> {
        let mut done = 0;
        while done < source.len() {
            let end = source.len().min(done + AT_ONCE);
            match self.file.write_at(&source[done..end], offset + done as u64) {
                // A file system that writes nothing and says nothing would do so for ever.
                Ok(0) => {
                    let nothing = io::Error::from_raw_os_error(libc::ENOSPC);
                    return Err(failed("write", &self.name, &nothing));
                }
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("write", &self.name, &error)),
            }
        }
        self.begin_writing_out(offset, source.len() as u64);
        Ok(())
    }

    fn size(&self) -> Result<u64> {
        let data = self.file.metadata().map_err(|error| failed("look at", &self.name, &error))?;
        Ok(data.len())
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.file.set_len(size).map_err(|error| failed("resize", &self.name, &error))
    }

    fn preallocate(&self, size: u64) -> Result<()> {
        if size == 0 {
            return Ok(());
        }
        loop {
            // SAFETY: the descriptor is open.
            match unsafe { libc::posix_fallocate(self.file.as_raw_fd(), 0, size as i64) } {
                0 => return Ok(()),
                libc::EINTR => {}
                code => {
                    let error = io::Error::from_raw_os_error(code);
                    return Err(failed("reserve room for", &self.name, &error));
                }
            }
        }
    }

    fn sync(&self) -> Result<()> {
        SYNCHRONISED.store(true, Relaxed);
        loop {
            match self.file.sync_data() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What cannot be synchronised (a pipe, a device) has nothing behind it.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EROFS)) => {
                    return Ok(())
                }
                Err(error) => return Err(failed("write out", &self.name, &error)),
                Ok(()) => return Ok(()),
            }
        }
    }

    fn lock(&self, offset: u64, bytes: u64, exclusive: bool) -> Result<()> {
        self.wait_for_range((offset, bytes), if exclusive { libc::F_WRLCK } else { libc::F_RDLCK })
    }

    fn unlock(&self, offset: u64, bytes: u64) -> Result<()> {
        self.wait_for_range((offset, bytes), libc::F_UNLCK)
    }

    fn file_system(&self) -> FileSystem {
        self.file_system
    }
}
