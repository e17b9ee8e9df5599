//! Files: the ranks that have opened one, by collectives and memory of the node.

use super::{completed, Engine};
use crate::collective::{Data, Operation};
use crate::datatype::{Basic, Datatype};
use crate::file::{self, File, Items, Loan, Mode, Place, Shared, Team, Transfer};
use crate::memory::bounce::Bounce;
use crate::request::{RequestId, Status};
use crate::transport::{AccessDescriptor, OfferedMemory};
use crate::world::create::{self, Copied};
use crate::world::{Communicator, Info};
use crate::{Class, Error, JobRank, Result};
use std::sync::Arc;

/// Opening, closing, nonblocking access.
impl Engine {
    /// Opens a file together with the other members of a communicator, in a context of its own. What is `wanted` is a
    /// mode, or what is wrong with this rank's call: the others shall know of it.
    ///
    /// # Errors
    /// `Comm` for an intercommunicator; as [`file::open`].
    pub fn open_file(
        &self,
        communicator: &Arc<Communicator>,
        name: &str,
        wanted: Result<Mode>,
        info: Option<&Info>,
    ) -> Result<Arc<File>> {
        if communicator.is_inter() {
            let message =
                "argument comm is an intercommunicator; a file is opened by the members of one group";
            return Err(Error::new(Class::Comm, message));
        }
        let own = create::dup(self, communicator, Copied::default())?;
        own.set_name(&format!("the file {name}"));
        self.keep_in_mind(&own);
        match file::open(&self.team(&own), own.clone(), name, wanted, info, &self.page.files) {
            Ok(file) => {
                own.set_name(&format!("the file {name} ({})", file.file_system().name));
                Ok(Arc::new(file))
            }
            Err(error) => {
                self.leave_team(&own);
                Err(error)
            }
        }
    }

    /// Closes a file: the handle is of no use any more, also where this fails.
    ///
    /// # Errors
    /// As [`File::close`].
    pub fn close_file(&self, file: &File) -> Result<()> {
        let closed = file.close(&self.team_of(file));
        self.leave_team(&file.communicator);
        closed
    }

    /// The ranks that have opened a file.
    pub fn team_of<'a>(&'a self, file: &'a File) -> impl Team + 'a {
        self.team(&file.communicator)
    }

    fn team<'a>(&'a self, communicator: &'a Arc<Communicator>) -> Ranks<'a> {
        Ranks { engine: self, communicator }
    }

    fn leave_team(&self, communicator: &Communicator) {
        communicator.free();
        communicator.contexts().for_each(|context| self.retire(context));
    }

    /// Starts an access. What is short is done at once.
    ///
    /// # Errors
    /// What is wrong with the call; when no request can be made. What goes wrong later is in the status.
    pub fn start_transfer(
        &self,
        file: &Arc<File>,
        place: Place,
        items: &Items,
        writing: bool,
    ) -> Result<RequestId> {
        let mut transfer = Transfer::new(file, place, items, writing)?;
        let context = file.communicator.context();
        let lane = self.lane(context);
        let ended = |outcome: Result<u64>| {
            let mut status = Status::empty();
            match outcome {
                Ok(bytes) => status.bytes = bytes,
                Err(error) => status.error = Some(error.in_context(context)),
            }
            completed(&mut lane.lock(), status)
        };
        match transfer.go_on() {
            Ok(None) => {}
            Ok(Some(bytes)) => return ended(Ok(bytes)),
            Err(error) => return ended(Err(error)),
        }
        let mut core = lane.lock();
        let poll = Box::new(move |_: &dyn crate::world::BootstrapChannel| {
            while_undone(&mut transfer).map_err(|error| error.in_context(context))
        });
        core.begin_background(poll, false)
    }
}

/// Does all that is left: whoever waits or tests has nothing better to do than to let it go on.
fn while_undone(transfer: &mut Transfer) -> Result<Option<u64>> {
    loop {
        if let Some(bytes) = transfer.go_on()? {
            return Ok(Some(bytes));
        }
    }
}

/// The members of a communicator.
struct Ranks<'a> {
    engine: &'a Engine,
    communicator: &'a Arc<Communicator>,
}

/// Bytes in memory, for a collective.
fn bytes_at(first: *const u8, bytes: usize) -> Result<Data> {
    Data::new(first.cast_mut(), 0, bytes as i64, Datatype::shared(Basic::Packed))
}

impl Ranks<'_> {
    fn run(&self, operation: &Operation) -> Result<()> {
        self.engine.run_collective(self.communicator, operation)
    }

    /// A member as the transport knows it, if this process may reach its memory.
    fn peer(&self, member: u32) -> Option<JobRank> {
        self.engine.local_rank(self.communicator, member)?;
        Some(self.communicator.group.job_rank(member))
    }
}

