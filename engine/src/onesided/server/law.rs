//! The law of a server's memory, and the grid that keeps to a budget.
//!
//! A link is `c` buffers of `B` bytes, and a server has as many links as neighbours: `c · B · Σ(g − 1)` bytes at most,
//! whatever all nodes do at once. What else it needs does not grow with the job. `docs/scale.md` compares this with
//! what is measured.

use super::{Clusters, Grid, Settings};

/// Bytes that the buffers of a server may take, unless somebody asks for another budget.
pub const BUDGET: u64 = 8 << 20;

/// The most bytes that a server's buffers take in a grid.
pub fn of_grid(grid: &Grid, settings: &Settings, buffer_bytes: u64) -> u64 {
    u64::from(settings.credits) * buffer_bytes * grid.links()
}

/// The same in clusters: buffers of all processes that send to this member, and those of the others of its cluster.
pub fn of_clusters(clusters: &Clusters, ranks_of_node: u32, settings: &Settings, buffer_bytes: u64) -> u64 {
    let processes = u64::from(clusters.nodes - 1) * u64::from(ranks_of_node);
    let senders = processes.div_ceil(u64::from(clusters.of)) + u64::from(clusters.of) - 1;
    u64::from(settings.credits) * buffer_bytes * senders
}

/// The grid of the fewest dimensions whose buffers keep to a budget; a hypercube if none does.
pub fn grid_within(nodes: u32, budget: u64, settings: &Settings, buffer_bytes: u64) -> Grid {
    let mut grids = (1..=8).map(|dimensions| Grid::fitting(nodes, dimensions));
    let fits = |grid: &Grid| of_grid(grid, settings, buffer_bytes) <= budget;
    grids.find(fits).unwrap_or_else(|| Grid::hypercube(nodes))
}

/// The most credits of a link, however few nodes there are.
const MOST_CREDITS: u64 = 16;

/// What the servers of a grid have in common: as many credits as keep to a budget, and no fewer than the default ones.
/// With few nodes many requests are under way at once.
pub fn settings_within(grid: &Grid, budget: u64, buffer_bytes: u64) -> Settings {
    let least = Settings::default();
    let credits = budget / (buffer_bytes * grid.links().max(1));
    Settings { credits: credits.clamp(u64::from(least.credits), MOST_CREDITS) as u8, ..least }
}

/// The most nodes of a full grid of so many dimensions whose buffers keep to a budget.
pub fn most_nodes(dimensions: u32, budget: u64, settings: &Settings, buffer_bytes: u64) -> u64 {
    let links = budget / (u64::from(settings.credits) * buffer_bytes);
    let (short, longer) = (1 + links / u64::from(dimensions), (links % u64::from(dimensions)) as u32);
    short.saturating_pow(dimensions - longer).saturating_mul((short + 1).saturating_pow(longer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_chooses_the_fewest_dimensions() {
        let within = |nodes| grid_within(nodes, BUDGET, &Settings::default(), 16 << 10).extents().len();
        assert_eq!([within(1), within(2), within(250), within(16_000), within(1_000_000)], [1, 1, 1, 2, 4]);
        for dimensions in 1..=3 {
            let most = most_nodes(dimensions, BUDGET, &Settings::default(), 16 << 10) as u32;
            assert_eq!([within(most), within(most + 1)], [dimensions as usize, dimensions as usize + 1]);
        }
        assert_eq!(grid_within(1000, 0, &Settings::default(), 1).extents().len(), 10);
    }

    #[test]
    fn few_nodes_have_more_credits() {
        let credits = |nodes| {
            let grid = grid_within(nodes, BUDGET, &Settings::default(), 32 << 10);
            let settings = settings_within(&grid, BUDGET, 32 << 10);
            assert!(settings.credits == 2 || of_grid(&grid, &settings, 32 << 10) <= BUDGET);
            settings.credits
        };
        assert_eq!([credits(1), credits(2), credits(17), credits(33), credits(129)], [16, 16, 16, 8, 2]);
        assert!(credits(16_000) >= 2 && credits(1_000_000) == 2);
    }

    #[test]
    fn the_laws_are_those_of_the_tables() {
        let settings = Settings::default();
        let grid = |nodes, k| of_grid(&Grid::fitting(nodes, k), &settings, 16 << 10);
        assert_eq!([grid(800, 1), grid(800, 2), grid(800, 3)], [799 * 32768, 55 * 32768, 25 * 32768]);
        let before = of_clusters(&Clusters { nodes: 800, of: 1 }, 12, &settings, 16 << 10);
        assert_eq!(before, 9588 * 32768);
        let after = of_clusters(&Clusters { nodes: 800, of: 28 }, 12, &settings, 16 << 10);
        assert_eq!(after, (343 + 27) * 32768);
    }
}
