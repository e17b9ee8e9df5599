//! Nonblocking and persistent collectives: starting them, settling places in shared memory,
//! and doing what can be done, with no lock held.

use super::background::Master;
use super::collectives::SHARES_CPUS;
use super::Engine;
use crate::collective::node::{
    ControlBlock, Member, Places, Shape, Task, FIRST_WITHOUT_PLACES, MOST_MEMBERS_WITH_PLACES, MOST_PLACES,
};
use crate::collective::{self, Data, Members, Operation, Root};
use crate::datatype::{Basic, Datatype};
use crate::device;
use crate::message::later::{Placed, Settling, Step};
use crate::message::turn::Turn;
use crate::message::work::Recipe;
use crate::request::RequestId;
use crate::world::Communicator;
use crate::Result;
use std::sync::Arc;
use std::task::Poll;

/// Starting.
impl Engine {
    /// Starts a collective.
    ///
    /// # Errors
    /// When no request can be made; what is wrong with the operation.
    pub fn start_collective(
        &self,
        communicator: &Arc<Communicator>,
        operation: Operation,
    ) -> Result<RequestId> {
        let members = Members::from(&**communicator);
        operation.check(&members)?;
        self.begin(communicator, &operation)?;
        let operation = match self.placed(communicator, operation)? {
            Ok(placed) => return self.start_placed(communicator, placed),
            Err(operation) => operation,
        };
        let schedule = self.written(communicator, operation, members)?;
        let mut core = self.lane(communicator.context()).lock();
        self.drive(&mut core)?;
        let turn = Turn::latest(communicator, communicator.next_nonblocking_tag());
        let request = core.start_collective(Arc::clone(communicator), schedule, turn, None)?;
        Ok(core.requests.id(request))
    }

    /// Makes a persistent collective, to be started any number of times.
    ///
    /// # Errors
    /// When no request can be made; what is wrong with the operation.
    pub fn persistent_collective(
        &self,
        communicator: &Arc<Communicator>,
        operation: Operation,
    ) -> Result<RequestId> {
        let members = Members::from(&**communicator);
        operation.check(&members)?;
        self.begin(communicator, &operation)?;
        let readers = if device::is_on() { operation.readers(&members) } else { Vec::new() };
        let (schedule, placed) = match self.placed_alone(communicator, operation)? {
            Ok(placed) => (None, Some(placed)),
            Err(operation) => (Some(self.written(communicator, operation, members)?), None),
        };
        let turn = Turn::latest(communicator, communicator.next_nonblocking_tag());
        let communicator = Arc::clone(communicator);
        self.persistent(Recipe::Collective { schedule, placed, communicator, turn, readers, starts: 0 })
    }

    /// Starts an operation that has a place, or may get one.
    fn start_placed(&self, communicator: &Arc<Communicator>, placed: Placed) -> Result<RequestId> {
        let turn = Turn::latest(communicator, communicator.next_nonblocking_tag());
        let lane = self.lane(communicator.context());
        let id = {
            let mut core = lane.lock();
            let request = core.start_placed(Arc::clone(communicator), placed, turn, None)?;
            core.requests.id(request)
        };
        self.look(lane, |_| id)
    }
}

/// Places.
impl Engine {
    /// The place that the next nonblocking operation of a communicator may get. All members
    /// come to the same answer.
    ///
    /// # Errors
    /// When no request can be made.
    fn placed(
        &self,
        communicator: &Arc<Communicator>,
        operation: Operation,
    ) -> Result<std::result::Result<Placed, Operation>> {
        if !self.can_have_places(communicator) {
            return Ok(Err(operation));
        }
        let Some(number) = communicator.count_before_places().checked_sub(FIRST_WITHOUT_PLACES) else {
            return Ok(Err(operation));
        };
        let places = Arc::clone(communicator.places());
        if number == 0 {
            self.want_places(communicator, &places, MOST_PLACES)?;
        }
        if places.settled().is_some_and(<[_]>::is_empty) {
            return Ok(Err(operation));
        }
        Ok(Ok(Placed { operation: Arc::new(operation), places, number }))
    }

