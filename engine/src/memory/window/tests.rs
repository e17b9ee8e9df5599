//! Windows of several owners in one process, over a file of their own.

use super::heap::Birth;
use super::layout::{HUGE, PAGE, WINDOW_BYTES};
use super::peers::{Peers, Reach};
use super::*;
use crate::memory::Segment;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;

/// An owner in slot 900 + `slot`, and a peer that has nothing mapped yet.
struct Pair {
    owner: &'static Window,
    announced: &'static AtomicU64,
    peers: Peers,
    _file: Segment,
}

impl Pair {
    fn new(slot: u32) -> Pair {
        let file = Segment::create(c"serried-test", PAGE, WINDOW_BYTES as u64).unwrap();
        let owner: &'static Window = Box::leak(Box::new(Window::new()));
        let announced: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let descriptor = file.descriptor().as_raw_fd();
        assert!(owner.connect(900 + slot, descriptor, 0, announced));
        Pair { owner, announced, peers: Peers::new(descriptor, 0, 1), _file: file }
    }

    fn direct(&mut self, address: *const u8, bytes: usize) -> Option<*mut u8> {
        self.peers.direct(0, self.announced.load(Ordering::Acquire), address as u64, bytes as u64)
    }

    fn private(&self, bytes: usize) -> &'static mut [u8] {
        let block = self.owner.allocate(bytes, 1, Birth::Private).unwrap();
        assert!(block.zero);
        // SAFETY: just taken.
        unsafe { std::slice::from_raw_parts_mut(block.address, bytes) }
    }

    fn lend_often(&self, memory: &[u8]) {
        for _ in 0..20 {
            self.owner.lend(memory.as_ptr() as usize, memory.len(), 1);
        }
    }
}

fn fill(memory: &mut [u8], seed: usize) {
    memory.iter_mut().enumerate().for_each(|(index, byte)| *byte = (index / 7 + seed) as u8);
}

fn read(address: *const u8, bytes: usize) -> &'static [u8] {
    // SAFETY: a mapping of a window, which stays.
    unsafe { std::slice::from_raw_parts(address, bytes) }
}

#[test]
fn memory_born_shared_is_seen_by_the_peer_with_no_further_call() {
    let mut pair = Pair::new(0);
    for (bytes, seed) in [(5, 1), (100_000, 2), (3 * HUGE + 5, 3)] {
        let block = pair.owner.allocate(bytes, 64, Birth::Shared).unwrap();
        // SAFETY: just taken.
        let mine = unsafe { std::slice::from_raw_parts_mut(block.address, bytes) };
        fill(mine, seed);
        let theirs = pair.direct(block.address, bytes).expect("it is shared");
        assert!(read(theirs, bytes) == mine);
        mine[bytes - 1] ^= 77;
        assert_eq!(read(theirs, bytes)[bytes - 1], mine[bytes - 1]);
    }
}

#[test]
fn private_memory_becomes_shared_when_it_has_been_lent_often() {
    let mut pair = Pair::new(1);
    let mine = pair.private(300_001);
    fill(mine, 9);
    assert!(!pair.owner.lend(mine.as_ptr() as usize, mine.len(), 1));
    assert_eq!(pair.direct(mine.as_ptr(), mine.len()), None);
    pair.lend_often(mine);
    assert!(pair.owner.lend(mine.as_ptr() as usize, mine.len(), 1), "it says so");
    let theirs = pair.direct(mine.as_ptr(), mine.len()).expect("shared by now");
    assert!(read(theirs, mine.len()) == mine);
    fill(mine, 10);
    assert!(read(theirs, mine.len()) == mine);
    let beyond = pair.private(300_000);
    assert_eq!(pair.direct(beyond.as_ptr(), beyond.len()), None);
}

#[test]
fn what_many_peers_want_becomes_shared_sooner() {
    let mut pair = Pair::new(1);
    for (readers, times) in [(1, 8), (3, 3), (7, 2), (8, 1), (1000, 1)] {
        let mine = pair.private(300_001);
        fill(mine, 9);
        for _ in 1..times {
            pair.owner.lend(mine.as_ptr() as usize, mine.len(), readers);
        }
        assert_eq!(pair.direct(mine.as_ptr(), mine.len()), None, "{readers} readers");
        pair.owner.lend(mine.as_ptr() as usize, mine.len(), readers);
        assert!(pair.direct(mine.as_ptr(), mine.len()).is_some(), "{readers} readers");
    }
}

