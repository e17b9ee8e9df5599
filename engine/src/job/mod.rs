//! Ranks and nodes, and how a process finds out which rank of which job it is.
//!
//! A process calls [`Job::start`] once. It looks at what its launcher left in
//! the environment ([`detect`]), asks the launcher no more than it must, and
//! comes back with a rank, a size, and the node segment mapped.
//!
//! Promise: a world is never split in silence. Where the environment announces
//! more ranks than somebody proves, starting is an error that names the way
//! out.

pub mod agreements;
pub mod birth;
pub mod bootstrap;
pub mod consensus;
mod core_sharing;
pub mod cpu_set;
pub mod cpus;
pub mod detect;
mod folder_door;
pub mod hardware;
mod job_network;
mod listen;
pub mod names_folder;
pub mod news;
pub mod node_card;
pub mod node_map;
pub mod node_segment;
pub mod node_table;
pub mod node_view;
pub mod nodes;
mod own;
pub mod pass_descriptor;
mod pmi1;
mod pmi_line;
mod pmix;
mod pmix_library;
pub mod port_name;
pub mod ports;
pub mod process;
pub mod process_name;
pub mod revocations;
mod segment_passing;
mod server_place;
mod singleton;
pub mod spare_blocks;
pub mod starter;
pub mod strangers;
pub mod switchboard;
#[cfg(test)]
mod tests;
pub mod universe;
pub mod voicing;

pub use birth::{Birth, Descent};
pub use bootstrap::Bootstrap;
pub use job_network::JobNetwork;
pub use listen::{listen, Listeners};
pub use node_card::{JobKey, NodeCard, NodeDirectory};
pub use node_map::NodeMap;
pub use node_segment::NodeSegment;
pub use node_table::NodeTable;
pub use node_view::NodeView;
pub use nodes::Nodes;
pub use pmi_line::PmiLine;
pub use port_name::PortName;
pub use process_name::ProcessName;
pub use strangers::{Contact, Strangers};
use switchboard::Line;
pub use universe::Universe;

use crate::observe::{Page, State};
use crate::{Class, Error, JobRank, LocalRank, Result};
use detect::Launcher;
use job_network::SharedBootstrap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The place of this process in its job.
pub struct Job {
    /// Rank in the job, from 0.
    pub rank: u32,
    /// Ranks in the job.
    pub size: u32,
    /// Rank among those of this node: the index of its page in `node`.
    pub local_rank: u32,
    /// Job ranks that live on this node, by local rank (ascending).
    pub local_ranks: Vec<u32>,
    /// The segment that the ranks of this node share.
    pub node: NodeSegment,
    network: Option<JobNetwork>,
    descent: Option<Descent>,
    bootstrap: SharedBootstrap,
    /// The launcher has been told that this rank has finalized.
    finished: AtomicBool,
    /// Which program of the job this is, once asked for.
    program: OnceLock<u32>,
}

/// What a bootstrap hands to [`Job::start`].
struct Started {
    local_rank: u32,
    local_ranks: Vec<u32>,
    node: NodeSegment,
    /// The table of nodes, and the sockets at which this node listens, where there are several.
    others: Option<(NodeTable, Vec<OwnedFd>)>,
    /// If another job has started this one.
    descent: Option<Descent>,
    bootstrap: Box<dyn Bootstrap>,
}

impl Job {
    /// Finds out who this process is, maps the node segment and claims this
    /// rank's page (state `Starting`). Call once per process.
    ///
    /// Under our own launcher this waits for nobody; under a PMI-1 launcher all
    /// ranks of the job have called it when it returns, and under PMIx.
    ///
    /// # Errors
    /// `Other` when the environment announces a job that nobody proves, when
    /// the launcher breaks off, or when another process already is this rank; `NoMem`
    /// when the segment does not fit.
    pub fn start() -> Result<Job> {
        let started = match detect::detect(&|name| std::env::var(name).ok())? {
            Launcher::Own { segment, line, others, descent, pmi, rank, size } => {
                match own::start((segment, line), others, descent, pmi, rank, size)? {
                    // A job of one rank may run several programs in turn: there is nothing to split.
                    used if size == 1 && used.node.page(0).identity.pid.load(Relaxed) != 0 => {
                        singleton::start()?
                    }
                    fresh => fresh,
                }
            }
            Launcher::Pmi1(contact) => pmi1::start(contact)?,
            Launcher::Pmix => pmix::start()?,
            Launcher::None => singleton::start()?,
        };
        let (rank, size) = (started.bootstrap.rank(), started.bootstrap.size());
        let bootstrap: SharedBootstrap = Arc::new(Mutex::new(started.bootstrap));
        let network = started
            .others
            .map(|(table, listeners)| JobNetwork::new(table, listeners, Arc::clone(&bootstrap)));
        let job = Job {
            rank,
            size,
            local_rank: started.local_rank,
            local_ranks: started.local_ranks,
            node: started.node,
            network,
            descent: started.descent,
            bootstrap,
            finished: AtomicBool::new(false),
            program: OnceLock::new(),
        };
        // All ranks of a node take the same ways.
        job.node.header().crossovers.adopt();
        job.claim_page()?;
        Ok(job)
    }

    /// Rank `rank` of a job whose ranks are threads of this process.
    #[cfg(test)]
    pub(crate) fn in_process(rank: u32, node: NodeSegment) -> Job {
        let size = node.local_ranks();
        node.page(rank).identity.pid.store(std::process::id(), Relaxed);
        let bootstrap = Arc::new(Mutex::new(singleton::bootstrap()));
        let (finished, program) = (AtomicBool::new(false), OnceLock::new());
        Job {
            rank,
            size,
            local_rank: rank,
            local_ranks: (0..size).collect(),
            node,
            network: None,
            descent: None,
            bootstrap,
            finished,
            program,
        }
    }

