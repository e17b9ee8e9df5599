//! What the launcher of a job knows of the rank of another job that has started its own.
//!
//! It says over a socket that all programs run, or why not. When the socket ends before the rank has let go of the job,
//! the rank has died, and the job is ended.

use serried_engine::job::birth::bytes_of;
use serried_engine::job::starter::{FAILED, LET_GO, NOTHING, STARTED};
use serried_engine::job::universe::Registry;
use serried_engine::job::{Birth, JobKey};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// What a launcher knows of the job that has started its own.
pub struct Spawned {
    control: Option<File>,
    universe: OwnedFd,
    birth: OwnedFd,
    line: Option<OwnedFd>,
    base: u32,
    registry: Registry,
    /// The universe of the one that has started it, if that is another one: it counts the job while it runs.
    counter: Option<Registry>,
    /// Where the ranks are, for those who start further jobs.
    pub places: String,
    /// The rank knows that the job runs; before, it is the rank that says that the job has not been started.
    runs: bool,
}

/// What is heard of the rank that has started the job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Heard {
    /// Nothing.
    Nothing,
    /// It has died.
    HasDied,
}

impl Spawned {
    /// From the descriptors in `control,universe,birth,line,counter`, of which the last two may be `-`.
    pub fn read(text: &str) -> Option<Spawned> {
        let number = |word: &str| if word == NOTHING { Some(None) } else { word.parse().ok().map(Some) };
        let numbers: Option<Vec<Option<RawFd>>> = text.split(',').map(number).collect();
        let numbers =
            numbers.filter(|numbers| numbers.len() == 5 && numbers[..3].iter().all(Option::is_some))?;
        let is_passed = |&one: &RawFd| {
            // SAFETY: plain system call; of what is not open nothing is taken.
            one >= 3 && unsafe { libc::fcntl(one, libc::F_SETFD, libc::FD_CLOEXEC) } == 0
        };
        if !numbers.iter().flatten().all(is_passed) {
            return None;
        }
        // SAFETY: they are open, and were passed to this process to be its own.
        let mut given = numbers.into_iter().map(|one| one.map(|one| unsafe { OwnedFd::from_raw_fd(one) }));
        let (control, universe, birth) = (given.next()??, given.next()??, given.next()??);
        let line = given.next()?;
        let counter = given.next()?.map(Registry::open).transpose().ok()?;
        let base = Birth::read(birth.try_clone().ok()?).ok()?.base;
        let registry = Registry::open(universe.try_clone().ok()?).ok()?;
        let (control, places) = (Some(control.into()), String::new());
        Some(Spawned { control, universe, birth, line, base, registry, counter, places, runs: false })
    }

    /// What the ranks inherit.
    pub fn inheritance(&self) -> Vec<RawFd> {
        vec![self.universe.as_raw_fd(), self.birth.as_raw_fd()]
    }

    /// The line of who has started the job.
    pub fn line(&self) -> Option<RawFd> {
        self.line.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// How the job came about, for the ranks of other hosts.
    ///
    /// # Errors
    /// A sentence.
    pub fn birth(&self) -> Result<Vec<u8>, String> {
        let copy = self.birth.try_clone().map_err(|cause| format!("no descriptor is left: {cause}"))?;
        bytes_of(copy).map_err(|error| error.message().to_owned())
    }

    /// The key by which the one that has started the job knows it.
    pub fn key(&self) -> JobKey {
        self.registry.key()
    }

    /// All programs run.
    pub fn all_run(&mut self) {
        self.runs = true;
        self.tell(&[self.places.as_bytes(), b"\n", STARTED].concat());
    }

    /// Whether the rank knows that the job runs.
    pub fn runs(&self) -> bool {
        self.runs
    }

    /// They cannot be started; this is told to nobody afterwards.
    pub fn answer(&mut self, text: &str) {
        self.tell(text.as_bytes());
        self.control = None;
    }

    fn tell(&mut self, text: &[u8]) {
        if let Some(control) = &mut self.control {
            // If nobody hears it, that shows at the socket.
            let _ = control.write_all(text);
        }
    }

    /// To poll on, as long as the job depends on the rank that has started it.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.control.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Hears the rank, once the descriptor is ready.
    pub fn hear(&mut self) -> Heard {
        let Some(control) = &mut self.control else { return Heard::Nothing };
        let mut byte = [0];
        let heard = match control.read(&mut byte) {
            Ok(1) if byte[0] == LET_GO => Heard::Nothing,
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => return Heard::Nothing,
            _ => Heard::HasDied,
        };
        self.control = None;
        heard
    }

    /// Whether other jobs of the universe run that were started by ranks.
    pub fn others_run(&self) -> bool {
        self.registry.running() > 1
    }

    /// The job of `size` ranks has ended, well or not.
    pub fn has_ended(&mut self, size: u32, well: bool) {
        if !well {
            self.tell(&[FAILED]);
        }
        if self.runs {
            self.registry.has_ended(self.base, size);
            self.counter.iter().for_each(Registry::one_has_ended);
        }
    }
}

impl std::fmt::Debug for Spawned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spawned").field("base", &self.base).finish_non_exhaustive()
    }
}
