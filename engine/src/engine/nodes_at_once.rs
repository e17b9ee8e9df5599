//! Broadcasts of a communicator over a group of its nodes: whether there is one, and their rounds.
//!
//! That is a choice of all members, made by collective operations of their own along the tree. Nobody waits for what may
//! never come: a member that has seen no packet in time says so.

use super::reason::Reason;
use super::waiting::Beside;
use super::Engine;
use crate::clock;
use crate::collective::multicast::{self, Agreed, Group, Shared, Tree, Turn};
use crate::collective::{Data, Members, Operation, Role, Root};
use crate::datatype::{Basic, Datatype};
use crate::lock_order::{self, Level};
use crate::reduce::{Builtin, Operator};
use crate::transport::multicast::{Channel, Mute, Piece};
use crate::world::Communicator;
use crate::Result;
use std::sync::Arc;

/// Rank 0 sends its probes after these pauses, in nanoseconds: switches take a moment to learn who is in a group.
const PROBES: [u64; 3] = [0, 2_000_000, 6_000_000];
/// So long a member waits for a probe after rank 0 has said that all are sent.
const LATE: u64 = 20_000_000;
/// Of a thousand pieces so many may be lost at a member, or the tree is quicker.
const MOST_LOST: u64 = 250;
/// Said by those who have no say.
const ANY: i64 = i64::MAX;

/// A broadcast that goes to a group, as one of its rounds.
pub(super) struct Round {
    epoch: u32,
}

/// Waits until a time.
struct Until(u64);

impl Beside for Until {
    fn holds(&self) -> bool {
        clock::nanoseconds() >= self.0
    }

    fn longest(&self) -> u64 {
        self.0.saturating_sub(clock::nanoseconds()).max(1)
    }
}

impl Engine {
    /// The round that an operation is, if it goes to a group. All members come to the same answer.
    ///
    /// # Errors
    /// The failure of the operations by which they do.
    pub(super) fn round_of(
        &self,
        communicator: &Arc<Communicator>,
        operation: &Operation,
        members: Members,
    ) -> Result<Option<Round>> {
        let Operation::Broadcast { data, .. } = operation else { return Ok(None) };
        if members.remote.is_some() || !multicast::may_fit(self.multicast, data.bytes()) {
            return Ok(None);
        }
        let choice = &communicator.multicast;
        let nodes = self.speakers(communicator).len() as u32;
        let epoch = match choice.turn(self.multicast, nodes, data.bytes()) {
            Turn::Tree => return Ok(None),
            Turn::Round(epoch) => epoch,
            Turn::Try => {
                self.try_group(communicator)?;
                if !choice.is_used() {
                    return Ok(None);
                }
                choice.next_round()
            }
            Turn::Compare(epoch) => {
                self.compare_losses(communicator)?;
                if !choice.is_used() {
                    return Ok(None);
                }
                epoch
            }
        };
        Ok(Some(Round { epoch }))
    }

    /// Runs the part of it that goes across nodes: `operation` is that of these ranks.
    ///
    /// # Errors
    /// The failure of the operation.
    pub(super) fn run_round(
        &self,
        communicator: &Arc<Communicator>,
        round: &Round,
        (ranks, members): (&[u32], Members),
        operation: &Operation,
        tag: i32,
    ) -> Result<()> {
        let Operation::Broadcast { root, data } = operation else { return Ok(()) };
        let root = match members.role(*root) {
            Role::Leaf(root) => root,
            _ => members.rank,
        };
        let tree = Tree::new(ranks, members.rank, root);
        let schedule = multicast::broadcast(self.group_of(communicator), round.epoch, tree, data)?;
        self.lane(communicator.context()).lock().attend_to_groups();
        self.run_schedule(communicator, schedule, tag)
    }