#[test]
fn only_whole_pages_of_a_message_become_shared() {
    let mut pair = Pair::new(2);
    let block = pair.private(1 << 20);
    fill(block, 3);
    let (start, bytes) = (100, 500_000);
    pair.lend_often(&block[start..start + bytes]);
    let announced = pair.announced.load(Ordering::Acquire);
    let reach = pair.peers.reach(0, announced, block[start..].as_ptr() as u64, bytes as u64).unwrap();
    let (before, after) = (PAGE - start, (start + bytes) % PAGE);
    assert_eq!((reach.before, reach.after), (before, after));
    assert_eq!(pair.direct(block[start..].as_ptr(), bytes), None);
    let theirs = read(reach.address.wrapping_add(before), bytes - before - after);
    assert!(*theirs == block[start + before..start + bytes - after]);
    let none: Option<Reach> = pair.peers.reach(0, announced, block.as_ptr() as u64, 1 << 20);
    assert_eq!(none, None);
}

#[test]
fn a_peer_writes_into_shared_memory_and_not_elsewhere() {
    let pair = Pair::new(3);
    let mine = pair.private(200_000);
    fill(mine, 1);
    pair.lend_often(mine);
    let announced = pair.announced.load(Ordering::Acquire);
    let at = pair.peers.begin_write(0, announced, mine.as_ptr() as u64, 10).unwrap();
    // SAFETY: ten bytes of the mapping.
    unsafe { std::ptr::write_bytes(at, 0xee, 10) };
    pair.peers.end_write(0, announced);
    assert_eq!(mine[..10], [0xee; 10]);
    let other = pair.private(200_000);
    assert!(pair.peers.begin_write(0, announced, other.as_ptr() as u64, 10).is_none());
}

#[test]
fn addresses_elsewhere_are_not_direct() {
    let mut pair = Pair::new(4);
    let block = pair.owner.allocate(PAGE, 1, Birth::Shared).unwrap();
    assert!(pair.direct(block.address, PAGE).is_some());
    let announced = pair.announced.load(Ordering::Acquire);
    for address in [0, 1, announced, announced - 1, announced + WINDOW_BYTES as u64 - 10, u64::MAX - 5] {
        assert!(pair.peers.direct(0, announced, address, 100).is_none(), "{address:x}");
    }
    assert!(pair.peers.direct(0, announced, block.address as u64, u64::MAX).is_none());
    assert!(pair.peers.direct(0, 0, block.address as u64, 10).is_none());
}

#[test]
fn freed_memory_goes_back_and_reads_as_zero_where_that_is_promised() {
    let pair = Pair::new(5);
    let bytes = 100 << 20;
    for birth in [Birth::Private, Birth::Shared, Birth::Private] {
        let block = pair.owner.allocate(bytes, 1, birth).unwrap();
        assert!(block.zero, "so much is not kept");
        // SAFETY: just taken, and not used after.
        unsafe {
            assert!(read(block.address, bytes).iter().step_by(1111).all(|&byte| byte == 0));
            std::ptr::write_bytes(block.address, 5, bytes);
            pair.owner.free(block.address);
        }
    }
}

#[test]
fn memory_is_kept_for_programs_that_take_and_free_again_and_again() {
    let pair = Pair::new(9);
    let bytes = 20 << 20;
    let take_and_free = || {
        let block = pair.owner.allocate(bytes, 1, Birth::Private).unwrap();
        // SAFETY: just taken, and not used after.
        unsafe { pair.owner.free(block.address) };
        (block.zero, pair.owner.with(|inner| inner.ranges.dirty() as usize * PAGE))
    };
    assert_eq!(take_and_free(), (true, 0), "once: all goes back");
    assert_eq!(take_and_free(), (true, bytes), "again: it is kept");
    assert_eq!(take_and_free(), (false, bytes), "and used");
}

#[test]
fn kept_memory_goes_back_when_asked_for() {
    let pair = Pair::new(8);
    let blocks: Vec<_> =
        (0..9).map(|_| pair.owner.allocate(1 << 20, 1, Birth::Shared).unwrap().address).collect();
    // SAFETY: just taken; freed ones are not used after.
    unsafe {
        blocks.iter().for_each(|&block| std::ptr::write_bytes(block, 5, 1 << 20));
        [1, 3, 4, 8].into_iter().for_each(|freed: usize| pair.owner.free(blocks[freed]));
    }
    assert!(pair.owner.with(|inner| inner.ranges.dirty()) > 0);
    pair.owner.give_back();
    assert_eq!(pair.owner.with(|inner| inner.ranges.dirty()), 0);
    for kept in [0, 2, 5, 6, 7] {
        assert!(read(blocks[kept], 1 << 20).iter().all(|&byte| byte == 5));
    }
}

