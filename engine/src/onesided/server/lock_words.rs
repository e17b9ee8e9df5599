//! Locks, as requests and as messages between the home of a lock and those who wait for it.

use super::lock_homes::{LockId, Waiter, Word};
use super::under_way::Request;
use super::{Asked, Body, End, Fault, Header, Kind, Outside, Server, Topology};
use super::{BROKEN, FOLLOWED, GONE, REFUSED, SHARED};

fn id_of(header: &Header) -> LockId {
    LockId { owner: header.target_rank, number: header.number }
}

impl<T: Topology> Server<T> {
    /// A rank of this node asks for a lock.
    pub(super) fn begin_to_wait(&mut self, asked: &Asked) {
        let id = LockId { owner: asked.target_rank, number: asked.number };
        let is_shared = asked.flags & SHARED != 0;
        self.waiters.wait(asked.rank, id, asked.ticket, (asked.target, is_shared));
    }

    /// A rank of this node gives a lock back: it must have it, and as it says.
    pub(super) fn may_give_back(&mut self, asked: &Asked) -> bool {
        let id = LockId { owner: asked.target_rank, number: asked.number };
        self.waiters.give_back(asked.rank, id, asked.flags & SHARED != 0)
    }

    /// A request for a lock cannot be sent.
    pub(super) fn end_lock_request(&mut self, asked: &Asked) {
        if asked.kind == Kind::Lock {
            let id = LockId { owner: asked.target_rank, number: asked.number };
            let waiter = Waiter { node: self.here, rank: asked.rank, ticket: asked.ticket, is_shared: false };
            self.waiters.leave(waiter, id);
        }
    }

    /// Somebody asks for a lock of a rank of this node.
    pub(super) fn lock(&mut self, request: &Header, outside: &mut impl Outside) {
        let word = self.homes.ask(id_of(request), Waiter::of(request));
        self.say(word, outside);
    }

    /// Somebody gives a lock of a rank of this node back.
    pub(super) fn unlock(&mut self, request: &Header, outside: &mut impl Outside) -> Result<(), u64> {
        let word = self.homes.leave(id_of(request), request.has(SHARED), request.has(BROKEN))?;
        self.say(word, outside);
        Ok(())
    }

    /// Sends what the home of a lock has to say.
    pub(super) fn say(&mut self, words: impl IntoIterator<Item = Word>, outside: &mut impl Outside) {
        for (to, header, follower) in words {
            let body = follower.map(|follower| follower.write());
            let body = body.as_ref().map_or(&[][..], |bytes| &bytes[..]);
            let header = Header { target: self.here, ..header };
            self.send(to, header, Body::Bytes(body), outside);
        }
    }

    /// A word about a lock.
    pub(super) fn hear_of_lock(
        &mut self,
        from: u32,
        header: &Header,
        body: &[u8],
        outside: &mut impl Outside,
    ) -> Result<(), Fault> {
        let (id, waiter) = (id_of(header), Waiter::of(header));
        let is_here = header.kind == Kind::Follower || self.waiters.at(waiter, id).is_some();
        if !is_here {
            // Where nodes are gone, locks are lost, and words about them may still come.
            return if self.gone.known() > 0 { Ok(()) } else { Err(Fault("nobody waits for this lock")) };
        }
        match header.kind {
            Kind::Next => {
                let next = Waiter::read(body)?;
                self.waiters.at(waiter, id).into_iter().for_each(|at| at.next = Some(next));
            }
            Kind::Follower => {
                let word = self.homes.follower(id, Waiter::read(body)?);
                self.say(word, outside);
            }
            _ => self.granted(from, header, (id, waiter), outside)?,
        }
        Ok(())
    }

    /// A rank of this node has got a lock, or will not get it.
    fn granted(
        &mut self,
        home: u32,
        header: &Header,
        (id, waiter): (LockId, Waiter),
        outside: &mut impl Outside,
    ) -> Result<(), Fault> {
        let at = self.waiters.at(waiter, id).ok_or(Fault("nobody waits for this lock"))?;
        let (next, is_gone) = (at.next, at.is_gone);
        if header.has(FOLLOWED) {
            let next = next.ok_or(Fault("nobody is next at this lock"))?;
            let word = Header { kind: Kind::Follower, ..*header };
            self.send(home, word, Body::Bytes(&next.write()), outside);
        }
        let asked = Asked {
            kind: Kind::Unlock,
            flags: header.flags & SHARED,
            rank: waiter.rank,
            target: home,
            target_rank: id.owner,
            ticket: waiter.ticket,
            number: id.number,
        };
        match (header.has(REFUSED), is_gone) {
            (true, _) => {
                self.waiters.leave(waiter, id);
                outside.complete(waiter.ticket, End::Refused(super::LOST), &[]);
            }
            (false, true) => {
                self.waiters.leave(waiter, id);
                self.submit(asked, outside);
            }
            (false, false) => {
                at_held(self.waiters.at(waiter, id));
                let end = if header.has(BROKEN) { End::Inherited } else { End::Done };
                outside.complete(waiter.ticket, end, &[]);
            }
        }
        Ok(())
    }

    /// A request has been answered: one for a lock, only if it could not be passed on.
    pub(super) fn end_answered(
        &mut self,
        header: &Header,
        request: &Request,
        (end, data): (End, &[u8]),
        outside: &mut impl Outside,
    ) {
        let (id, waiter) = (id_of(header), Waiter::of(header));
        if header.has(GONE) && self.waiters.at(waiter, id).is_some_and(|at| !at.is_held) {
            self.waiters.leave(waiter, id);
            outside.complete(request.ticket, end, &[]);
        }
        self.end(request, end, data, outside);
    }
}

fn at_held(at: Option<&mut super::lock_waiters::AtLock>) {
    if let Some(at) = at {
        at.is_held = true;
    }
}
