//! Requests that a call names together (MPI-5.0 §3.7.5): which of them are complete.
//!
//! Programs test many requests in their innermost loops. So a call looks at each once, under one lock, and again only if a
//! round of progress has changed something. It allocates nothing for up to [`FEW`] that are under way.

use super::reason::Reason;
use super::Engine;
use crate::core::Core;
use crate::job::node_segment::LANES;
use crate::request::{Ended, RequestId, Status};
use crate::Result;
use smallvec::SmallVec;

/// So many requests are listed on the stack.
const FEW: usize = 64;

/// Requests that are under way, and the place of each among those of the call.
#[derive(Default)]
struct UnderWay {
    requests: SmallVec<[u32; FEW]>,
    places: SmallVec<[u32; FEW]>,
}

/// What a call does while none of its requests is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// It gives up after one round of progress.
    None,
    /// It waits until one of them is complete.
    UntilOne,
}

/// One of several requests, neither null nor inactive.
#[derive(Clone, Copy, Debug)]
pub struct Active {
    /// Its place among those of the call.
    pub place: usize,
    /// The request.
    pub id: RequestId,
    /// Whether it is complete.
    pub is_complete: bool,
}

/// What a call that ends one request has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Only requests that are null or inactive.
    Nothing,
    /// None that is complete.
    UnderWay,
    /// The one at this place is complete, and has been ended so far.
    Complete(usize, Ended),
}

impl Engine {
    /// Shows those of some requests that are neither null nor inactive to `see`, in their order. `ids` gives the requests of
    /// the call, `None` for a null one; `see` calls nothing of the engine.
    ///
    /// # Errors
    /// `Request` for a stale id.
    #[inline]
    pub fn each_active<Ids: Iterator<Item = Result<Option<RequestId>>>>(
        &self,
        ids: Ids,
        mut see: impl FnMut(Active),
    ) -> Result<()> {
        self.look_at_each(ids, |_, _, active| {
            see(active);
            true
        })
    }

    /// As [`Engine::each_active`], after a round of progress, or not before one is complete.
    ///
    /// # Errors
    /// As [`Engine::each_active`].
    pub fn any_complete<Ids: Iterator<Item = Result<Option<RequestId>>>>(
        &self,
        ids: impl Fn() -> Ids,
        patience: Patience,
        mut see: impl FnMut(Active),
    ) -> Result<()> {
        if patience == Patience::None {
            self.advance_for(ids())?;
        }
        let (mut waiting, mut any) = (UnderWay::default(), false);
        self.look_at_each(ids(), |_, request, active| {
            any |= active.is_complete;
            waiting.note(request, active);
            see(active);
            true
        })?;
        match (any || waiting.requests.is_empty(), patience) {
            (true, _) => Ok(()),
            (false, Patience::None) => self.polled(Reason::Any(&waiting.requests)),
            (false, Patience::UntilOne) => {
                self.wait_for_one(&waiting, |_, _| ())?;
                self.each_active(ids(), see)
            }
        }
    }

    /// Ends the first request that is complete, if it has nothing special about it and `may_end`, and shows its status to
    /// `end`.
    ///
    /// # Errors
    /// As [`Engine::each_active`].
    #[inline]
    pub fn end_first<Ids: Iterator<Item = Result<Option<RequestId>>>>(
        &self,
        ids: impl Fn() -> Ids,
        patience: Patience,
        may_end: bool,
        mut end: impl FnMut(&Status),
    ) -> Result<First> {
        let mut end = |core: &mut Core, request| match may_end {
            true => core.end_shown(request, &mut end),
            false => Ended::Not,
        };
        let mut waiting = UnderWay::default();
        let mut try_all = |waiting: &mut UnderWay| {
            let mut first = First::Nothing;
            self.look_at_each(ids(), |core, request, active| {
                first = match active.is_complete {
                    true => First::Complete(active.place, end(core, request)),
                    false => First::UnderWay,
                };
                waiting.note(request, active);
                !active.is_complete
            })?;
            Ok(first)
        };
        let first = try_all(&mut waiting)?;
        if first != First::UnderWay {
            return Ok(first);
        }
        if patience == Patience::UntilOne {
            let (place, ended) = self.wait_for_one(&waiting, end)?;
            return Ok(First::Complete(place, ended));
        }
        if self.advance_for(ids())? {
            waiting = UnderWay::default();
            let first = try_all(&mut waiting)?;
            if first != First::UnderWay {
                return Ok(first);
            }
        }
        self.polled(Reason::Any(&waiting.requests))?;
        Ok(First::UnderWay)
    }

