//! Starting further jobs (MPI-5.0 §11.8).
//!
//! The root starts a launcher, which starts the ranks. Both sides know enough then to make the intercommunicator
//! without a message: the root has chosen the context and the numbers of the children; these find both, and the
//! parents' group, in what they inherit (`job::birth`).

use super::beyond::root_of;
use super::Engine;
use crate::job::starter::{self, Program};
use crate::job::Birth;
use crate::world::bootstrap_channel::{join, read_words, split, words, Broadcast};
use crate::world::create::check_intra;
use crate::world::{complete, Communicator, Group};
use crate::{Class, Error, JobRank, Result};
use std::sync::Arc;

/// What the root tells the others.
struct Told {
    base: u32,
    size: u32,
    context: u64,
}

impl Engine {
    /// `MPI_Comm_spawn_multiple`: starts `programs`, which count at the root alone, as one job. All ranks of
    /// `parents` call it.
    ///
    /// # Errors
    /// `Spawn`, at all ranks, with the reason; `Comm`, `Root`.
    pub fn spawn(
        &self,
        parents: &Communicator,
        root: i32,
        programs: impl FnOnce() -> Result<Vec<Program>>,
    ) -> Result<Communicator> {
        check_intra(parents)?;
        let root = root_of(parents, root)?;
        let line = parents.collective_line(self)?;
        let outcome =
            (parents.rank == root).then(|| programs().and_then(|all| self.start_job(parents, &all)));
        let said = match &outcome {
            None => Vec::new(),
            Some(Ok(told)) => join(&[words([told.base.into(), told.size.into(), told.context])]),
            Some(Err(error)) => join(&[Vec::new(), error.message().as_bytes().to_vec()]),
        };
        let said = complete(self, Broadcast::new(line, root, said))?;
        if let Some(Err(error)) = outcome {
            return Err(error);
        }
        let parts = split(&said)?;
        let told = match parts.first().map(|part| read_words(part)).transpose()?.as_deref() {
            Some(&[base, size, context]) => Told { base: base as u32, size: size as u32, context },
            _ => {
                let reason = parts.get(1).map(|text| String::from_utf8_lossy(text).into_owned());
                return Err(Error::new(Class::Spawn, reason.unwrap_or_default()));
            }
        };
        self.go_beyond()?;
        let first = JobRank::FOREIGN | told.base;
        let children = Group::new((first..first + told.size).map(JobRank).collect());
        Ok(between(told.context, parents, children))
    }

    fn start_job(&self, parents: &Communicator, programs: &[Program]) -> Result<Told> {
        self.go_beyond()?;
        let universe = self.universe()?;
        let size = programs.iter().try_fold(0_u32, |sum, program| sum.checked_add(program.ranks));
        let size = size.filter(|&size| size > 0);
        let size =
            size.ok_or_else(|| Error::new(Class::Spawn, "no process is to be started, or too many"))?;
        let context = self.contexts.propose()?;
        let base = universe.number(size)?;
        let parents = parents.group.iter().map(|parent| self.contexts.outward(parent)).collect();
        let started = Birth { base, context, parents }
            .write()
            .and_then(|birth| starter::start(universe.descriptor(), &birth, programs));
        match started {
            Ok(child) => {
                self.keep_child(base, child);
                Ok(Told { base, size, context })
            }
            Err(error) => {
                universe.not_started();
                Err(error)
            }
        }
    }

    /// The communicator with the parents of this job, if another job has started it: made anew by each call.
    ///
    /// # Errors
    /// As [`Engine::universe`].
    pub fn parent(&self) -> Result<Option<Communicator>> {
        let Some(birth) = self.job.birth() else { return Ok(None) };
        self.go_beyond()?;
        let parents = birth.parents.iter().map(|&parent| self.contexts.inward(parent)).collect();
        let world = Communicator::world(self.job.rank, self.job.size);
        Ok(Some(between(birth.context, &world, Group::new(parents))))
    }
}

/// Joins the local group of a communicator with others, in a context that both sides know, and the next one.
fn between(context: u64, local: &Communicator, others: Group) -> Communicator {
    let made = Communicator::new(context, Arc::clone(&local.group), local.rank);
    made.with_remote(Arc::new(others), context + 2).with_error_handler(local.error_handler())
}
