//! Which file system a file lies on, and what follows from that for the ways in which it is accessed.
//!
//! `statfs` says the kind. A kind that keeps files in stripes over several servers says their length and number: Lustre
//! by an extended attribute, GPFS by the length of its blocks. On NFS a node sees what another one has written only
//! under a lock of the range.

use super::striped::Stripes;
use std::ffi::CString;
use std::os::fd::{AsRawFd, RawFd};

/// Where the bytes of a kind of file system are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Servers {
    /// On this machine, or behind one that is as near.
    None,
    /// Stripes of a length of their own over several ([`of_lustre`]).
    Lustre,
    /// Blocks of one length over several, nobody says how many.
    Blocks,
    /// On one, and nodes keep what they have read.
    Remote,
}

/// Number in `statfs`, name, and where the bytes are. The first stands for all others.
const KINDS: [(u64, &str, Servers); 10] = [
    (0, "ufs", Servers::None),
    (0x0bd0_0bd0, "lustre", Servers::Lustre),
    (0x4750_4653, "gpfs", Servers::Blocks),
    (0x0000_6969, "nfs", Servers::Remote),
    (0xff53_4d42, "cifs", Servers::Remote),
    (0x0102_1994, "tmpfs", Servers::None),
    (0x0000_ef53, "ext4", Servers::None),
    (0x5846_5342, "xfs", Servers::None),
    (0x9123_683e, "btrfs", Servers::None),
    (0x794c_7630, "overlayfs", Servers::None),
];

/// What is known of the file system of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name, for people and for the hint `romio_filesystem_type`.
    pub name: &'static str,
    /// How the file lies on servers, where it does.
    pub stripes: Option<Stripes>,
    /// Ranks of several nodes see each other's writes under locks only.
    pub needs_locks: bool,
}

impl FileSystem {
    /// That of an open file.
    pub fn of(file: RawFd) -> FileSystem {
        // SAFETY: all bits zero are a value of this structure of integers.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open, and the structure can be written.
        let failed = unsafe { libc::fstatfs(file, &mut found) } != 0;
        let number = if failed { 0 } else { found.f_type as u64 & 0xffff_ffff };
        let (_, name, servers) =
            KINDS.into_iter().find(|&(known, ..)| known == number && known != 0).unwrap_or(KINDS[0]);
        let stripes = match servers {
            Servers::Lustre => attribute(file, "lustre.lov").and_then(|layout| of_lustre(&layout)),
            Servers::Blocks => Some(Stripes { unit: (found.f_bsize as u64).max(1), servers: 1 }),
            Servers::None | Servers::Remote => None,
        };
        FileSystem { name, stripes, needs_locks: servers == Servers::Remote }
    }

    /// That of a path: of what is there, or of the folder in which it would be made.
    ///
    /// # Errors
    /// What the system says where neither can be opened.
    pub fn of_path(path: &std::path::Path) -> std::io::Result<FileSystem> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = std::fs::File::open(path)
            .or_else(|_| std::fs::File::open(folder.unwrap_or(std::path::Path::new("."))))?;
        Ok(FileSystem::of(file.as_raw_fd()))
    }

    /// What the kind means for collective access, in a sentence.
    pub fn consequence(&self) -> String {
        match (self.stripes, self.needs_locks) {
            (Some(Stripes { unit, servers: 1 }), _) => {
                format!("blocks of {unit} bytes: each is written by one node only in collective writing")
            }
            (Some(Stripes { unit, servers }), _) => format!(
                "stripes of {unit} bytes over {servers} servers: each is written by one node only in collective writing"
            ),
            (None, true) => "ranks of several nodes lock what they access, so that they see each other's data".into(),
            (None, false) => "plain reads and writes, no locks but in atomic mode".into(),
        }
    }
}

/// An extended attribute.
fn attribute(file: RawFd, name: &str) -> Option<Vec<u8>> {
    let name = CString::new(name).ok()?;
    let mut value = vec![0u8; 4096];
    // SAFETY: the descriptor is open, the name ends with a zero, and the room is as long as it says.
    let length = unsafe { libc::fgetxattr(file, name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    value.truncate(usize::try_from(length).ok()?);
    Some(value)
}

/// The stripes in a layout of Lustre (`struct lov_mds_md`, versions 1 and 3; others are not taken apart).
fn of_lustre(layout: &[u8]) -> Option<Stripes> {
    let bytes = |at: usize| layout.get(at..at + 4)?.try_into().ok();
    let magic = u32::from_le_bytes(bytes(0)?);
    let unit = u64::from(u32::from_le_bytes(bytes(24)?));
    let servers = u64::from(u32::from_le_bytes(bytes(28)?) & 0xffff);
    let is_known = matches!(magic, 0x0bd1_0bd0 | 0x0bd3_0bd0);
    (is_known && unit > 0 && (1..0xffff).contains(&servers)).then_some(Stripes { unit, servers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_of_lustre_says_length_and_number_of_stripes() {
        let mut layout = vec![0u8; 56];
        layout[..4].copy_from_slice(&0x0bd3_0bd0u32.to_le_bytes());
        layout[24..28].copy_from_slice(&(4u32 << 20).to_le_bytes());
        layout[28..30].copy_from_slice(&8u16.to_le_bytes());
        layout[30..32].copy_from_slice(&77u16.to_le_bytes());
        assert_eq!(of_lustre(&layout), Some(Stripes { unit: 4 << 20, servers: 8 }));
        layout[0] = 1;
        assert_eq!((of_lustre(&layout), of_lustre(&layout[..20])), (None, None));
    }

    #[test]
    fn a_path_that_is_not_there_yet_lies_where_its_folder_does() {
        let folder = std::env::temp_dir();
        let there = FileSystem::of_path(&folder).unwrap();
        assert_eq!(FileSystem::of_path(&folder.join("no such file")).unwrap(), there);
        assert!(FileSystem::of_path(&folder.join("no/such/file")).is_err());
        assert!(!there.consequence().is_empty());
    }
}