    /// The lowest rank of each node: these receive what goes to the group. Nobody does where members are of other jobs.
    fn speakers<'a>(&self, communicator: &'a Communicator) -> &'a [u32] {
        communicator.multicast.members(|| {
            if self.has_others(communicator) {
                return Box::default();
            }
            let mut known = std::collections::HashSet::new();
            let is_first = |&rank: &u32| known.insert(self.node_of(communicator.group.job_rank(rank)));
            (0..communicator.size()).filter(is_first).collect()
        })
    }

    /// My way to the group of a communicator that uses one. A rank that is not in it only sends; what it cannot send is
    /// asked for along the tree.
    fn group_of(&self, communicator: &Communicator) -> Shared {
        let made = communicator.multicast.group_or(|| {
            let channel = self.channel_of(communicator, false).unwrap_or_else(|_| Box::new(Mute));
            let agreed = communicator.multicast.agreed();
            let Agreed { piece, room, rate } = agreed.unwrap_or(Agreed { piece: 1, room: 1, rate: 1 });
            Group::new(channel, piece, room, rate)
        });
        self.lane(communicator.context()).lock().groups.add(communicator.context(), made);
        made.clone()
    }

    fn channel_of(&self, communicator: &Communicator, receive: bool) -> Result<Box<dyn Channel>> {
        let core = self.lane(communicator.context()).lock();
        core.transport.multicast()?.join(communicator.context(), receive)
    }

    /// Whether packets of rank 0 reach all nodes at once: over how many nodes, or why not; `None` where there is one.
    /// Tried for people: all ranks call it, and nothing else goes on meanwhile.
    ///
    /// # Errors
    /// What goes wrong on the way.
    pub fn try_multicast(&self) -> Result<Option<std::result::Result<u32, String>>> {
        let world = Arc::new(Communicator::world(self.rank(), self.size()));
        let nodes = self.speakers(&world).len() as u32;
        if nodes < 2 {
            return Ok(None);
        }
        self.try_group(&world)?;
        Ok(Some(world.multicast.refusal().map_or(Ok(nodes), |why| Err(why.to_owned()))))
    }

    /// Joins the group, and finds out together with all others whether packets of rank 0 reach all its members.
    #[cold]
    fn try_group(&self, communicator: &Arc<Communicator>) -> Result<()> {
        let choice = &communicator.multicast;
        let me = communicator.rank;
        let is_member = self.speakers(communicator).contains(&me);
        let joined = is_member.then(|| self.channel_of(communicator, true));
        let refusal =
            joined.as_ref().and_then(|joined| joined.as_ref().err()).map(|error| error.message().to_owned());
        let channel = joined.and_then(Result::ok);
        let told = |of: fn(&(dyn Channel + 'static)) -> u64| {
            channel.as_deref().map_or(ANY, |channel| of(channel).min(ANY as u64) as i64)
        };
        let all = [
            if refusal.is_some() { i64::from(me) } else { ANY },
            told(|channel| u64::from(channel.longest())),
            told(|channel| channel.room()),
            told(|channel| channel.rate()),
        ];
        let [refused, piece, room, rate] = self.least(communicator, all)?;
        if refused != ANY {
            let why = refusal.unwrap_or_else(|| format!("rank {refused} has none"));
            choice.refuse(format!("there is no multicast group: {why}"));
            return Ok(());
        }
        let agreed = Agreed { piece: piece as u32, room: room as u64, rate: rate as u64 };
        if let Some(channel) = channel {
            let group = choice.group_or(|| Group::new(channel, agreed.piece, agreed.room, agreed.rate));
            // Before the last word is said: from then on peers may ask.
            self.lane(communicator.context()).lock().groups.add(communicator.context(), group);
        }
        let seen = self.probe_group(communicator)?;
        let [missed] = self.least(communicator, [if seen { ANY } else { i64::from(me) }])?;
        match missed {
            ANY => choice.agree(agreed),
            rank => {
                choice.refuse(format!("packets of rank 0 to the multicast group do not reach rank {rank}"))
            }
        }
        Ok(())
    }

    /// Rank 0 sends probes, and says when that is done; whether I have seen one, if I had to.
    fn probe_group(&self, communicator: &Arc<Communicator>) -> Result<bool> {
        let group = communicator.multicast.group();
        let is_first = communicator.rank == 0;
        for (index, pause) in PROBES.into_iter().enumerate().filter(|_| is_first) {
            self.wait_a_while(communicator, clock::nanoseconds() + pause, || false)?;
            if let Some(group) = group {
                let piece = Piece { epoch: 0, index: index as u32, bytes: b"probe" };
                lock_order::lock(group, Level::GROUP).channel().send(&[piece]);
            }
        }
        let mut word = 0u64;
        let data = bytes_of(std::slice::from_mut(&mut word));
        self.run_over_nodes(
            communicator,
            &Operation::Broadcast { root: Root::Rank(0), data },
            Members::from(&**communicator),
        )?;
        let Some(group) = group.filter(|_| !is_first) else { return Ok(true) };
        let look = || lock_order::lock(group, Level::GROUP).channel().receive().is_some();
        let attend = |is_wanted| lock_order::lock(group, Level::GROUP).channel().attend(is_wanted);
        attend(true);
        let seen = self.wait_a_while(communicator, clock::nanoseconds() + LATE, look);
        attend(false);
        seen
    }

    /// Drives everything until a time, or something is seen: whether it is.
    fn wait_a_while(
        &self,
        communicator: &Communicator,
        until: u64,
        mut look: impl FnMut() -> bool,
    ) -> Result<bool> {
        let until = Until(until);
        self.wait_beside(self.lane(communicator.context()), Reason::Flush, &until, |_| {
            // What is there by now counts, however late it is.
            let is_over = until.holds();
            let seen = look();
            (seen || is_over).then_some(seen)
        })
    }

    /// Whether so much gets lost that the tree is quicker.
    #[cold]
    fn compare_losses(&self, communicator: &Arc<Communicator>) -> Result<()> {
        let choice = &communicator.multicast;
        let tally =
            choice.group().map(|group| std::mem::take(&mut lock_order::lock(group, Level::GROUP).tally));
        let tally = tally.unwrap_or_default();
        let lost = tally.repaired * 1000 / tally.pieces.max(1);
        let mine = if lost > MOST_LOST { i64::from(communicator.rank) } else { ANY };
        let [rank] = self.least(communicator, [mine])?;
        if rank != ANY {
            choice.refuse(format!("too many packets to the multicast group did not reach rank {rank}"));
        }
        Ok(())
    }

    /// The least of what all members say, number by number.
    fn least<const NUMBERS: usize>(
        &self,
        communicator: &Arc<Communicator>,
        mut numbers: [i64; NUMBERS],
    ) -> Result<[i64; NUMBERS]> {
        let datatype = Datatype::basic(Basic::Int64);
        let receive = Data::new(numbers.as_mut_ptr().cast(), 0, NUMBERS as i64, &datatype)?;
        let operator = Arc::new(Operator::builtin(Builtin::Min)).into();
        let operation = Operation::Allreduce { send: None, receive, operator };
        self.run_over_nodes(communicator, &operation, Members::from(&**communicator))?;
        Ok(numbers)
    }
}

fn bytes_of(words: &mut [u64]) -> Data {
    let bytes = std::mem::size_of_val(words) as u64;
    Data {
        address: words.as_mut_ptr().cast(),
        count: bytes,
        datatype: Datatype::shared(Basic::Packed).into(),
    }
}
