//! What a launcher does for a rank while the job starts and ends.
//!
//! One file per launcher stands behind this trait: `own`, `pmi1`, `pmix`, `singleton`. Keys and values are short strings without spaces
//! (64 and 1000 bytes are safe everywhere).

use super::NodeMap;
use crate::{Error, Result};

/// The services of a launcher.
pub trait Bootstrap: Send {
    /// Rank of this process in the job.
    fn rank(&self) -> u32;

    /// Ranks in the job.
    fn size(&self) -> u32;

    /// The node of each rank; nodes are numbered from 0.
    ///
    /// # Errors
    /// `Other` when the launcher breaks off or its answer makes no sense.
    fn nodes(&mut self) -> Result<NodeMap>;

    /// Which of the programs that were started together this one is, from 0.
    ///
    /// # Errors
    /// `Other` when the launcher breaks off.
    fn program(&mut self) -> Result<u32>;

    /// Puts `value` under `key`, to be published.
    ///
    /// # Errors
    /// `Other` when the launcher breaks off or refuses.
    fn put(&mut self, key: &str, value: &str) -> Result<()>;

    /// What rank `from` has published under `key`, if anything was.
    ///
    /// # Errors
    /// `Other` when the launcher breaks off.
    fn get(&mut self, from: u32, key: &str) -> Result<Option<String>>;

    /// Publishes what was put, and waits until every rank of the job has called it.
    ///
    /// # Errors
    /// `Other` when the launcher breaks off.
    fn fence(&mut self) -> Result<()>;

    /// Asks for the end of the whole job; failures are nobody's business here.
    /// Returns whether the launcher itself tells people which rank asked.
    fn abort(&mut self, code: i32, message: &str) -> bool;

    /// Says a line that is not answered; only our own launcher understands it.
    ///
    /// # Errors
    /// `UnsupportedOperation` where it is another one; `Other` when it has gone.
    fn say(&mut self, _line: &str) -> Result<()> {
        Err(Error::not_there_yet(
            "agreement of processes on several nodes, under another launcher than serried run,",
        ))
    }

    /// Takes leave: from here on the end of this process is no failure.
    ///
    /// # Errors
    /// `Other` when the launcher breaks off.
    fn finish(&mut self) -> Result<()>;
}
