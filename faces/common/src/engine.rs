//! The one engine of this library: its start and stop, and the faces that use it.
//!
//! Each face is a [`Participant`]. The first use of any of them starts the engine, the
//! end of the last use ends it, and the next one has it go on (sessions: MPI-5.0
//! §11.3; OpenSHMEM starts again too). In between faces come and go in any order.
//!
//! # A face that is not running
//! While the engine runs, a usual call of any face passes the entry wall without a look at its
//! face, for that would be a branch in every call. So a face that does not run has nothing in its
//! tables by which a call could reach the engine: its participant puts that in when it joins and
//! takes it out when it leaves. A call that fails then says that the face is not running
//! ([`Participant::explain`]).

use super::{page, settings, standard_output};
use serried_engine::engine::{Directory, Engine};
use serried_engine::job::Job;
use serried_engine::observe::{flow::Sent, Page};
use serried_engine::{Class, Error, Result};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// What the engine is told of all faces of a library when it starts.
pub struct Library {
    /// The names of calls, face after face; a call is known by its number among all.
    /// Every library has the same, for the ranks of a job share one list of them.
    pub names: &'static [&'static [&'static str]],
    /// Shows all communicators that the program can name.
    pub directory: Directory,
}

/// A face as a user of the engine.
pub struct Participant {
    /// What a call is told before the face has begun.
    pub before: &'static str,
    /// What a call is told after the face has ended.
    pub after: &'static str,
    /// Puts in what calls of the face reach the engine by.
    pub join: fn(&'static Engine) -> Result<()>,
    /// Takes it out again; other faces go on.
    pub leave: fn(),
    stage: AtomicU32,
    /// How many uses there are, changed under the lock of `USERS`.
    uses: AtomicU32,
}

static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());
/// What the engine does.
static STAGE: AtomicU32 = AtomicU32::new(BEFORE);
const BEFORE: u32 = 0;
const RUNNING: u32 = 1;
const AFTER: u32 = 2;
/// As [`RUNNING`], and a tool wants to be told of events: so nobody else pays
/// for asking.
const LISTENED: u32 = 3;
/// Whether a tool does.
static LISTENS: AtomicBool = AtomicBool::new(false);
static USERS: Mutex<Users> = Mutex::new(Users { uses: 0, last: None });

/// Who uses the engine.
struct Users {
    /// How many uses all faces make of it.
    uses: u32,
    /// The face that ended last, and with it the engine: what it has in its tables is
    /// still there, for errors after the end are raised on it.
    last: Option<&'static Participant>,
}

/// The engine, once there is one.
#[inline]
fn known() -> Option<&'static Engine> {
    // SAFETY: null, or an engine that is never given back.
    unsafe { ENGINE.load(Ordering::Acquire).as_ref() }
}

/// The engine, while it runs.
pub fn running() -> Option<&'static Engine> {
    if is_usual() || is_listened() {
        known()
    } else {
        None
    }
}

/// Whether the engine runs and no tool listens: then calls are usual.
#[inline]
pub fn is_usual() -> bool {
    STAGE.load(Ordering::Acquire) == RUNNING
}

/// Whether the engine runs and a tool listens.
pub fn is_listened() -> bool {
    STAGE.load(Ordering::Acquire) == LISTENED
}

/// This rank's page, as soon as there is one, and also after finalization.
pub fn page() -> Option<&'static Page> {
    known().map(Engine::page)
}

/// The same with all counters up to date.
pub fn counted() -> Option<&'static Page> {
    known().inspect(|engine| engine.publish_counters()).map(Engine::page)
}

/// What this rank has sent; nothing before the engine is there.
pub fn sent() -> Sent {
    known().map(Engine::sent).unwrap_or_default()
}

/// Ranks in the job, 0 before it is known.
pub fn size() -> u64 {
    known().map_or(0, |engine| u64::from(engine.size()))
}

/// Says whether a tool wants to be told of events.
pub fn set_listened(listens: bool) {
    LISTENS.store(listens, Ordering::SeqCst);
    let (from, to) = if listens { (RUNNING, LISTENED) } else { (LISTENED, RUNNING) };
    let _ = STAGE.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
    page::own().hold_up();
}

