//! Which CPUs each rank may use.
//!
//! Promises: a rank never gets a CPU that the launcher was not allowed to use;
//! with more ranks than cores nobody is bound to a core.

use crate::system::topology::{self, Topology};

/// What to bind a rank to.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub enum Bind {
    /// To nothing: a rank keeps the CPUs of the launcher.
    #[default]
    None,
    /// To a core.
    Core,
    /// To a memory domain.
    Numa,
    /// To a socket.
    Socket,
}

/// In which order ranks are placed.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub enum Map {
    /// Neighbouring ranks beside one another.
    #[default]
    Close,
    /// Round the memory domains in turn.
    Numa,
    /// Round the sockets in turn.
    Socket,
}

impl Bind {
    /// Reads the value of `--bind-to` (Open MPI's modifiers behind `:` are dropped).
    ///
    /// # Errors
    /// A sentence that lists what is known.
    pub fn named(text: &str) -> Result<Bind, String> {
        match text.split(':').next().unwrap_or("") {
            "none" | "user" | "board" | "machine" => Ok(Bind::None),
            "core" | "hwthread" => Ok(Bind::Core),
            "numa" => Ok(Bind::Numa),
            "socket" | "package" => Ok(Bind::Socket),
            _ => Err(format!("--bind-to {text}: known are none, core, numa and socket")),
        }
    }
}

impl Map {
    /// Reads the value of `--map-by` (modifiers behind `:` are dropped).
    ///
    /// # Errors
    /// A sentence that lists what is known.
    pub fn named(text: &str) -> Result<Map, String> {
        match text.split(':').next().unwrap_or("") {
            "core" | "slot" | "node" | "hwthread" | "ppr" | "user" | "board" => Ok(Map::Close),
            "numa" => Ok(Map::Numa),
            "socket" | "package" => Ok(Map::Socket),
            _ => Err(format!("--map-by {text}: known are core, slot, node, numa and socket")),
        }
    }
}

/// The CPUs of each of `ranks` ranks; `None` where nobody is bound.
pub fn places(bind: Bind, map: Map, ranks: usize, topology: &Topology) -> Option<Vec<Vec<usize>>> {
    let domains = match bind {
        Bind::None => return None,
        Bind::Core if topology.cores.len() < ranks => return None,
        Bind::Core => ordered_cores(map, topology),
        Bind::Numa => topology.numa.clone(),
        Bind::Socket => topology.sockets.clone(),
    };
    let in_turn = bind == Bind::Core || map != Map::Close;
    let count = domains.len();
    let place = |rank: usize| if in_turn { rank % count } else { rank * count / ranks.max(count) };
    (count > 0).then(|| (0..ranks).map(|rank| domains[place(rank)].clone()).collect())
}

/// That ranks (of a host, if it is another) cannot be bound as the user wants it.
pub fn too_many(ranks: usize, host: Option<&str>) -> String {
    let where_ = host.map_or("here".to_owned(), |host| format!("on {host}"));
    format!(
        "serried: {ranks} ranks are more than the cores allowed {where_}, so no rank is bound to a core\n"
    )
}

/// Who is bound where, for `--report-bindings`.
pub fn report(places: Option<&[Vec<usize>]>, ranks: &[u32], host: Option<&str>) -> String {
    let on = host.map(|host| format!(" on {host}")).unwrap_or_default();
    match places {
        None => format!("serried: {} ranks{on}, none bound\n", ranks.len()),
        Some(places) => {
            let line = |(rank, place): (&u32, &Vec<usize>)| {
                format!("serried: rank {rank}{on} is bound to CPU {}\n", topology::list_text(place))
            };
            ranks.iter().zip(places).map(line).collect()
        }
    }
}

/// Cores in the order in which ranks take them.
fn ordered_cores(map: Map, topology: &Topology) -> Vec<Vec<usize>> {
    let groups = match map {
        Map::Close => return topology.cores.clone(),
        Map::Numa => &topology.numa,
        Map::Socket => &topology.sockets,
    };
    let mut queues: Vec<Vec<Vec<usize>>> = groups
        .iter()
        .map(|group| topology.cores.iter().rev().filter(|core| group.contains(&core[0])).cloned().collect())
        .collect();
    let mut order = Vec::new();
    while queues.iter().any(|queue| !queue.is_empty()) {
        order.extend(queues.iter_mut().filter_map(Vec::pop));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two cores of two hardware threads.
    fn machine() -> Topology {
        Topology {
            cores: vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]],
            numa: vec![vec![0, 1, 4, 5], vec![2, 3, 6, 7]],
            sockets: vec![vec![0, 1, 4, 5], vec![2, 3, 6, 7]],
        }
    }

    #[test]
    fn each_rank_has_a_core_of_its_own() {
        let places = places(Bind::Core, Map::Close, 3, &machine()).unwrap();
        assert_eq!(places, [vec![0, 4], vec![1, 5], vec![2, 6]]);
    }

    #[test]
    fn mapping_by_socket_goes_round_the_sockets() {
        let places = places(Bind::Core, Map::Socket, 3, &machine()).unwrap();
        assert_eq!(places, [vec![0, 4], vec![2, 6], vec![1, 5]]);
    }

    #[test]
    fn more_ranks_than_cores_are_not_bound() {
        assert_eq!(places(Bind::Core, Map::Close, 5, &machine()), None);
    }

    #[test]
    fn sockets_are_shared_evenly() {
        let sockets = |map| places(Bind::Socket, map, 4, &machine()).unwrap();
        let first = |places: Vec<Vec<usize>>| places.iter().map(|place| place[0]).collect::<Vec<_>>();
        assert_eq!(first(sockets(Map::Close)), [0, 0, 2, 2]);
        assert_eq!(first(sockets(Map::Socket)), [0, 2, 0, 2]);
    }
}
