//! Seven wrong protocols, each of which the checker catches, on programs that the right one ends.

use serried_servers::checker;
use serried_servers::program::{Programs, Step};
use serried_servers::random::Random;
use serried_servers::server::{Grid, Settings};
use serried_servers::ways::Ways;
use serried_servers::world::{Order, Plan, Violation, World, Wrong};

const ALL_STATES: u64 = 1_000_000;

fn put(to: u32) -> Step {
    Step::Put { to, fetched: false }
}

fn square() -> Grid {
    Grid::new(4, &[2, 2])
}

fn plan(ways: Ways, programs: Programs, wrong: Wrong) -> Plan {
    // Where buffers are pooled, a request stays outside until one is free; answers must not be kept behind it.
    let order = if wrong.pooled.is_some() { Order::Direct } else { Order::All };
    let settings = Settings { credits: 1, window: 8, untold: 2, fetches: 8 };
    let nodes = programs.len() as u32;
    Plan { nodes, ways, settings, programs, order, wrong }
}

/// What the checker finds among all states. The right protocol goes right on the same programs.
fn caught(ways: Ways, programs: &Programs, wrong: Wrong) -> Option<Violation> {
    let right = Ways::Grid(ways.grid().expect("a grid").clone());
    let right = Plan { order: Order::Direct, ..plan(right, programs.clone(), Wrong::default()) };
    let found = checker::visit_reduced(World::new(right), ALL_STATES);
    assert!(found.violation.is_none() && !found.is_cut_off, "the right protocol: {:?}", found.violation);
    let found = checker::visit_all(World::new(plan(ways, programs.clone(), wrong)), ALL_STATES);
    found.violation.map(|(violation, _)| violation)
}

fn assert_stuck(violation: Option<Violation>) {
    let violation = violation.expect("it was not caught");
    assert!(violation.contains("waits for ever") || violation.contains("something left"), "{violation}");
}

/// Each node has something for the one across.
fn across(times: usize) -> Programs {
    (0..4).map(|node| vec![vec![put(3 - node); times]]).collect()
}

#[test]
fn one_class_for_all_with_pooled_buffers() {
    let wrong = Wrong { pooled: Some((1, false)), ..Wrong::default() };
    assert_stuck(caught(Ways::Grid(square()), &across(2), wrong));
}

#[test]
fn an_order_of_dimensions_free_for_each_request() {
    // Second steps correct the highest dimension first, so all go round the square in one direction.
    let mut programs = across(1);
    programs[1][0].insert(0, Step::Get { from: 3 });
    programs[2][0].insert(0, Step::Get { from: 0 });
    assert_stuck(caught(Ways::FreeOrder(square()), &programs, Wrong::default()));
}

#[test]
fn pooled_classes_with_the_highest_dimension_first_around_a_hole() {
    let grid = Grid::new(10, &[2, 2, 3]);
    let wrong = Wrong { pooled: Some((1, true)), ..Wrong::default() };
    // A circle of two requests that go around the hole (from 8 and 9) and four that do not.
    let mut programs: Programs = vec![vec![vec![]]; 10];
    for (from, to) in [(8, 3), (2, 5), (3, 5), (9, 6), (7, 0), (6, 0)] {
        programs[from] = vec![vec![put(to); 3]];
    }
    let walk =
        |ways: Ways, seed| World::new(plan(ways, programs.clone(), wrong)).walk(&mut Random::new(seed)).err();
    let stuck = (0..300).filter_map(|seed| {
        assert_eq!(walk(Ways::Grid(grid.clone()), seed), None, "pooled classes, lowest dimension first");
        walk(Ways::HighestFirstAroundHoles(grid.clone()), seed)
    });
    let mut stuck = stuck.collect::<Vec<_>>();
    println!("{} of 300 get stuck", stuck.len());
    assert_stuck(stuck.pop());
}

#[test]
fn answers_that_need_a_buffer_of_a_request() {
    let wrong = Wrong { answers_need_buffers: true, ..Wrong::default() };
    let programs: Programs = vec![vec![vec![Step::StartGet { from: 2 }]], vec![vec![put(2)]], vec![], vec![]];
    assert_stuck(caught(Ways::Grid(square()), &programs, wrong));
}

#[test]
fn locks_that_are_waited_for_in_a_buffer() {
    let wrong = Wrong { locks_wait_in_buffers: true, ..Wrong::default() };
    let lock = vec![Step::Lock { of: 2, shared: false }, Step::Unlock { of: 2, shared: false }];
    let programs: Programs = vec![vec![lock.clone()], vec![lock], vec![], vec![]];
    assert_stuck(caught(Ways::Grid(square()), &programs, wrong));
}

#[test]
fn credits_that_are_given_back_twice() {
    let wrong = Wrong { credits_twice: true, ..Wrong::default() };
    let violation = caught(Ways::Grid(square()), &across(1), wrong).expect("it was not caught");
    assert!(violation.contains("credits"), "{violation}");
}

#[test]
fn fences_by_another_way() {
    let programs: Programs = vec![vec![vec![put(3), Step::Fence { of: 3 }]], vec![], vec![], vec![]];
    let violation =
        caught(Ways::FenceAside(square()), &programs, Wrong::default()).expect("it was not caught");
    assert!(violation.contains("fence"), "{violation}");
}
