//! Client of a PMIx server: `prterun`, Open MPI's `mpirun`, `srun --mpi=pmix`.
//!
//! What ranks publish goes to the servers with one fence. Without it a server would fetch what it is asked for from that
//! of the rank that has published it, which does not answer any more when that rank has ended.

use super::pmix_library::Library;
use super::{segment_passing, Bootstrap, NodeMap, Started};
use crate::{Class, Error, Result};
use std::collections::HashMap;

struct Pmix {
    library: Library,
    size: u32,
}

// SAFETY: the library may be called by any thread; it is behind a lock anyway.
unsafe impl Send for Pmix {}

pub(super) fn start() -> Result<Started> {
    let library = Library::start()?;
    let size =
        library.number(Library::JOB, c"pmix.job.size")?.ok_or_else(|| unknown("how many ranks there are"))?;
    let pmix = Pmix { library, size };
    if pmix.rank() >= size {
        return Err(unknown("which rank this is"));
    }
    segment_passing::join(Box::new(pmix))
}

impl Bootstrap for Pmix {
    fn rank(&self) -> u32 {
        self.library.rank()
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn nodes(&mut self) -> Result<NodeMap> {
        // Slurm writes the map in the words of PMI.
        if let Some(text) = self.library.text(Library::JOB, c"pmix.anlmap")? {
            if let Ok(map) = NodeMap::parse(&text, self.size) {
                return Ok(map);
            }
        }
        // Others know the host of each rank: nodes are numbered as they come.
        let mut numbers = HashMap::new();
        let mut node_of = |rank| {
            let host =
                self.library.text(rank, c"pmix.hname")?.ok_or_else(|| unknown("where its ranks are"))?;
            let next = numbers.len() as u32;
            Ok(*numbers.entry(host).or_insert(next))
        };
        let nodes: Vec<u32> = (0..self.size).map(&mut node_of).collect::<Result<_>>()?;
        NodeMap::of_list(&nodes).ok_or_else(|| unknown("where its ranks are"))
    }

    fn program(&mut self) -> Result<u32> {
        Ok(self.library.number(self.rank(), c"pmix.appnum")?.unwrap_or(0))
    }

    fn put(&mut self, key: &str, value: &str) -> Result<()> {
        self.library.put(key, value)
    }

    fn get(&mut self, from: u32, key: &str) -> Result<Option<String>> {
        self.library.published(from, key)
    }

    fn fence(&mut self) -> Result<()> {
        self.library.commit()?;
        self.library.fence()
    }

    fn abort(&mut self, code: i32, message: &str) -> bool {
        self.library.abort(code, message);
        false
    }

    fn finish(&mut self) -> Result<()> {
        self.library.finalize()
    }
}

#[cold]
fn unknown(what: &str) -> Error {
    Error::new(Class::Other, format!("the launcher's PMIx server does not say {what}"))
}
