//! This process's own page at an address that is fixed when the library is linked.
//!
//! A note in every call would need the page's address each time, and a register to keep it in. So
//! the process maps its page once more, over a variable: a note is then one instruction. Before
//! that, and in a process that never joins a job, the variable is memory like any other; the calls
//! noted there go with the rank.

use serried_engine::job::Job;
use serried_engine::observe::Page;
use serried_engine::Result;

// In the library's own crate, so that it is reached without a table of addresses.
static OWN: Page = Page::blank();

/// The page of the rank that this process is, once it has been [shown](show).
#[inline(always)]
pub fn own() -> &'static Page {
    &OWN
}

/// From now on [`own`] is that of this job's rank. Once per process.
///
/// # Errors
/// `NoMem` when it cannot be mapped.
pub fn show(job: &'static Job) -> Result<()> {
    let noted = own().record.copy();
    job.node.map_page(job.local_rank, own())?;
    own().record.take_over(&noted);
    Ok(())
}
