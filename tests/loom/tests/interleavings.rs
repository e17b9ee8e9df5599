//! What the rings, the doorbell, shared-out work and withdrawals promise, in every interleaving of up to three
//! threads with a bounded number of preemptions. `LOOM_MAX_PREEMPTIONS` raises
//! the bound.

use loom::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use loom::sync::Arc;
use loom::thread;
use serried_loom::area::{Area, Shared};
use serried_loom::doorbell::Doorbell;
use serried_loom::every_interleaving;
use serried_loom::express;
use serried_loom::inbox::Inbox;
use serried_loom::onesided::control::{Control, Two};
use serried_loom::onesided::Lock;
use serried_loom::progress::changes::{Changes, Words};
use serried_loom::progress::sleeping_lock::SleepingLock;
use serried_loom::mailbox::SenderView;
use serried_loom::claim::Part;
use serried_loom::sync::{AtomicU64, Ordering};
use serried_loom::transport::Letter;
use serried_loom::withdrawals::{List, Taking, Withdrawn};

const DATA: u8 = 1;

/// A reader, its memory, and the doorbells of its senders.
struct Node {
    reader: Shared,
    senders: Vec<Doorbell>,
}

impl Node {
    fn new(senders: usize) -> Arc<Node> {
        Arc::new(Node { reader: Shared::new(), senders: (0..senders).map(|_| Doorbell::new()).collect() })
    }

    fn area(&self) -> Area {
        self.reader.area()
    }

    /// Sends packet `number` of sender `me`; sleeps while there is no room. The
    /// steps are those of `NodeTransport::push`, `Core::try_before_sleep` and a
    /// wait of the engine: the wish for room is told after the sleep is.
    fn send(&self, me: usize, number: u64, mut fill: impl FnMut(&Letter) -> Option<(*const AtomicU64, u64)>) {
        let letter = Letter { kind: DATA, header: [1 + me as u64, number], payload: &[] };
        let mut filled = fill(&letter);
        while filled.is_none() {
            let before_sleep = || {
                self.area().control().room_wanted.0.store(1, Ordering::SeqCst);
                filled = fill(&letter);
                filled.is_some()
            };
            self.senders[me].sleep_unless(before_sleep, None);
        }
        let (word, value) = filled.unwrap();
        self.publish(word, value);
    }

    fn publish(&self, word: *const AtomicU64, value: u64) {
        // SAFETY: the node outlives its threads.
        unsafe { &*word }.swap(value, Ordering::SeqCst);
        self.area().control().doorbell.0.ring();
    }

    /// Reads `count` packets and checks that each sender's come in order.
    fn read(&self, inbox: &mut Inbox, count: u64) {
        let mut next = vec![0; self.senders.len()];
        let mut left = count;
        while left > 0 {
            let Some(arrival) = inbox.peek() else {
                self.area().control().doorbell.0.sleep_unless(|| inbox.peek().is_some(), None);
                continue;
            };
            let has_published = inbox.advance(&arrival);
            match arrival.kind {
                DATA => {
                    let [sender, number] = arrival.header;
                    assert_eq!(number, next[sender as usize - 1], "of sender {sender}");
                    next[sender as usize - 1] += 1;
                    left -= 1;
                }
                express::OPEN => inbox.open(arrival.header[0] as usize),
                kind => assert_eq!(kind, express::SKIP),
            }
            if has_published {
                self.senders.iter().for_each(Doorbell::ring);
            }
        }
    }
}

