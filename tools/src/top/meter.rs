//! Makes reports of an attached job: looks often for what time goes into, and
//! compares snapshots for the rest.
//!
//! Counters are exact, so rates are. Time asleep is exact too. A rank does not say by a clock what
//! else it does, which would cost it more than a message; so its page is looked at many times a
//! second, and looks are counted.

use super::reading::Reading;
use super::report::{Counts, Doing, Files, Flow, Means, Memory, Rank, Report, Share, Slowest};
use crate::attach::{Attached, Snapshot};
use serried_engine::observe::page::NONE;
use serried_engine::observe::State;
use serried_engine::progress::clock;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Looks a second at each rank, at most.
const LOOKS: u32 = 50;
/// The same for all ranks together.
const LOOKS_IN_ALL: u32 = 5000;
/// Seconds that make up lately.
const LATELY: f64 = 3.0;
/// Less waiting of the others is no sign of a slow rank.
const WORTH_TELLING: f64 = 0.1;

/// What the looks of an interval have found.
#[derive(Debug, Clone, Copy, Default)]
struct Looks {
    computing: u32,
    copying: u32,
    library: u32,
}

/// What is remembered of a rank.
#[derive(Debug, Clone, Default)]
struct Track {
    looks: Looks,
    /// What it did when it was looked at last, and since when.
    seen: Option<(u64, bool)>,
    since: u64,
    /// Nanoseconds that it has waited, by the last report: never goes back.
    waited: u64,
    counts: Counts,
    live: bool,
    /// The part of its time that it has waited lately.
    waits: Option<f64>,
}

/// Makes reports.
#[derive(Debug)]
pub struct Meter {
    job: Attached,
    tracks: Vec<Track>,
    /// Messages and bytes by the last report, `[from * ranks + to]`.
    flows: Vec<(u64, u64)>,
    began: Instant,
    last: u64,
    sequence: u64,
    dice: u64,
}

impl Meter {
    /// Begins: rates are of the time from now on.
    pub fn new(job: Attached) -> Meter {
        let ranks = job.ranks() as usize;
        let (tracks, began) = (vec![Track::default(); ranks], Instant::now());
        let last = clock::nanoseconds();
        let mut meter = Meter { job, tracks, flows: Vec::new(), began, last, sequence: 0, dice: last | 1 };
        meter.look();
        meter.report();
        meter.sequence = 0;
        meter
    }

    /// The time until the next look: never the same, for a program has a rhythm as well.
    pub fn pause(&mut self) -> Duration {
        let looks = (LOOKS_IN_ALL / self.job.ranks().max(1)).clamp(5, LOOKS);
        // xorshift64
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        let part = self.dice as f64 / u64::MAX as f64;
        Duration::from_secs_f64((0.3 + 1.4 * part) / f64::from(looks))
    }

    /// Whether the job is over.
    pub fn has_ended(&self) -> bool {
        self.job.has_ended()
    }

    /// Looks at every rank once.
    pub fn look(&mut self) {
        let now = clock::nanoseconds();
        for (rank, track) in self.tracks.iter_mut().enumerate() {
            let page = self.job.view().page(rank as u32);
            let (call, sequence) = (&page.call, page.sequence());
            let inside = sequence & 1 == 1;
            let waiting = call.waiting_since.load(Relaxed) != 0;
            if track.seen != Some((sequence, waiting)) {
                (track.seen, track.since) = (Some((sequence, waiting)), now);
            }
            match (inside, waiting) {
                (true, true) => {}
                (true, false) if call.copying.load(Relaxed) != 0 => track.looks.copying += 1,
                (true, false) => track.looks.library += 1,
                (false, _) => track.looks.computing += 1,
            }
        }
    }

    /// How it went since the last report.
    pub fn report(&mut self) -> Report {
        let ended = self.job.has_ended();
        let Reading { now, time, snapshots, flows } = Reading::of(&self.job);
        let elapsed = now.saturating_sub(self.last).max(1) as f64 / 1e9;
        self.last = now;
        self.sequence += 1;
        let ranks: Vec<Rank> =
            (0..snapshots.len()).map(|rank| self.rank(rank, &snapshots[rank], now, elapsed, ended)).collect();
        let waits = self.smoothen(&ranks, elapsed);
        let traffic = self.traffic(&snapshots, flows, elapsed);
        let sum = |counts: fn(&Rank) -> &Counts| {
            let zero = Counts::default();
            ranks.iter().map(counts).fold(zero, |sum, counts| sum.combine(counts, |a, b| a + b))
        };
        let (rate, total) = (sum(|rank| &rank.rate), sum(|rank| &rank.total));
        Report {
            sequence: self.sequence,
            time,
            interval: elapsed,
            watched: self.began.elapsed().as_secs_f64(),
            process: self.job.found.anchors[0],
            command: self.job.found.command.clone(),
            ended,
            slowest: slowest(&waits),
            ranks,
            rate,
            total,
            traffic,
        }
    }

