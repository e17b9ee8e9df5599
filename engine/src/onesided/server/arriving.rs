//! What arrives: requests that are passed on or done here, and answers.

use super::outgoing::Waiting;
use super::parked::Parked;
use super::under_way::{Ends, Request};
use super::{Body, End, Fault, Header, Kind, Outside, Sender, Server, Topology};
use super::{ANSWER, FETCH, GONE, REFUSED, TELL};

impl<T: Topology> Server<T> {
    pub(super) fn arrive(
        &mut self,
        from: u32,
        message: &[u8],
        outside: &mut impl Outside,
    ) -> Result<(), Fault> {
        let (header, body) = Header::read(message)?;
        if header.origin.max(header.target).max(from) >= self.topology.nodes() || from == self.here {
            return Err(Fault("a message is about a node that is not there"));
        }
        if self.gone.contains(from) {
            return Ok(());
        }
        let heard = match header.kind.is_request() {
            true => self.take(from, header, body, outside),
            // An answer ends its request in its own way; only then may the count of what is done end it.
            false => self.hear(from, header, body, outside),
        };
        self.count_done(from, header.done, outside);
        self.credit((from, Sender::Node(self.here)), header.credits, outside)?;
        heard
    }

    /// All requests to a node up to a number are done.
    fn count_done(&mut self, target: u32, done: u64, outside: &mut impl Outside) {
        while let Some(request) = self.under_way.next_done(target, done) {
            self.end(&request, End::Done, &[], outside);
        }
        self.go_on_with_held(target, outside);
    }

    /// A request has ended.
    pub(super) fn end(&mut self, request: &Request, end: End, data: &[u8], outside: &mut impl Outside) {
        if request.ends != Ends::Unseen {
            outside.complete(request.ticket, end, data);
        }
        if let Some(link) = request.credit {
            // It is this server's own account: it cannot be wrong.
            let _ = self.credit(link, 1, outside);
        }
    }

    /// A request has arrived in one of the sender's buffers.
    fn take(
        &mut self,
        from: u32,
        header: Header,
        body: &[u8],
        outside: &mut impl Outside,
    ) -> Result<(), Fault> {
        let sender = match self.topology.is_by_process(header.class) {
            true => Sender::Process(header.origin_rank),
            false => Sender::Node(from),
        };
        self.incoming.take(sender, self.settings.credits)?;
        if self.gone.contains(header.origin) {
            // Nobody is there to be answered, or to give its data.
            self.incoming.free(sender, self.settings.credits);
        } else if header.known > self.gone.known() {
            // The news is on its way. A server that does not know it must not choose a way, nor say that a lock is free.
            self.early.push((header, body.into(), sender));
        } else if header.target == self.here {
            self.take_here(header, body, sender, outside);
        } else {
            self.pass(header, body, sender, outside);
        }
        Ok(())
    }

    /// A request has arrived at its target.
    pub(super) fn take_here(
        &mut self,
        header: Header,
        body: &[u8],
        sender: Sender,
        outside: &mut impl Outside,
    ) {
        let origin = header.origin;
        let has_to_wait = self.parking.is_waiting(origin) || header.has(FETCH) || !outside.has_room(origin);
        if has_to_wait {
            self.parking.park(Parked { header, body: body.into(), sender, is_fetching: false });
            self.go_on_with(origin, outside);
        } else {
            self.incoming.free(sender, self.settings.credits);
            self.execute(&header, body, &[], outside);
        }
    }

    /// Passes a request on to the next node of its way, or keeps it until there is a credit. Its way is the one that its
    /// origin has meant: where that has become impossible, it ends, and all those behind it do.
    pub(super) fn pass(
        &mut self,
        mut header: Header,
        body: &[u8],
        sender: Sender,
        outside: &mut impl Outside,
    ) {
        let hop = self.topology.next(self.here, &header, self.gone.view(header.known));
        let Some(hop) = hop.filter(|hop| !self.gone.contains(hop.node)) else {
            self.incoming.free(sender, self.settings.credits);
            return self.answer_gone(&header, outside);
        };
        header.class = hop.class;
        let link = self.link_of((hop.node, hop.class), header.origin_rank);
        if self.outgoing.take(link, self.settings.credits) {
            self.incoming.free(sender, self.settings.credits);
            self.send(hop.node, header, Body::Bytes(body), outside);
        } else {
            self.outgoing.wait(link, Waiting::Passing(header, body.into(), sender));
        }
    }

    /// The target of a request, or all ways to it, are gone.
    pub(super) fn answer_gone(&mut self, request: &Header, outside: &mut impl Outside) {
        let answer = Header { kind: Kind::Answer, flags: GONE, ..*request };
        self.send(request.origin, answer, Body::Bytes(&[]), outside);
    }

    /// Goes on with what is parked here, wherever it can.
    pub(super) fn go_on_with_parked(&mut self, outside: &mut impl Outside) {
        for origin in self.parking.origins() {
            self.go_on_with(origin, outside);
        }
    }