fn mailbox_check(senders: usize, packets: u64, preemptions: usize) {
    every_interleaving(preemptions, move || {
        let node = Node::new(senders);
        let threads: Vec<_> = (0..senders)
            .map(|me| {
                let node = node.clone();
                thread::spawn(move || {
                    let (mut view, area) = (SenderView::default(), node.area());
                    for number in 0..packets {
                        node.send(me, number, |letter| view.fill(&area, letter));
                    }
                })
            })
            .collect();
        let mut inbox = Inbox::new(node.area());
        node.read(&mut inbox, senders as u64 * packets);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_mailbox_of_one_sender_brings_every_packet_in_order_while_it_comes_round() {
    mailbox_check(1, 5, 3);
}

#[test]
fn a_mailbox_of_two_senders_brings_every_packet_of_each_in_order() {
    mailbox_check(2, 2, 2);
}

/// Takes the box and says so in the mailbox, as `Peer::ask_for_express` does.
fn open_box(node: &Node, view: &mut SenderView) -> express::Sender {
    let area = node.area();
    let sender = express::take(&area, 0).unwrap();
    let opening = Letter { kind: express::OPEN, header: [sender.number() as u64, 0], payload: &[] };
    let (word, value) = view.fill(&area, &opening).unwrap();
    node.publish(word, value);
    sender
}

#[test]
fn an_express_box_brings_every_packet_in_order_while_it_comes_round() {
    every_interleaving(3, || {
        let node = Node::new(1);
        let other = node.clone();
        let thread = thread::spawn(move || {
            let area = other.area();
            let mut sender = open_box(&other, &mut SenderView::default());
            for number in 0..5 {
                other.send(0, number, |letter| sender.fill(&area, letter));
            }
        });
        let mut inbox = Inbox::new(node.area());
        node.read(&mut inbox, 5);
        thread.join().unwrap();
    });
}

#[test]
fn who_goes_from_the_mailbox_to_a_box_stays_in_order() {
    every_interleaving(3, || {
        let node = Node::new(1);
        let other = node.clone();
        let thread = thread::spawn(move || {
            let (mut view, area) = (SenderView::default(), other.area());
            other.send(0, 0, |letter| view.fill(&area, letter));
            let mut sender = open_box(&other, &mut view);
            for number in 1..3 {
                other.send(0, number, |letter| sender.fill(&area, letter));
            }
        });
        let mut inbox = Inbox::new(node.area());
        node.read(&mut inbox, 3);
        thread.join().unwrap();
    });
}

#[test]
fn a_box_has_one_owner() {
    every_interleaving(3, || {
        let node = Node::new(2);
        let other = node.clone();
        let thread = thread::spawn(move || express::take(&other.area(), 1).is_some());
        let mine = express::take(&node.area(), 0).is_some();
        assert!(mine != thread.join().unwrap());
    });
}

/// A doorbell, what is published, and the ranks awake of two groups.
struct Counted {
    doorbell: Doorbell,
    published: AtomicU64,
    awake: [serried_loom::sync::AtomicU32; 2],
}

/// A rank of group 0 sleeps until two rounds are published; `between` does something before each look.
fn counted_check(preemptions: usize, between: fn(&Doorbell), expected: [u32; 2]) {
    every_interleaving(preemptions, move || {
        let zero = || serried_loom::sync::AtomicU32::new(0);
        let (doorbell, published) = (Doorbell::new(), AtomicU64::new(0));
        let shared = Arc::new(Counted { doorbell, published, awake: [zero(), zero()] });
        let apart = std::mem::size_of::<serried_loom::sync::AtomicU32>();
        // SAFETY: one structure holds all.
        unsafe { shared.doorbell.count_at(&shared.awake[0], apart) };
        shared.doorbell.count_in(Some(0));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            for round in 1..=2 {
                other.published.store(round, Ordering::SeqCst);
                other.doorbell.ring();
            }
        });
        while shared.published.load(Ordering::SeqCst) < 2 {
            shared.doorbell.sleep_unless(|| shared.published.load(Ordering::SeqCst) >= 2, None);
            between(&shared.doorbell);
        }
        between(&shared.doorbell);
        thread.join().unwrap();
        assert_eq!([0, 1].map(|group: usize| shared.awake[group].load(Ordering::SeqCst)), expected);
    });
}

#[test]
fn no_ring_is_lost_and_the_ranks_awake_are_counted() {
    counted_check(4, |_| (), [1, 0]);
}

#[test]
fn a_rank_that_goes_to_another_group_is_counted_there() {
    counted_check(3, |doorbell| doorbell.count_in(Some(1)), [0, 1]);
}

#[test]
fn two_threads_of_a_rank_that_sleep_are_both_woken() {
    every_interleaving(2, || {
        let shared = Arc::new((Doorbell::new(), AtomicU64::new(0)));
        let slept = Arc::new(AtomicU32::new(0));
        let wait = |shared: &(Doorbell, AtomicU64), slept: &AtomicU32| {
            while shared.1.load(Ordering::SeqCst) == 0 {
                shared.0.sleep_unless(|| shared.1.load(Ordering::SeqCst) != 0, None);
            }
            slept.fetch_add(1, Relaxed);
        };
        let (other, other_slept) = (shared.clone(), slept.clone());
        let thread = thread::spawn(move || wait(&other, &other_slept));
        let (third, third_slept) = (shared.clone(), slept.clone());
        let second = thread::spawn(move || wait(&third, &third_slept));
        shared.1.store(1, Ordering::SeqCst);
        shared.0.ring();
        thread.join().unwrap();
        second.join().unwrap();
        assert_eq!(slept.load(Relaxed), 2);
    });
}

/// A part of an operation, and the memory that its pieces write.
struct SharedOut {
    part: Part,
    pieces: Vec<loom::cell::UnsafeCell<u32>>,
}

// SAFETY: loom checks that no piece is touched by two at once.
unsafe impl Send for SharedOut {}
// SAFETY: as above.
unsafe impl Sync for SharedOut {}

impl SharedOut {
    /// Does at most `most` pieces of an epoch, as `work_sharing::share_out` does; whether there were any.
    fn work(&self, epoch: u64, most: u32) -> bool {
        let Some(claimed) = self.part.claim(epoch, self.pieces.len() as u32, |left| left.min(most)) else {
            return false;
        };
        // SAFETY: they are claimed.
        let add = |piece: u32| self.pieces[piece as usize].with_mut(|value| unsafe { *value += 1 });
        claimed.clone().for_each(add);
        self.part.finish(claimed.len() as u32);
        true
    }

    /// Waits until all pieces of an epoch are done.
    fn wait(&self, epoch: u64) {
        while !self.part.is_over(epoch) {
            thread::yield_now();
        }
    }

    fn all_are(&self, expected: u32) -> bool {
        // SAFETY: all are done, and nobody touches them now.
        self.pieces.iter().all(|piece| piece.with(|value| unsafe { *value } == expected))
    }
}

#[test]
fn each_piece_of_a_part_is_done_once_and_seen_by_all_who_see_the_part_over() {
    every_interleaving(3, || {
        let pieces = (0..2).map(|_| loom::cell::UnsafeCell::new(0)).collect();
        let shared = Arc::new(SharedOut { part: Part::new(), pieces });
        let helpers: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || while shared.work(1, 1) {})
            })
            .collect();
        // The owner takes all that is left, and goes on to the next operation alone, while the
        // others may still ask for work of this one.
        shared.work(1, u32::MAX);
        shared.wait(1);
        assert!(shared.all_are(1));
        while shared.work(2, 1) {}
        shared.wait(2);
        assert!(shared.all_are(2));
        helpers.into_iter().for_each(|helper| helper.join().unwrap());
    });
}

