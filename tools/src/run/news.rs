//! What the launcher does with what its agents say.

use super::across::crew;
use super::across::orders::{Frame, News, Order, ALL};
use super::agents::{Agents, INPUT};
use super::descendants::kill_all;
use super::descriptors;
use super::ending::{Ending, Reason};
use super::rank::Life;
use super::spawn::Failure as StartFailure;
use super::supervisor::Supervisor;
use super::verdict::Ended;
use crate::system::monotonic_now;
use std::time::{Duration, Instant};

impl Supervisor {
    /// Serves the link to an agent.
    pub(super) fn serve_crew(&mut self, source: crew::Source) {
        if let Some(agents) = &mut self.agents {
            agents.crew.serve(source);
        }
    }

    /// Looks at the clock for the agents, and does what their news ask for.
    pub(super) fn tick_agents(&mut self, now: Instant) {
        let Some(agents) = &mut self.agents else { return };
        agents.crew.tick(now);
        let news = agents.crew.take_news();
        news.iter().for_each(|frame| self.hear_news(frame));
        let has_room = self.job.outlets.all().iter().all(|sink| !sink.is_full());
        let Some(agents) = &mut self.agents else { return };
        if has_room {
            agents.pay();
        }
        agents.pass_questions_on(&self.job.node, now);
        self.tick_paths(now);
    }

    fn hear_news(&mut self, frame: &Frame) {
        let Ok(news) = News::read(frame) else { return };
        match news {
            News::Alive => {}
            News::Done => {
                let status = self.status();
                self.with_agents(|agents| agents.are_done(frame.node..frame.node + 1, status));
            }
            News::Ready(cards) => self.with_agents(|agents| agents.are_ready(cards)),
            News::Refused(why) => {
                let text = format!("serried: on {}: {why}\n", self.host(frame.node));
                self.tell_unless_ending(&text, Reason::CannotStart);
            }
            News::Silent { first, end, how } => self.hear_silence(first..end, how),
            News::Lost { first, end, why } => self.lost(first..end, &why),
            News::Say(text) => self.say(&text),
            News::Executed => {
                self.with_agents(|agents| agents.executing += 1);
                if self.agents.as_ref().is_some_and(|agents| agents.executing == agents.nodes()) {
                    self.all_run();
                }
            }
            News::Spawned(jobs) => {
                self.with_agents(|agents| {
                    agents.spawned.get_mut(frame.node as usize).into_iter().for_each(|known| *known = jobs);
                });
            }
            News::InputTaken(count) => {
                self.with_agents(|agents| {
                    agents.input_under_way = agents.input_under_way.saturating_sub(count as usize)
                });
            }
            news => self.hear_of_rank(news),
        }
    }

    fn with_agents(&mut self, does: impl FnOnce(&mut Agents)) {
        if let Some(agents) = &mut self.agents {
            does(agents);
        }
    }

    /// News of a rank; of one that is none they are left out.
    fn hear_of_rank(&mut self, news: News) {
        let size = self.plan.size;
        match news {
            News::Started { rank, process } if rank < size => {
                self.ranks[rank as usize].process = process as i32
            }
            News::CannotStart(failure) if failure.rank < size => self.cannot_start_elsewhere(failure),
            News::Output { rank, error, bytes } if rank < size => self.take_output(rank, error, &bytes),
            News::Pmi { rank, bytes } if rank < size => self.hear_pmi(rank, &bytes),
            News::Page { rank, now, changes } if rank < size => {
                let node = &self.job.node;
                if let Some(agents) = &mut self.agents {
                    agents.mirror(node, rank, &changes, now, monotonic_now());
                }
            }
            News::Names(text) => {
                let text = String::from_utf8_lossy(&text);
                let names: Vec<&str> = [""].into_iter().chain(text.lines()).collect();
                let _ = self.job.node.publish_names(&names);
            }
            News::Answer { rank, number, now, text } if rank < size => {
                let node = &self.job.node;
                if let Some(agents) = &mut self.agents {
                    agents.answered(node, rank, number, &text, (now, monotonic_now()));
                }
            }
            News::Continued { rank, process } if rank < size => {
                self.ranks[rank as usize].life = Life::Continued(process as i32);
            }
            News::Ended { rank, status, out_of_memory } if rank < size => {
                self.with_agents(|agents| {
                    agents.out_of_memory = out_of_memory;
                    agents.input_ended |= rank == 0;
                });
                self.rank_ended(rank, Ended::from_wait(status));
            }
            _ => {}
        }
    }

