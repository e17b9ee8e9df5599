//! Making exposures and freeing them.

use crate::collective::{Data, Operation};
use crate::datatype::{Basic, Datatype};
use crate::device::DeviceMemory;
use crate::engine::Engine;
use crate::job::node_segment::BLOCKS_BYTES;
use crate::memory::window::heap::{Birth, Block};
use crate::memory::window::{self, Children, Opened, Window};
use crate::onesided::{
    Attached, Control, DevicePiece, DevicePieces, Epochs, Exposure, FairLock, Farewell, Kind, Known, Mutexes,
    Provided, Segment, Told,
};
use crate::progress::changes::Changes;
use crate::transport::{Means, OfferedMemory};
use crate::world::{BootstrapChannel, Communicator};
use crate::{Class, Error, JobRank, Result};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, OnceLock};

/// Alignment of what is allocated: of a cache line at least.
pub(super) const ALIGNMENT: usize = 64;

/// What a member exposes in a new exposure. All members give the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// `bytes` bytes of the program's own at `address`.
    Given {
        /// Where it begins; anything if it has no bytes.
        address: *mut u8,
        /// Its length; negative is an error.
        bytes: i64,
    },
    /// The same in the memory of a device.
    OfDevice {
        /// Where it begins.
        address: *mut u8,
        /// Its length.
        bytes: i64,
        /// Whose memory it is.
        memory: DeviceMemory,
    },
    /// So many bytes that the library allocates (zeroed, 64-byte aligned), wherever it likes.
    Allocated(i64),
    /// So many bytes that all members reach by plain loads and stores; `true`: each
    /// follows that of the rank before.
    Shared(i64, bool),
    /// Nothing yet.
    Dynamic,
}

/// Why a member cannot take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum Trouble {
    /// It can.
    None = 0,
    /// The arguments are wrong; that member knows how.
    Arguments = 1,
    /// It has not got the memory.
    Memory = 2,
    /// Its memory cannot be shared.
    Unshared = 3,
    /// The first member has no memory for the control words.
    Control = 4,
    /// It has none for its mutexes.
    Mutexes = 5,
}

impl Memory {
    fn kind(self) -> Kind {
        match self {
            Memory::Given { .. } | Memory::OfDevice { .. } => Kind::Created,
            Memory::Allocated(_) => Kind::Allocated,
            Memory::Shared(..) => Kind::Shared,
            Memory::Dynamic => Kind::Dynamic,
        }
    }

    fn bytes(self) -> i64 {
        match self {
            Memory::Given { bytes, .. } | Memory::OfDevice { bytes, .. } => bytes,
            Memory::Allocated(bytes) | Memory::Shared(bytes, _) => bytes,
            Memory::Dynamic => 0,
        }
    }

    pub(super) fn check(self, unit: i64) -> Result<()> {
        let bytes = self.bytes();
        if bytes < 0 {
            return Err(Error::new(Class::Size, format!("argument size is {bytes}; it cannot be negative")));
        }
        if unit <= 0 {
            let sentence = format!("argument disp_unit is {unit}; a displacement unit is positive");
            return Err(Error::new(Class::Disp, sentence));
        }
        match self {
            Memory::Given { address, bytes } if bytes > 0 && address.is_null() => {
                Err(Error::new(Class::Base, format!("argument base is a null pointer, but size is {bytes}")))
            }
            Memory::Given { address, bytes } if (address as u64).checked_add(bytes as u64).is_none() => {
                Err(Error::new(Class::Size, format!("{bytes} bytes at {address:p} go beyond all memory")))
            }
            _ => Ok(()),
        }
    }
}

/// Making.
impl Engine {
    /// Exposes memory to all members of a communicator (`MPI_Win_create`, `_allocate`,
    /// `_allocate_shared`, `_create_dynamic`; MPI-5.0 §12.2). Collective. `unit`: bytes of
    /// one unit of displacement here.
    ///
    /// # Errors
    /// `Comm` for an intercommunicator, `Size`, `Disp` for a unit that is not positive, `NoMem`;
    /// `RmaShared` when not all members share memory. All members fail if one does.
    pub fn expose(&self, parent: &Arc<Communicator>, memory: Memory, unit: i64) -> Result<Arc<Exposure>> {
        self.expose_with(parent, (memory, unit), 0)
    }

