//! Small worlds with one credit for each link, in every interleaving.

use serried_servers::checker;
use serried_servers::program::{self, Programs, Step};
use serried_servers::random::Random;
use serried_servers::server::{Grid, Settings, Topology};
use serried_servers::ways::Ways;
use serried_servers::world::{Order, Plan, World, Wrong};

const ALL_STATES: u64 = 3_000_000;

fn world(ways: Ways, programs: Programs, order: Order) -> World {
    // Counts that wait for company would be told sooner or later, as it happens: all ends are alike without.
    let untold = if order == Order::All { 2 } else { 1 };
    let settings = Settings { credits: 1, window: 8, untold, fetches: 8 };
    let nodes = programs.len() as u32;
    World::new(Plan { nodes, ways, settings, programs, order, wrong: Wrong::default() })
}

fn small_grids() -> [(&'static str, Grid); 4] {
    [
        ("2 x 2", Grid::new(4, &[2, 2])),
        ("2 x 3 with a hole", Grid::new(5, &[2, 3])),
        ("2 x 2 x 2", Grid::new(8, &[2, 2, 2])),
        ("2 x 2 x 3 with two holes", Grid::new(10, &[2, 2, 3])),
    ]
}

fn put(to: u32) -> Step {
    Step::Put { to, fetched: false }
}

/// Programs that make nodes wait for each other as much as can be.
fn crossing(nodes: u32) -> Vec<Programs> {
    let all = |program: &dyn Fn(u32) -> Vec<Step>| (0..nodes).map(|node| vec![program(node)]).collect();
    let other = |node: u32, by: u32| (node + by) % nodes;
    let mirror = |node: u32| if 2 * node + 1 == nodes { 0 } else { nodes - 1 - node };
    let hot = |node: u32| if node == 0 { nodes - 1 } else { 0 };
    vec![
        all(&|node| vec![put(mirror(node)), put(mirror(node)), Step::Fence { of: mirror(node) }]),
        all(&|node| vec![put(other(node, nodes / 2)), put(other(node, 1 + nodes / 2)), put(other(node, 1))]),
        all(&|node| vec![put(hot(node)), Step::Get { from: hot(node) }]),
        all(&|node| {
            vec![Step::Put { to: hot(node), fetched: true }, Step::StartGet { from: other(node, 1) }]
        }),
    ]
}

#[test]
fn crossing_requests_end_in_every_interleaving() {
    for (name, grid) in small_grids() {
        for (number, programs) in crossing(grid.nodes()).into_iter().enumerate() {
            let found =
                checker::visit_reduced(world(Ways::Grid(grid.clone()), programs, Order::Direct), ALL_STATES);
            assert_eq!(found.violation, None, "{name}, programs {number}");
            assert!(!found.is_cut_off, "{name}, programs {number}: more than {ALL_STATES} states");
        }
    }
}

#[test]
fn programs_by_chance_end_in_every_interleaving() {
    let mut states = 0;
    for (name, grid) in small_grids() {
        for seed in 0..programs_of_each() {
            let mut random = Random::new(seed);
            let programs = program::by_chance(&mut random, grid.nodes(), 2, 3);
            let world = world(Ways::Grid(grid.clone()), programs.clone(), Order::Direct);
            let found = checker::visit_reduced(world, ALL_STATES);
            assert_eq!(found.violation, None, "{name}, seed {seed}: {programs:?}");
            assert!(!found.is_cut_off, "{name}, seed {seed}: more than {ALL_STATES} states");
            states += found.states;
        }
    }
    println!("{states} states");
}

/// More of them: `SERVERS_PROGRAMS=1000`.
fn programs_of_each() -> u64 {
    std::env::var("SERVERS_PROGRAMS").ok().and_then(|number| number.parse().ok()).unwrap_or(40)
}

#[test]
fn all_messages_may_take_time() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let mut programs = program::by_chance(&mut random, 4, 1, 2);
        programs[(seed % 4) as usize] = vec![vec![]];
        let world = world(Ways::Grid(Grid::new(4, &[2, 2])), programs.clone(), Order::All);
        let found = checker::visit_all(world, ALL_STATES);
        assert_eq!(found.violation, None, "seed {seed}: {programs:?}");
        assert!(!found.is_cut_off, "seed {seed}: more than {ALL_STATES} states");
        println!("{} states", found.states);
    }
}

#[test]
fn what_is_left_out_makes_no_difference() {
    let mut stuck = 0;
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let grid = Grid::new(4, &[2, 2]);
        let programs = program::by_chance(&mut random, 4, 1, 2);
        let right = || world(Ways::Grid(grid.clone()), programs.clone(), Order::Direct);
        let (all, reduced) =
            (checker::visit_all(right(), ALL_STATES), checker::visit_reduced(right(), ALL_STATES));
        assert!(
            !all.is_cut_off && all.ends == reduced.ends && reduced.states <= all.states,
            "seed {seed}: {} and {} ends, {programs:?}",
            all.ends.len(),
            reduced.ends.len()
        );
        let programs = program::by_chance(&mut random, 4, 2, 0);
        let wrong = || world(Ways::FreeOrder(grid.clone()), programs.clone(), Order::Direct);
        let (all, reduced) =
            (checker::visit_all(wrong(), ALL_STATES), checker::visit_reduced(wrong(), ALL_STATES));
        assert_eq!(all.violation.is_some(), reduced.violation.is_some(), "seed {seed}: {programs:?}");
        stuck += u32::from(all.violation.is_some());
    }
    assert!(stuck > 0, "no program got stuck by a wrong way, so nothing was compared");
    println!("{stuck} of 30 get stuck");
}
