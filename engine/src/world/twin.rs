//! A job in one process: a thread per rank, messages in a shared map.

use super::{BootstrapChannel, Communicator, Contexts, Line};
use crate::job::hardware::Place;
use crate::Result;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Rank of the sender on its line (all that a message says of it), job rank of the receiver, context,
/// tag.
type Address = (u32, u32, u64, i32);

#[derive(Default)]
struct Post {
    boxes: Mutex<HashMap<Address, VecDeque<Vec<u8>>>>,
    arrival: Condvar,
}

/// One rank of the job.
pub(crate) struct Rank {
    pub(crate) world: Arc<Communicator>,
    contexts: Contexts,
    post: Arc<Post>,
}

impl Rank {
    pub(crate) fn rank(&self) -> u32 {
        self.world.rank
    }
}

/// Runs `body` on `size` ranks. Fails if a message was left untaken, or if a
/// rank waited for ten seconds.
pub(crate) fn run(size: u32, body: impl Fn(&Rank) + Sync) {
    let post = Arc::new(Post::default());
    std::thread::scope(|scope| {
        for rank in 0..size {
            let (post, body) = (post.clone(), &body);
            scope.spawn(move || {
                let world = Arc::new(Communicator::world(rank, size));
                body(&Rank { world, contexts: Contexts::new(rank), post });
            });
        }
    });
    let boxes = post.boxes.lock().unwrap();
    assert!(boxes.values().all(VecDeque::is_empty), "messages were left: {boxes:?}");
}

impl BootstrapChannel for Rank {
    fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// One socket, a cache for two ranks, a core for each.
    fn place(&self) -> Place {
        [Some(0), None, Some(self.rank() / 2), Some(self.rank()), None]
    }

    fn begins(&self, _communicator: &Communicator) -> Result<()> {
        Ok(())
    }

    fn post(&self, line: &Line, peer: u32, bytes: &[u8]) -> Result<()> {
        let address = (line.rank, line.peers.job_rank(peer).0, line.context, line.tag);
        self.post.boxes.lock().unwrap().entry(address).or_default().push_back(bytes.to_vec());
        self.post.arrival.notify_all();
        Ok(())
    }

    fn take(&self, line: &Line, peer: u32) -> Result<Option<Vec<u8>>> {
        let address = (peer, self.rank(), line.context, line.tag);
        Ok(self.post.boxes.lock().unwrap().get_mut(&address).and_then(VecDeque::pop_front))
    }

    fn wait_until(&self, done: &mut dyn FnMut() -> Result<bool>) -> Result<()> {
        let started = Instant::now();
        while !done()? {
            assert!(started.elapsed() < Duration::from_secs(120), "rank {} waits for ever", self.rank());
            let boxes = self.post.boxes.lock().unwrap();
            drop(self.post.arrival.wait_timeout(boxes, Duration::from_millis(1)).unwrap());
        }
        Ok(())
    }
}
