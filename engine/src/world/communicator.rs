//! A communicator (MPI-5.0 §7.4): a context in which a group exchanges
//! messages that no other communicator sees.

use super::bootstrap_channel::{BootstrapChannel, Line};
use super::calls::Calls;
use super::{context, Attributes, Comparison, ErrorHandler, Group, Info, Topology};
use crate::collective::hierarchy::Hierarchy;
use crate::collective::multicast::Choice;
use crate::collective::node::{Member, Places};
use crate::Result;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Tags of one kind of collective: 30 bits.
const TAGS: u32 = (1 << 30) - 1;

static MADE: AtomicU32 = AtomicU32::new(0);

/// Changes when this process makes a communicator.
pub fn how_many_were_made() -> u32 {
    MADE.load(Relaxed)
}

/// A communicator. The part that messages need never changes once it is made; names, hints, the
/// error handler and attributes do.
///
/// It lives as long as someone holds it: a request holds its communicator, so a
/// program may free one while communication is pending (MPI-5.0 §7.4.3).
#[derive(Debug)]
pub struct Communicator {
    /// 0 while a nonblocking duplication has not settled it.
    context: AtomicU64,
    /// The local group.
    pub group: Arc<Group>,
    /// The other group, if this is an intercommunicator.
    pub remote: Option<Arc<Group>>,
    /// My rank in `group`.
    pub rank: u32,
    /// What programs cache on it.
    pub attributes: Attributes,
    local: Option<Arc<Communicator>>,
    topology: Option<Topology>,
    changing: Mutex<Changing>,
    collectives: AtomicU32,
    nonblocking: AtomicU32,
    freed: AtomicBool,
    revoked: AtomicBool,
    node: OnceLock<Option<Member>>,
    before_node: AtomicU32,
    hierarchy: OnceLock<Option<Box<Hierarchy>>>,
    before_places: AtomicU32,
    places: OnceLock<Arc<Places>>,
    /// Whether its broadcasts go to a group of its nodes at once.
    pub multicast: Choice,
    /// The collectives that were begun on it.
    pub calls: Calls,
    /// The mark up to which failures are known to the program here (`MPIX_Comm_failure_ack`).
    pub acknowledged: AtomicU64,
    /// Agreements that were begun on it here.
    pub agreements: AtomicU32,
    /// Of those, so many have ended: they do one after the other.
    pub agreed: AtomicU32,
}

#[derive(Debug)]
struct Changing {
    name: String,
    hints: Info,
    error_handler: Arc<ErrorHandler>,
}

impl Communicator {
    /// An intracommunicator; `rank` is mine in `group`. Its error handler ends
    /// the job.
    pub fn new(context: u64, group: Arc<Group>, rank: u32) -> Communicator {
        MADE.fetch_add(1, Relaxed);
        let error_handler = Arc::new(ErrorHandler::Fatal);
        Communicator {
            context: AtomicU64::new(context),
            group,
            remote: None,
            rank,
            attributes: Attributes::default(),
            local: None,
            topology: None,
            changing: Mutex::new(Changing { name: String::new(), hints: Info::default(), error_handler }),
            collectives: AtomicU32::new(0),
            nonblocking: AtomicU32::new(0),
            freed: AtomicBool::new(false),
            revoked: AtomicBool::new(false),
            node: OnceLock::new(),
            before_node: AtomicU32::new(0),
            hierarchy: OnceLock::new(),
            before_places: AtomicU32::new(0),
            places: OnceLock::new(),
            multicast: Choice::default(),
            calls: Calls::default(),
            acknowledged: AtomicU64::new(0),
            agreements: AtomicU32::new(0),
            agreed: AtomicU32::new(0),
        }
    }

    /// That of all `size` ranks of a job.
    pub fn world(rank: u32, size: u32) -> Communicator {
        Communicator::new(context::WORLD, Arc::new(Group::identity(size)), rank)
    }

    /// That of one job rank alone.
    pub fn self_(job_rank: u32) -> Communicator {
        let group = Arc::new(Group::new(vec![job_rank]));
        Communicator::new(context::of_self(job_rank), group, 0)
    }

    /// Makes it an intercommunicator to `remote`; `local_context` is for the
    /// collectives of the local group alone.
    pub fn with_remote(mut self, remote: Arc<Group>, local_context: u64) -> Communicator {
        self.local = Some(Arc::new(Communicator::new(local_context, self.group.clone(), self.rank)));
        self.remote = Some(remote);
        self
    }