    /// What ranks have waited lately, so that a moment's hiccup makes nobody slow.
    fn smoothen(&mut self, ranks: &[Rank], elapsed: f64) -> Vec<(u32, f64)> {
        let part = 1.0 - (-elapsed / LATELY).exp();
        for (track, rank) in self.tracks.iter_mut().zip(ranks) {
            track.waits = rank.share.map(|share| {
                let before = track.waits.unwrap_or(share.waiting);
                before + part * (share.waiting - before)
            });
        }
        ranks.iter().zip(&self.tracks).filter_map(|(rank, track)| Some((rank.rank, track.waits?))).collect()
    }

    fn rank(&mut self, local: usize, snapshot: &Snapshot, now: u64, elapsed: f64, ended: bool) -> Rank {
        let doing = doing(snapshot, ended);
        let (total, waited) = (totals(snapshot, now), snapshot.waited(now));
        let track = &mut self.tracks[local];
        let slept = waited.saturating_sub(track.waited) as f64 / 1e9 / elapsed;
        let looks = std::mem::take(&mut track.looks);
        let share = (doing.is_live() && track.live).then(|| share(slept, looks, doing));
        let rate = total.combine(&track.counts, |now, before| (now - before).max(0.0) / elapsed);
        track.waited = track.waited.max(waited);
        track.counts = total;
        track.live = doing.is_live();
        let since = if doing == Doing::Waiting { snapshot.waiting_since } else { track.since };
        let page = self.job.view().page(local as u32);
        Rank {
            rank: snapshot.rank,
            process: snapshot.process,
            doing,
            call: self.job.call_name(snapshot.call),
            peer: snapshot.about.map(|about| about.peer).filter(|&peer| peer != NONE),
            tag: snapshot.about.map(|about| about.tag).filter(|&tag| tag != NONE),
            since: now.saturating_sub(since) as f64 / 1e9,
            share,
            rate,
            total,
            unexpected: (snapshot.totals.unexpected_now, snapshot.totals.unexpected_peak),
            memory: Memory {
                aside: page.memory.aside.load(Relaxed),
                limit: page.memory.limit.load(Relaxed),
                kept: page.memory.kept.load(Relaxed),
                segment: self.job.view().memory(local as u32),
                resident: resident(snapshot).filter(|_| doing.is_live()).unwrap_or(0),
            },
        }
    }

    /// What moved between each two ranks.
    fn traffic(&mut self, snapshots: &[Snapshot], now: Vec<(u64, u64)>, elapsed: f64) -> Vec<Flow> {
        let size = snapshots.len();
        self.flows.resize(size * size, (0, 0));
        let mut flows = Vec::new();
        for (at, (&(messages, bytes), before)) in now.iter().zip(&self.flows).enumerate() {
            if messages > 0 || bytes > 0 {
                flows.push(Flow {
                    from: snapshots[at / size].rank,
                    to: snapshots[at % size].rank,
                    messages,
                    bytes,
                    message_rate: messages.saturating_sub(before.0) as f64 / elapsed,
                    byte_rate: bytes.saturating_sub(before.1) as f64 / elapsed,
                });
            }
        }
        self.flows = now;
        flows
    }
}

fn doing(snapshot: &Snapshot, ended: bool) -> Doing {
    match snapshot.state {
        State::Unused => Doing::NotStarted,
        State::Finalized => Doing::Finalized,
        State::Aborted => Doing::Aborted,
        State::Ended => Doing::Finalized,
        _ if ended || !(snapshot.elsewhere || exists(snapshot.process)) => Doing::Gone,
        State::Starting => Doing::Starting,
        State::Running if !snapshot.inside => Doing::Computing,
        State::Running if snapshot.waiting_since != 0 => Doing::Waiting,
        State::Running => Doing::InCall,
    }
}

fn totals(snapshot: &Snapshot, now: u64) -> Counts {
    let totals = &snapshot.totals;
    Counts {
        calls: snapshot.calls as f64,
        messages_sent: totals.messages_sent as f64,
        bytes_sent: totals.bytes_sent as f64,
        messages_received: totals.messages_received as f64,
        bytes_received: totals.bytes_received as f64,
        collectives: totals.collectives as f64,
        sleeps: totals.sleeps as f64,
        waiting: snapshot.waited(now) as f64 / 1e9,
        bytes_by: Means {
            inline: totals.bytes_inline as f64,
            cells: totals.bytes_cells as f64,
            cross_memory: totals.bytes_cross_memory as f64,
            memory_file: totals.bytes_memory_file as f64,
            direct: totals.bytes_direct as f64,
            device: totals.bytes_device as f64,
        },
        files: Files {
            bytes_read: totals.files.bytes_read as f64,
            bytes_written: totals.files.bytes_written as f64,
            reads: totals.files.reads as f64,
            writes: totals.files.writes as f64,
            syncs: totals.files.syncs as f64,
            waiting: totals.files.nanoseconds as f64 / 1e9,
        },
    }
}