#[test]
fn blocks_grow_and_shrink_where_they_are() {
    let pair = Pair::new(6);
    let block = pair.private(100_000);
    fill(block, 4);
    let address = block.as_mut_ptr();
    // SAFETY: blocks of ours.
    unsafe {
        assert!(pair.owner.resize(address, 900_000) && pair.owner.usable(address) == 900_000);
        assert!(read(address, 100_000) == block && read(address, 900_000)[899_999] == 0);
        assert!(pair.owner.resize(address, 10) && pair.owner.usable(address) == 10);
        let next = pair.owner.allocate(PAGE, 1, Birth::Private).unwrap();
        assert!(!pair.owner.resize(address, 2 * PAGE), "the neighbour is in use");
        pair.owner.free(next.address);
        assert!(pair.owner.resize(address, 2 * PAGE));
    }
}

/// Runs `work` in a child of a fork, told of it as by the handlers; its answer.
fn in_child(window: &Window, work: impl FnOnce() -> bool, meanwhile: impl FnOnce()) -> bool {
    let mut ends = [0; 2];
    // SAFETY: the child only reads memory, waits for the pipe and leaves.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        window.before_fork();
        let child = libc::fork();
        window.after_fork(child == 0);
        if child == 0 {
            libc::close(ends[1]);
            let mut byte = 0u8;
            libc::read(ends[0], (&raw mut byte).cast(), 1);
            libc::_exit(if work() { 7 } else { 8 });
        }
        meanwhile();
        libc::close(ends[0]);
        libc::close(ends[1]);
        let mut status = 0;
        libc::waitpid(child, &mut status, 0);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7
    }
}

#[test]
fn parent_and_child_of_a_fork_have_their_own_memory_and_sharing_comes_back() {
    let mut pair = Pair::new(7);
    let mine = pair.private(400_000);
    let memory = mine.as_mut_ptr();
    fill(mine, 1);
    let copy = mine.to_vec();
    pair.lend_often(mine);
    assert!(pair.direct(memory, 400_000).is_some());
    let (owner, announced) = (pair.owner, pair.announced);
    let peers = &mut pair.peers;
    let whole = in_child(
        owner,
        || read(memory, 400_000) == copy,
        || {
            let seen = |peers: &mut Peers| {
                peers.direct(0, announced.load(Ordering::Acquire), memory as u64, 400_000).is_some()
            };
            assert!(!seen(peers), "private again");
            fill(mine, 2);
            for _ in 0..30 {
                owner.lend(mine.as_ptr() as usize, mine.len(), 1);
            }
            assert!(!seen(peers), "the child still lives");
        },
    );
    assert!(whole, "the child has what was there at the fork");
    mine[5] = 99;
    pair.lend_often(mine);
    let theirs = pair.direct(memory, 400_000).expect("shared again");
    assert!(read(theirs, 400_000) == mine);
}

/// Zeroed variables of this program, for the test below alone.
struct Variables(std::cell::UnsafeCell<[u8; 1 << 20]>);
// SAFETY: one test uses them.
unsafe impl Sync for Variables {}
static VARIABLES: Variables = Variables(std::cell::UnsafeCell::new([0; 1 << 20]));

#[test]
fn variables_become_shared_as_blocks_do_and_private_at_a_fork() {
    let mut pair = Pair::new(10);
    // SAFETY: as above.
    let mine = unsafe { &mut *VARIABLES.0.get() };
    let memory = mine.as_mut_ptr();
    fill(mine, 1);
    assert_eq!(pair.direct(memory, 1 << 20), None);
    let announced = pair.announced;
    let inside = |peers: &mut Peers| {
        let reach = peers.reach(0, announced.load(Ordering::Acquire), memory as u64, 1 << 20)?;
        assert!(reach.before < PAGE && reach.after < PAGE, "{reach:?}");
        let whole = reach.before..(1 << 20) - reach.after;
        Some((whole.clone(), read(reach.address.wrapping_add(whole.start), whole.len())))
    };
    pair.lend_often(mine);
    for seed in 2..4 {
        let (pages, theirs) = inside(&mut pair.peers).expect("shared by now");
        assert!(mine[pages] == *theirs, "the same contents");
        fill(mine, seed);
    }
    let copy = mine.to_vec();
    let owner = pair.owner;
    let whole = in_child(
        owner,
        || read(memory, 1 << 20) == copy,
        || {
            assert!(inside(&mut pair.peers).is_none(), "private again");
            fill(mine, 5);
            for _ in 0..30 {
                owner.lend(memory as usize, 1 << 20, 1);
            }
            assert!(inside(&mut pair.peers).is_none(), "the child still lives");
        },
    );
    assert!(whole, "the child has what was there at the fork");
    pair.lend_often(mine);
    let (pages, theirs) = inside(&mut pair.peers).expect("shared again");
    assert!(mine[pages] == *theirs, "the same contents");
    assert!(!owner.contains(memory as usize), "it is no block: free and realloc are not ours");
}