    /// The same for memory that this member could perhaps not find out about: then it takes part all the same, and all
    /// members fail.
    ///
    /// # Errors
    /// As [`Engine::expose`]; the one that is given.
    pub fn expose_found(
        &self,
        parent: &Arc<Communicator>,
        memory: Result<Memory>,
        unit: i64,
    ) -> Result<Arc<Exposure>> {
        let found = memory.as_ref().ok().copied();
        let nothing = Memory::Given { address: std::ptr::null_mut(), bytes: -1 };
        let made = self.expose_with(parent, (found.unwrap_or(nothing), unit), 0);
        memory.and(made)
    }

    /// The same with so many mutexes of this member.
    pub(super) fn expose_with(
        &self,
        parent: &Arc<Communicator>,
        (memory, unit): (Memory, i64),
        mutexes: i64,
    ) -> Result<Arc<Exposure>> {
        let peers = self.peers_of(parent)?;
        let wrong = memory.check(unit).and_then(|()| check_mutexes(mutexes)).err();
        let outlives = u64::from(self.job.node.goes_on_without_ranks());
        let mut mine = Told { owner: u64::from(parent.rank), outlives, ..Told::default() };
        mine.segment = Segment { unit: unit as u64, ..Segment::default() };
        let mut provided = match &wrong {
            Some(_) => self.provide_nothing(parent, memory, &mut mine)?,
            None => self.provide(parent, memory, &mut mine)?,
        };
        if wrong.is_none() && mutexes > 0 {
            provided.mutexes = self.provide_mutexes(mutexes as u64, &mut mine);
        }
        self.provide_control(parent, peers.contains(&None), &mut mine)?;
        let told = self.tell_all(parent, mine)?;
        if let Some(error) =
            wrong.or_else(|| trouble_of(&told)).or_else(|| self.share_blocks(parent, &told).err())
        {
            self.take_back(provided, mine.control);
            mine.lent.checked_sub(1).into_iter().for_each(|place| self.pool().take_back(place as usize));
            return Err(error);
        }
        let made = Arc::new(self.make(parent, memory.kind(), (told, peers), provided));
        self.keep_until_freed(&made.farewell, Some(&made));
        if let Memory::OfDevice { address, memory, .. } = memory {
            made.device_pieces.add(DevicePiece { address: address as u64, memory, lent: mine.lent });
        }
        self.mind_words_of(&made, Changes::hide_words);
        let _ = made.base.set(self.region_of(&made, parent.rank).here as u64);
        let is_asked = self.needs_servants(parent, &made)? && !self.enter_servers(parent, &made)?;
        if is_asked || mine.kind != 0 {
            self.serve_others_too(&made)?;
        }
        Ok(made)
    }

    /// Whether some member has to ask another for what is out of its reach: the same for all.
    fn needs_servants(&self, parent: &Arc<Communicator>, made: &Exposure) -> Result<bool> {
        let all_direct = made.told.iter().all(|one| one.opened.bytes() == one.segment.bytes);
        if made.is_spread || all_direct && made.kind != Kind::Dynamic {
            return Ok(made.is_spread);
        }
        // Only now all have come so far that it can be tried.
        let mut core = self.lanes.at(0).lock();
        let reaches = |&peer: &Option<JobRank>| {
            let means = peer.map(|peer| core.transport.means(peer));
            matches!(means, Some(Means::Direct | Means::CrossMemory))
        };
        let is_all = made.peers.iter().all(reaches);
        drop(core);
        Ok(!self.all_say(parent, is_all)?)
    }

