//! Collectives that do not come together: who is missing, who is in another one, whose counts
//! do not go with those of the others.

use super::graph::{self, needs_of, Standing};
use super::words::{self, ranks};
use serried_engine::observe::description::{Communicator, Description, Key, Kind, Need, Operation, Thread};
use serried_engine::world::context;

/// Where it is told what does not go together.
const CHECK: &str = "SERRIED_CHECK=1 tells what differs";

/// An operation of a communicator, as a rank that waits in it knows it.
#[derive(Clone, Copy)]
struct Which<'a> {
    communicator: &'a Communicator,
    number: u64,
    /// Where its messages are known by a key.
    key: Option<Key>,
    /// How often a persistent one has been started; 0: it is none.
    starts: u64,
    call: &'a str,
    root: i32,
}

/// How far a rank is with an operation.
#[derive(Clone, Copy, PartialEq)]
enum Stand {
    NotBegun,
    Inside,
    Through,
    /// It has freed the communicator, or ended without a word.
    Unknown,
}

/// The operation that a need belongs to.
fn which<'a>(description: &'a Description, need: &Need) -> Option<Which<'a>> {
    let base = context::base(need.message.context);
    let is_of_one = need.kind == Kind::Arrival || need.collective.is_some() || need.message.context & 1 == 1;
    // Calls that make communicators with tags of the user have no number.
    if !is_of_one || base | 1 != need.message.context | 1 {
        return None;
    }
    let communicator = known(description, base)?;
    let last = communicator.last[0].as_ref().filter(|operation| !operation.call.is_empty());
    if let Some(begun) = description.begun.iter().find(|begun| Some(begun.key) == need.collective) {
        let root = operation(communicator, begun.number).map_or(-1, |operation| operation.root);
        let (number, starts, call) = (begun.number, begun.starts, begun.call.as_str());
        return Some(Which { communicator, number, key: Some(begun.key), starts, call, root });
    }
    let of_thread = description.threads.first().map_or("", |thread| thread.call.as_str());
    let (call, root) = last.map_or((of_thread, -1), |last| (last.call.as_str(), last.root));
    Some(Which { communicator, number: communicator.count, key: None, starts: 0, call, root })
}

fn known(description: &Description, context: u64) -> Option<&Communicator> {
    description.communicators.iter().find(|known| known.context == context)
}

/// The operation in which a rank waits.
fn waits_in(description: &Description) -> Option<Which<'_>> {
    needs_of(description).find_map(|need| which(description, need))
}

impl Which<'_> {
    fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.communicator.members.iter().chain(&self.communicator.remote).copied()
    }

    fn is(&self, other: &Which) -> bool {
        (self.communicator.context, self.number, self.starts)
            == (other.communicator.context, other.number, other.starts)
    }

    /// `MPI_Bcast with root 0`.
    fn in_words(&self) -> String {
        let call = if self.call.is_empty() { "a collective operation" } else { self.call };
        match self.root {
            root if root >= 0 => format!("{call} with root {root}"),
            _ => call.to_owned(),
        }
    }

    /// `MPI_Barrier_init (number 1) on MPI_COMM_WORLD`.
    fn with_number(&self, description: &Description) -> String {
        let on = words::name(description, self.communicator.context);
        format!("{} (number {}) on {on}", self.call, self.number)
    }

    /// How far a rank is with it; `needed`: somebody waits just for that rank.
    fn stand(&self, all: &[Standing], rank: u32, needed: bool) -> Stand {
        let (description, is_here) = match all.get(rank as usize) {
            Some(Standing::Waiting(description)) => (description, true),
            Some(Standing::Finalized(Some(left))) => (left, false),
            // Others may be through with it, unless somebody waits just for them.
            Some(Standing::Free) if needed => return Stand::NotBegun,
            _ => return Stand::Unknown,
        };
        let Some(theirs) = known(description, self.communicator.context) else { return Stand::Unknown };
        if theirs.count < self.number {
            return Stand::NotBegun;
        }
        let begun = description.begun.iter().find(|begun| Some(begun.key) == self.key);
        match begun {
            Some(begun) if begun.starts < self.starts => Stand::NotBegun,
            Some(begun) if begun.starts == self.starts && begun.is_under_way => Stand::Inside,
            None if self.starts > 0 => Stand::Unknown,
            _ if is_here && waits_in(description).is_some_and(|theirs| theirs.is(self)) => Stand::Inside,
            _ => Stand::Through,
        }
    }

    /// Those for whom ranks wait that wait in it.
    fn needed(&self, all: &[Standing]) -> Vec<u32> {
        let mut needed: Vec<u32> = graph::waiting(all)
            .flat_map(|(_, description)| {
                let here = |need: &&Need| which(description, need).is_some_and(|which| which.is(self));
                needs_of(description).filter(here).flat_map(|need| need.peers.clone())
            })
            .collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// Members that stand so.
    fn that(&self, all: &[Standing], stand: Stand) -> Vec<u32> {
        let needed = self.needed(all);
        self.members().filter(|rank| self.stand(all, *rank, needed.contains(rank)) == stand).collect()
    }
}