impl Team for Ranks<'_> {
    fn rank(&self) -> u32 {
        self.communicator.rank
    }

    fn size(&self) -> u32 {
        self.communicator.size()
    }

    unsafe fn fill(&self, member: u32, (address, bytes): (u64, u64), fill: &mut dyn FnMut(*mut u8)) -> bool {
        let Some(peer) = self.peer(member) else { return false };
        let lane = self.engine.lane(self.communicator.context());
        let begun = lane.lock().transport.begin_write(peer, AccessDescriptor::host(address, bytes));
        let Some(target) = begun else { return false };
        fill(target);
        lane.lock().transport.end_write(peer);
        true
    }

    fn find(&self, member: u32, (address, bytes): (u64, u64)) -> Option<*const u8> {
        let peer = self.peer(member)?;
        let lane = self.engine.lane(self.communicator.context());
        let found = lane.lock().transport.direct(peer, AccessDescriptor::host(address, bytes));
        found
    }

    fn gather(&self, words: &[u64]) -> Result<Vec<u64>> {
        let mut all = vec![0u64; words.len() * self.size() as usize];
        if self.size() == 1 {
            return Ok(words.to_vec());
        }
        let bytes = size_of_val(words);
        let send = Some(bytes_at(words.as_ptr().cast(), bytes)?);
        let receive = bytes_at(all.as_mut_ptr().cast(), bytes)?;
        self.run(&Operation::Allgather { send, receive })?;
        Ok(all)
    }

    fn tell(&self, root: u32, words: &mut [u64]) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        let data = bytes_at(words.as_mut_ptr().cast(), size_of_val(words))?;
        self.run(&Operation::Broadcast { root: crate::collective::Root::Rank(root), data })
    }

    fn meet(&self) -> Result<()> {
        match self.size() {
            1 => Ok(()),
            _ => self.run(&Operation::Barrier),
        }
    }

    fn exchange(&self, bytes: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        let lengths: Vec<u64> = bytes.iter().map(|part| part.len() as u64).collect();
        let mut theirs = vec![0u64; lengths.len()];
        let send = Some(bytes_at(lengths.as_ptr().cast(), size_of::<u64>())?);
        let receive = bytes_at(theirs.as_mut_ptr().cast(), size_of::<u64>())?;
        self.run(&Operation::Alltoall { send, receive })?;
        let mut received: Vec<Vec<u8>> = theirs.iter().map(|&length| vec![0; length as usize]).collect();
        let send = bytes.iter().map(|part| bytes_at(part.as_ptr(), part.len())).collect::<Result<_>>()?;
        let receive =
            received.iter_mut().map(|part| bytes_at(part.as_mut_ptr(), part.len())).collect::<Result<_>>()?;
        self.run(&Operation::Alltoallw { send: Some(send), receive })?;
        Ok(received)
    }

    fn share(&self) -> Result<Option<Box<dyn Shared>>> {
        self.engine.share_word(self.communicator, self)
    }

    fn loan(&self, bytes: usize) -> Option<Box<dyn Loan>> {
        Bounce::make(bytes as u64).map(|memory| Box::new(Lending(memory)) as Box<dyn Loan>)
    }

    fn compares(&self) -> bool {
        self.engine.checks
    }

    fn node(&self) -> u64 {
        let me = self.communicator.group.job_rank(self.communicator.rank);
        // Nobody knows the nodes of another job: each of its ranks is by itself.
        match self.engine.has_others(self.communicator) {
            true => u64::from(self.communicator.rank) | 1 << 32,
            false => u64::from(self.engine.node_of(me)),
        }
    }

    fn leaders(&self) -> Vec<u32> {
        // No member knows the nodes of another job.
        if self.engine.has_others(self.communicator) {
            return (0..self.size()).collect();
        }
        let mut nodes = Vec::new();
        let node_of = |&member: &u32| self.engine.node_of(self.communicator.group.job_rank(member));
        let mut is_new = |member: &u32| {
            let node = node_of(member);
            let new = !nodes.contains(&node);
            new.then(|| nodes.push(node));
            new
        };
        (0..self.size()).filter(|member| is_new(member)).collect()
    }
}

/// Memory that others store into.
struct Lending(Bounce);

// SAFETY: only its address is asked for.
unsafe impl Sync for Lending {}

impl Loan for Lending {
    fn address(&self) -> *mut u8 {
        self.0.address()
    }
}
