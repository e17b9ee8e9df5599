//! The end of what ranks have in common: each member stays, and does what others ask it for, until each of those needs it
//! no more or has failed.
//!
//! A barrier does not say that where members fail: some may have passed it and others not. So each member says it to each
//! other one, once: when it frees the exposure in a job that goes on without ranks that fail, and in any job at its end.

use super::asking::buffer;
use crate::engine::reason::Reason;
use crate::engine::Engine;
use crate::message::{Envelope, Mode, ANY_SOURCE};
use crate::observe::description::{Kind, Need};
use crate::onesided::{Exposure, Farewell};
use crate::world::Communicator;
use crate::Result;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tag of the word that a member needs the others no more, in the context of the exposure.
const LEFT: i32 = 4;

/// What members have in common, and the exposure if it is one.
type Unfreed = Vec<(Arc<Farewell>, Option<Arc<Exposure>>)>;

/// What is not freed yet: it lives until it is, or this rank ends, although the program has lost its name for it.
#[derive(Debug, Default)]
pub(in crate::engine) struct Farewells(Mutex<Unfreed>);

impl Farewell {
    /// For observers: the words that are missing, of one member each.
    pub(in crate::engine) fn needs(&self) -> Vec<Need> {
        let job_rank = |member| self.communicator.group.job_rank(member).0;
        let need = |member| Need { kind: Kind::Farewell, peers: vec![job_rank(member)], ..Need::default() };
        self.missing().into_iter().map(need).collect()
    }
}

impl Engine {
    /// Something begins that members have in common.
    pub(in crate::engine) fn keep_until_freed(
        &self,
        farewell: &Arc<Farewell>,
        exposure: Option<&Arc<Exposure>>,
    ) {
        self.unfreed().push((farewell.clone(), exposure.cloned()));
    }

    fn unfreed(&self) -> MutexGuard<'_, Unfreed> {
        self.farewells.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The exposures that are not freed.
    pub(super) fn unfreed_exposures(&self) -> Vec<Arc<Exposure>> {
        self.unfreed().iter().filter_map(|(_, exposure)| exposure.clone()).collect()
    }

    /// It is freed: nobody needs it.
    pub(in crate::engine) fn end_farewell(&self, farewell: &Arc<Farewell>) {
        let mut all = self.unfreed();
        let place = all.iter().position(|(one, _)| Arc::ptr_eq(one, farewell));
        let freed = place.map(|place| all.swap_remove(place));
        drop(all);
        drop(freed);
    }

    /// Waits until all members need something no more.
    ///
    /// # Errors
    /// `ProcFailed` when one has failed before it has said so. This member has, and may use it no more.
    pub(in crate::engine) fn leave_together(&self, farewell: &Farewell) -> Result<()> {
        self.say_farewell(farewell);
        self.wait_for_more(Reason::Farewell(farewell), &mut || {
            self.hear_farewells(farewell)?;
            match farewell.missing().is_empty() {
                true => Ok(true),
                false => self.all_members_go_on(&farewell.communicator).map(|()| false),
            }
        })
    }

    /// The end of this rank: it stays until nobody needs what it has not freed.
    ///
    /// # Errors
    /// What progress reports.
    pub(in crate::engine) fn leave_the_rest(&self) -> Result<()> {
        let all: Vec<_> = self.unfreed().iter().map(|(farewell, _)| farewell.clone()).collect();
        all.iter().for_each(|farewell| self.say_farewell(farewell));
        all.iter().try_for_each(|farewell| {
            self.wait_for_more(Reason::Farewell(farewell), &mut || {
                self.hear_farewells(farewell)?;
                let goes_on =
                    |&member: &u32| self.goes_on(farewell.communicator.group.job_rank(member)).is_ok();
                Ok(!farewell.missing().iter().any(goes_on))
            })
        })
    }

    /// Tells all members that this one needs them no more, once.
    fn say_farewell(&self, farewell: &Farewell) {
        if farewell.has_said.swap(true, Ordering::SeqCst) {
            return;
        }
        let Communicator { rank, ref group, .. } = *farewell.communicator;
        let envelope = Envelope { context: farewell.communicator.context(), source: rank as i32, tag: LEFT };
        for member in farewell.missing() {
            let peer = group.job_rank(member);
            // Whoever cannot be told has failed, and is not waited for.
            let _ =
                self.goes_on(peer).and_then(|()| self.send(peer, envelope, buffer(&mut []), Mode::Buffered));
        }
    }

    /// Takes the words that have come.
    fn hear_farewells(&self, farewell: &Farewell) -> Result<()> {
        let context = farewell.communicator.context();
        let wanted = Envelope { context, source: ANY_SOURCE, tag: LEFT };
        while let Some(message) = self.look(self.lane(context), |core| core.take_message(wanted))?? {
            farewell.has_left(message.status().source as u32);
            let request = self.start_matched_receive(message, buffer(&mut []))?;
            self.wait(request)?;
        }
        Ok(())
    }
}