/// The operation with this number, as a rank has begun it.
fn operation(known: &Communicator, number: u64) -> Option<&Operation> {
    let back = known.count.checked_sub(number)?;
    known.last.get(back as usize)?.as_ref().filter(|operation| !operation.call.is_empty())
}

/// One line on a collective that the ranks that are stuck do not come together in.
pub fn headline(all: &[Standing], stuck: &[u32]) -> Option<String> {
    let first = stuck.iter().find_map(|&rank| waits_in(all[rank as usize].description()?))?;
    let waiting = |rank: u32| {
        let description = all.get(rank as usize)?.description()?;
        let which = waits_in(description)?;
        (which.communicator.context == first.communicator.context).then_some((rank, description, which))
    };
    let inside: Vec<_> = first.members().filter_map(waiting).collect();
    let &(_, description, which) = inside.iter().min_by_key(|(_, _, which)| (which.number, which.starts))?;
    if let Some(words) = different(all, description, &which) {
        return Some(words);
    }
    let who: Vec<u32> = inside.iter().map(|(rank, ..)| *rank).collect();
    let missing = which.that(all, Stand::NotBegun);
    if !missing.is_empty() {
        return Some(not_come(all, description, &which, &missing, &who));
    }
    disagree(all, description, &which)
}

fn not_come(
    all: &[Standing],
    description: &Description,
    which: &Which,
    missing: &[u32],
    who: &[u32],
) -> String {
    let doing: Vec<String> = missing.iter().take(4).map(|&rank| what_it_does(all, rank)).collect();
    let (have, wait) =
        (if missing.len() == 1 { "has" } else { "have" }, if who.len() == 1 { "waits" } else { "wait" });
    let (not, again) = match which.starts {
        0 => ("come to", String::new()),
        1 => ("started", String::new()),
        starts => ("started", format!(" a {} time", ordinal(starts))),
    };
    format!(
        "{} {have} not {not} {}{again}, where {} {wait}: {}",
        ranks(missing),
        which.with_number(description),
        ranks(who),
        words::and(&doing)
    )
}

