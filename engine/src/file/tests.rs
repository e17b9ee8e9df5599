//! Collective and independent access of several ranks, as threads over the memory driver, against a model.

use super::file_in_memory::Memory;
use super::opened::File;
use super::team::{Loan, Shared, Team};
use super::watched::Watched;
use super::{hints::Hints, Items, Mode, Place, Representation, Whence};
use crate::datatype::{Basic, Datatype};
use crate::world::{Communicator, Info};
use crate::Result;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};

/// What the members of a team of threads share.
struct Room {
    size: u32,
    barrier: Barrier,
    words: Mutex<Vec<Vec<u64>>>,
    bytes: Mutex<Vec<Vec<Vec<u8>>>>,
    shared: Arc<AtomicU64>,
    /// Every so many times a member cannot reach the memory of another; 0: always reaches it.
    refuses: u64,
    asked: AtomicU64,
    /// Ranks of a node.
    node: u32,
}

/// A member: a thread.
struct Member {
    rank: u32,
    room: Arc<Room>,
}

/// A word of which a member knows only what it was when it changed it last.
struct LateWord {
    word: Arc<AtomicU64>,
    known: AtomicU64,
}

impl Shared for LateWord {
    fn guess(&self) -> u64 {
        self.known.load(SeqCst)
    }

    fn swap(&self, expected: u64, new: u64) -> Result<u64> {
        let was = self.word.compare_exchange(expected, new, SeqCst, SeqCst).unwrap_or_else(|found| found);
        self.known.store(if was == expected { new } else { was }, SeqCst);
        Ok(was)
    }

    fn give_back(&self) -> Result<()> {
        Ok(())
    }
}

struct Lent(Box<[u64]>);

impl Loan for Lent {
    fn address(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut().cast()
    }
}

impl Team for Member {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.room.size
    }

    unsafe fn fill(&self, _: u32, (address, _): (u64, u64), fill: &mut dyn FnMut(*mut u8)) -> bool {
        let asked = self.room.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        if self.room.refuses != 0 && asked.is_multiple_of(self.room.refuses) {
            return false;
        }
        fill(address as *mut u8);
        true
    }

    fn find(&self, _: u32, (address, _): (u64, u64)) -> Option<*const u8> {
        Some(address as *const u8)
    }

    fn gather(&self, words: &[u64]) -> Result<Vec<u64>> {
        self.room.words.lock().unwrap()[self.rank as usize] = words.to_vec();
        self.room.barrier.wait();
        let all = self.room.words.lock().unwrap().concat();
        self.room.barrier.wait();
        Ok(all)
    }

    fn tell(&self, root: u32, words: &mut [u64]) -> Result<()> {
        let all = self.gather(words)?;
        words.copy_from_slice(&all[root as usize * words.len()..][..words.len()]);
        Ok(())
    }

    fn meet(&self) -> Result<()> {
        self.room.barrier.wait();
        Ok(())
    }

    fn exchange(&self, bytes: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        self.room.bytes.lock().unwrap()[self.rank as usize] = bytes.to_vec();
        self.room.barrier.wait();
        let all = self.room.bytes.lock().unwrap().clone();
        self.room.barrier.wait();
        Ok(all.into_iter().map(|mut from| from.swap_remove(self.rank as usize)).collect())
    }

    fn share(&self) -> Result<Option<Box<dyn Shared>>> {
        Ok(Some(Box::new(LateWord { word: self.room.shared.clone(), known: AtomicU64::new(7) })))
    }

    fn loan(&self, bytes: usize) -> Option<Box<dyn Loan>> {
        Some(Box::new(Lent(vec![0; bytes.div_ceil(8)].into_boxed_slice())))
    }

    fn leaders(&self) -> Vec<u32> {
        (0..self.room.size).filter(|rank| rank % self.room.node == 0).collect()
    }
}

fn watched(driver: Memory) -> Watched {
    Watched::new(Box::new(driver), Box::leak(Box::default()))
}