fn set_running() {
    STAGE.store(RUNNING, Ordering::SeqCst);
    set_listened(LISTENS.load(Ordering::SeqCst));
}

/// Finds the job and joins it.
fn start(library: &Library) -> Result<&'static Engine> {
    let job = Box::leak(Box::new(Job::start()?));
    // It cannot where the system's pages are larger: observers do not see this rank's
    // calls then, nor what it receives in packets, and all else works.
    let _ = page::show(job);
    if job.size > 1 {
        standard_output::show_lines();
    }
    let settings = settings::current()?;
    let engine = Box::leak(Box::new(Engine::join_with(job, settings)?));
    engine.allow_servant_thread();
    engine.begin_server(settings.servers)?;
    engine.publish_names(&library.names.concat())?;
    engine.set_directory(library.directory);
    Ok(engine)
}

impl Participant {
    /// A face that has not begun.
    pub const fn new(
        before: &'static str,
        after: &'static str,
        join: fn(&'static Engine) -> Result<()>,
        leave: fn(),
    ) -> Participant {
        let (stage, uses) = (AtomicU32::new(BEFORE), AtomicU32::new(0));
        Participant { before, after, join, leave, stage, uses }
    }

    /// Begins one more use of the engine (the world model, a session), and starts the
    /// engine if it is the first of all.
    ///
    /// # Errors
    /// What the engine says when it cannot start.
    pub fn acquire(&'static self, library: &Library) -> Result<&'static Engine> {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = match known() {
            Some(engine) => engine,
            None => start(library)?,
        };
        if let Some(last) = users.last.take() {
            (last.leave)();
        }
        if self.uses.load(Ordering::Relaxed) == 0 {
            (self.join)(engine)?;
        }
        if STAGE.load(Ordering::Acquire) == AFTER {
            engine.resume();
        }
        ENGINE.store(std::ptr::from_ref(engine).cast_mut(), Ordering::Release);
        self.stage.store(RUNNING, Ordering::SeqCst);
        if users.uses == 0 {
            set_running();
        }
        self.uses.fetch_add(1, Ordering::Relaxed);
        users.uses += 1;
        Ok(engine)
    }

    /// Ends one use; the end of the last one of all faces ends the engine.
    ///
    /// # Errors
    /// `Other` when the face is not running; what the engine says when it cannot end
    /// in order.
    pub fn release(&'static self) -> Result<()> {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = self.engine()?;
        let is_last_of_face = self.uses.load(Ordering::Relaxed) == 1;
        if users.uses == 1 {
            engine.finalize()?;
            STAGE.store(AFTER, Ordering::Release);
            users.last = Some(self);
        } else if is_last_of_face {
            (self.leave)();
        }
        if is_last_of_face {
            self.stage.store(AFTER, Ordering::Release);
            page::own().hold_up();
        }
        self.uses.fetch_sub(1, Ordering::Relaxed);
        users.uses -= 1;
        Ok(())
    }

    /// Whether the face runs.
    #[inline]
    pub fn is_running(&self) -> bool {
        self.stage.load(Ordering::Acquire) == RUNNING
    }

    /// The engine, while the face runs.
    ///
    /// # Errors
    /// `Other` before its beginning and after its end.
    #[inline]
    pub fn engine(&self) -> Result<&'static Engine> {
        let running = if self.is_running() { known() } else { None };
        running.ok_or_else(|| self.not_running())
    }

    /// The engine, in a call that nobody makes but while the face runs.
    ///
    /// # Errors
    /// `Other` where there is none.
    #[inline]
    pub fn engine_of_call(&self) -> Result<&'static Engine> {
        known().ok_or_else(|| self.not_running())
    }

    /// The error of a call that the face has to run for.
    #[cold]
    pub fn not_running(&self) -> Error {
        let has_been = self.stage.load(Ordering::Relaxed) == AFTER;
        Error::new(Class::Other, if has_been { self.after } else { self.before })
    }

    /// What a failed call is told that the face has to run for: the error, if it does.
    pub fn explain(&self, error: Error) -> Error {
        if self.is_running() {
            error
        } else {
            self.not_running()
        }
    }
}

/// Tests that make calls, or start the engine, take turns: both change the process.
#[cfg(test)]
pub static PROCESS: Mutex<()> = Mutex::new(());

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
