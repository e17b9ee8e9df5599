//! Collective operations at places, as they go on: the list of them is in the order in which they were
//! started.

use super::later::{Placed, Settling, Stage, Stands, Started, Step, Watched};
use super::turn::Turn;
use super::work::{Collective, Recipe, Work};
use crate::collective::node::{Member, Task};
use crate::collective::{Members, Operation};
use crate::core::{Core, Outside};
use crate::observe::page::add;
use crate::world::Communicator;
use crate::Result;
use std::sync::Arc;

impl Started {
    /// What goes on with it, with no lock held, if it is under way.
    fn go_on(&mut self) -> Option<Outside> {
        match std::mem::replace(&mut self.stage, Stage::Away) {
            Stage::UnderWay(mut later) => {
                later.get_up();
                Some(Outside::Later(Step::GoOn(self.request, later)))
            }
            other => {
                self.stage = other;
                None
            }
        }
    }
}

impl Core {
    /// Starts an operation that may get a place. `persistent` is the request that it is a
    /// run of.
    pub(crate) fn start_placed(
        &mut self,
        communicator: Arc<Communicator>,
        placed: Placed,
        turn: Turn,
        persistent: Option<u32>,
    ) -> Result<u32> {
        add(&self.counters.collectives, 1);
        let request = self.requests.insert(Work::Placed(communicator.context()))?;
        let stage = Stage::Waiting;
        self.later.push(Started { request, communicator, turn, persistent, placed, stage });
        Ok(request)
    }

    /// Whether there are any.
    pub(crate) fn has_later(&self) -> bool {
        !self.later.is_empty()
    }

    /// What can be done now for one of them.
    pub(crate) fn next_later(&mut self) -> Option<Outside> {
        if let Some(told) = self.settling.iter().position(|one| self.requests[one.request].complete) {
            return Some(Outside::Settle(self.settling.swap_remove(told)));
        }
        for index in 0..self.later.len() {
            match &self.later[index].stage {
                Stage::UnderWay(later) if later.is_due() => return self.later[index].go_on(),
                Stage::Waiting => match self.place_for(index) {
                    Some(Some(me)) => {
                        let started = &mut self.later[index];
                        started.stage = Stage::Away;
                        let operation = Arc::clone(&started.placed.operation);
                        return Some(Outside::Later(Step::Begin(started.request, me, operation)));
                    }
                    // It may be over at once, so who waits has to look again.
                    Some(None) => {
                        self.later[index].stage = Stage::Away;
                        return Some(Outside::Later(Step::Write(self.later[index].request)));
                    }
                    None => {}
                },
                _ => {}
            }
        }
        None
    }

    /// What this rank can do for others now, which has nothing else to do.
    pub(crate) fn next_help(&mut self) -> Option<Outside> {
        self.later.iter_mut().find_map(|started| match &mut started.stage {
            Stage::UnderWay(later) if later.can_help() => {
                later.help();
                started.go_on()
            }
            _ => None,
        })
    }

    /// The place where an operation can begin; `Some(None)`: there is none for it.
    fn place_for(&self, index: usize) -> Option<Option<Arc<Member>>> {
        let placed = &self.later[index].placed;
        let places = placed.places.settled()?;
        let Some(me) = places.get(placed.number as usize % places.len().max(1)) else { return Some(None) };
        match self.before(index, places.len()) {
            Some(_) => None,
            None => Some(Some(Arc::clone(me))),
        }
    }

    /// The last operation before one at the same of so many places.
    fn before(&self, index: usize, places: usize) -> Option<usize> {
        let placed = &self.later[index].placed;
        let place = |number: u32| number as usize % places.max(1);
        self.later[..index].iter().rposition(|other| {
            Arc::ptr_eq(&other.placed.places, &placed.places)
                && place(other.placed.number) == place(placed.number)
        })
    }

    /// It is under way, and waits.
    pub(crate) fn put_back_later(&mut self, request: u32, later: Task) {
        if let Some(started) = self.later.iter_mut().find(|started| started.request == request) {
            started.stage = Stage::UnderWay(later);
        }
    }

