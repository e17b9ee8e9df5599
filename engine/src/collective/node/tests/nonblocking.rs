//! Operations beside others: several under way at a few places, going on in any order.

use super::*;
use std::collections::VecDeque;
use std::task::Poll;

const PLACES: usize = 3;

/// One that was started.
struct Started {
    turn: Turn,
    side: Side,
    before: Buffer,
    operation: Arc<Operation>,
    later: Option<Task>,
    place: usize,
}

/// A member, its places, and what it has started, in order.
pub(super) struct Rank {
    pub(super) seats: Vec<Arc<Member>>,
    pub(super) by: &'static Sleeper<'static>,
    started: VecDeque<Started>,
    /// Operations that were over, and those that have to go by messages.
    over: (u32, u32),
}

impl Rank {
    fn start(&mut self, number: usize, turn: Turn, operator: &Arc<Operator>) {
        let seat = &self.seats[number % PLACES];
        let mut side = turn.side(seat);
        let before = side.send.clone();
        let operation = Arc::new(turn.operation(seat, &mut side, operator));
        let place = number % PLACES;
        self.started.push_back(Started { turn, side, before, operation, later: None, place });
    }

    /// Lets one go on, or begin, if it can; `false` if it cannot.
    fn go_on(&mut self, index: usize) -> bool {
        let place = self.started[index].place;
        let is_first = !self.started.iter().take(index).any(|other| other.place == place);
        let started = &mut self.started[index];
        let later = match &mut started.later {
            Some(later) if later.is_due() => later,
            Some(later) if later.can_help() => {
                later.help();
                later
            }
            None if is_first => {
                let later = Task::new(&self.seats[place], started.operation.clone(), self.by);
                started.later.insert(later)
            }
            _ => return false,
        };
        later.get_up();
        let done = match later.go_on() {
            Poll::Pending => return true,
            Poll::Ready(done) => done.unwrap(),
        };
        let rank = self.seats[place].rank;
        let Started { turn, mut side, before, .. } = self.started.remove(index).unwrap();
        match done {
            true => side.compare(&format!("kind {}", turn.kind), rank, &before),
            false => panic!("kind {} goes by messages", turn.kind),
        }
        self.over = (self.over.0 + u32::from(done), self.over.1 + u32::from(!done));
        true
    }

    /// Sleeps until one can go on.
    fn sleep(&mut self) {
        self.started.iter_mut().filter_map(|started| started.later.as_mut()).for_each(Task::lie_down);
        let laters = || self.started.iter().filter_map(|started| started.later.as_ref());
        assert!(laters().next().is_some_and(Task::lies));
        // No limit: a wake that is missed hangs the test.
        self.by.doorbell.sleep_unless(|| laters().any(Task::has_something), None);
    }
}

/// Runs `body` as each of `size` members.
pub(super) fn as_members(size: u32, body: impl Fn(u32, Rank) + Sync) {
    let shape = Shape::of_place(size);
    let block = |_| {
        // SAFETY: fresh memory of the right size, which stays.
        let block = unsafe { ControlBlock::new(Memory::new(shape.bytes()).base, shape) };
        block.found();
        block
    };
    let blocks: Vec<ControlBlock> = (0..PLACES).map(block).collect();
    let place = |peer: u32| Endpoint { doorbell: Box::leak(Box::new(Doorbell::new())), peer: peer.into() };
    let members: Box<[Endpoint]> = (0..size).map(place).collect();
    std::thread::scope(|scope| {
        for rank in 0..size {
            let (blocks, members, body) = (&blocks, &members, &body);
            scope.spawn(move || {
                let seat = |block: &ControlBlock| Arc::new(Member::new(*block, rank, 2, members.clone()));
                let by = Sleeper::new(members[rank as usize].doorbell, 0);
                let (seats, by) = (blocks.iter().map(seat).collect(), &*Box::leak(Box::new(by)));
                play(|| body(rank, Rank { seats, by, started: VecDeque::new(), over: (0, 0) }));
            });
        }
    });
    assert!(blocks.iter().all(ControlBlock::is_left));
}

#[test]
fn operations_under_way_together_give_what_mpi_says() {
    let operator = composition();
    for size in [2, 3, 5, 8] {
        as_members(size, |rank, mut member| {
            // All members start the same; they go on at different times.
            let mut turns = Random::new(u64::from(size));
            let mut random = Random::new(u64::from(rank) + 77);
            let (mut number, most) = (0, 300);
            while number < most || !member.started.is_empty() {
                let may_start = number < most && member.started.len() < 7;
                if may_start && random.below(2) == 0 {
                    let turn = Turn::of_length(&mut turns, size, &[1, 3, 17, 200, 3000]);
                    member.start(number, turn, &operator);
                    number += 1;
                    continue;
                }
                let open = member.started.len();
                let from = random.below(open.max(1) as u64) as usize;
                let went = (0..open).any(|step| member.go_on((from + step) % open));
                if !went && (!may_start || random.below(4) == 0) && open > 0 {
                    member.sleep();
                }
            }
            assert_eq!(member.over.0 + member.over.1, 300);
            assert!(member.over.0 > 200 && (size == 2 || member.over.1 == 0));
        });
    }
}

/// Starting an operation allocates its state and moves it there.
#[test]
fn the_state_of_an_operation_is_small() {
    as_members(2, |_, member| {
        let operation = Task::new(&member.seats[0], Arc::new(Operation::Barrier), member.by);
        assert!(operation.bytes() <= 1024, "{} bytes", operation.bytes());
    });
}