    /// The place that a persistent operation may get.
    ///
    /// # Errors
    /// When no request can be made.
    fn placed_alone(
        &self,
        communicator: &Arc<Communicator>,
        operation: Operation,
    ) -> Result<std::result::Result<Placed, Operation>> {
        if !self.can_have_places(communicator) {
            return Ok(Err(operation));
        }
        let places = Arc::default();
        self.want_places(communicator, &places, 1)?;
        Ok(Ok(Placed { operation: Arc::new(operation), places, number: 0 }))
    }

    /// Whether all members are here, and not too many.
    fn can_have_places(&self, communicator: &Communicator) -> bool {
        !self.nodes.are_several()
            && !communicator.is_inter()
            && (2..=MOST_MEMBERS_WITH_PLACES).contains(&communicator.size())
            && self.job.local_ranks.len() as u32 == self.job.size
            && !self.has_others(communicator)
    }

    /// Rank 0 lends blocks for places, as many as it has, and tells all members.
    fn want_places(&self, communicator: &Arc<Communicator>, places: &Arc<Places>, most: usize) -> Result<()> {
        let members = Members::from(&**communicator);
        let mut told = vec![0_u64; most].into_boxed_slice();
        if members.rank == 0 {
            let mut pool = self.pool();
            let shape = Shape::of_place(members.size);
            let lent = || pool.lend_place(shape).map(|offset| offset as u64 + 1);
            told.iter_mut().zip(std::iter::from_fn(lent)).for_each(|(place, lent)| *place = lent);
            // Others may not have come so far; then it is not known, and places are as for who shares none.
            let ranks = (0..members.size).filter_map(|member| Some(self.local_rank(communicator, member)?.0));
            if self.crowd.shares_any(ranks).unwrap_or(false) {
                told[0] |= SHARES_CPUS;
            }
        }
        let bytes = Datatype::basic(Basic::Packed);
        let data = Data::new(told.as_mut_ptr().cast(), 0, 8 * most as i64, &bytes)?;
        let telling = collective::broadcast(members, Root::Rank(0), data)?;
        let turn = Turn::within(communicator, communicator.next_nonblocking_tag());
        let communicator = Arc::clone(communicator);
        let mut core = self.lane(communicator.context()).lock();
        let request = core.start_collective(Arc::clone(&communicator), telling, turn, None)?;
        core.settling.push(Settling { request, communicator, places: Arc::clone(places), told });
        Ok(())
    }

    /// Takes the places that rank 0 has told of.
    pub(super) fn settle_places(&self, settling: Settling) {
        let Settling { request, communicator, places, told } = settling;
        let failed = self.lane_at(request).lock().requests.remove(request).error.is_some();
        let ranks: Vec<u32> = (0..communicator.size()).collect();
        let found = self.places_of(&communicator, &ranks).filter(|_| !failed);
        let mine = found.map_or_else(Vec::new, |members| {
            let area = self.job.node.blocks_area(members[0].peer.0);
            let shape = Shape::of_place(communicator.size());
            let shares = told[0] & SHARES_CPUS != 0;
            let me = |offset: &u64| {
                let offset = (offset & !SHARES_CPUS).checked_sub(1)? as usize;
                // SAFETY: the leader has lent this part of its area as a block of this shape
                // until all members have left; the node segment lives for ever.
                let block = unsafe { ControlBlock::new(area.add(offset), shape) };
                let me = Member::new(block, communicator.rank, communicator.context(), members.clone());
                Some(Arc::new(me.sharing_cpus(shares)))
            };
            told.iter().map_while(me).collect()
        });
        places.settle(mine.into_boxed_slice());
    }
}

/// Going on.
impl Engine {
    /// Does what can be done for an operation at a place, with no lock held.
    pub(super) fn step_on(&self, step: Step) {
        let (request, mut later) = match step {
            Step::Write(request) => {
                let mut core = self.lane_at(request).lock();
                core.end_later(request, Ok(false));
                self.rouse(&core);
                return;
            }
            Step::GoOn(request, later) => (request, later),
            Step::Begin(request, me, operation) => (request, Task::new(&me, operation, Master::of(self))),
        };
        let went = later.go_on();
        let mut core = self.lane_at(request).lock();
        match went {
            Poll::Pending => core.put_back_later(request, later),
            Poll::Ready(done) => core.end_later(request, done),
        }
        // A thread that sleeps has not said for what this one waits now.
        self.rouse(&core);
    }
}
