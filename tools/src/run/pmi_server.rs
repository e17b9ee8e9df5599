//! The PMI-1 server: what a rank linked to MPICH or Intel MPI asks its
//! launcher while it starts and ends.
//!
//! Pure: lines in, lines out. The supervisor reads and writes the sockets.

use serried_engine::job::PmiLine;
use std::collections::HashMap;

/// How far a rank has come, as far as PMI shows.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub enum Stage {
    /// Has not spoken.
    #[default]
    Silent,
    /// Has initialised.
    Running,
    /// Has finalized.
    Finalized,
}

/// What the supervisor is to do.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Write this to the socket of that rank.
    Reply(u32, String),
    /// End the job: that rank called abort.
    Abort {
        /// The rank.
        rank: u32,
        /// Its code.
        code: i32,
        /// Whether it has said why: an error that nobody handles, not the
        /// program's own wish.
        by_error: bool,
    },
}

/// The state that the ranks of a job share.
#[derive(Debug)]
pub struct PmiServer {
    size: u32,
    /// Name of the key-value space: MPICH names its shared memory after it, so
    /// no two jobs of a machine may have the same.
    space: String,
    program_of_rank: Vec<u32>,
    published: HashMap<String, String>,
    stages: Vec<Stage>,
    waiting: Vec<bool>,
    /// Ranks inside an `mcmd=` of several lines.
    skipping: Vec<bool>,
}

impl PmiServer {
    /// A server for ranks whose programs have these numbers; no other job has
    /// the name `job`. `map` says who is where, if not all are on one host.
    pub fn new(job: &str, program_of_rank: Vec<u32>, map: Option<String>) -> PmiServer {
        let size = program_of_rank.len();
        let map = map.unwrap_or_else(|| format!("(vector,(0,1,{size}))"));
        let published = HashMap::from([("PMI_process_mapping".into(), map)]);
        PmiServer {
            size: size as u32,
            space: format!("serried_{job}"),
            program_of_rank,
            published,
            stages: vec![Stage::Silent; size],
            waiting: vec![false; size],
            skipping: vec![false; size],
        }
    }

    /// How far a rank has come.
    pub fn stage(&self, rank: u32) -> Stage {
        self.stages[rank as usize]
    }

    /// Takes a line from a rank.
    pub fn line(&mut self, rank: u32, text: &str) -> Vec<Action> {
        let line = PmiLine::new(text);
        let index = rank as usize;
        if self.skipping[index] {
            if line.text() != "endcmd" {
                return Vec::new();
            }
            self.skipping[index] = false;
            let refusal = "cmd=spawn_result rc=-1 msg=starting_programs_from_within_a_job_is_not_there_yet\n";
            return vec![Action::Reply(rank, refusal.into())];
        }
        match line.command() {
            "barrier_in" => self.barrier(rank),
            "abort" => {
                let code = line.number("exitcode").unwrap_or(1) as i32;
                let by_error = line.rest("message").is_some_and(|message| !message.is_empty());
                vec![Action::Abort { rank, code, by_error }]
            }
            "spawn" => {
                self.skipping[index] = true;
                Vec::new()
            }
            _ => vec![Action::Reply(rank, self.answer(rank, line))],
        }
    }

    fn answer(&mut self, rank: u32, line: PmiLine) -> String {
        match line.command() {
            "init" => {
                self.stages[rank as usize] = Stage::Running;
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n".into()
            }
            "finalize" => {
                self.stages[rank as usize] = Stage::Finalized;
                "cmd=finalize_ack\n".into()
            }
            "get_maxes" => "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=4096\n".into(),
            "get_my_kvsname" => format!("cmd=my_kvsname kvsname={}\n", self.space),
            "get_appnum" => format!("cmd=appnum appnum={}\n", self.program_of_rank[rank as usize]),
            "get_universe_size" => format!("cmd=universe_size size={}\n", self.size),
            "put" => self.put(line),
            "get" => match line.value("key").and_then(|key| self.published.get(key)) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}\n"),
                None => "cmd=get_result rc=-1 msg=key_not_found value=unknown\n".into(),
            },
            "publish_name" => "cmd=publish_result rc=-1 info=not_there_yet msg=not_there_yet\n".into(),
            "unpublish_name" => "cmd=unpublish_result rc=-1 info=not_there_yet msg=not_there_yet\n".into(),
            "lookup_name" => "cmd=lookup_result rc=-1 info=not_there_yet msg=not_there_yet\n".into(),
            other => format!("cmd={other}_result rc=-1 msg=unknown_command\n"),
        }
    }

    fn put(&mut self, line: PmiLine) -> String {
        let (Some(key), Some(value)) = (line.value("key"), line.rest("value")) else {
            return "cmd=put_result rc=-1 msg=no_key_or_value\n".into();
        };
        self.published.insert(key.to_owned(), value.to_owned());
        "cmd=put_result rc=0 msg=success\n".into()
    }

    fn barrier(&mut self, rank: u32) -> Vec<Action> {
        self.waiting[rank as usize] = true;
        if !self.waiting.iter().all(|&waits| waits) {
            return Vec::new();
        }
        self.waiting.fill(false);
        (0..self.size).map(|rank| Action::Reply(rank, "cmd=barrier_out rc=0\n".into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(server: &mut PmiServer, rank: u32, line: &str) -> String {
        match server.line(rank, line).pop() {
            Some(Action::Reply(to, text)) if to == rank => text,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_one_rank_puts_another_gets() {
        let mut server = PmiServer::new("7", vec![0, 0], None);
        assert!(reply(&mut server, 0, "cmd=put kvsname=serried_7 key=a value=x=1 y\n").contains("rc=0"));
        assert!(reply(&mut server, 1, "cmd=get kvsname=serried_7 key=a\n").ends_with("value=x=1 y\n"));
        assert!(reply(&mut server, 1, "cmd=get kvsname=serried_7 key=b\n").contains("rc=-1"));
    }

    #[test]
    fn a_barrier_opens_when_the_last_has_come() {
        let mut server = PmiServer::new("7", vec![0, 0, 0], None);
        assert!(server.line(2, "cmd=barrier_in").is_empty());
        assert!(server.line(0, "cmd=barrier_in").is_empty());
        assert_eq!(server.line(1, "cmd=barrier_in").len(), 3);
    }

    #[test]
    fn stages_follow_init_and_finalize() {
        let mut server = PmiServer::new("7", vec![0], None);
        assert_eq!(server.stage(0), Stage::Silent);
        reply(&mut server, 0, "cmd=init pmi_version=1 pmi_subversion=1");
        assert_eq!(server.stage(0), Stage::Running);
        reply(&mut server, 0, "cmd=finalize");
        assert_eq!(server.stage(0), Stage::Finalized);
    }

    #[test]
    fn spawn_is_refused_once_and_abort_is_heard() {
        let mut server = PmiServer::new("7", vec![0], None);
        assert!(server.line(0, "mcmd=spawn").is_empty());
        assert!(server.line(0, "nprocs=2").is_empty());
        assert!(reply(&mut server, 0, "endcmd").contains("spawn_result rc=-1"));
        assert_eq!(
            server.line(0, "cmd=abort exitcode=42"),
            [Action::Abort { rank: 0, code: 42, by_error: false }]
        );
    }
}