/// The time asleep is known; the rest is divided as the looks were.
fn share(slept: f64, looks: Looks, doing: Doing) -> Share {
    let waiting = slept.clamp(0.0, 1.0);
    let Looks { mut computing, copying, mut library } = looks;
    if computing + copying + library == 0 {
        // Never seen awake: what little there is goes to where it is now.
        (computing, library) = if doing == Doing::Computing { (1, 0) } else { (0, 1) };
    }
    let each = (1.0 - waiting) / f64::from(computing + copying + library);
    let part = |looks: u32| f64::from(looks) * each;
    Share { computing: part(computing), waiting, copying: part(copying), library: part(library) }
}

/// The rank that waits least, if the others wait clearly more.
fn slowest(waits: &[(u32, f64)]) -> Option<Slowest> {
    let &(rank, least) = waits.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    if waits.len() < 2 {
        return None;
    }
    let sum: f64 = waits.iter().map(|&(_, waits)| waits).sum();
    let others = (sum - least) / (waits.len() - 1) as f64;
    (others > WORTH_TELLING && others - least > WORTH_TELLING).then_some(Slowest {
        rank,
        waits: least,
        others_wait: others,
    })
}

fn exists(process: i32) -> bool {
    // SAFETY: signal 0 only asks.
    let refused = unsafe { libc::kill(process, 0) } != 0;
    process > 0 && !(refused && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH))
}

/// Memory of the process of a rank, if that is here.
fn resident(rank: &Snapshot) -> Option<u64> {
    let process = (!rank.elsewhere).then_some(rank.process)?;
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    // SAFETY: asking for the size of a page cannot fail.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach;
    use serried_engine::job::NodeSegment;

    /// A job of this process; the node must live as long as the meter attaches.
    fn job(ranks: u32) -> (NodeSegment, Meter) {
        let node = NodeSegment::create(ranks).unwrap();
        for rank in 0..ranks {
            node.reserve_flows(rank).unwrap();
            node.page(rank).identity.pid.store(std::process::id(), Relaxed);
            node.page(rank).identity.namespace.store(serried_engine::job::process::own_namespace(), Relaxed);
            node.page(rank).set_state(State::Running);
        }
        let meter = Meter::new(attach::of_this_process(&node).open().unwrap());
        (node, meter)
    }

    #[test]
    fn rates_are_what_was_counted_since_the_last_report() {
        let (node, mut meter) = job(2);
        node.flows(1)[0].messages.store(50, Relaxed);
        node.flows(1)[0].bytes.store(400, Relaxed);
        node.flows(0)[1].taken.store(100, Relaxed);
        std::thread::sleep(Duration::from_millis(20));
        let report = meter.report();
        assert!((report.ranks[1].rate.messages_sent * report.interval - 50.0).abs() < 1e-6);
        assert_eq!(report.rate.messages_sent, report.ranks[1].rate.messages_sent);
        let flow = report.traffic[0];
        assert_eq!((report.traffic.len(), flow.from, flow.to, flow.bytes), (1, 1, 0, 500));
        assert_eq!(meter.report().ranks[1].rate.messages_sent, 0.0);
    }

    #[test]
    fn shares_add_up_and_sleep_is_exact() {
        let looks = Looks { computing: 30, copying: 10, library: 20 };
        let share = share(0.4, looks, Doing::InCall);
        assert_eq!((share.waiting, share.computing), (0.4, 0.3));
        let sum = share.computing + share.waiting + share.copying + share.library;
        assert!((sum - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_slowest_is_who_waits_least_while_others_wait() {
        let (node, mut meter) = job(3);
        meter.look();
        for rank in 1..3 {
            node.page(rank).enter(1);
            node.page(rank).call.waiting_since.store(clock::nanoseconds(), Relaxed);
        }
        std::thread::sleep(Duration::from_millis(30));
        meter.look();
        let report = meter.report();
        assert_eq!(report.slowest.map(|slowest| slowest.rank), Some(0));
        assert_eq!(report.ranks[1].doing, Doing::Waiting);
        assert!(report.ranks[1].since >= 0.03 && report.ranks[0].doing == Doing::Computing);
    }
}