    /// Gives it a topology.
    pub fn with_topology(mut self, topology: Topology) -> Communicator {
        self.topology = Some(topology);
        self
    }

    /// Gives it attributes copied from another communicator.
    pub fn with_attributes(mut self, attributes: Attributes) -> Communicator {
        self.attributes = attributes;
        self
    }

    /// Gives it an error handler.
    pub fn with_error_handler(self, handler: Arc<ErrorHandler>) -> Communicator {
        self.set_error_handler(handler);
        self
    }

    /// Context of point-to-point messages; `context + 1` is that of
    /// collectives. Unique in the job for ever (see [`context`]).
    #[inline]
    pub fn context(&self) -> u64 {
        self.context.load(Relaxed)
    }

    /// All contexts in which its members may have talked; of each, also the one
    /// after it.
    pub fn contexts(&self) -> impl Iterator<Item = u64> {
        let local = self.local.as_ref().map(|local| local.context());
        [self.context()]
            .into_iter()
            .chain(local)
            .flat_map(|context| [context, context::making(context), context::announcing(context)])
            .chain([context::joining(self.context())])
    }

    /// Gives a communicator made with context 0 (and local context 0) its own.
    pub(super) fn settle(&self, context: u64, local_context: u64) {
        self.context.store(context, Relaxed);
        if let Some(local) = &self.local {
            local.context.store(local_context, Relaxed);
        }
    }

    /// The group that ranks of messages refer to: the remote one of an
    /// intercommunicator, else the only one.
    pub fn peers(&self) -> &Arc<Group> {
        self.remote.as_ref().unwrap_or(&self.group)
    }

