//! The supervisor between the ranks' streams and the places where they go, and
//! between the keyboard and rank 0.
//!
//! Output that cannot be written is lost, and never in silence: the first time,
//! one line says where and why, and the job's status is not 0. The job goes on,
//! for its results may be elsewhere; what comes later is tried again. A reader
//! that has had enough (`| head`) ends the job without a word.

use super::ending::{Ending, Reason};
use super::energy::Energy;
use super::outlets::OUTPUT;
use super::rank_start::because;
use super::supervisor::Supervisor;
use super::{descriptors, last_calls, statistics};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Instant;

/// The status of a job that went well, but for its output.
pub const OUTPUT_LOST: i32 = 1;

impl Supervisor {
    pub(super) fn read_tap(&mut self, index: usize) {
        let tap = &mut self.job.taps[index];
        let Some(pipe) = &tap.pipe else { return };
        let sink = self.job.outlets.get(tap.outlet);
        let mut buffer = [0; 65536];
        match descriptors::read(pipe.as_raw_fd(), &mut buffer) {
            Ok(0) => {
                tap.stream.end(index, sink);
                tap.pipe = None;
            }
            Ok(count) => tap.stream.take(&buffer[..count], index, sink, Instant::now()),
            Err(_) => {} // nothing there after all
        }
    }

    /// Reads what a rank that has ended had still written.
    pub(super) fn hear_out(&mut self, rank: u32) {
        for index in 0..self.job.taps.len() {
            while self.job.taps[index].rank == rank && self.has_input(index) {
                self.read_tap(index);
            }
        }
    }

    fn has_input(&self, index: usize) -> bool {
        self.job.taps[index].pipe.as_ref().is_some_and(|pipe| descriptors::is_ready(pipe.as_fd()))
    }

    pub(super) fn write_outlet(&mut self, number: usize) {
        if let Err(cause) = self.job.outlets.get(number).write_some() {
            self.lose(number, &cause);
        }
    }

    /// Says something in the launcher's own name.
    pub(super) fn say(&mut self, text: &str) {
        let error = self.job.outlets.error;
        self.job.outlets.get(error).say(text);
    }

    /// Everything that waited for this outlet is lost.
    fn lose(&mut self, number: usize, cause: &io::Error) {
        if cause.kind() == io::ErrorKind::BrokenPipe {
            if self.ending.is_none() {
                self.ending = Some(Ending::begin(Reason::OutputClosed, Instant::now()));
            }
            return;
        }
        if std::mem::replace(&mut self.lost, true) {
            return;
        }
        let name = self.job.outlets.get(number).name();
        let text =
            format!("serried: cannot write to {name}: {}; output of the job is lost\n", because(cause));
        if number == self.job.outlets.error {
            // Nobody would see it there.
            self.job.outlets.get(OUTPUT).say(&text);
            self.told.push_str(&text);
        } else {
            self.tell(&text);
        }
    }

    /// Says what is to be said at the end, and writes all that waits.
    pub(super) fn write_to_the_end(&mut self) {
        if self.plan.options.statistics {
            let energy = self.energy.as_ref().map(Energy::line).unwrap_or_default();
            self.say(&(statistics::table(&self.job.node, self.started.elapsed()) + &energy));
        }
        self.finish_outlets();
        self.write_report();
        self.finish_outlets();
    }

    fn finish_outlets(&mut self) {
        // The last first: what is lost in files is said on standard error, what is lost there on
        // standard output.
        for number in (0..self.job.outlets.all().len()).rev() {
            if let Err(cause) = self.job.outlets.get(number).finish() {
                self.lose(number, &cause);
            }
        }
    }

    /// Writes the report that the user wants, if something went wrong.
    fn write_report(&mut self) {
        let Some(file) = self.plan.options.report.clone().filter(|_| !self.told.is_empty()) else { return };
        let text = last_calls::report(&self.told, &self.job.node, self.started.elapsed());
        if let Err(cause) = descriptors::write_file(&file, &text) {
            self.lost = true;
            self.say(&format!("serried: cannot write the report {}: {}\n", file.display(), because(&cause)));
        }
    }

    pub(super) fn read_keyboard(&mut self) {
        let mut buffer = [0; 4096];
        match descriptors::read(0, &mut buffer) {
            Ok(0) | Err(_) => self.job.keyboard = None,
            Ok(count) => self.typed.extend_from_slice(&buffer[..count]),
        }
    }

    pub(super) fn pass_typed(&mut self) {
        let Some(pipe) = &self.job.keyboard else { return };
        match descriptors::write(pipe.as_raw_fd(), &self.typed) {
            Ok(count) => drop(self.typed.drain(..count)),
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.job.keyboard = None,
        }
    }
}
