//! Allgathers and alltoalls of two members.

use super::offer::{epochs, settle};
use super::reduction::{doubles, numbers, placed};
use super::*;
use crate::collective::node::copying::push_or_pull::{EVERY, TIMES};

#[test]
fn whoever_lends_its_block_both_get_both_in_their_places() {
    at_seats(2, |seat, by| {
        settle(seat, by);
        for round in 0..240 {
            // Each of the four bits in turn: who lends, whether the blocks are in place, and whether slots
            // have room.
            let is = |bit: u32| round >> bit & 1 == 1;
            let (in_place, is_long) = (is(2), is(3));
            let count = if is_long { 513 + 31 * round } else { 257 + round };
            let blocks = [0, 1].map(|rank| numbers(rank, count));
            let plain = if is(seat.rank) { Reachable::All } else { Reachable::Nothing };
            let (mut room, mut all) = (Vec::new(), vec![0f64; 2 * count]);
            let send = match in_place {
                true => {
                    all[seat.rank as usize * count..][..count].copy_from_slice(&blocks[seat.rank as usize]);
                    None
                }
                false => Some(placed(seat, by, &mut room, &blocks[seat.rank as usize], plain)),
            };
            let receive = Data { count: count as u64, ..doubles(&mut all) };
            let before = seat.epochs();
            let operation = Operation::Allgather { send, receive };
            assert!(fits(seat, &operation));
            run(seat, &operation, by).unwrap();
            if !in_place {
                // From 8 KiB on it takes two as well where both put their blocks.
                let least = epochs(is(0) || is(1), is_long, count, (seat, by));
                let most = if count < 1024 { least } else { 2 };
                assert!((least..=most).contains(&(seat.epochs() - before)), "round {round}");
            }
            assert!(all.iter().eq(blocks.iter().flatten()), "round {round}, rank {}", seat.rank);
        }
    });
}

/// The numbers that a member has for another, or for itself.
fn block(from: u32, to: u32, count: usize) -> Vec<f64> {
    numbers(10 * from + to, count)
}

#[test]
fn an_alltoall_of_two_in_place_or_not_with_gaps_or_without() {
    at_seats(2, |seat, by| {
        settle(seat, by);
        for round in 0..600 {
            let in_place = round % 5 == 0;
            let count = 100 + 37 * (round * 7 % 180);
            let mine = [0, 1].map(|to| block(seat.rank, to, count)).concat();
            let theirs = [0, 1].map(|from| block(from, seat.rank, count)).concat();
            // Every other number is a gap, at either side or at both.
            let strided =
                |gaps: bool| Datatype::vector(count as i64, 1, 1 + i64::from(gaps), &double()).unwrap();
            let gaps = [round % 3 == 1, (round + seat.rank as usize) % 4 == 1];
            let mut rooms = gaps.map(|gaps| vec![-1f64; 2 * (count << usize::from(gaps))]);
            let types = gaps.map(|gaps| {
                let extent = 8 * (count << usize::from(gaps)) as i64;
                Datatype::resized(0, extent, &strided(gaps)).unwrap()
            });
            let filled = usize::from(in_place);
            for (place, number) in rooms[filled].iter_mut().step_by(1 << usize::from(gaps[filled])).zip(&mine)
            {
                *place = *number;
            }
            let [send, receive] =
                [0, 1].map(|side| Data::new(rooms[side].as_mut_ptr().cast(), 0, 1, &types[side]).unwrap());
            let operation = Operation::Alltoall { send: (!in_place).then_some(send), receive };
            assert!(fits(seat, &operation));
            run(seat, &operation, by).unwrap();
            let came = rooms[1].iter().step_by(1 << usize::from(gaps[1]));
            assert!(came.eq(&theirs), "round {round}, rank {}", seat.rank);
            let between = rooms[1].iter().skip(1).step_by(2);
            assert!(!gaps[1] || between.copied().all(|number| number == -1.0));
        }
    });
}

fn double() -> Arc<Datatype> {
    Datatype::basic(Basic::Float64)
}

/// Memory for two blocks of so many numbers; the place of the other's is within reach of the other as `plain` says.
fn results<'a>(
    seat: &Member,
    by: &Sleeper,
    room: &'a mut Vec<f64>,
    count: usize,
    plain: Reachable,
) -> &'a mut [f64] {
    room.resize(2 * count + 8, 0.0);
    let theirs = (1 - seat.rank as usize) * count;
    let reached =
        |at: &usize| by.lend(seat, (room[at + theirs..].as_ptr().cast(), 8 * count as u64), 1) == plain;
    let first = [0, 2, 4, 6].into_iter().find(reached).unwrap();
    &mut room[first..][..2 * count]
}

#[test]
fn blocks_are_put_if_both_can_and_taken_if_not() {
    for closed in [None, Some(0), Some(1)] {
        at_seats(2, |seat, by| {
            settle(seat, by);
            let count = 2048;
            let blocks = [0, 1].map(|rank| numbers(rank, count));
            let (mut room, mut all) = (Vec::new(), Vec::new());
            let plain = if closed == Some(seat.rank) { Reachable::Nothing } else { Reachable::All };
            for round in 0..2 * EVERY {
                let send = placed(seat, by, &mut room, &blocks[seat.rank as usize], Reachable::All);
                let all = results(seat, by, &mut all, count, plain);
                all.fill(0.0);
                let receive = Data { count: count as u64, ..doubles(all) };
                run(seat, &Operation::Allgather { send: Some(send), receive }, by).unwrap();
                assert!(all.iter().eq(blocks.iter().flatten()), "round {round}, rank {}", seat.rank);
            }
            match closed {
                None => assert!(by.writes.get() >= 2 * TIMES as usize),
                Some(_) => assert_eq!(by.writes.get(), 0),
            }
        });
    }
}

#[test]
fn two_that_disagree_about_their_blocks_both_hear_of_it_and_go_on() {
    at_seats(2, |seat, by| {
        settle(seat, by);
        let (mut send, mut all) = (numbers(seat.rank, 8000), vec![0f64; 8000]);
        let counts = [[10, 20], [100, 3000], [3000, 100], [600, 4000], [2000, 3000], [1200, 100]];
        for (round, counts) in counts.repeat(40).into_iter().enumerate() {
            let agreed = round / 6 % 3 == 0;
            let count = counts[if agreed { 0 } else { seat.rank as usize }];
            let (send, receive) = (doubles(&mut send[..count]), doubles(&mut all[..count]));
            let operation = match round / 18 % 2 == 0 {
                true => Operation::Allgather { send: Some(send), receive },
                false => {
                    let half = count as u64 / 2;
                    let [send, receive] = [send, receive].map(|data| Data { count: half, ..data });
                    Operation::Alltoall { send: Some(send), receive }
                }
            };
            let done = run(seat, &operation, by).map_err(|error| error.class());
            assert_eq!(done, if agreed { Ok(()) } else { Err(Class::Truncate) }, "round {round}");
        }
    });
}
