//! Asking the ranks of a job what they do.

use super::graph::Standing;
use super::sources::Sources;
use crate::system::process_numbers;
use serried_engine::job::NodeView;
use serried_engine::observe::inquiry::{self, Wish};
use serried_engine::observe::Description;
use serried_engine::transport::node::doorbell_in;
use std::sync::atomic::Ordering::Acquire;

/// Questions to some ranks, and the answers so far.
#[derive(Debug)]
pub struct Round {
    asked: Vec<Option<u64>>,
    /// How each rank stands.
    pub ranks: Vec<Standing>,
}

impl Round {
    /// Asks the ranks in `whom`; the view must be writable. Those in `gone` will
    /// never do anything again.
    pub fn begin(view: &NodeView, wish: Wish, whom: &[u32], gone: &[u32]) -> Round {
        let standing = |rank| match gone.contains(&rank) {
            true => Standing::Finalized(left(view, rank)),
            false => Standing::Free,
        };
        let mut round = Round {
            asked: vec![None; view.local_ranks() as usize],
            ranks: (0..view.local_ranks()).map(standing).collect(),
        };
        for &rank in whom.iter().filter(|rank| !gone.contains(rank)) {
            if let Some(doorbell) = doorbell_in(view, rank) {
                round.asked[rank as usize] = Some(inquiry::ask(view.page(rank), wish));
                doorbell.ring();
            }
        }
        round
    }

    /// Finds the source lines of the stacks that were told.
    pub fn find_sources(&mut self, view: &NodeView, sources: &mut Sources) {
        for (rank, standing) in self.ranks.iter_mut().enumerate() {
            if let Standing::Waiting(description) = standing {
                let page = view.page(rank as u32);
                // Of a rank on another host its agent has found them.
                if let Some(process) = process_numbers::process(page).filter(|_| !page.is_mirror()) {
                    sources.find(process, description);
                }
                description.threads.iter_mut().for_each(|thread| plain(&mut thread.call));
            }
        }
    }

    /// The ranks that were asked and have not answered.
    pub fn unanswered(&self) -> impl Iterator<Item = u32> + '_ {
        let open = |(rank, asked): (usize, &Option<u64>)| asked.map(|_| rank as u32);
        self.asked.iter().enumerate().filter_map(open)
    }

    /// Takes the answers that have come; `true` when all have.
    pub fn collect(&mut self, view: &NodeView) -> bool {
        for (rank, asked) in self.asked.iter_mut().enumerate() {
            let Some(number) = *asked else { continue };
            if view.page(rank as u32).inquiry.answered.load(Acquire) < number {
                continue;
            }
            if let Some((_, text)) =
                view.report(rank as u32).read().filter(|(answered, _)| *answered >= number)
            {
                *asked = None;
                if let Some(mut description) = Description::read(&text) {
                    plain_names(&mut description);
                    self.ranks[rank] = Standing::Waiting(Box::new(description));
                }
            }
        }
        self.asked.iter().all(Option::is_none)
    }
}

/// What a rank that has finalized has left behind.
fn left(view: &NodeView, rank: u32) -> Option<Box<Description>> {
    let (_, text) = view.report(rank).read()?;
    let mut left = Description::read(&text).filter(|description| description.finalized)?;
    plain_names(&mut left);
    Some(Box::new(left))
}

/// The forms of a function for large counts are the same function to people, and
/// match the others.
fn plain_names(description: &mut Description) {
    description.threads.iter_mut().for_each(|thread| plain(&mut thread.call));
    let known = description.communicators.iter_mut().flat_map(|known| known.last.iter_mut().flatten());
    known.for_each(|operation| plain(&mut operation.call));
    description.begun.iter_mut().for_each(|begun| plain(&mut begun.call));
}

fn plain(call: &mut String) {
    if call.ends_with("_c") {
        call.truncate(call.len() - 2);
    }
}