    fn cannot_start_elsewhere(&mut self, failure: StartFailure) {
        self.cannot_start(failure);
    }

    fn take_output(&mut self, rank: u32, error: bool, bytes: &[u8]) {
        self.with_agents(|agents| agents.took(rank, bytes.len()));
        let of_rank = |tap: &super::launch::Tap| tap.rank == rank;
        let Some(first) = self.job.taps.iter().position(of_rank) else { return };
        // The second stream of a rank is standard error, unless both go one way.
        let second = self.job.taps.get(first + 1).is_some_and(of_rank);
        let index = first + usize::from(error && second);
        let tap = &mut self.job.taps[index];
        let sink = self.job.outlets.get(tap.outlet);
        match bytes {
            [] => tap.stream.end(index, sink),
            bytes => tap.stream.take(bytes, index, sink, Instant::now()),
        }
    }

    /// The name of the host of a node.
    pub(super) fn host(&self, node: u32) -> String {
        let hosts = self.plan.across.as_ref().map(|across| &across.hosts);
        hosts.and_then(|hosts| hosts.get(node as usize)).cloned().unwrap_or_else(|| format!("node {node}"))
    }

    /// Says something that ends the job, unless it is ending already.
    pub(super) fn tell_unless_ending(&mut self, text: &str, reason: Reason) {
        if self.ending.is_none() {
            match self.plan.spawned.as_mut().filter(|spawned| !spawned.runs()) {
                Some(spawned) => spawned.answer(text.trim_start_matches("serried: ")),
                None => self.tell(text),
            }
            self.end(reason);
        }
    }

    /// A host is silent, speaks again, or is given up.
    fn hear_silence(&mut self, nodes: std::ops::Range<u32>, how: u8) {
        let host = self.host(nodes.start);
        let behind = match nodes.len() {
            0 | 1 => String::new(),
            count => format!(", and the {} hosts behind it", count - 1),
        };
        let limit = self.plan.options.host_timeout;
        self.with_agents(|agents| nodes.clone().for_each(|node| agents.paths.is_silent(node, how > 0)));
        match how {
            0 => self.say(&format!("serried: {host} answers again\n")),
            1 => self.say(&format!(
                "serried: no word from {host}{behind} for 3 s ({}): the host, the network or the agent there stands still; \
                 given up after {limit:?} (--host-timeout)\n",
                self.ranks_in_words(nodes)
            )),
            _ => {
                let ranks = self.ranks_in_words(nodes.clone());
                let words =
                    format!("serried: {host}{behind} has not answered for {limit:?} and is given up ({ranks})");
                if self.goes_on_without_host(&self.ranks_of(nodes.clone()), &words) {
                    return self.nothing_more_from(nodes);
                }
                let text = match self.agents.as_ref().is_some_and(|agents| agents.has_begun) {
                    true => format!("{words}; the job is ended\n"),
                    false => format!("serried: no agent has answered on {host}{behind}; the job is not started\n"),
                };
                self.tell_unless_ending(&text, Reason::HostLost);
                self.lost_nodes.push(nodes.start);
                self.gave_up_at = Some(Instant::now());
                self.nothing_more_from(nodes);
            }
        }
    }

