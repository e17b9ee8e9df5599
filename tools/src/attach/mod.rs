//! Attaching to a running job: what `serried top` and `serried why` begin with.
//!
//! ```text
//! let job = attach::find(pid)?.open()?;       // or a sentence that says why not
//! let ranks = job.snapshot();                  // plain numbers, whenever wanted
//! job.has_ended();                             // the mapping stays good afterwards
//! ```
//!
//! A job is found by the memfd that its processes hold open: the node segment
//! has no name, so nobody has to register anywhere. The kernel decides who may
//! open it (the same user, or root). It is mapped read-only; an observer holds no
//! descriptor of it, so it is never taken for a part of the job.

mod find;
mod processes;
mod snapshot;

pub use find::find;
pub use snapshot::Snapshot;

use crate::system::process_numbers;
use processes::Watch;
use serried_engine::job::NodeView;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// A job that was found and not yet opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Tells jobs on this machine apart: the segment's inode.
    pub id: u64,
    /// Its highest processes that have the segment: the launcher, or, where a
    /// foreign launcher does not, the ranks.
    pub anchors: Vec<i32>,
    /// All processes that have it, with the descriptor.
    pub holders: Vec<(i32, i32)>,
    /// It is a part of a job on several hosts.
    pub is_part: bool,
    /// Processes that belong to it and do not have it, but the part of this host.
    pub members: Vec<i32>,
    /// The command line of the first anchor, for people.
    pub command: String,
}

/// A job under observation.
#[derive(Debug)]
pub struct Attached {
    /// What was found.
    pub found: Found,
    view: NodeView,
    anchors: Vec<Watch>,
}

impl Found {
    /// Maps the job's segment, read-only.
    ///
    /// # Errors
    /// A sentence: the job has ended meanwhile, belongs to another user or to
    /// another version.
    pub fn open(self) -> Result<Attached, String> {
        // Watched first, so that what is mapped belongs to the processes that are watched.
        let anchors = self.anchors.iter().filter_map(|&process| Watch::new(process)).collect();
        let view = self.map(false)?;
        Ok(Attached { found: self, view, anchors })
    }

    fn map(&self, writable: bool) -> Result<NodeView, String> {
        let mut why = format!("the job of process {} has ended", self.anchors[0]);
        for &(process, descriptor) in &self.holders {
            match File::options().read(true).write(writable).open(path(process, descriptor)) {
                Ok(file) => {
                    return NodeView::open(file.as_fd(), writable).map_err(|error| error.message().to_owned())
                }
                Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
                Err(cause) => why = processes::not_mine(process, &cause),
            }
        }
        Err(why)
    }

    /// Which rank a process is, if it is one.
    fn rank_of(&self, process: i32) -> Option<u32> {
        let view = self.map(false).ok()?;
        (0..view.local_ranks())
            .find(|&rank| process_numbers::process(view.page(rank)) == Some(process as u32))
    }
}

impl Attached {
    /// How many ranks of the job are on this machine.
    pub fn ranks(&self) -> u32 {
        self.view.local_ranks()
    }

    /// What every rank shows now.
    pub fn snapshot(&self) -> Vec<Snapshot> {
        (0..self.ranks()).map(|rank| Snapshot::of(self.view.page(rank), self.view.sent(rank))).collect()
    }

    /// What is mapped, for what a snapshot does not have.
    pub fn view(&self) -> &NodeView {
        &self.view
    }

    /// The name of a call, by the index in a snapshot.
    pub fn call_name(&self, index: u32) -> String {
        match index {
            0 => String::new(),
            _ => self.view.name(index).unwrap_or_else(|| format!("call {index}")),
        }
    }

    /// Whether the job is over: its launcher, or all of its ranks, have ended.
    pub fn has_ended(&self) -> bool {
        self.anchors.iter().all(Watch::has_ended)
    }

    /// A second mapping of the job that may be written: to ask a rank for
    /// something by a word of its page, and to ring its doorbell.
    ///
    /// # Errors
    /// A sentence, as for [`Found::open`].
    pub fn writable(&self) -> Result<Writable, String> {
        self.found.map(true).map(|view| Writable { view })
    }
}

/// A job mapped for writing. Its user keeps to the words that the page has for observers.
#[derive(Debug)]
pub struct Writable {
    /// The mapping; its pages may be written.
    pub view: NodeView,
}

/// A segment that this process has made.
#[cfg(test)]
pub fn of_this_process(node: &serried_engine::job::NodeSegment) -> Found {
    use std::os::fd::AsRawFd;
    let this = std::process::id() as i32;
    let descriptor = node.descriptor().as_raw_fd();
    let holders = vec![(this, descriptor)];
    Found {
        id: 0,
        anchors: vec![this],
        holders,
        is_part: false,
        members: Vec::new(),
        command: "this test".into(),
    }
}

fn path(process: i32, descriptor: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/fd/{descriptor}"))
}