    /// This rank's own page.
    pub fn page(&self) -> &Page {
        self.node.page(self.local_rank)
    }

    /// What this node calls a rank of the job, if it is here.
    #[inline]
    pub fn local(&self, rank: JobRank) -> Option<LocalRank> {
        self.local_ranks.binary_search(&rank.0).ok().map(|local| LocalRank(local as u32))
    }

    /// The other nodes of the job; `None` where all ranks are on this one.
    pub fn network(&self) -> Option<&JobNetwork> {
        self.network.as_ref()
    }

    /// How this job came about, if another one has started it.
    pub fn birth(&self) -> Option<&Birth> {
        self.descent.as_ref().map(|descent| &descent.birth)
    }

    /// The number of rank 0 in the universe.
    pub fn base(&self) -> u32 {
        self.birth().map_or(0, |birth| birth.base)
    }

    /// Joins the universe in which this job is, or whose first job it becomes.
    ///
    /// # Errors
    /// `NoMem`; what the system says to listening.
    pub fn join_universe(&self) -> Result<Universe> {
        let refused = |cause| Error::new(Class::NoMem, format!("no descriptor is left: {cause}"));
        let line = self.node.line().map(Line::try_clone).transpose().map_err(refused)?;
        match &self.descent {
            Some(descent) => descent.join(self.rank, self.size, line),
            None => {
                let first = self.node.descriptor().try_clone_to_owned();
                universe::join(first.map_err(refused)?, 0, self.rank, self.size, line)
            }
        }
    }

    /// Says something to the launcher, which answers nothing; see [`voicing`].
    ///
    /// # Errors
    /// `UnsupportedOperation` where that is not our own, or has the ranks of this node only.
    pub fn say(&self, said: &voicing::Said) -> Result<()> {
        self.bootstrap().say(&said.line())
    }

    /// The launcher's services, for exchange between nodes.
    pub fn bootstrap(&self) -> MutexGuard<'_, Box<dyn Bootstrap>> {
        self.bootstrap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which of the programs that were started together this one is, from 0.
    ///
    /// # Errors
    /// `Other` when the launcher has gone.
    pub fn program(&self) -> Result<u32> {
        if let Some(&program) = self.program.get() {
            return Ok(program);
        }
        let program = self.bootstrap().program()?;
        Ok(*self.program.get_or_init(|| program))
    }

    /// Ends the whole job with `code` (MPI-5.0 §9.8): the page says
    /// so, the launcher is told, and this process exits after flushing stdio.
    /// `message` is printed; an empty one means that the program wants it so,
    /// which is told too, by the launcher if it knows us.
    pub fn abort(&self, code: i32, message: &str) -> ! {
        self.page().identity.exit_code.store(code, Relaxed);
        self.page().set_state(State::Aborted);
        // What the program has said comes first: the launcher may end us soon.
        // SAFETY: flushing all streams is always allowed.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        if !message.is_empty() {
            eprintln!("{message}");
        }
        let told = self.bootstrap.try_lock().is_ok_and(|mut bootstrap| bootstrap.abort(code, message));
        if message.is_empty() && !told {
            let call = self.node.name(self.page().own().name()).filter(|name| !name.is_empty());
            let call = call.as_deref().unwrap_or("abort");
            eprintln!("serried: rank {} called {call} with code {code}", self.rank);
        }
        // SAFETY: leaving is always allowed.
        unsafe { libc::_exit(exit_status(code)) }
    }

    /// Ends the whole job with a status, which may be 0: what the program wants is no failure.
    pub fn end(&self, status: i32) -> ! {
        self.page().identity.exit_code.store(status, Relaxed);
        self.page().set_state(State::Ended);
        // SAFETY: flushing all streams is always allowed.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let _ = self.bootstrap.try_lock().map(|mut bootstrap| bootstrap.abort(status, ""));
        // SAFETY: leaving is always allowed.
        unsafe { libc::_exit(status & 0xff) }
    }

    /// Says that this rank has finalized: from here on its end is no failure.
    /// A launcher that does not read the page hears it the first time only.
    ///
    /// # Errors
    /// `Other` when the launcher has gone.
    pub fn finish(&self) -> Result<()> {
        self.page().set_state(State::Finalized);
        if self.finished.swap(true, Relaxed) {
            return Ok(());
        }
        self.bootstrap().finish()
    }

    fn claim_page(&self) -> Result<()> {
        let identity = &self.page().identity;
        let pid = std::process::id();
        if let Err(holder) = identity.pid.compare_exchange(0, pid, Relaxed, Relaxed) {
            if holder != pid {
                return Err(already_claimed(self.rank, holder));
            }
        }
        identity.namespace.store(process::own_namespace(), Relaxed);
        identity.rank.store(self.rank, Relaxed);
        self.page().set_state(State::Starting);
        Ok(())
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

/// The exit status that stands for an abort code: never 0, and within a byte.
pub fn exit_status(code: i32) -> i32 {
    match code & 0xff {
        0 => 1,
        status => status,
    }
}

fn already_claimed(rank: u32, holder: u32) -> Error {
    Error::new(
        Class::Other,
        format!(
            "rank {rank} is already process {holder}; was an MPI program started from within a rank? \
             Each rank may run one MPI program"
        ),
    )
}