    /// Whether all of some requests are complete, null or inactive, after a round of progress.
    ///
    /// # Errors
    /// As [`Engine::each_active`].
    pub fn all_complete<Ids: Iterator<Item = Result<Option<RequestId>>>>(
        &self,
        ids: impl Fn() -> Ids,
    ) -> Result<bool> {
        self.advance_for(ids())?;
        let mut waiting = UnderWay::default();
        self.look_at_each(ids(), |_, request, active| {
            waiting.note(request, active);
            true
        })?;
        let all = waiting.requests.is_empty();
        if !all {
            self.polled(Reason::All(&waiting.requests))?;
        }
        Ok(all)
    }

    /// Shows requests, with their lanes and indices, as [`Engine::each_active`] does, until `see` has seen enough (`false`).
    #[inline(always)]
    fn look_at_each(
        &self,
        ids: impl Iterator<Item = Result<Option<RequestId>>>,
        mut see: impl FnMut(&mut Core, u32, Active) -> bool,
    ) -> Result<()> {
        let mut ids = ids.enumerate();
        let mut next = present(&mut ids)?;
        while let Some((_, first)) = next {
            let mut core = self.lane_of(first).lock();
            while let Some((place, id)) = next.filter(|(_, id)| id.lane() == first.lane()) {
                if let Some((request, is_complete)) = core.standing(id)? {
                    if !see(&mut core, request, Active { place, id, is_complete }) {
                        return Ok(());
                    }
                }
                next = present(&mut ids)?;
            }
        }
        Ok(())
    }

    /// A round of progress of the lanes of some requests. Whether one of them may have become complete by it; if that is
    /// overlooked, the next call finds it.
    #[inline]
    fn advance_for(&self, ids: impl Iterator<Item = Result<Option<RequestId>>>) -> Result<bool> {
        if !self.lanes.are_several() {
            let lane = self.lanes.at(0);
            let before = lane.lock().epoch;
            return self.look(lane, |core| core.epoch != before);
        }
        let mut used = [false; LANES];
        for id in ids {
            id?.into_iter().for_each(|id| used[id.lane()] = true);
        }
        let lanes = self.lanes.each().zip(used).filter(|(_, used)| *used);
        lanes.map(|(lane, _)| lane).try_for_each(|lane| self.look(lane, |_| ()))?;
        Ok(true)
    }

    /// Waits until one of these is complete: its place, and what `end` makes of it.
    fn wait_for_one<T>(
        &self,
        waiting: &UnderWay,
        mut end: impl FnMut(&mut Core, u32) -> T,
    ) -> Result<(usize, T)> {
        let requests = &*waiting.requests;
        let look = |core: &mut Core| {
            let is_complete = |&request: &u32| core.has(request) && core.settled(request);
            let at = requests.iter().position(is_complete)?;
            Some((waiting.places[at] as usize, end(core, requests[at])))
        };
        match self.lane_of_all(requests) {
            Some(lane) => self.wait_until(lane, Reason::Any(requests), look),
            None => self.wait_across(Reason::Any(requests), look),
        }
    }
}

impl UnderWay {
    /// Notes a request if it is under way.
    #[inline]
    fn note(&mut self, request: u32, active: Active) {
        if !active.is_complete {
            self.requests.push(request);
            self.places.push(active.place as u32);
        }
    }
}

/// The next that is no null request, with its place.
#[inline(always)]
fn present(
    ids: &mut impl Iterator<Item = (usize, Result<Option<RequestId>>)>,
) -> Result<Option<(usize, RequestId)>> {
    for (place, id) in ids {
        if let Some(id) = id? {
            return Ok(Some((place, id)));
        }
    }
    Ok(None)
}

impl Core {
    /// The index of a request and whether it is complete; `None` for an inactive one.
    #[inline(always)]
    fn standing(&self, id: RequestId) -> Result<Option<(u32, bool)>> {
        let index = self.requests.check(id)?;
        let request = &self.requests[index];
        let is_inactive = request.persistent && !request.active;
        Ok((!is_inactive).then(|| (index, self.settled(index))))
    }
}
