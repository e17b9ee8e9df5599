//! An open file: what one rank knows of it.

use super::hints::Hints;
use super::mode::Mode;
use super::replacement::Replacement;
use super::team::Shared;
use super::view::View;
use super::watched::Watched;
use super::windows::Windows;
use crate::world::{Communicator, ErrorHandler};
use crate::{Class, Error, Result};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An open file of one rank.
pub struct File {
    /// As the program named it.
    pub name: String,
    /// How it was opened.
    pub mode: Mode,
    /// The group that has opened it, in a context of its own.
    pub communicator: Arc<Communicator>,
    pub(super) driver: Watched,
    /// What is done when it is closed.
    pub(super) at_close: AtClose,
    /// The shared file pointer, if there is memory for one.
    pub(super) shared: Option<Box<dyn Shared>>,
    /// One thread at a time in atomic mode: locks of the file system are between handles.
    pub(super) alone: Mutex<()>,
    atomic: AtomicBool,
    state: Mutex<State>,
}

/// What is done with a file that has been written, when it is closed.
#[derive(Default)]
pub(super) struct AtClose {
    /// Checksums are kept beside it.
    pub sums: bool,
    /// It takes the place of another one.
    pub replacement: Option<Replacement>,
}

/// What changes.
pub(super) struct State {
    pub view: Arc<View>,
    /// How often a view was set: the shared pointer counts from the last time.
    pub views: u64,
    /// The individual pointer, in etypes.
    pub pointer: u64,
    pub hints: Hints,
    /// The split collective that has begun.
    pub split: Option<Split>,
    /// Memory for collective writing, if all reach it; nothing before it was asked for.
    pub windows: Option<Option<Arc<Windows>>>,
    error_handler: Arc<ErrorHandler>,
    /// What went wrong with a write that had been kept.
    late: Option<Error>,
}

/// Which split collective (MPI-5.0 §14.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitKind {
    /// At an explicit offset, or by the individual or the shared pointer.
    #[allow(missing_docs)]
    ReadAt,
    #[allow(missing_docs)]
    ReadIndividual,
    #[allow(missing_docs)]
    ReadOrdered,
    #[allow(missing_docs)]
    WriteAt,
    #[allow(missing_docs)]
    WriteIndividual,
    #[allow(missing_docs)]
    WriteOrdered,
}

/// A split collective that has begun: its data have been moved already.
#[derive(Clone, Debug)]
pub struct Split {
    /// Which one.
    pub kind: SplitKind,
    /// The buffer that it was given.
    pub buffer: usize,
    /// Bytes that it has moved, or why not.
    pub outcome: Result<u64>,
}

impl File {
    pub(super) fn new(
        name: &str,
        mode: Mode,
        communicator: Arc<Communicator>,
        driver: Watched,
        (shared, hints): (Option<Box<dyn Shared>>, Hints),
    ) -> File {
        File {
            name: name.to_owned(),
            mode,
            communicator,
            driver,
            at_close: AtClose::default(),
            shared,
            alone: Mutex::new(()),
            atomic: AtomicBool::new(false),
            state: Mutex::new(State {
                view: Arc::new(View::of_bytes()),
                views: 0,
                pointer: 0,
                hints,
                split: None,
                windows: None,
                error_handler: Arc::new(ErrorHandler::Return),
                late: None,
            }),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The view.
    pub fn view(&self) -> Arc<View> {
        self.state().view.clone()
    }

    /// What happens with errors of calls on it.
    pub fn error_handler(&self) -> Arc<ErrorHandler> {
        self.state().error_handler.clone()
    }

    /// Chooses what happens with errors of calls on it.
    pub fn set_error_handler(&self, handler: Arc<ErrorHandler>) {
        self.state().error_handler = handler;
    }

    /// Whether conflicting accesses of ranks are in some order (MPI-5.0 §14.6.1).
    pub fn is_atomic(&self) -> bool {
        self.atomic.load(Relaxed)
    }

    pub(super) fn set_atomic(&self, atomic: bool) {
        self.atomic.store(atomic, Relaxed);
    }

    /// Notes what went wrong with a write that had been kept; the first failure counts.
    pub(super) fn fail_later(&self, error: Error) {
        self.state().late.get_or_insert(error);
    }

    /// What went wrong with a write that had been kept, once.
    pub(super) fn late_failure(&self) -> Result<()> {
        self.state().late.take().map_or(Ok(()), Err)
    }

    /// Refuses what a sequential file cannot do.
    pub(super) fn check_not_sequential(&self) -> Result<()> {
        if !self.mode.sequential {
            return Ok(());
        }
        let message = format!(
            "the file {} was opened for sequential access, which goes by the shared file pointer alone",
            self.name
        );
        Err(Error::new(Class::UnsupportedOperation, message))
    }

    /// Notes a split collective that has moved its data.
    ///
    /// # Errors
    /// `Other` where another one has begun; then nothing must have been moved, so this is asked first.
    pub fn check_no_split(&self) -> Result<()> {
        match &self.state().split {
            None => Ok(()),
            Some(split) => {
                let message = format!(
                    "a split collective ({:?}) has begun on the file {} and not ended; a file has one at a time",
                    split.kind, self.name
                );
                Err(Error::new(Class::Other, message))
            }
        }
    }

    /// Notes a split collective that has moved its data.
    pub fn begin_split(&self, split: Split) {
        self.state().split = Some(split);
    }

    /// Ends a split collective and gives the bytes that it has moved.
    ///
    /// # Errors
    /// `Other` where none of this kind has begun, `Buffer` for another buffer; why it failed.
    pub fn end_split(&self, kind: SplitKind, buffer: usize) -> Result<u64> {
        let mut state = self.state();
        match &state.split {
            Some(split) if split.kind == kind && split.buffer == buffer => {}
            Some(split) if split.kind == kind => {
                let message = "argument buf is another one than at the beginning of the split collective";
                return Err(Error::new(Class::Buffer, message));
            }
            other => {
                let begun = other.as_ref().map(|split| format!("; {:?} has", split.kind)).unwrap_or_default();
                let message =
                    format!("no split collective of this kind ({kind:?}) has begun on the file{begun}");
                return Err(Error::new(Class::Other, message));
            }
        }
        let split = state.split.take();
        split.map_or(Ok(0), |split| split.outcome)
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({:?}, {:?})", self.name, self.mode)
    }
}