    fn go_on_with(&mut self, origin: u32, outside: &mut impl Outside) {
        while let Some(first) = self.parking.first(origin) {
            let header = first.header;
            if first.is_fetching || !outside.has_room(origin) {
                return;
            }
            if header.has(FETCH) {
                if let Some(first) = self.parking.begin_to_fetch(origin, self.settings.fetches) {
                    if !outside.fetch(&header, &first.body) {
                        self.fetch_by_message(origin, header.ticket, outside);
                    }
                }
                return;
            }
            self.finish_parked(origin, &[], outside);
        }
    }

    /// Asks for the data of the first that is parked of an origin.
    pub(super) fn fetch_by_message(&mut self, origin: u32, ticket: u64, outside: &mut impl Outside) {
        let first = self.parking.first(origin).filter(|first| first.header.ticket == ticket);
        if let Some(&Parked { header, .. }) = first {
            let fetch = Header { kind: Kind::Fetch, ..header };
            self.send(origin, fetch, Body::Bytes(&[]), outside);
        }
    }

    /// Does the first that is parked of an origin.
    fn finish_parked(&mut self, origin: u32, fetched: &[u8], outside: &mut impl Outside) {
        if let Some(first) = self.parking.leave(origin) {
            self.incoming.free(first.sender, self.settings.credits);
            self.execute(&first.header, &first.body, fetched, outside);
        }
    }

    /// Does what a request asks for, and tells the origin if it has to know now.
    fn execute(&mut self, request: &Header, body: &[u8], fetched: &[u8], outside: &mut impl Outside) {
        let mut answer = std::mem::take(&mut self.answer);
        let done = match request.kind {
            Kind::Operation => outside.execute(request, body, fetched, &mut answer),
            Kind::Lock if request.known < self.gone.known() => return self.answer_gone(request, outside),
            Kind::Lock => {
                self.lock(request, outside);
                Ok(())
            }
            Kind::Unlock => self.unlock(request, outside),
            _ => Ok(()),
        };
        let origin = request.origin;
        let has_to_tell = self.topology.has_one_way()
            && self.acknowledgements.note(origin, request.sequence, self.settings.untold);
        let reply = Header { kind: Kind::Answer, flags: 0, ..*request };
        match done {
            Ok(()) if request.has(ANSWER) => self.send(origin, reply, Body::Bytes(&answer), outside),
            Err(number) => {
                let refusal = Header { flags: REFUSED, number, ..reply };
                self.send(origin, refusal, Body::Bytes(&[]), outside);
            }
            Ok(()) if request.has(TELL) || request.kind == Kind::Tell || has_to_tell => {
                let tell = Header { kind: Kind::Acknowledge, ..Header::default() };
                self.send(origin, tell, Body::Bytes(&[]), outside);
            }
            Ok(()) => {}
        }
        answer.clear();
        self.answer = answer;
    }

    /// What needs no buffer: answers, data, and words about locks.
    pub(super) fn hear(
        &mut self,
        from: u32,
        header: Header,
        body: &[u8],
        outside: &mut impl Outside,
    ) -> Result<(), Fault> {
        match header.kind {
            Kind::Answer => {
                let target = header.target;
                if let Some(request) = self.under_way.answered(target, header.ticket) {
                    let end = match header {
                        _ if header.has(GONE) => End::Gone,
                        _ if header.has(REFUSED) => End::Refused(header.number),
                        _ => End::Done,
                    };
                    self.end_answered(&header, &request, (end, body), outside);
                    self.go_on_with_held(target, outside);
                }
                Ok(())
            }
            Kind::Fetch => {
                let is_known = self.under_way.knows(from, header.ticket);
                let fetched = Header { kind: Kind::Fetched, ..header };
                match is_known {
                    true => self.send(from, fetched, Body::Data(header.ticket), outside),
                    false => self.send(from, Header { flags: GONE, ..fetched }, Body::Bytes(&[]), outside),
                }
                Ok(())
            }
            Kind::Fetched => {
                let data = (!header.has(GONE)).then_some(body);
                self.fetched(from, header.ticket, data, outside)
            }
            Kind::Granted | Kind::Next | Kind::Follower => self.hear_of_lock(from, &header, body, outside),
            _ => Ok(()),
        }
    }

    /// The data of the first request that is parked of a node have come, or will not come.
    pub(super) fn fetched(
        &mut self,
        from: u32,
        ticket: u64,
        data: Option<&[u8]>,
        outside: &mut impl Outside,
    ) -> Result<(), Fault> {
        let is_first = |first: &Parked| first.is_fetching && first.header.ticket == ticket;
        if !self.parking.first(from).is_some_and(is_first) {
            return Err(Fault("data come that nobody has asked for"));
        }
        match data {
            Some(data) => self.finish_parked(from, data, outside),
            None => {
                let dropped = self.parking.leave(from).expect("it is the first");
                self.incoming.free(dropped.sender, self.settings.credits);
            }
        }
        // The next of this origin goes on, and another's data can be fetched.
        self.go_on_with_parked(outside);
        Ok(())
    }
}