    /// The members that are on this node.
    fn peers_of(&self, parent: &Communicator) -> Result<Box<[Option<JobRank>]>> {
        if parent.is_inter() {
            let sentence = "the communicator joins two groups; memory is exposed within one group";
            return Err(Error::new(Class::Comm, sentence));
        }
        Ok((0..parent.size())
            .map(|member| self.local_rank(parent, member).map(|_| parent.group.job_rank(member)))
            .collect())
    }

    /// Makes the memory of this member ready.
    fn provide(&self, parent: &Arc<Communicator>, memory: Memory, mine: &mut Told) -> Result<Provided> {
        mine.segment.bytes = memory.bytes() as u64;
        let (address, is_ours) = match memory {
            Memory::Dynamic => return Ok(Provided::default()),
            Memory::Given { address, .. } => (address, false),
            Memory::OfDevice { address, memory, .. } => {
                (mine.segment.address, mine.kind) = (address as u64, u64::from(memory.kind.0));
                mine.lent = self.lend_to_node(&memory, (address as u64, mine.segment.bytes));
                return Ok(Provided::default());
            }
            Memory::Allocated(bytes) => (allocate(bytes as u64, mine), true),
            Memory::Shared(_, false) => return Ok(self.provide_shared(parent, mine)),
            Memory::Shared(_, true) => return self.provide_in_one_piece(parent, mine),
        };
        mine.segment.address = address as u64;
        let mut provided = self.open_up(mine);
        provided.allocated = if is_ours { address as usize } else { 0 };
        Ok(provided)
    }

    /// A member whose arguments are wrong does what it has to do with the others.
    fn provide_nothing(
        &self,
        parent: &Arc<Communicator>,
        memory: Memory,
        mine: &mut Told,
    ) -> Result<Provided> {
        let provided = match memory {
            Memory::Shared(_, true) => self.provide_in_one_piece(parent, mine)?,
            _ => Provided::default(),
        };
        mine.trouble = Trouble::Arguments as u64;
        Ok(provided)
    }

    /// Lets others reach a segment directly as far as they can.
    pub(super) fn open_up(&self, mine: &mut Told) -> Provided {
        let Segment { address, bytes, .. } = mine.segment;
        if mine.trouble != 0 {
            return Provided::default();
        }
        mine.opened = self.open_memory(address, bytes, Children::MayShare);
        Provided { opened: (address as usize, bytes, mine.opened), ..Provided::default() }
    }

    /// Memory for a segment that all members reach directly: of the window, or else a block that all ranks of the node map.
    fn provide_shared(&self, parent: &Communicator, mine: &mut Told) -> Provided {
        let bytes = mine.segment.bytes;
        mine.segment.address = allocate(bytes, mine) as u64;
        let mut provided = self.open_up(mine);
        provided.allocated = mine.segment.address as usize;
        if mine.trouble == 0 && mine.opened.bytes() < bytes {
            self.take_back(std::mem::take(&mut provided), 0);
            match self.lend_shared_block(bytes) {
                Some((block, address)) => {
                    (mine.block, mine.segment.address) = (block, address);
                    mine.opened = Opened::whole(address, bytes);
                    provided.block = block;
                }
                None => mine.trouble = Trouble::Unshared as u64,
            }
        }
        if (0..parent.size()).any(|member| self.local_rank(parent, member).is_none()) {
            mine.trouble = Trouble::Unshared as u64;
        }
        provided
    }

    /// The first member has the memory of all.
    fn provide_in_one_piece(&self, parent: &Arc<Communicator>, mine: &mut Told) -> Result<Provided> {
        let sizes = self.tell_all(parent, *mine)?;
        let add = |sum: u64, one: &Told| sum.saturating_add(one.segment.bytes);
        let before = |rank: usize| sizes[..rank].iter().fold(0, add);
        let (mut first, mut provided) = (Told::default(), Provided::default());
        if parent.rank == 0 {
            first.segment = Segment { address: 0, bytes: before(sizes.len()), unit: 1 };
            provided = self.provide_shared(parent, &mut first);
        }
        let first = self.tell_all(parent, first)?[0];
        (mine.owner, mine.trouble) = (0, first.trouble);
        mine.segment.address = first.segment.address.wrapping_add(before(parent.rank as usize));
        mine.block = if first.block == 0 { 0 } else { first.block + before(parent.rank as usize) };
        mine.opened = Opened::whole(mine.segment.address, mine.segment.bytes);
        Ok(provided)
    }

