//! The node segment seen from outside the job: by `serried top` and `serried why`.
//!
//! A view takes no part in the job. Read-only it cannot disturb it; a writable
//! one is for ringing doorbells and for what the page has for observers.
//! It keeps no descriptor, so an observer never looks like a member of the job.

use super::node_segment::{self, look_at, mapped_bytes, part_at, Unfit};
use crate::memory::segment;
use crate::observe::flow::{Flow, Sent};
use crate::observe::inquiry::Report;
use crate::observe::Page;
use crate::{Class, Error, Result};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;

/// A node segment mapped by an observer.
#[derive(Debug)]
pub struct NodeView {
    base: NonNull<u8>,
    local_ranks: u32,
    writable: bool,
}

// SAFETY: the mapping belongs to the process; what is read in it are atomics.
unsafe impl Send for NodeView {}
// SAFETY: as above.
unsafe impl Sync for NodeView {}

impl NodeView {
    /// Maps the segment behind a descriptor, which is not needed afterwards. In a
    /// view that is not `writable` a store faults.
    ///
    /// # Errors
    /// `Intern` for what is no segment of this version; `NoMem` when it cannot be
    /// mapped.
    pub fn open(descriptor: BorrowedFd, writable: bool) -> Result<NodeView> {
        let local_ranks = look_at(descriptor).map_err(unfit)?;
        let bytes = mapped_bytes(local_ranks);
        if segment::length(descriptor)? < bytes as u64 {
            return Err(unfit(Unfit::Foreign));
        }
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new shared mapping at an address that the kernel chooses.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                descriptor.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            let cause = std::io::Error::last_os_error();
            return Err(Error::new(
                Class::NoMem,
                format!("the segment of the job cannot be mapped: {cause}"),
            ));
        }
        let base = NonNull::new(base.cast()).expect("mmap never returns null on success");
        Ok(NodeView { base, local_ranks, writable })
    }

    /// How many ranks of the job this node has.
    pub fn local_ranks(&self) -> u32 {
        self.local_ranks
    }

    /// The page of a local rank, to be read only.
    ///
    /// # Panics
    /// If `local_rank` is not below [`NodeView::local_ranks`].
    pub fn page(&self, local_rank: u32) -> &Page {
        // SAFETY: page aligned and inside the mapping, which lives as long as
        // `self`; every bit pattern is a valid `Page` of atomics.
        unsafe { &*self.part(local_rank).cast::<Page>() }
    }

    /// The report area of a local rank.
    pub fn report(&self, local_rank: u32) -> Report<'_> {
        // SAFETY: the part lies in the mapping, which lives as long as `self`.
        unsafe { node_segment::report_in(self.part(local_rank)) }
    }

    /// The name of a call by its index; `None` before names are published.
    pub fn name(&self, index: u32) -> Option<String> {
        // SAFETY: the mapping has all the segment.
        unsafe { node_segment::name_in(self.base.as_ptr(), index) }
    }

    /// The row of traffic of a local rank; empty until the rank has made it.
    pub fn flows(&self, local_rank: u32) -> &[Flow] {
        // SAFETY: the mapping has all the segment and lives as long as `self`.
        unsafe {
            node_segment::flows_in(self.base.as_ptr(), self.local_ranks, local_rank, self.page(local_rank))
        }
    }

    /// What a local rank has sent.
    pub fn sent(&self, local_rank: u32) -> Sent {
        Sent::by(&self.page(local_rank).counters.unrowed, self.flows(local_rank))
    }

    /// Bytes of memory that stand behind the part of a local rank; 0 if the system does not tell.
    pub fn memory(&self, local_rank: u32) -> u64 {
        let (begin, end) = (part_at(local_rank), part_at(local_rank + 1));
        let mut there = vec![0u8; (end - begin).div_ceil(PAGE_BYTES)];
        // SAFETY: the range lies in the mapping, and `there` has a byte for each page.
        let told = unsafe { libc::mincore(self.part(local_rank).cast(), end - begin, there.as_mut_ptr()) };
        if told != 0 {
            return 0;
        }
        there.iter().filter(|&page| page & 1 == 1).count() as u64 * PAGE_BYTES as u64
    }

    /// Whether stores are allowed.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The transport area of a local rank (`TRANSPORT_BYTES` long), valid as
    /// long as `self`.
    pub fn transport_area(&self, local_rank: u32) -> *mut u8 {
        // SAFETY: inside the mapping, by the layout of the segment.
        unsafe { self.part(local_rank).add(std::mem::size_of::<Page>()) }
    }

    fn part(&self, local_rank: u32) -> *mut u8 {
        assert!(local_rank < self.local_ranks, "local rank {local_rank} of {}", self.local_ranks);
        // SAFETY: inside the mapping, by the layout of the segment.
        unsafe { self.base.as_ptr().add(part_at(local_rank)) }
    }
}

impl Drop for NodeView {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `open`; nothing borrowed from `self` outlives it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), mapped_bytes(self.local_ranks)) };
    }
}

fn unfit(why: Unfit) -> Error {
    let message = match why {
        Unfit::Foreign => "this is no node segment of Serried".to_owned(),
        Unfit::Version(other) => {
            format!("the job was started by another version of Serried (layout {other}); use the `serried` of that version")
        }
    };
    Error::new(Class::Intern, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NodeSegment;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn a_view_shows_pages_and_names() {
        let node = NodeSegment::create(3).unwrap();
        node.publish_names(&["", "MPI_Send"]).unwrap();
        let view = NodeView::open(node.descriptor(), false).unwrap();
        assert_eq!((view.local_ranks(), view.name(1).as_deref()), (3, Some("MPI_Send")));
        node.page(2).counters.sleeps.store(7, Relaxed);
        assert_eq!(view.page(2).counters.sleeps.load(Relaxed), 7);
        assert!(!view.is_writable() && NodeView::open(node.descriptor(), true).unwrap().is_writable());
    }

    #[test]
    fn another_file_and_another_layout_are_told_apart() {
        use std::io::{Seek, Write};
        use std::os::fd::{AsFd, FromRawFd};
        // SAFETY: a new descriptor that nobody else owns.
        let mut file =
            unsafe { std::fs::File::from_raw_fd(crate::memory::system_calls::memory_file(c"other", 0)) };
        file.write_all(&[0; 4096]).unwrap();
        let refused =
            |file: &std::fs::File| NodeView::open(file.as_fd(), false).unwrap_err().message().to_owned();
        assert!(refused(&file).contains("no node segment"));
        file.rewind().unwrap();
        file.write_all(b"serried1\x63\0\0\0").unwrap();
        assert!(refused(&file).contains("layout 99"));
    }
}
