//! Starting further jobs (MPI-5.0 §11.8).
//!
//! The root starts a launcher, which starts the ranks. If all are in one universe, both sides know enough then to make the
//! intercommunicator without a message: the root has chosen the context and the numbers of the children; these find both,
//! and the parents' group, in what they inherit (`job::birth`).
//!
//! Parents on several nodes have no universe, and some may be of another one; and children may have to be on other hosts. Then
//! the children are the first job of a new one, or in none, inherit the name of a port of the root, and connect to it when they
//! begin.

use super::beyond::root_of;
use super::Engine;
use crate::job::process_name::mark_of;
use crate::job::starter::{self, Program, Start};
use crate::job::universe::{self, Registry};
use crate::job::{Birth, ProcessName};
use crate::world::bootstrap_channel::{join, read_words, split, words, Allgather, Broadcast};
use crate::world::create::{check_intra, join_by};
use crate::world::{complete, context, Communicator, Group};
use crate::{Class, Error, JobRank, Result};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// What the root tells the others of a job in their universe.
struct Told {
    base: u32,
    size: u32,
    context: u64,
}

/// What the root has done, or does next.
enum Begun {
    Here(Told),
    /// These may run on other hosts.
    Apart(Vec<Program>),
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
        if self.job.network().is_some() || parents.group.has_strangers() {
            return self.spawn_apart(parents, root, programs);
        }
        self.find_each_other(parents)?;
        let line = parents.collective_line(self)?;
        let outcome = (parents.rank == root).then(|| {
            programs().and_then(|all| match starter::may_be_elsewhere(&all) {
                true => Ok(Begun::Apart(all)),
                false => self.start_job(parents, &all).map(Begun::Here),
            })
        });
        let said = match &outcome {
            None => Vec::new(),
            Some(Ok(Begun::Here(told))) => join(&[words([told.base.into(), told.size.into(), told.context])]),
            Some(Ok(Begun::Apart(_))) => join(&[words([0])]),
            Some(Err(error)) => join(&[Vec::new(), error.message().as_bytes().to_vec()]),
        };
        let said = complete(self, Broadcast::new(line, root, said))?;
        let apart = match outcome {
            Some(Err(error)) => return Err(error),
            Some(Ok(Begun::Apart(programs))) => programs,
            _ => Vec::new(),
        };
        let parts = split(&said)?;
        let told = match parts.first().map(|part| read_words(part)).transpose()?.as_deref() {
            Some(&[base, size, context]) => Told { base: base as u32, size: size as u32, context },
            Some(&[_]) => return self.spawn_apart(parents, root, || Ok(apart)),
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

    /// Refuses parents whose children would not be reached by all of them: they are in several network namespaces, and no
    /// launcher makes sockets for them.
    fn find_each_other(&self, parents: &Communicator) -> Result<()> {
        let universe =
            self.universe()?.ok_or_else(|| Error::new(Class::Intern, "no universe to spawn in"))?;
        let own = match universe.is_found_by_line() {
            true => 0,
            false => std::fs::metadata("/proc/self/ns/net").map_or(1, |namespace| namespace.ino()),
        };
        let all = Allgather::new(parents.collective_line(self)?, words([own]));
        let all = complete(self, all)?;
        let other = all.iter().position(|one| *one != all[0]);
        let refusal = |rank| {
            let text = format!(
                "rank {rank} of the communicator is in another network namespace than rank 0, and not both have a launcher of \
                 Serried: they are in containers with networks of their own, and could not all reach the processes that are to be \
                 started. Start the job with `serried run`, or let the containers share a network"
            );
            Error::new(Class::Spawn, text)
        };
        other.map_or(Ok(()), |rank| Err(refusal(rank)))
    }

    fn start_job(&self, parents: &Communicator, programs: &[Program]) -> Result<Told> {
        self.go_beyond()?;
        let universe =
            self.universe()?.ok_or_else(|| Error::new(Class::Intern, "no universe to spawn in"))?;
        let size = size_of(programs)?;
        let context = self.contexts.propose()?;
        let base = universe.number(size)?;
        let parents = parents.group.names(&self.contexts, false).collect();
        let started = Birth { base, context, parents, port: None }.write().and_then(|birth| {
            let (universe, taken) = (universe.descriptor(), self.taken_places());
            let goes_on = self.job.node.goes_on_without_ranks();
            let line = self.job.node.line();
            starter::start(&Start { universe, birth: &birth, line, counter: None, taken, goes_on }, programs)
        });
        match started {
            Ok(child) => {
                self.keep_child(JobRank(JobRank::FOREIGN | base), child);
                Ok(Told { base, size, context })
            }
            Err(error) => {
                universe.not_started();
                Err(error)
            }
        }
    }

    /// Starts `programs` as a job of another universe, which connects to a port of the root.
    fn spawn_apart(
        &self,
        parents: &Communicator,
        root: u32,
        programs: impl FnOnce() -> Result<Vec<Program>>,
    ) -> Result<Communicator> {
        let mut child = None;
        let made = join_by(self, parents, root, || {
            let port = self.open_port()?;
            let found =
                programs().and_then(|programs| self.start_job_apart(&port, &programs)).and_then(|first| {
                    child = Some(first);
                    self.hear_knock(&port)
                });
            self.close_port(&port)?;
            found
        });
        if let Some(child) = child {
            self.meets_at_port(child, false);
        }
        made.map_err(|error| Error::new(Class::Spawn, error.message().to_owned()))
    }

    /// The first rank of the job.
    fn start_job_apart(&self, port: &str, programs: &[Program]) -> Result<JobRank> {
        let size = size_of(programs)?;
        let (universe, key) = universe::found(size)?;
        let birth = Birth { base: 0, context: 0, parents: Vec::new(), port: Some(port.to_owned()) };
        let birth = birth.write()?;
        let counter = match self.universe()? {
            Some(universe) => universe.descriptor(),
            None => self.job.node.descriptor(),
        };
        let refused = |cause| Error::new(Class::NoMem, format!("no descriptor is left: {cause}"));
        let counting = Registry::open(counter.try_clone_to_owned().map_err(refused)?)?;
        counting.one_begins();
        let taken = self.taken_places();
        let goes_on = self.job.node.goes_on_without_ranks();
        let given = Start {
            universe: universe.as_fd(),
            birth: &birth,
            line: None,
            counter: Some(counter),
            taken,
            goes_on,
        };
        let child = starter::start(&given, programs).inspect_err(|_| counting.one_has_ended())?;
        let first = self.strangers()?.stranger(ProcessName::new(mark_of(&key), 0));
        self.meets_at_port(first, true);
        self.keep_child(first, child);
        Ok(first)
    }

    /// Makes the way to those who have started this job, if they did: they may connect at any time.
    ///
    /// # Errors
    /// What the way to them says.
    pub(super) fn meet_parents(&self) -> Result<()> {
        let Some(birth) = self.job.birth() else { return Ok(()) };
        if self.job.network().is_none() {
            self.go_beyond()?;
        }
        let Some(port) = &birth.port else { return Ok(()) };
        let context = context::meeting("parents", std::iter::empty());
        let all = Communicator::new(context, Arc::new(Group::identity(self.job.size)), self.job.rank);
        let made = self.connect(|| Ok(port.clone()), 0, &all)?;
        let _ = self.parents().set(made);
        Ok(())
    }

    /// The communicator with the parents of this job, if another job has started it. To be called once.
    ///
    /// # Errors
    /// As [`Engine::universe`].
    pub fn parent(&self) -> Result<Option<Communicator>> {
        let Some(birth) = self.job.birth() else { return Ok(None) };
        if let Some(made) = self.parents().get() {
            let (remote, local) = (Arc::clone(made.peers()), made.local().map_or(0, |local| local.context()));
            let again = Communicator::new(made.context(), Arc::clone(&made.group), made.rank);
            return Ok(Some(again.with_remote(remote, local)));
        }
        let parents = birth.parents.iter().filter_map(|&parent| self.contexts.inward(parent)).collect();
        let world = Communicator::world(self.job.rank, self.job.size);
        Ok(Some(between(birth.context, &world, Group::new(parents))))
    }
}

fn size_of(programs: &[Program]) -> Result<u32> {
    let size = programs.iter().try_fold(0_u32, |sum, program| sum.checked_add(program.ranks));
    let none = || Error::new(Class::Spawn, "no process is to be started, or too many");
    size.filter(|&size| size > 0).ok_or_else(none)
}

/// Joins the local group of a communicator with others, in a context that both sides know, and the next one.
fn between(context: u64, local: &Communicator, others: Group) -> Communicator {
    let made = Communicator::new(context, Arc::clone(&local.group), local.rank);
    made.with_remote(Arc::new(others), context + 2).with_error_handler(local.error_handler())
}