    /// The first member finds a context for all, and memory for the control words; each does if they are `spread` over
    /// nodes.
    fn provide_control(&self, parent: &Communicator, spread: bool, mine: &mut Told) -> Result<()> {
        if parent.rank == 0 {
            mine.context = self.contexts().propose()?;
        }
        if parent.rank == 0 || spread {
            match self.pool().lend_plain(Control::bytes(parent.size()).next_multiple_of(ALIGNMENT)) {
                Some(offset) => mine.control = 1 + offset as u64,
                None => mine.trouble = Trouble::Control as u64,
            }
        }
        Ok(())
    }

    /// Whether all members say so.
    pub(in crate::engine) fn all_say(&self, parent: &Arc<Communicator>, mine: bool) -> Result<bool> {
        let mine = Told { trouble: u64::from(!mine), ..Told::default() };
        Ok(self.tell_all(parent, mine)?.iter().all(|one| one.trouble == 0))
    }

    /// What all members say.
    fn tell_all(&self, parent: &Arc<Communicator>, mine: Told) -> Result<Box<[Told]>> {
        let mut told = vec![Told::default(); parent.size() as usize].into_boxed_slice();
        let bytes = Datatype::basic(Basic::Packed);
        let all = |address: *mut u8| Data::new(address, 0, size_of::<Told>() as i64, &bytes);
        let send = Some(all((&raw const mine).cast::<u8>().cast_mut())?);
        let receive = all(told.as_mut_ptr().cast())?;
        self.run_collective(parent, &Operation::Allgather { send, receive })?;
        Ok(told)
    }

    /// Memory for mutexes of this member: where it lies, and one.
    fn provide_mutexes(&self, number: u64, mine: &mut Told) -> u64 {
        let bytes = usize::try_from(number).ok().and_then(|number| number.checked_mul(size_of::<FairLock>()));
        let bytes = bytes.filter(|&bytes| bytes <= BLOCKS_BYTES);
        mine.mutexes = number;
        match bytes.and_then(|bytes| self.pool().lend_plain(bytes.next_multiple_of(ALIGNMENT))) {
            Some(offset) => mine.mutexes_at = 1 + offset as u64,
            None => mine.trouble = Trouble::Mutexes as u64,
        }
        mine.mutexes_at
    }

    /// Where the mutexes of members on this node lie.
    fn mutexes_of(&self, parent: &Communicator, told: &[Told]) -> Mutexes {
        if told.iter().all(|one| one.mutexes == 0) {
            return Mutexes::default();
        }
        let place = |(member, one): (u32, &Told)| {
            let local = self.local_rank(parent, member)?;
            let offset = (one.mutexes_at as usize).checked_sub(1)?;
            Some(self.job.node.blocks_area(local.0).wrapping_add(offset).cast_const().cast())
        };
        Mutexes((0..).zip(told).map(place).collect())
    }

