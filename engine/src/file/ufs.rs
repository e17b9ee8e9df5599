//! The driver of file systems that behave as POSIX says: ext4, xfs, btrfs, tmpfs and all that have nothing special.

use super::driver::Driver;
use super::failure::failed;
use super::mode::Mode;
use crate::Result;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The most bytes of one system call, a multiple of all block sizes; Linux moves no more than 2 GiB at a time.
const AT_ONCE: usize = 1 << 30;

/// An open file.
pub struct Ufs {
    file: File,
    name: String,
    kind: &'static str,
}

/// The name of the kind of file system, by what `fstatfs` says.
fn kind_of(file: &File) -> &'static str {
    // SAFETY: all bits zero are a value of this structure of integers.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the structure can be written.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &mut found) } != 0 {
        return "ufs";
    }
    match found.f_type as u64 & 0xffff_ffff {
        0x0bd0_0bd0 => "lustre",
        0x4750_4653 => "gpfs",
        0x0000_6969 => "nfs",
        0x0102_1994 => "tmpfs",
        0x0000_ef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x794c_7630 => "overlayfs",
        _ => "ufs",
    }
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
        let kind = kind_of(&file);
        Ok(Ufs { file, name: name.to_owned(), kind })
    }

    /// One call of `fcntl` about a range.
    fn about_range(&self, offset: u64, bytes: u64, kind: libc::c_int) -> Result<()> {
        // SAFETY: all bits zero are a value of this structure of integers.
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        range.l_type = kind as libc::c_short;
        range.l_whence = libc::SEEK_SET as libc::c_short;
        range.l_start = offset.min(i64::MAX as u64) as i64;
        range.l_len = bytes.min(i64::MAX as u64 - range.l_start as u64) as i64;
        loop {
            // SAFETY: the descriptor is open; the structure is complete.
            if unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLKW, &range) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(failed("lock a range of", &self.name, &error));
            }
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
        self.about_range(offset, bytes, if exclusive { libc::F_WRLCK } else { libc::F_RDLCK })
    }

    fn unlock(&self, offset: u64, bytes: u64) -> Result<()> {
        self.about_range(offset, bytes, libc::F_UNLCK)
    }

    fn kind(&self) -> &str {
        self.kind
    }
}
