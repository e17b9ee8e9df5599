//! Sessions (MPI-5.0 §11.3): a way to begin without a world.

use super::{ErrorHandler, Group, Info};
use crate::{Class, Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

/// The process sets that always exist. Names are compared without regard to case
/// (MPI-5.0 §11.3.2).
pub const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// A session of one process.
#[derive(Debug)]
pub struct Session {
    job_rank: u32,
    job_size: u32,
    info: Info,
    error_handler: Mutex<Arc<ErrorHandler>>,
}

impl Session {
    /// A session of the process with this rank of a job of this size. `info`
    /// says what it was given, as `MPI_Session_get_info` tells.
    pub fn new(job_rank: u32, job_size: u32, info: Info, error_handler: Arc<ErrorHandler>) -> Session {
        Session { job_rank, job_size, info, error_handler: Mutex::new(error_handler) }
    }

    /// The hints in use.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// What happens with errors of calls on it.
    pub fn error_handler(&self) -> Arc<ErrorHandler> {
        self.error_handler.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Chooses what happens with errors of calls on it.
    pub fn set_error_handler(&self, handler: Arc<ErrorHandler>) {
        *self.error_handler.lock().unwrap_or_else(PoisonError::into_inner) = handler;
    }

    /// How many process sets there are.
    pub fn process_sets(&self) -> usize {
        PROCESS_SETS.len()
    }

    /// The name of a process set.
    ///
    /// # Errors
    /// `Arg` when there are not so many.
    pub fn process_set(&self, number: i32) -> Result<&'static str> {
        let name = usize::try_from(number).ok().and_then(|number| PROCESS_SETS.get(number));
        name.copied().ok_or_else(|| {
            let count = PROCESS_SETS.len();
            Error::new(Class::Arg, format!("process set number {number} of a session that has {count}"))
        })
    }

    /// The processes of a process set, whose name may be in either case.
    ///
    /// # Errors
    /// `Arg` when there is no such set.
    pub fn group(&self, process_set: &str) -> Result<Group> {
        match PROCESS_SETS.iter().position(|name| name.eq_ignore_ascii_case(process_set)) {
            Some(0) => Ok(Group::identity(self.job_size)),
            Some(_) => Ok(Group::new(vec![self.job_rank])),
            None => Err(Error::new(
                Class::Arg,
                format!(
                    "there is no process set \"{process_set}\"; there are {}",
                    PROCESS_SETS.join(" and ")
                ),
            )),
        }
    }

    /// What is known of a process set: its size under `mpi_size`.
    ///
    /// # Errors
    /// `Arg` when there is no such set.
    pub fn process_set_info(&self, process_set: &str) -> Result<Info> {
        let info = Info::default();
        info.set("mpi_size", &self.group(process_set)?.size().to_string())?;
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_predefined_process_sets_are_there() {
        let session = Session::new(2, 4, Info::default(), Arc::new(ErrorHandler::Return));
        assert_eq!(session.process_set(0).unwrap(), "mpi://WORLD");
        assert_eq!(session.group("mpi://WORLD").unwrap(), Group::identity(4));
        assert_eq!(session.group("mpi://SELF").unwrap().rank_of(2.into()), Some(0));
        assert_eq!(session.group("mpi://world").unwrap(), Group::identity(4));
        assert_eq!(session.group("MPI://Self").unwrap().rank_of(2.into()), Some(0));
        let info = session.process_set_info("mpi://self").unwrap();
        assert_eq!(info.get("mpi_size").as_deref(), Some("1"));
        assert_eq!(session.process_set(2).unwrap_err().class(), Class::Arg);
        assert!(session.group("mpi://elsewhere").unwrap_err().message().contains("mpi://SELF"));
    }
}
