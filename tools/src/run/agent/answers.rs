//! Questions of the launcher to ranks, and their answers.

use super::super::across::orders::News;
use super::Agent;
use crate::system::{monotonic_now, process_numbers};
use crate::why::sources::Sources;
use serried_engine::observe::inquiry::{self, Wish};
use serried_engine::observe::Description;
use serried_engine::transport::node::doorbell_in;
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

/// How often to look for an answer.
const GLANCE: Duration = Duration::from_millis(10);
/// Nobody waits longer for one.
const PATIENCE: Duration = Duration::from_secs(10);

/// A question that is not answered.
#[derive(Debug)]
pub struct Asked {
    local_rank: u32,
    /// Its number here, and that of the launcher.
    number: u64,
    of_launcher: u64,
    until: Instant,
    /// When to look next.
    pub look_at: Instant,
}

impl Agent {
    /// Asks a rank what it does.
    pub(super) fn ask(&mut self, rank: u32, of_launcher: u64) {
        let Some(here) = &mut self.here else { return };
        let Some(local_rank) = here.local(rank).map(|local| local as u32) else { return };
        let wishes =
            [Wish::STACK, Wish::PATIENCE].into_iter().filter(|&wish| inquiry::has_wish(of_launcher, wish));
        let wish = wishes.fold(Wish::default(), Wish::and);
        let Some(doorbell) = doorbell_in(&here.view, local_rank) else { return };
        let number = inquiry::ask(here.view.page(local_rank), wish);
        doorbell.ring();
        let now = Instant::now();
        here.asked.push(Asked { local_rank, number, of_launcher, until: now + PATIENCE, look_at: now });
    }

    /// Passes on the answers that have come.
    pub(super) fn look_for_answers(&mut self, now: Instant) {
        let Some(here) = &mut self.here else { return };
        let mut answers = Vec::new();
        let view = &here.view;
        here.asked.retain_mut(|asked| {
            asked.look_at = now + GLANCE;
            if view.page(asked.local_rank).inquiry.answered.load(Acquire) < asked.number {
                return now < asked.until;
            }
            match view.report(asked.local_rank).read().filter(|(answered, _)| *answered >= asked.number) {
                Some((_, text)) => {
                    let process = process_numbers::process(view.page(asked.local_rank)).unwrap_or(0);
                    let text = with_sources(text, process, &mut here.sources);
                    let (rank, number) = (here.numbers[asked.local_rank as usize], asked.of_launcher);
                    answers.push((
                        asked.local_rank as usize,
                        News::Answer { rank, number, now: monotonic_now(), text },
                    ));
                    false
                }
                None => now < asked.until,
            }
        });
        for (index, answer) in answers {
            self.tell_page(index);
            self.tell(&answer);
        }
    }
}

/// A description with the source lines of its stacks: they can be found where the process is.
fn with_sources(text: String, process: u32, sources: &mut Sources) -> String {
    match Description::read(&text) {
        Some(mut description) if description.threads.iter().any(|thread| !thread.addresses.is_empty()) => {
            sources.find(process, &mut description);
            description.to_string()
        }
        _ => text,
    }
}
