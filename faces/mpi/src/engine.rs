//! The engine of this process (a stand-in until the engine's own has landed).

use serried_engine::job::Job;
use serried_engine::observe::{Page, State};
use serried_engine::Result;

/// A job and nothing else.
pub struct Engine {
    job: Job,
}

impl Engine {
    /// Finds the job.
    pub fn start() -> Result<Engine> {
        let job = Job::start()?;
        job.page().set_state(State::Running);
        Ok(Engine { job })
    }

    /// My page.
    pub fn page(&self) -> &Page {
        self.job.page()
    }

    /// Writes the names of the calls for readers of the pages.
    pub fn publish_names(&self, names: &[&str]) {
        let _ = self.job.node.publish_names(names);
    }

    /// My rank in the job.
    pub fn rank(&self) -> u32 {
        self.job.rank
    }

    /// Ranks in the job.
    #[allow(dead_code)]
    pub fn size(&self) -> u32 {
        self.job.size
    }

    /// Ends the job.
    pub fn abort(&self, code: i32) -> ! {
        self.job.abort(code, "MPI_Abort")
    }

    /// Ends this rank's part.
    pub fn finalize(&self) -> Result<()> {
        self.job.finish()
    }
}

/// A matched message (stand-in).
#[derive(Debug)]
pub struct Message;

/// A request's number: 22 bits of index, 4 of generation (stand-in).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u32);

/// Any sender (stand-in).
pub const ANY_SOURCE: i32 = -1;
/// Any tag (stand-in).
pub const ANY_TAG: i32 = -2;
/// The null process (stand-in).
pub const PROC_NULL: i32 = -3;

/// What a completed operation reports (stand-in).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Status {
    pub source: i32,
    pub tag: i32,
    pub bytes: u64,
    pub cancelled: bool,
    pub error: Option<serried_engine::Error>,
}

impl Status {
    /// The empty status.
    pub fn empty() -> Status {
        Status { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0, cancelled: false, error: None }
    }
}
