//! The way to each rank of the job: the engine asks for it and goes to the transport that it names.

use crate::{JobRank, LocalRank};
use std::fmt::{Debug, Display};

/// How a transport names the ranks that it reaches: a node by the ranks of the node, a network by those
/// of the job.
pub trait Reaches {
    /// A rank, named so.
    type Peer: Copy + Debug + Display;
}

/// The way from this rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// It is this rank, which the node knows by this number.
    Own(LocalRank),
    /// It shares the node segment with this rank.
    Node(LocalRank),
    /// It is reached over a network alone.
    Far,
}

impl Route {
    /// What the node calls the rank, if it leads there.
    #[inline]
    pub fn on_node(self) -> Option<LocalRank> {
        match self {
            Route::Own(rank) | Route::Node(rank) => Some(rank),
            Route::Far => None,
        }
    }
}

/// The ways to all ranks of a job.
#[derive(Debug)]
pub struct Routes {
    own: JobRank,
    /// By job rank; empty if all ranks are on the node, in the order of the job.
    listed: Box<[Route]>,
}

impl Routes {
    /// From rank `own` to each of a job of `size` ranks. `local_ranks` are those of the node, in ascending
    /// order; those that are `far` are reached over the network all the same.
    pub fn new(own: JobRank, size: u32, local_ranks: &[u32], far: impl Fn(JobRank) -> bool) -> Routes {
        let route = |rank: u32| match local_ranks.binary_search(&rank) {
            Ok(local) if rank == own.0 => Route::Own(LocalRank(local as u32)),
            Ok(local) if !far(JobRank(rank)) => Route::Node(LocalRank(local as u32)),
            _ => Route::Far,
        };
        let is_plain = (0..size).all(|rank| route(rank).on_node() == Some(LocalRank(rank)));
        let listed = if is_plain { Box::default() } else { (0..size).map(route).collect() };
        Routes { own, listed }
    }

    /// Whether all ranks are on the node, which names them as the job does.
    #[inline(always)]
    pub fn are_plain(&self) -> bool {
        self.listed.is_empty()
    }

    /// The way to a rank of the job.
    #[inline(always)]
    pub fn to(&self, peer: JobRank) -> Route {
        match self.listed.get(peer.index()) {
            _ if peer.is_foreign() => Route::Far,
            Some(&route) => route,
            None if peer == self.own => Route::Own(LocalRank(peer.0)),
            None => Route::Node(LocalRank(peer.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_one_node_needs_no_list() {
        let routes = Routes::new(JobRank(1), 3, &[0, 1, 2], |_| false);
        assert!(routes.are_plain());
        let to = [0, 1, 2].map(|peer| routes.to(JobRank(peer)));
        assert_eq!(to, [Route::Node(LocalRank(0)), Route::Own(LocalRank(1)), Route::Node(LocalRank(2))]);
    }

    #[test]
    fn ranks_elsewhere_are_far_and_those_here_have_numbers_of_the_node() {
        let routes = Routes::new(JobRank(4), 5, &[1, 3, 4], |rank| rank.0 == 1);
        assert!(!routes.are_plain());
        let to = [0, 1, 2, 3, 4].map(|peer| routes.to(JobRank(peer)));
        let here = Route::Node(LocalRank(1));
        assert_eq!(to, [Route::Far, Route::Far, Route::Far, here, Route::Own(LocalRank(2))]);
        assert_eq!((to[2].on_node(), to[3].on_node()), (None, Some(LocalRank(1))));
    }

    #[test]
    fn one_is_never_far_from_oneself() {
        let routes = Routes::new(JobRank(0), 2, &[0, 1], |_| true);
        assert_eq!(routes.to(JobRank(0)), Route::Own(LocalRank(0)));
        assert_eq!(routes.to(JobRank(1)), Route::Far);
    }
}