#[test]
fn pages_that_a_variable_has_not_to_itself_are_not_shared() {
    let pair = Pair::new(11);
    let variables = super::annex::of_program();
    let (annex, zeroed) = (variables.pages, variables.with_values * PAGE);
    assert!(annex.start.is_multiple_of(PAGE) && annex.end.is_multiple_of(PAGE) && annex.len() > 1 << 20);
    // SAFETY: an address only.
    assert!(annex.contains(&(VARIABLES.0.get() as usize)));
    assert_eq!(pair.owner.offset_of(annex.start - 1, 10), None);
    assert_eq!(pair.owner.offset_of(annex.end - 1, 2), None);
    assert!(pair.owner.offset_of(annex.end - 1, 1).is_some());
    let (with_a_value, zero) = (VALUES.0.get() as usize, VARIABLES.0.get() as usize);
    assert!(with_a_value < annex.start + zeroed && zero >= annex.start + zeroed - PAGE);
    for _ in 0..30 {
        pair.owner.lend(zero + 1, 2 * PAGE - 1, 1);
    }
    assert!(!pair.owner.is_shared(zero + 1, 1) && !pair.owner.is_shared(zero + 2 * PAGE - 1, 1));
}

#[test]
fn exposed_memory_stays_shared_at_a_fork_and_other_memory_does_not() {
    let mut pair = Pair::new(12);
    let shared = |bytes| pair.owner.allocate(bytes, 64, Birth::Shared).unwrap().address;
    let (exposed, other) = (shared(100_000), shared(50_000));
    let (owner, at) = (pair.owner, exposed as usize);
    let all = Opened::whole(at as u64, 100_000);
    // SAFETY: no peer copies through the kernel.
    unsafe {
        assert_eq!(owner.expose(at, 100_000, Children::MayShare), all);
        assert_eq!(
            owner.expose(at + 5000, 10, Children::MayShare),
            Opened::whole(at as u64 + 5000, 10),
            "once more, a part of it"
        );
        assert_eq!(owner.expose(at, 0, Children::MayShare), Opened::default());
    }
    let theirs = pair.direct(exposed, 100_000).unwrap();
    let child_saw = in_child(
        owner,
        || read(exposed, 100_000)[77] == 5,
        // SAFETY: a mapping of a window, which nobody else writes now.
        || unsafe { theirs.add(77).write(5) },
    );
    assert!(child_saw && read(exposed, 100_000)[77] == 5, "both see what a peer writes");
    assert_eq!(pair.direct(exposed, 100_000), Some(theirs));
    assert!(pair.direct(other, 50_000).is_none(), "private");
    // SAFETY: as above.
    unsafe { owner.unexpose(at, 100_000, all) };
    assert!(in_child(owner, || true, || ()));
    assert!(pair.direct(exposed, 100_000).is_none(), "private as all other memory");
    assert_eq!(
        pair.direct(exposed.wrapping_add(4096), 4096),
        Some(theirs.wrapping_add(4096)),
        "still exposed"
    );
}

/// Variables with values, which have their pages to themselves.
#[repr(align(4096))]
struct Values(std::cell::UnsafeCell<[u8; 3 * PAGE]>);
// SAFETY: one test uses them.
unsafe impl Sync for Values {}
static VALUES: Values = Values(std::cell::UnsafeCell::new([7; 3 * PAGE]));
static ZEROED: Values = Values(std::cell::UnsafeCell::new([0; 3 * PAGE]));