/// `1st`, `22nd`, `13th`.
fn ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// All have begun it, and some wait all the same: what they send and expect does not agree.
fn disagree(all: &[Standing], description: &Description, which: &Which) -> Option<String> {
    let needed = which.needed(all);
    let waits = |rank: &u32| {
        let theirs = all.get(*rank as usize).and_then(Standing::description).and_then(waits_in);
        theirs.is_some_and(|theirs| theirs.is(which))
    };
    let who: Vec<u32> = which.members().filter(waits).collect();
    let through: Vec<u32> =
        needed.iter().copied().filter(|&rank| which.stand(all, rank, true) == Stand::Through).collect();
    let operation = which.with_number(description);
    if !through.is_empty() {
        let (has, them) = if through.len() == 1 { ("has", "it") } else { ("have", "them") };
        let waits = if who.len() == 1 { "waits" } else { "wait" };
        return Some(format!(
            "{} {has} been through {operation}, but {} still {waits} for {them} there: what the ranks send and expect \
             does not match ({CHECK})",
            ranks(&through),
            ranks(&who)
        ));
    }
    let among = who.len() > 1 && needed.iter().all(|rank| who.contains(rank));
    let other = if who.len() == 2 { "each other" } else { "one another" };
    among.then(|| {
        format!(
            "{} wait for {other} in {operation}: what the ranks send and expect does not match ({CHECK})",
            ranks(&who)
        )
    })
}

fn what_it_does(all: &[Standing], rank: u32) -> String {
    match all.get(rank as usize) {
        Some(Standing::Finalized(_)) => format!("rank {rank} has finalized"),
        Some(Standing::Waiting(description)) => {
            let call = description.threads.first().map_or("", |thread| &thread.call);
            let on = waits_in(description).map(|which| words::name(description, which.communicator.context));
            let on = on.map_or(String::new(), |on| format!(" on {on}"));
            format!("rank {rank} is in {}{on}", if call.is_empty() { "MPI" } else { call })
        }
        _ => format!("rank {rank} computes"),
    }
}

/// Ranks whose operation with the same number is another one.
fn different(all: &[Standing], description: &Description, which: &Which) -> Option<String> {
    let (context, number) = (which.communicator.context, which.number);
    let begun = |rank: u32| {
        let description = all.get(rank as usize)?.description()?;
        let last = operation(known(description, context)?, number);
        let noted = description
            .begun
            .iter()
            .find(|begun| context::base(begun.key.0) == context && begun.number == number)
            .map(|begun| Operation { root: -1, bytes: 0, call: begun.call.clone() });
        Some((rank, last.cloned().or(noted)?))
    };
    let begun: Vec<(u32, Operation)> = which.members().filter_map(begun).collect();
    let (first, theirs) = begun.first()?;
    let (other, another) = begun.iter().find(|(_, operation)| {
        operation.call != theirs.call
            || (operation.root != theirs.root && theirs.root >= 0 && operation.root >= 0)
    })?;
    Some(format!(
        "rank {first} calls {} and rank {other} {} as collective operation number {number} on {}; all ranks of a \
         communicator must call the same ones in the same order",
        call(theirs),
        call(another),
        words::name(description, context)
    ))
}

fn call(operation: &Operation) -> String {
    match operation.root {
        root if root >= 0 => format!("{} with root {root}", operation.call),
        _ => operation.call.clone(),
    }
}