/// Runs `body` at each of `size` ranks, with a file that all have open.
fn at_each(size: u32, refuses: u64, hints: &[(&str, &str)], body: impl Fn(&Member, &File) + Sync) -> Vec<u8> {
    let room = Arc::new(Room {
        size,
        barrier: Barrier::new(size as usize),
        words: Mutex::new(vec![Vec::new(); size as usize]),
        bytes: Mutex::new(vec![Vec::new(); size as usize]),
        shared: Arc::default(),
        refuses,
        asked: AtomicU64::new(0),
        node: hints.iter().find(|(key, _)| *key == "node").map_or(size, |(_, ranks)| ranks.parse().unwrap()),
    });
    let contents = Memory::default();
    let info = Info::default();
    hints.iter().for_each(|(key, value)| info.set(key, value).unwrap());
    std::thread::scope(|scope| {
        for rank in 0..size {
            let (member, driver) = (Member { rank, room: room.clone() }, contents.another(rank as usize));
            let (body, info) = (&body, &info);
            scope.spawn(move || {
                let mode = Mode { read_write: true, ..Mode::default() };
                let world = Arc::new(Communicator::world(rank, size));
                let shared = member.share().unwrap();
                let file = File::new("model", mode, world, watched(driver), (shared, Hints::new(Some(info))));
                // The others wait for a rank that has failed.
                let done = catch_unwind(AssertUnwindSafe(|| {
                    body(&member, &file);
                    member.meet().unwrap();
                }));
                done.unwrap_or_else(|_| std::process::abort());
            });
        }
    });
    contents.bytes()
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

fn items(bytes: &[u8], datatype: &Arc<Datatype>) -> Items {
    let count = bytes.len() as u64 / datatype.extent() as u64;
    Items { address: bytes.as_ptr().cast_mut(), count, datatype: datatype.clone() }
}

/// A tile in which each byte belongs to one rank, or to none: the places of each rank.
fn dealt(random: &mut Random, size: u32) -> (Vec<Vec<(i64, i64)>>, i64) {
    let (mut places, mut at) = (vec![Vec::new(); size as usize], 0);
    for _ in 0..1 + random.below(4 * u64::from(size)) {
        let length = 1 + random.below(9) as i64;
        let owners = u64::from(size) + u64::from(random.below(3) == 0);
        let owner = random.below(owners) as usize;
        if let Some(places) = places.get_mut(owner) {
            places.push((at, length));
        }
        at += length;
    }
    // Nobody has nothing.
    for places in places.iter_mut().filter(|places| places.is_empty()) {
        places.push((at, 2));
        at += 2;
    }
    (places, at)
}

/// A write and two reads.
const OPERATIONS_OF_A_ROUND: u64 = 3;

/// One round: each rank writes its bytes of a random view, from memory with or without gaps; all compare.
fn round(seed: u64, size: u32, refuses: u64, node: &str) {
    let mut random = Random(seed);
    let (places, extent) = dealt(&mut random, size);
    let displacement = random.below(300);
    let tiles = if random.below(3) == 0 { 1 } else { 1 + random.below(300) };
    let window = if random.below(2) == 0 { "4096" } else { "1048576" };
    let collective = random.below(4) != 0;
    let gaps = random.below(2) == 0;
    let byte = Datatype::shared(Basic::Byte);
    let value = |rank: u32, index: u64| (seed as u32 + rank * 37 + index as u32 * 11 + 1) as u8;
    let unit = ["1000", "4096", "300000"][random.below(3) as usize];
    let servers = ["1", "3", "8"][random.below(3) as usize];
    let striped = [("striping_unit", unit), ("striping_factor", servers)];
    let hints =
        [("cb_buffer_size", window), ("node", node), ("cb_nodes", ["1", "99"][random.below(2) as usize])];
    let hints = [&hints[..], &striped[..2 * random.below(2) as usize]].concat();
    let found = at_each(size, refuses, &hints, |member, file| {
        let mine = &places[member.rank as usize];
        let (at, lengths): (Vec<i64>, Vec<i64>) = mine.iter().copied().unzip();
        let tile = Datatype::hindexed(&lengths, &at, byte).unwrap();
        // One tile alone needs no bounds: its extent is what it has data in.
        let tile = if tiles == 1 { tile } else { Datatype::resized(0, extent, &tile).unwrap() };
        file.set_view(member, (byte, &tile), Ok((Some(displacement), Representation::Native))).unwrap();
        let bytes = tile.size() * tiles;
        let stride = if gaps { 3 } else { 1 };
        let one = Datatype::resized(0, stride as i64, byte).unwrap();
        let mut memory = vec![0u8; bytes as usize * stride];
        (0..bytes).for_each(|index| memory[index as usize * stride] = value(member.rank, index));
        let written = match collective {
            true => file.write_all(member, Place::Individual, &items(&memory, &one)),
            false => file.write(Place::At(0), &items(&memory, &one)),
        };
        assert_eq!(written.unwrap(), bytes);
        member.meet().unwrap();
        let mut back = vec![0u8; memory.len()];
        let read = match collective {
            true => file.read_all(member, Place::At(0), &items(&back, &one)),
            false => file.read(Place::At(0), &items(&back, &one)),
        };
        assert_eq!(read.unwrap(), bytes);
        assert!(back == memory, "rank {} reads what it has written", member.rank);
        // The last etypes, and beyond the end of what all have written.
        back.fill(0);
        let tail = file
            .read(Place::At(bytes as i64 - 1), &items(&back[..back.len().min(2 * stride)], &one))
            .unwrap();
        assert!(tail >= 1 && back[0] == value(member.rank, bytes - 1));
    });
    let mut wanted = vec![0u8; found.len()];
    for (rank, places) in places.iter().enumerate() {
        let mut index = 0;
        for tile in 0..tiles {
            for &(at, length) in places {
                for inside in 0..length {
                    let offset = displacement + tile * extent as u64 + (at + inside) as u64;
                    wanted[offset as usize] = value(rank as u32, index);
                    index += 1;
                }
            }
        }
    }
    assert!(found == wanted, "seed {seed}: the file is not what the ranks have written");
}

#[test]
fn random_views_of_several_ranks_write_and_read_what_a_model_says() {
    for seed in 0..300 {
        round(seed, 1 + (seed % 5) as u32, 0, "8");
    }
}

#[test]
fn a_rank_that_cannot_reach_the_windows_writes_by_itself() {
    for seed in 0..60 {
        round(seed, 3, 2 + seed % 5, "3");
    }
}

#[test]
fn ranks_of_several_nodes_write_by_messages() {
    for seed in 1000..1100 {
        round(seed, 2 + (seed % 4) as u32, 0, "2");
    }
}

/// The long form: `RANDOM_OPERATIONS` operations of ranks from the seed `RANDOM_SEED` on (`tests/files/random --memory`).
#[test]
#[ignore = "as long as one likes"]
fn long_run_of_random_rounds() {
    let number = |name, otherwise| {
        std::env::var(name).map_or(otherwise, |text: String| text.parse::<u64>().expect("a number"))
    };
    let (operations, first) = (number("RANDOM_OPERATIONS", 1_000_000), number("RANDOM_SEED", 1) << 32);
    let (mut done, mut seed) = (0, first);
    while done < operations {
        let size = 1 + (seed % 7) as u32;
        let refuses = if seed % 11 == 0 { 2 + seed % 5 } else { 0 };
        round(seed, size, refuses, ["8", "3", "2", "1"][(seed / 7 % 4) as usize]);
        done += OPERATIONS_OF_A_ROUND * u64::from(size);
        seed += 1;
    }
    println!("{done} operations of ranks in {} rounds: nothing differs", seed - first);
}

#[test]
fn shared_pointers_lose_nothing_and_order_is_kept() {
    let byte = Datatype::shared(Basic::Byte);
    let found = at_each(4, 0, &[], |member, file| {
        for _ in 0..100 {
            file.write(Place::Shared, &items(&[b'a' + member.rank as u8; 3], byte)).unwrap();
        }
        member.meet().unwrap();
        let text = vec![b'0' + member.rank as u8; member.rank as usize + 1];
        file.write_ordered(member, &items(&text, byte)).unwrap();
        assert_eq!(file.shared_position().unwrap(), 1210);
        file.seek_shared(member, -10, Ok(Whence::End)).unwrap();
        let mut back = text.clone();
        back.fill(0);
        assert_eq!(file.read_ordered(member, &items(&back, byte)).unwrap(), text.len() as u64);
        assert_eq!(back, text);
        file.set_view(member, (byte, byte), Ok((Some(5), Representation::Native))).unwrap();
        assert_eq!(file.shared_position().unwrap(), 0, "a view begins anew");
    });
    assert_eq!(&found[1200..], b"0112223333");
    for letter in b"abcd" {
        assert_eq!(found.iter().filter(|&found| found == letter).count(), 300);
    }
}

#[test]
fn atomic_writes_that_overlap_do_not_mix() {
    let byte = Datatype::shared(Basic::Byte);
    at_each(4, 0, &[], |member, file| {
        file.set_atomicity(member, true).unwrap();
        let tile = Datatype::resized(0, 2, byte).unwrap();
        file.set_view(member, (byte, &tile), Ok((Some(0), Representation::Native))).unwrap();
        for turn in 0..50 {
            let mine = vec![member.rank as u8 * 60 + turn; 500];
            file.write_all(member, Place::At(0), &items(&mine, byte)).unwrap();
            let back = vec![0u8; 500];
            file.read(Place::At(0), &items(&back, byte)).unwrap();
            assert!(back.iter().all(|&other| other == back[0]), "a write was seen in part");
        }
    });
}

#[test]
fn external32_is_big_endian_and_counts_whole_items() {
    let int = Datatype::shared(Basic::Int32);
    let found = at_each(1, 0, &[], |member, file| {
        file.set_view(member, (int, int), Ok((Some(0), Representation::External32))).unwrap();
        let numbers: Vec<u8> = (0..1000i32).flat_map(|number| number.to_ne_bytes()).collect();
        assert_eq!(file.write(Place::At(1), &items(&numbers, int)).unwrap(), 4000);
        let back = vec![0u8; 4000];
        assert_eq!(file.read(Place::At(501), &items(&back, int)).unwrap(), 2000);
        assert_eq!(back[..2000], numbers[2000..]);
    });
    assert_eq!((&found[4..8], &found[12..16], found.len()), (&[0u8; 4][..], &[0, 0, 0, 2][..], 4004));
}