    /// It is over; `Ok(false)` if it has to go by messages.
    pub(crate) fn end_later(&mut self, request: u32, done: Result<bool>) {
        let Some(index) = self.later.iter().position(|started| started.request == request) else { return };
        match done {
            Ok(false) => self.go_by_messages(index),
            Ok(true) => {
                let started = self.later.remove(index);
                match self.all_were_fetched(&started.communicator, started.turn) {
                    Ok(()) => self.complete(request),
                    Err(error) => self.fail(request, &started.communicator, error),
                }
            }
            Err(error) => {
                let started = self.later.remove(index);
                self.fail(request, &started.communicator, error);
            }
        }
    }

    /// Ends those of a communicator. One that a thread takes care of ends when that has noticed.
    pub(crate) fn end_later_of(&mut self, context: u64, error: &crate::Error) {
        let is_over =
            |one: &Started| one.communicator.context() == context && !matches!(one.stage, Stage::Away);
        while let Some(index) = self.later.iter().position(is_over) {
            let started = self.later.remove(index);
            self.fail(started.request, &started.communicator, error.clone());
        }
    }

    fn fail(&mut self, request: u32, communicator: &Communicator, error: crate::Error) {
        self.complete_with(request, error.in_context(communicator.context()));
    }

    /// Writes an operation down as messages, and starts it.
    fn go_by_messages(&mut self, index: usize) {
        let Started { request, communicator, turn, persistent, placed, .. } = self.later.remove(index);
        let operation = Operation::clone(&placed.operation);
        match operation.schedule(Members::from(&*communicator)) {
            Ok(schedule) => {
                if let Some(owner) = persistent {
                    self.forget_places(owner);
                }
                let collective = Collective { schedule, communicator, turn, calling: false, persistent };
                self.requests[request].work = Work::Collective(Box::new(collective));
                self.begin_collective(request);
            }
            Err(error) => self.fail(request, &communicator, error),
        }
    }

    /// A persistent operation goes by messages from now on.
    fn forget_places(&mut self, owner: u32) {
        if let Work::Persistent(persistent) = &mut self.requests[owner].work {
            if let Recipe::Collective { placed, .. } = &mut persistent.recipe {
                *placed = None;
            }
        }
    }

    /// What to look at while spinning.
    #[inline]
    pub(crate) fn watched(&self) -> Watched {
        let mut watched = Watched { answers: self.awaits_answers(), ..Watched::default() };
        if !self.later.is_empty() {
            let places = self.later.iter().filter_map(|started| match &started.stage {
                Stage::UnderWay(later) => Some((*later.member().control_block(), later.until())),
                _ => None,
            });
            watched.places.iter_mut().zip(places).for_each(|(place, found)| *place = Some(found));
        }
        watched
    }

    /// This rank is about to sleep: who can let one of them go on will ring. It has to
    /// look at [`Core::may_sleep`] then.
    pub(crate) fn lie_down(&mut self) {
        for started in &mut self.later {
            if let Stage::UnderWay(later) = &mut started.stage {
                later.lie_down();
            }
        }
    }

    /// Whether there is nothing to do for any of them, and all say for what they wait.
    pub(crate) fn may_sleep(&self) -> bool {
        self.later.iter().all(|started| match &started.stage {
            Stage::UnderWay(later) => later.lies() && !later.has_something(),
            _ => true,
        })
    }

    /// What the operation of a request waits for, and its tag and communicator.
    pub(crate) fn stands(&self, request: u32) -> Option<(&Started, Stands<'_>)> {
        let index = self.later.iter().position(|started| started.request == request)?;
        let mut at = index;
        // One that waits for its turn waits for what those before it wait for.
        loop {
            let stands = match &self.later[at].stage {
                Stage::UnderWay(later) => Stands::At(later.member(), later.until()),
                Stage::Away => Stands::Away,
                Stage::Waiting => {
                    let places = self.later[at].placed.places.settled().map_or(1, <[_]>::len);
                    match self.before(at, places) {
                        Some(before) => {
                            at = before;
                            continue;
                        }
                        None => Stands::Unsettled,
                    }
                }
            };
            return Some((&self.later[index], stands));
        }
    }

    /// The message with which the places of an operation are settled.
    pub(crate) fn settling_of(&self, started: &Started) -> Option<u32> {
        let own = |one: &&Settling| Arc::ptr_eq(&one.places, &started.placed.places);
        self.settling.iter().find(own).map(|one| one.request)
    }
}