    /// The link to an agent has ended.
    fn lost(&mut self, nodes: std::ops::Range<u32>, why: &str) {
        let has_begun = self.agents.as_ref().is_some_and(|agents| agents.has_begun);
        let reason = if has_begun { Reason::HostLost } else { Reason::CannotStart };
        let ranks = self.ranks_of(nodes.clone());
        let some_run = ranks.iter().any(|&rank| self.ranks[rank as usize].life != Life::Ended);
        if some_run || !why.is_empty() {
            let ranks = self.ranks_in_words(nodes.clone());
            let why = if why.is_empty() { "its agent has gone" } else { why };
            let words = format!("serried: {why}\n  Its ranks have gone with it ({ranks})");
            if some_run && self.goes_on_without_host(&self.ranks_of(nodes.clone()), &words) {
                return self.nothing_more_from(nodes);
            }
            let end = if has_begun {
                format!("  Its ranks have gone with it ({ranks}); the job is ended.\n")
            } else {
                String::new()
            };
            self.tell_unless_ending(&format!("serried: {why}\n{end}"), reason);
            self.lost_nodes.push(nodes.start);
        }
        self.nothing_more_from(nodes);
    }

    /// Ranks of these nodes have gone, as far as we can know.
    fn nothing_more_from(&mut self, nodes: std::ops::Range<u32>) {
        let ranks = self.ranks_of(nodes.clone());
        for &rank in &ranks {
            self.ranks[rank as usize].life = Life::Ended;
        }
        let status = self.status();
        self.with_agents(|agents| agents.are_done(nodes, status));
        for index in 0..self.job.taps.len() {
            let tap = &mut self.job.taps[index];
            if ranks.binary_search(&tap.rank).is_ok() {
                tap.stream.end(index, self.job.outlets.get(tap.outlet));
            }
        }
    }

    pub(super) fn ranks_of(&self, nodes: std::ops::Range<u32>) -> Vec<u32> {
        self.agents.as_ref().map(|agents| agents.ranks_of(nodes)).unwrap_or_default()
    }

    /// The ranks of some nodes, for people.
    pub(super) fn ranks_in_words(&self, nodes: std::ops::Range<u32>) -> String {
        let ranks = self.ranks_of(nodes);
        let numbers: Vec<usize> = ranks.iter().map(|&rank| rank as usize).collect();
        match numbers.len() {
            1 => format!("rank {}", numbers[0]),
            _ => format!("ranks {}", crate::system::topology::list_text(&numbers)),
        }
    }

    /// Everything below the agents gets a signal. Those that do not end for long are left behind: they end what is below
    /// them when they lose us.
    pub(super) fn sweep_agents(&mut self, signal: i32, now: Instant) {
        if let Some(agents) = &mut self.agents {
            if agents.sweep(signal, now) {
                self.lost_nodes.extend(agents.not_done());
                self.gave_up_at = Some(now);
                agents.crew.abandon();
                kill_all(Duration::from_secs(5), &[]);
            }
        }
    }

    /// Whether standard input is wanted for rank 0 on its host.
    pub(super) fn wants_input(&self) -> bool {
        let wanted =
            |agents: &Agents| agents.has_begun && !agents.input_ended && agents.input_under_way < INPUT;
        self.agents.as_ref().is_some_and(wanted)
            && (!descriptors::is_terminal(0) || descriptors::is_in_foreground(0))
    }

    /// Passes standard input on to rank 0.
    pub(super) fn pass_input(&mut self) {
        let Some(agents) = &mut self.agents else { return };
        let mut buffer = vec![0; 16 << 10];
        let count = match descriptors::read(0, &mut buffer) {
            Ok(count) => count,
            Err(cause)
                if matches!(
                    cause.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                ) =>
            {
                return
            }
            Err(_) => 0,
        };
        buffer.truncate(count);
        agents.input_ended = count == 0;
        agents.input_under_way += count;
        let node = agents.node_of(0);
        agents.crew.send(node, &Order::Input(buffer));
    }

    /// Says something to all agents, if there are any.
    pub(super) fn order_all(&mut self, order: &Order) {
        if let Some(agents) = &mut self.agents {
            agents.crew.send(ALL, order);
        }
    }

    /// Begins to end the job: ranks leave their waits.
    pub(super) fn begin_to_end(&mut self, reason: Reason) {
        self.order_all(&Order::Ending);
        self.ending = Some(Ending::begin(reason, Instant::now()));
    }
}
