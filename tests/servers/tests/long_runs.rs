//! Long runs of many nodes in one process, by chance; the same for the same seed.

use serried_servers::fabric::{Counts, Fabric, Run};
use serried_servers::random::Random;
use serried_servers::server::{Clusters, Grid, Settings};
use serried_servers::ways::Ways;

/// So many steps for each run: `SERVERS_STEPS=1000000`.
fn steps() -> u64 {
    std::env::var("SERVERS_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(20_000)
}

/// A run by a seed.
fn run(nodes: u32, seed: u64, deaths: (u64, u64)) -> Run {
    let mut random = Random::new(seed ^ 0xabcd);
    let mut up_to = |most: u64| 1 + random.below(most);
    let dimensions = up_to(5) as u32;
    let grid = if dimensions == 5 { Grid::hypercube(nodes) } else { Grid::fitting(nodes, dimensions) };
    let window = up_to(16) as u16;
    let settings = Settings {
        credits: up_to(4) as u8,
        window,
        untold: up_to(u64::from(window)) as u16,
        fetches: up_to(4) as u16,
    };
    Run { ways: Ways::Grid(grid), settings, ranks: up_to(3) as u32, deaths }
}

fn go(run: Run, seed: u64, steps: u64) -> Counts {
    let counts = Fabric::new(run.clone(), seed).go(steps);
    counts.unwrap_or_else(|violation| panic!("seed {seed}, {run:?}: {violation}"))
}

#[test]
fn nothing_is_lost_among_many_nodes() {
    for (number, nodes) in [64, 100, 365, 1000, 4096].into_iter().enumerate() {
        for seed in 0..2 {
            let counts = go(run(nodes, seed + 10 * number as u64, (0, 0)), seed, steps());
            assert_eq!(counts.asked, counts.done);
            println!("{nodes} nodes: {counts:?}");
        }
    }
}

#[test]
fn nothing_is_lost_in_clusters() {
    for (nodes, of, seed) in [(64, 8, 1), (100, 10, 2), (70, 1, 3), (365, 19, 4)] {
        let run = Run { ways: Ways::Clusters(Clusters { nodes, of }), ..run(nodes, seed, (0, 0)) };
        let counts = go(run, seed, steps());
        assert_eq!(counts.asked, counts.done);
    }
}

#[test]
fn ranks_may_die() {
    let mut inherited = 0;
    for seed in 0..20 {
        let nodes = [4, 9, 30, 64][seed as usize % 4];
        inherited += go(Run { ranks: 3, ..run(nodes, seed, (1, 0)) }, seed, steps() / 2).inherited;
    }
    assert!(inherited > 0, "no lock went on from one that died");
}

#[test]
fn nodes_may_die() {
    let (mut asked, mut done) = (0, 0);
    for seed in 0..40 {
        let nodes = [4, 9, 30, 64][seed as usize % 4];
        let counts = go(run(nodes, seed, (1, 1)), seed, steps() / 4);
        (asked, done) = (asked + counts.asked, done + counts.done);
    }
    assert!(done > asked / 2 && done < asked, "{done} of {asked} were done");
}

#[test]
fn a_seed_gives_the_same_run() {
    let counts = |seed| go(run(64, 7, (1, 1)), seed, steps() / 4);
    assert_eq!(counts(7), counts(7));
    assert_ne!(counts(7), counts(8));
}