/// What two ranks have for one offer: 0 has made it, 1 may take it.
struct Offered {
    taking: Taking,
    withdrawn: Withdrawn,
    list: List,
    /// The packet by which 0 learns that it is taken.
    told: AtomicU32,
}

#[test]
fn an_offer_is_either_taken_or_withdrawn() {
    every_interleaving(5, || {
        let offered = Arc::new(Offered {
            taking: Taking::new(),
            withdrawn: Withdrawn::new(),
            list: List::new(),
            told: AtomicU32::new(0),
        });
        let peer = Arc::clone(&offered);
        let taker = thread::spawn(move || {
            // The steps are those of `NodeTransport::begin_taking` and `Core::arrived`.
            peer.taking.begin(0, 7, false);
            let taken = !(peer.withdrawn.any() && peer.list.has(1, 7));
            if taken {
                peer.told.store(1, Release);
            }
            peer.taking.end();
            taken
        });
        // And of `NodeTransport::withdraw`, whose barrier the kernel issues.
        assert!(offered.list.add(1, 7));
        offered.withdrawn.add();
        serried_loom::sync::fence(Ordering::SeqCst);
        while offered.taking.is(0, 7) {
            thread::yield_now();
        }
        let is_taken = offered.told.load(Acquire) == 1;
        assert_eq!(is_taken, taker.join().unwrap());
    });
}

