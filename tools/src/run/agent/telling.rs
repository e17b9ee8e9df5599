//! What an agent passes on of its ranks: output, what they say over PMI, their pages.

use super::super::across::orders::News;
use super::super::descriptors;
use super::{Agent, Here};
use crate::system::monotonic_now;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// What is read of a stream at once.
const PIECE: usize = 32 << 10;

impl Agent {
    /// Reads what a rank has written; returns whether there may be more.
    pub(super) fn read_tap(&mut self, index: usize) -> bool {
        let Some(here) = &mut self.here else { return false };
        let tap = &mut here.taps[index];
        let Some(pipe) = &tap.pipe else { return false };
        let (rank, error) = (here.numbers[tap.local_rank], tap.error);
        let mut buffer = vec![0; PIECE];
        match descriptors::read(pipe.as_raw_fd(), &mut buffer) {
            Ok(count) => {
                if count == 0 {
                    tap.pipe = None;
                }
                here.credit = here.credit.saturating_sub(count);
                buffer.truncate(count);
                self.tell(&News::Output { rank, error, bytes: buffer });
                count > 0
            }
            Err(_) => false, // nothing there after all
        }
    }

    /// Reads what a rank that has ended had still written.
    pub(super) fn hear_out(&mut self, local_rank: usize) {
        let taps = self.here.as_ref().map_or(0, |here| here.taps.len());
        for index in 0..taps {
            while self.has_output(index, local_rank) && self.read_tap(index) {}
        }
    }

    fn has_output(&self, index: usize, local_rank: usize) -> bool {
        let tap = self.here.as_ref().map(|here| &here.taps[index]);
        let tap = tap.filter(|tap| tap.local_rank == local_rank).and_then(|tap| tap.pipe.as_ref());
        tap.is_some_and(|pipe| descriptors::is_ready(pipe.as_fd()))
    }

    /// Reads what a rank says over PMI.
    pub(super) fn hear(&mut self, index: usize) {
        let Some(here) = &mut self.here else { return };
        let (rank, speaker) = (here.numbers[index], &mut here.ranks[index]);
        let Some(socket) = &speaker.socket else { return };
        let mut buffer = [0; 4096];
        match descriptors::read(socket.as_raw_fd(), &mut buffer) {
            Ok(count) if count > 0 => self.tell(&News::Pmi { rank, bytes: buffer[..count].to_vec() }),
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
            _ => speaker.socket = None,
        }
    }

    /// Tells what has changed on the pages of all ranks, unless there is much to say already.
    pub(super) fn tell_pages(&mut self) {
        if self.up.is_full() {
            return;
        }
        self.tell_names();
        let ranks = self.here.as_ref().map_or(0, |here| here.ranks.len());
        (0..ranks).for_each(|index| self.tell_page(index));
    }

    pub(super) fn tell_page(&mut self, index: usize) {
        let Some(here) = self.here.as_mut().filter(|here| !here.is_shared()) else { return };
        let local = index as u32;
        let changes = here.told[index].look(here.node.page(local), here.node.sent(local));
        let rank = here.numbers[index];
        if let Some(changes) = changes {
            self.tell_names();
            self.tell(&News::Page { rank, now: monotonic_now(), changes });
        }
    }

    /// Tells how many jobs run that ranks of this host have started, if that has changed: they are no leftovers.
    pub(super) fn tell_spawned(&mut self) {
        let Some(here) = self.here.as_mut().filter(|here| !here.is_shared()) else { return };
        let jobs = here.node.spawned_jobs();
        if jobs != here.spawned_told {
            here.spawned_told = jobs;
            self.tell(&News::Spawned(jobs));
        }
    }

    /// Tells the names of calls, once some rank has published them.
    fn tell_names(&mut self) {
        let is_new = |here: &&mut Here| !here.names_told && !here.is_shared();
        let Some(here) = self.here.as_mut().filter(is_new) else { return };
        let names: Vec<String> = (1..).map_while(|index| here.node.name(index)).collect();
        here.names_told = !names.is_empty();
        if here.names_told && self.plan.as_ref().is_some_and(|plan| plan.tells_names()) {
            self.tell(&News::Names(names.join("\n").into_bytes()));
        }
    }
}