    fn make(
        &self,
        parent: &Communicator,
        kind: Kind,
        (told, peers): (Box<[Told]>, Box<[Option<JobRank>]>),
        provided: Provided,
    ) -> Exposure {
        let is_spread = peers.contains(&None);
        let (has_control, local) = match self.local_rank(parent, 0) {
            Some(first) if !is_spread => (&told[0], first.0),
            _ => (&told[parent.rank as usize], self.job.local_rank),
        };
        let base = self.job.node.blocks_area(local);
        // SAFETY: that member has lent this part of its area for them, zeroed; the node segment lives
        // for ever.
        let control = unsafe { Control::new(base.add(has_control.control as usize - 1), parent.size()) };
        let communicator = Arc::new(Communicator::new(told[0].context, parent.group.clone(), parent.rank));
        self.keep_in_mind(&communicator);
        let dynamic = if kind == Kind::Dynamic { told.len() } else { 0 };
        Exposure {
            kind,
            regions: told.iter().map(|_| OnceLock::new()).collect(),
            known: (0..dynamic).map(|_| Mutex::new(Known::default())).collect(),
            epochs: Epochs::new(parent.size()),
            mutexes: self.mutexes_of(parent, &told),
            farewell: Arc::new(Farewell::new(&communicator)),
            communicator,
            ends_by_words: told.iter().any(|one| one.outlives != 0),
            told,
            control,
            peers,
            is_spread,
            queue: Mutex::default(),
            is_served: AtomicBool::new(false),
            has_servers: AtomicBool::new(false),
            may_answer_late: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            attached: Attached::default(),
            device_pieces: DevicePieces::default(),
            mappings: Mutex::default(),
            waiters: AtomicU32::new(0),
            base: OnceLock::new(),
            provided: Mutex::new(provided),
        }
    }

    /// Takes back what this member has provided for an exposure that is not made after all, or is freed.
    pub(super) fn take_back(&self, provided: Provided, control: u64) {
        let (address, bytes, opened) = provided.opened;
        self.close_memory(address as u64, bytes, opened);
        if provided.allocated != 0 {
            // SAFETY: from `allocate`; nobody uses it any more.
            unsafe { window::give(provided.allocated as *mut u8) };
        }
        self.take_back_shared_block(provided.block);
        for offset in [control, provided.mutexes].into_iter().filter_map(|one| one.checked_sub(1)) {
            self.pool().take_back(offset as usize);
        }
    }
}

fn check_mutexes(number: i64) -> Result<()> {
    match number {
        0.. => Ok(()),
        _ => {
            Err(Error::new(Class::Count, format!("the number of mutexes is {number}; it cannot be negative")))
        }
    }
}

/// Zeroed memory; null if it is not to be had, or none is wanted.
fn allocate(bytes: u64, mine: &mut Told) -> *mut u8 {
    if bytes == 0 {
        return std::ptr::null_mut();
    }
    let bytes = bytes as usize;
    let shared = Window::of_process().allocate(bytes, ALIGNMENT, Birth::Shared);
    let private = || window::take(bytes, ALIGNMENT).map(|address| Block { address, zero: false });
    let Some(Block { address, zero }) = shared.or_else(private) else {
        mine.trouble = Trouble::Memory as u64;
        return std::ptr::null_mut();
    };
    if !zero {
        // SAFETY: just taken, so long.
        unsafe { address.write_bytes(0, bytes) };
    }
    address
}

/// Why an exposure cannot be made.
fn trouble_of(told: &[Told]) -> Option<Error> {
    let (rank, one) = told.iter().enumerate().find(|(_, one)| one.trouble != 0)?;
    let bytes = one.segment.bytes;
    let troubles =
        [Trouble::Arguments, Trouble::Memory, Trouble::Unshared, Trouble::Control, Trouble::Mutexes];
    let trouble = troubles.into_iter().find(|&trouble| trouble as u64 == one.trouble);
    Some(match trouble.unwrap_or(Trouble::None) {
        Trouble::Memory => {
            Error::new(Class::NoMem, format!("{bytes} bytes of memory for rank {rank} are not to be had"))
        }
        Trouble::Unshared => Error::new(
            Class::RmaShared,
            format!("the memory of rank {rank} cannot be shared: `serried info --pairs` says why"),
        ),
        Trouble::Control => Error::new(
            Class::NoMem,
            "rank 0 has no memory left for another window: free some that are not used any more",
        ),
        Trouble::Mutexes => Error::new(
            Class::NoMem,
            format!(
                "rank {rank} has no memory for {} mutexes: make fewer, or free some windows",
                one.mutexes
            ),
        ),
        _ => Error::echo(
            Class::Arg,
            format!("rank {rank} has given wrong arguments; its own error says which"),
        ),
    })
}