    /// The local group and, of an intercommunicator, the remote one.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        [Some(&self.group), self.remote.as_ref()].into_iter().flatten()
    }

    /// How many processes the local group has.
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// Whether it joins two groups (MPI-5.0 §7.6.1).
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// For an intercommunicator, an intracommunicator of its local group that
    /// no program sees.
    pub fn local(&self) -> Option<&Arc<Communicator>> {
        self.local.as_ref()
    }

    /// The topology, if it was made with one.
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref()
    }

    /// The tag of the next blocking collective operation, in context
    /// `context + 1`. Every member takes the same ones, because all members
    /// start the collectives of a communicator in the same order. It comes round
    /// after a thousand million operations.
    pub fn next_collective_tag(&self) -> i32 {
        (self.collectives.fetch_add(1, Relaxed) & TAGS) as i32
    }

    /// The same for nonblocking and persistent ones, which never match blocking
    /// ones (MPI-5.0 §6.12) and so count by themselves.
    pub fn next_nonblocking_tag(&self) -> i32 {
        (self.nonblocking.fetch_add(1, Relaxed) & TAGS | (TAGS + 1)) as i32
    }

    /// This rank as a member of those that share its node, over a control block: `None` while that is not settled,
    /// `Some(None)` if it has none.
    #[inline]
    pub fn member(&self) -> Option<Option<&Member>> {
        self.node.get().map(Option::as_ref)
    }

    /// Its members by node, if they are on several; made at the first call.
    pub fn hierarchy(&self, make: impl FnOnce() -> Option<Hierarchy>) -> Option<&Hierarchy> {
        self.hierarchy.get_or_init(|| make().map(Box::new)).as_deref()
    }

    /// Settles it, once.
    pub fn settle_member(&self, member: Option<Member>) {
        let _ = self.node.set(member);
    }

    /// How many blocking collectives there were before a block was asked for; the
    /// same at all members.
    pub fn count_before_member(&self) -> u32 {
        self.before_node.fetch_add(1, Relaxed)
    }

    /// The places of its nonblocking operations, as soon as they have been asked for.
    pub fn places(&self) -> &Arc<Places> {
        self.places.get_or_init(Arc::default)
    }

    /// How many nonblocking operations there were before this one; the same at all
    /// members.
    pub fn count_before_places(&self) -> u32 {
        self.before_places.fetch_add(1, Relaxed)
    }

    /// The name (MPI-5.0 §7.8); empty until it is given one.
    pub fn name(&self) -> String {
        self.changing().name.clone()
    }

    /// Gives it a name.
    pub fn set_name(&self, name: &str) {
        self.changing().name = name.to_owned();
    }

    /// The hints that are in use (MPI-5.0 §7.4.4).
    pub fn hints(&self) -> Info {
        self.changing().hints.clone()
    }

    /// Replaces the values of the hints in `info`; keeps the others.
    pub fn set_hints(&self, info: &Info) {
        let changing = self.changing();
        for (key, value) in info.entries() {
            // Both come from an info object, which has checked them.
            let _ = changing.hints.set(&key, &value);
        }
    }

    /// What happens with errors of calls on it.
    pub fn error_handler(&self) -> Arc<ErrorHandler> {
        self.changing().error_handler.clone()
    }

    /// Chooses what happens with errors of calls on it.
    pub fn set_error_handler(&self, handler: Arc<ErrorHandler>) {
        self.changing().error_handler = handler;
    }

    /// Marks it as freed by the program; pending communication goes on.
    pub fn free(&self) {
        self.freed.store(true, Relaxed);
    }

    /// Marks it as revoked: this process has been told.
    pub fn revoke(&self) {
        self.revoked.store(true, Relaxed);
    }

    /// Whether this process has been told that it was revoked.
    #[inline]
    pub fn is_revoked(&self) -> bool {
        self.revoked.load(Relaxed)
    }

    /// Whether the program has freed it.
    pub fn is_freed(&self) -> bool {
        self.freed.load(Relaxed)
    }

    /// How it compares to `other` (MPI-5.0 §7.4.1).
    pub fn compare(&self, other: &Communicator) -> Comparison {
        if std::ptr::eq(self, other) {
            return Comparison::Identical;
        }
        let remote = match (&self.remote, &other.remote) {
            (None, None) => Comparison::Identical,
            (Some(mine), Some(theirs)) => mine.compare(theirs),
            _ => Comparison::Unequal,
        };
        match (self.group.compare(&other.group), remote) {
            (Comparison::Unequal, _) | (_, Comparison::Unequal) => Comparison::Unequal,
            (Comparison::Similar, _) | (_, Comparison::Similar) => Comparison::Similar,
            _ => Comparison::Congruent,
        }
    }

    /// The line of the next collective operation on it, which begins.
    ///
    /// # Errors
    /// As [`BootstrapChannel::begins`].
    pub fn collective_line(&self, exchange: &dyn BootstrapChannel) -> Result<Line> {
        exchange.begins(self)?;
        Ok(self.line(self.context() + 1, self.next_collective_tag()))
    }

    /// A line for making communicators of some members with a tag of the user.
    pub fn making_line(&self, tag: i32) -> Line {
        self.line(context::making(self.context()), tag)
    }

    /// A line for leaders that join their groups with a tag of the user.
    pub fn joining_line(&self, tag: i32) -> Line {
        self.line(context::joining(self.context()), tag)
    }

    fn line(&self, context: u64, tag: i32) -> Line {
        Line { peers: self.peers().clone(), rank: self.rank, context, tag }
    }

    fn changing(&self) -> std::sync::MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(context: u64, members: &[u32]) -> Communicator {
        Communicator::new(context, Arc::new(Group::new(members.to_vec())), 0)
    }

    #[test]
    fn comparison_looks_at_both_groups() {
        let a = over(2, &[0, 1]);
        assert_eq!(a.compare(&a), Comparison::Identical);
        assert_eq!(a.compare(&over(4, &[0, 1])), Comparison::Congruent);
        assert_eq!(a.compare(&over(4, &[1, 0])), Comparison::Similar);
        assert_eq!(a.compare(&over(4, &[0, 2])), Comparison::Unequal);
        let inter = |context, remote: &[u32]| {
            over(context, &[0, 1]).with_remote(Arc::new(Group::new(remote.to_vec())), context + 2)
        };
        assert_eq!(a.compare(&inter(4, &[2, 3])), Comparison::Unequal);
        assert_eq!(inter(4, &[2, 3]).compare(&inter(8, &[2, 3])), Comparison::Congruent);
        assert_eq!(inter(4, &[2, 3]).compare(&inter(8, &[3, 2])), Comparison::Similar);
    }

    #[test]
    fn hints_and_name_change_and_collective_tags_count() {
        let world = Communicator::world(1, 4);
        assert!(world.name().is_empty());
        world.set_name("all");
        assert_eq!((world.name().as_str(), world.size(), world.rank), ("all", 4, 1));
        let info = Info::default();
        info.set("mpi_assert_no_any_tag", "true").unwrap();
        world.set_hints(&info);
        world.set_hints(&Info::default());
        assert_eq!(world.hints().get("mpi_assert_no_any_tag").as_deref(), Some("true"));
        assert_eq!((world.next_collective_tag(), world.next_collective_tag()), (0, 1));
    }
}