#[test]
fn adopted_variables_stay_in_their_place_and_are_a_childs_own() {
    let mut pair = Pair::new(14);
    let owner = pair.owner;
    for (values, first) in [(&VALUES, 7), (&ZEROED, 0)] {
        let mine = values.0.get().cast::<u8>();
        let at = mine as usize;
        let pages = layout::pages(
            owner.offset_of(at, 1).unwrap(),
            owner.offset_of(at + 3 * PAGE - 1, 1).unwrap() + 1,
        );
        // SAFETY: nobody else uses them.
        unsafe {
            mine.add(5).write(1);
            assert!(owner.adopt_in_place(pages.clone(), |_| true));
            assert!(owner.adopt_in_place(pages.clone(), |_| true), "once more");
        }
        let theirs = pair.direct(mine, 3 * PAGE).expect("shared");
        assert!(owner.lend(at, 3 * PAGE, 1), "messages have them as well");
        let whole = |bytes: &[u8]| bytes[5] == 1 && bytes[6..].iter().all(|&byte| byte == first);
        assert!(whole(read(theirs, 3 * PAGE)), "with their contents, written or not");
        let opened = Opened::whole(at as u64 + 9, 2 * PAGE as u64);
        for left in [1, 0] {
            let child_saw = in_child(
                owner,
                || whole(read(mine, 3 * PAGE)),
                // SAFETY: one memory, which nobody else uses.
                || unsafe { theirs.add(6).write(3) },
            );
            assert!(child_saw && read(mine, 9)[6] == 3, "the child has what was there at the fork");
            assert_eq!(pair.direct(mine, 3 * PAGE), Some(theirs), "a fork leaves it shared");
            // SAFETY: as above.
            unsafe {
                mine.add(6).write(first);
                owner.unexpose(at + 9, 2 * PAGE, opened);
            }
            assert_eq!(pair.direct(mine, 3 * PAGE), Some(theirs), "{left} exposures are left");
        }
        assert!(in_child(owner, || whole(read(mine, 3 * PAGE)), || ()));
        assert_eq!(pair.direct(mine, 3 * PAGE), None, "private as all other memory");
        assert!(whole(read(mine, 3 * PAGE)));
    }
}

#[test]
fn adopted_memory_is_a_block_for_peers_and_a_childs_own() {
    let mut pair = Pair::new(13);
    let owner = pair.owner;
    let pages_of_malloc = Box::leak(Box::new(Values(std::cell::UnsafeCell::new([7; 3 * PAGE]))));
    let mine = pages_of_malloc.0.get().cast::<u8>();
    let pages = mine as usize..mine as usize + 3 * PAGE;
    // SAFETY: nobody else uses them.
    let block = unsafe { owner.adopt_pages(&pages) }.expect("a block") as *mut u8;
    let theirs = pair.direct(block, 3 * PAGE).expect("shared");
    assert!(read(theirs, 3 * PAGE).iter().all(|&byte| byte == 7), "its contents are there");
    // SAFETY: all three are one memory, which nobody else uses.
    unsafe { (mine.add(5).write(1), theirs.add(6).write(2)) };
    assert_eq!((read(mine, 9)[6], read(theirs, 9)[5]), (2, 1));
    // SAFETY: as above.
    let (within, beyond) =
        unsafe { (owner.adopt(mine as usize + 5000, 10), owner.adopt(mine as usize + 2 * PAGE, PAGE + 1)) };
    assert_eq!(within, Some(block as usize + 5000), "once more, a part of it");
    assert_eq!(beyond, None, "only a part of that is adopted");
    let child_saw = in_child(
        owner,
        || read(mine, 9)[6] == 2,
        // SAFETY: as above.
        || unsafe { theirs.add(6).write(3) },
    );
    assert!(child_saw && read(mine, 9)[6] == 3, "the child has what was there at the fork");
    assert_eq!(pair.direct(block, 3 * PAGE), Some(theirs), "a fork leaves it shared");
    // SAFETY: as above.
    unsafe { owner.end_adoption_of(&(pages.start + PAGE..pages.start + 2 * PAGE), true) };
    assert_eq!(read(theirs, 9)[6], 3, "one exposure is left");
    for (alone, kept) in [(true, false), (false, true)] {
        // SAFETY: as above; nobody else uses the pages anyway.
        unsafe { owner.end_adoption_of(&pages, alone) };
        assert_eq!((read(mine, 9)[6], read(mine, 9)[7]), (3, 7), "the contents stay");
        // SAFETY: as above.
        let next = unsafe { owner.adopt_pages(&pages) }.expect("a block") as *mut u8;
        assert_eq!(next != block, kept, "the block is free again if nobody sees it");
        // SAFETY: as above.
        unsafe { pair.direct(next, 9).expect("shared").add(7).write(7) };
    }
}