#[test]
fn a_sleeping_lock_is_held_by_one_and_wakes_the_next() {
    every_interleaving(3, || {
        let shared = Arc::new((SleepingLock::new(), loom::cell::UnsafeCell::new(0)));
        let add = |shared: &(SleepingLock, loom::cell::UnsafeCell<u32>)| {
            let _held = shared.0.lock(0, |_| false);
            // SAFETY: the lock is held; loom checks it.
            shared.1.with_mut(|number| unsafe { *number += 1 });
        };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || add(&shared))
            })
            .collect();
        add(&shared);
        others.into_iter().for_each(|other| other.join().unwrap());
        let _held = shared.0.lock(0, |_| false);
        // SAFETY: the lock is held.
        assert_eq!(shared.1.with(|number| unsafe { *number }), 3);
    });
}

/// Members of an exposure: its words, where each member sleeps, and what the lock of member 0 guards.
struct Members {
    words: Two,
    doorbells: [Doorbell; 2],
    guarded: loom::cell::UnsafeCell<u32>,
}

impl Members {
    fn control(&self) -> Control {
        // SAFETY: the words of two members, which the threads keep alive.
        unsafe { Control::new((&raw const self.words).cast_mut().cast(), 2) }
    }

    fn turned(&self) {
        let control = self.control();
        control.turned(control.lock(0), |member| self.doorbells[member as usize].ring());
    }

    /// The steps are those of `Engine::acquire_lock`, of `AtLock`, and of a wait of the engine.
    fn take(&self, me: u32, kind: Lock) {
        let (control, ticket) = (self.control(), self.control().seat(0).lock.ask());
        let is_turn = || control.seat(0).lock.is_turn(kind, ticket);
        while !is_turn() {
            control.lie_down(me, (0, ticket), false);
            self.doorbells[me as usize].sleep_unless(is_turn, None);
            control.get_up(me, true);
        }
        if control.seat(0).lock.enter(kind, ticket, me) {
            self.turned();
        }
    }

    fn give(&self, kind: Lock) {
        self.control().seat(0).lock.leave(kind);
        self.turned();
    }
}

#[test]
fn the_lock_of_a_segment_lets_in_writers_alone_and_loses_no_wake() {
    for kinds in [[Lock::Exclusive; 2], [Lock::Exclusive, Lock::Shared], [Lock::Shared; 2]] {
        every_interleaving(3, move || {
            let members = Arc::new(Members {
                words: Two::new(),
                doorbells: [Doorbell::new(), Doorbell::new()],
                guarded: loom::cell::UnsafeCell::new(0),
            });
            let part = move |members: &Members, me: u32| {
                let kind = kinds[me as usize];
                for _ in 0..2 {
                    members.take(me, kind);
                    // SAFETY: the lock is held; loom checks it.
                    match kind {
                        Lock::Exclusive => members.guarded.with_mut(|number| unsafe { *number += 1 }),
                        Lock::Shared => members.guarded.with(|number| assert!(unsafe { *number } <= 2)),
                    }
                    members.give(kind);
                }
            };
            let other = Arc::clone(&members);
            let other = thread::spawn(move || part(&other, 1));
            part(&members, 0);
            other.join().unwrap();
        });
    }
}

#[test]
fn who_changes_many_words_is_alone() {
    every_interleaving(3, || {
        // The memory of rank 0, which both change: loom sees if one is not alone.
        let memory = Arc::new((Words::new(), Words::new(), loom::cell::UnsafeCell::new(0)));
        let changes = |memory: &Arc<(Words, Words, loom::cell::UnsafeCell<u32>)>, me: usize| {
            // SAFETY: the threads keep the words alive.
            let words = unsafe { [&*(&raw const memory.0), &*(&raw const memory.1)] };
            let all: &'static [&'static Words] = Box::leak(Box::new(words));
            Changes { me: me as u32, own: all[me], target: all[0], number: 0, all, spared: false }
        };
        let other = Arc::clone(&memory);
        let other = thread::spawn(move || {
            // SAFETY: nobody else changes it then.
            let add = || other.2.with_mut(|number| unsafe { *number += 1 });
            // The second time it may find that nobody changes words.
            changes(&other, 1).alone(add);
            changes(&other, 1).alone(add);
        });
        // SAFETY: as above.
        let add = || memory.2.with_mut(|number| unsafe { *number += 1 });
        changes(&memory, 0).words(false, add);
        other.join().unwrap();
    });
}