/// For whom a thread waits in a collective, in words; `None` if it is in none. Those
/// who have not come at all, if there are such.
pub fn missing(all: &[Standing], description: &Description, thread: &Thread) -> Option<String> {
    let needs: Vec<&Need> = thread.ways.iter().flatten().collect();
    let first = needs.first().filter(|need| need.kind == Kind::Arrival || need.collective.is_some())?;
    if needs.iter().any(|need| need.kind != Kind::Arrival && need.collective.is_none()) {
        return None;
    }
    let which = which(description, first)?;
    let mut peers: Vec<u32> = needs.iter().flat_map(|need| need.peers.iter().copied()).collect();
    peers.sort_unstable();
    peers.dedup();
    let through: Vec<u32> =
        peers.iter().copied().filter(|&peer| which.stand(all, peer, false) == Stand::Through).collect();
    let absent = which.that(all, Stand::NotBegun);
    if !absent.is_empty() {
        peers = absent;
    }
    let again = match which.starts {
        0 | 1 => String::new(),
        starts => format!(", started {starts} times,"),
    };
    let on = words::name(description, which.communicator.context);
    let all_through = !through.is_empty() && through == peers;
    let bytes = match needs[..] {
        [one] if all_through && one.kind == Kind::Receive => {
            format!("{} of ", words::bytes(one.message.bytes))
        }
        _ => String::new(),
    };
    let (who, call) = (ranks(&peers), which.in_words());
    let mut words = format!("for {bytes}{who} in {call} (number {}{again} on {on})", which.number);
    if all_through {
        let has = if through.len() == 1 { "has" } else { "have" };
        words += &format!("; {who} {has} been through it");
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::observe::description::Begun;

    fn operation_of(call: &str) -> Operation {
        Operation { root: -1, bytes: 0, call: call.into() }
    }

    fn world(count: u64, call: &str) -> Communicator {
        Communicator {
            context: 2,
            members: vec![0, 1, 2],
            count,
            last: [Some(operation_of(call)), Some(operation_of("MPI_Bcast"))],
            name: "MPI_COMM_WORLD".into(),
            ..Communicator::default()
        }
    }

    fn description(count: u64, call: &str, peers: &[u32], kind: Kind) -> Box<Description> {
        let mut need = Need { kind, peers: peers.to_vec(), ..Need::default() };
        need.message.context = 2;
        let thread = Thread { call: call.into(), ways: vec![vec![need]], ..Thread::default() };
        let communicators = vec![world(count, call)];
        Box::new(Description { threads: vec![thread], communicators, ..Description::default() })
    }

    fn rank(count: u64, call: &str, peers: &[u32], kind: Kind) -> Standing {
        Standing::Waiting(description(count, call, peers, kind))
    }

    /// One that waits for messages of an operation with a number, or of a persistent one.
    fn by_messages(begun: &[(i32, u64, u64, &str)], peers: &[u32]) -> Standing {
        let (tag, number, _, _) = begun[0];
        let last = begun.iter().map(|&(_, number, ..)| number).max().unwrap_or(number);
        let mut description = description(last, begun[0].3, peers, Kind::Receive);
        let need = &mut description.threads[0].ways[0][0];
        (need.message.context, need.message.bytes, need.collective) = (3, 65536, Some((3, tag)));
        description.communicators[0].last = [None, None];
        description.begun = begun
            .iter()
            .map(|&(tag, number, starts, call)| Begun {
                key: (3, tag),
                number,
                starts,
                is_under_way: true,
                call: call.into(),
            })
            .collect();
        Standing::Waiting(description)
    }

    fn in_a_receive(count: u64) -> Standing {
        let mut late = description(count, "MPI_Bcast", &[0], Kind::Receive);
        late.threads[0].call = "MPI_Recv".into();
        late.communicators[0].last = [None, None];
        Standing::Waiting(late)
    }

    #[test]
    fn who_is_missing_is_named_with_what_it_does() {
        let barrier = |peers: &[u32]| rank(3, "MPI_Barrier", peers, Kind::Arrival);
        let words = headline(&[barrier(&[2]), barrier(&[2]), in_a_receive(2)], &[0, 1, 2]).unwrap();
        assert_eq!(
            words,
            "rank 2 has not come to MPI_Barrier (number 3) on MPI_COMM_WORLD, where ranks 0 and 1 wait: rank 2 is in MPI_Recv"
        );
    }

    #[test]
    fn different_operations_are_told() {
        let all = [
            rank(3, "MPI_Barrier", &[1], Kind::Arrival),
            rank(3, "MPI_Allreduce", &[0], Kind::Arrival),
            rank(4, "MPI_Barrier", &[0], Kind::Arrival),
        ];
        let words = headline(&all, &[0, 1, 2]).unwrap();
        assert!(
            words.starts_with(
                "rank 0 calls MPI_Barrier and rank 1 MPI_Allreduce as collective operation number 3"
            ),
            "{words}"
        );
    }

    #[test]
    fn operations_begun_in_different_orders_are_told_though_others_came_later() {
        let all = [
            by_messages(&[(7, 1, 0, "MPI_Ibarrier"), (8, 2, 0, "MPI_Ibcast"), (9, 3, 0, "MPI_Ibcast")], &[1]),
            by_messages(&[(7, 1, 0, "MPI_Ibcast"), (8, 2, 0, "MPI_Ibarrier"), (9, 3, 0, "MPI_Ibcast")], &[0]),
            Standing::Free,
        ];
        let words = headline(&all, &[0, 1]).unwrap();
        assert!(words
            .starts_with("rank 0 calls MPI_Ibarrier and rank 1 MPI_Ibcast as collective operation number 1"));
    }

    #[test]
    fn who_has_been_through_is_not_said_to_be_missing() {
        let waits = by_messages(&[(7, 3, 0, "MPI_Alltoallv")], &[0]);
        let left = Description {
            finalized: true,
            communicators: vec![world(3, "MPI_Alltoallv")],
            ..Description::default()
        };
        for other in [Standing::Finalized(Some(Box::new(left))), in_a_receive(4)] {
            let all = [other, waits.clone(), in_a_receive(3)];
            assert_eq!(
                headline(&all, &[1]).unwrap(),
                "rank 0 has been through MPI_Alltoallv (number 3) on MPI_COMM_WORLD, but rank 1 still waits for it \
                 there: what the ranks send and expect does not match (SERRIED_CHECK=1 tells what differs)"
            );
            let description = all[1].description().unwrap();
            assert_eq!(
                missing(&all, description, &description.threads[0]).unwrap(),
                "for 64.0 KiB of rank 0 in MPI_Alltoallv (number 3 on MPI_COMM_WORLD); rank 0 has been through it"
            );
        }
        // Nothing is known of one that has left no word.
        let all = [Standing::Finalized(None), waits.clone(), in_a_receive(3)];
        assert_eq!(headline(&all, &[1]), None);
        let early = Description {
            finalized: true,
            communicators: vec![world(2, "MPI_Bcast")],
            ..Description::default()
        };
        let all = [Standing::Finalized(Some(Box::new(early))), waits, in_a_receive(3)];
        assert!(headline(&all, &[1]).unwrap().starts_with("rank 0 has not come to MPI_Alltoallv (number 3)"));
    }

    #[test]
    fn members_that_all_wait_in_one_operation_do_not_agree() {
        let part = |peer| by_messages(&[(7, 3, 0, "MPI_Alltoallv")], &[peer]);
        assert_eq!(
            headline(&[part(1), part(2), part(0)], &[0, 1, 2]).unwrap(),
            "ranks 0, 1 and 2 wait for one another in MPI_Alltoallv (number 3) on MPI_COMM_WORLD: what the ranks send and \
             expect does not match (SERRIED_CHECK=1 tells what differs)"
        );
    }

    #[test]
    fn starts_of_a_persistent_operation_are_counted() {
        let started = |starts, peer| by_messages(&[(7, 1, starts, "MPI_Barrier_init")], &[peer]);
        let Standing::Waiting(mut late) = in_a_receive(1) else { unreachable!() };
        late.begun = started(2, 0).description().unwrap().begun.clone();
        late.begun[0].is_under_way = false;
        let all = [started(3, 2), started(3, 2), Standing::Waiting(late)];
        assert_eq!(
            headline(&all, &[0, 1, 2]).unwrap(),
            "rank 2 has not started MPI_Barrier_init (number 1) on MPI_COMM_WORLD a 3rd time, where ranks 0 and 1 wait: \
             rank 2 is in MPI_Recv"
        );
        let description = all[0].description().unwrap();
        assert_eq!(
            missing(&all, description, &description.threads[0]).unwrap(),
            "for rank 2 in MPI_Barrier_init (number 1, started 3 times, on MPI_COMM_WORLD)"
        );
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal).join(" "),
            "1st 2nd 3rd 4th 11th 12th 13th 21st 112th"
        );
    }
}
