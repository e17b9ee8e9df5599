//! What an agent is told to do: the job, as far as its host and those behind it have to know it.

use super::codec::{Reader, Writer};
use super::remote_shell::RemoteShell;
use crate::run::binding::{Bind, Map};
use crate::run::plan::Prepared;
use serried_engine::job::{JobKey, NodeMap};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// A plan for the agent of the first of some nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPlan {
    /// Its node, and those behind it.
    pub nodes: Range<u32>,
    /// The names of these.
    pub hosts: Vec<String>,
    /// How many agents one starts.
    pub fanout: u32,
    /// Who is where.
    pub map: NodeMap,
    /// The secret of the job.
    pub key: JobKey,
    /// The programs of the job.
    pub programs: Vec<Prepared>,
    /// What to bind ranks to.
    pub bind: Bind,
    /// In which order to place them.
    pub order: Map,
    /// Whether to say who is bound where.
    pub report_bindings: bool,
    /// Whether standard output and error of a rank go one way.
    pub together: bool,
    /// Whether the job goes on without ranks that fail.
    pub goes_on: bool,
    /// After so long a silent host is given up.
    pub patience: Duration,
    /// How to start agents on other hosts.
    pub shell: RemoteShell,
    /// Where the `serried` command is on every host.
    pub serried: PathBuf,
    /// How the job came about, if a rank of another one has started it.
    pub birth: Vec<u8>,
}

impl AgentPlan {
    /// The number of the agent's node.
    pub fn node(&self) -> u32 {
        self.nodes.start
    }

    /// Whether the agent tells the names of calls: a few do, for one of them may have no rank that uses MPI.
    pub fn tells_names(&self) -> bool {
        self.node() < 8
    }

    /// The plan for the agent of the first of these nodes, which are among those of this plan.
    pub fn part(&self, nodes: Range<u32>) -> AgentPlan {
        let names = (nodes.start - self.nodes.start) as usize..(nodes.end - self.nodes.start) as usize;
        AgentPlan { hosts: self.hosts[names].to_vec(), nodes, ..self.clone() }
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.number(self.nodes.start).number(self.nodes.end).number(self.fanout);
        writer.list(&self.hosts, |writer, host| writer.bytes(host.as_bytes()).end());
        writer.number(self.map.size()).bytes(self.map.to_text().as_bytes()).bytes(&self.key.0);
        writer.list(&self.programs, put_program);
        writer.byte(self.bind as u8).byte(self.order as u8);
        writer.byte(u8::from(self.report_bindings)).byte(u8::from(self.together));
        writer.byte(u8::from(self.goes_on));
        writer.long(self.patience.as_millis() as u64);
        writer.list(self.shell.words(), |writer, word| writer.bytes(word.as_bytes()).end());
        writer.bytes(self.serried.as_os_str().as_encoded_bytes()).bytes(&self.birth);
        writer.0
    }

    /// From bytes; `None` if they make no sense.
    pub fn from_bytes(bytes: &[u8]) -> Option<AgentPlan> {
        let mut reader = Reader(bytes);
        let nodes = reader.number()?..reader.number()?;
        let fanout = reader.number()?;
        let hosts = reader.list(Reader::text)?;
        let size = reader.number()?;
        let map = NodeMap::parse(&reader.text()?, size).ok()?;
        let key = JobKey(reader.bytes()?.try_into().ok()?);
        let programs = reader.list(program)?;
        let bind =
            [Bind::None, Bind::Core, Bind::Numa, Bind::Socket].into_iter().nth(reader.byte()?.into())?;
        let order = [Map::Close, Map::Numa, Map::Socket].into_iter().nth(reader.byte()?.into())?;
        let (report_bindings, together) = (reader.byte()? != 0, reader.byte()? != 0);
        let goes_on = reader.byte()? != 0;
        let patience = Duration::from_millis(reader.long()?);
        let shell = RemoteShell::of_words(reader.list(Reader::text)?);
        let serried = PathBuf::from(reader.text()?);
        let birth = reader.bytes()?.to_vec();
        let makes_sense = hosts.len() == nodes.len() && nodes.start < nodes.end && nodes.end <= map.nodes();
        makes_sense.then_some(AgentPlan {
            nodes,
            hosts,
            fanout,
            map,
            key,
            programs,
            bind,
            order,
            report_bindings,
            together,
            goes_on,
            patience,
            shell,
            serried,
            birth,
        })
    }
}

/// Writes a program.
pub fn put_program(writer: &mut Writer, program: &Prepared) {
    writer.bytes(program.path.as_bytes());
    for list in [&program.arguments, &program.environment] {
        writer.list(list, |writer, text| writer.bytes(text.as_bytes()).end());
    }
    writer.bytes(program.directory.as_ref().map_or(&[], |folder| folder.as_bytes()));
    writer.number(program.ranks.start).number(program.ranks.end).byte(u8::from(program.open_mpi));
}

/// Reads a program.
pub fn program(reader: &mut Reader) -> Option<Prepared> {
    let path = reader.c_string()?;
    let (arguments, environment) = (reader.list(Reader::c_string)?, reader.list(Reader::c_string)?);
    let directory = Some(reader.c_string()?).filter(|folder| !folder.is_empty());
    let ranks = reader.number()?..reader.number()?;
    Some(Prepared { path, arguments, environment, directory, ranks, open_mpi: reader.byte()? != 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> AgentPlan {
        AgentPlan {
            nodes: 0..4,
            hosts: ["a", "b", "c", "d"].map(String::from).to_vec(),
            fanout: 2,
            map: NodeMap::parse("(vector,(0,4,2))", 8).unwrap(),
            key: JobKey([7; 32]),
            programs: vec![Prepared {
                path: c"/bin/sh".into(),
                arguments: vec![c"sh".into(), c"-c".into(), c"".into()],
                environment: vec![c"A=1".into()],
                directory: Some(c"/tmp".into()),
                ranks: 0..8,
                open_mpi: true,
            }],
            bind: Bind::Numa,
            order: Map::Socket,
            report_bindings: true,
            together: true,
            goes_on: true,
            patience: Duration::from_secs(10),
            shell: RemoteShell::named("ssh", None).unwrap(),
            serried: "/opt/serried/bin/serried".into(),
            birth: vec![1, 2, 3],
        }
    }

    #[test]
    fn a_plan_comes_as_it_was_made_and_cut_bytes_are_none() {
        let bytes = plan().to_bytes();
        assert_eq!(AgentPlan::from_bytes(&bytes), Some(plan()));
        assert!((0..bytes.len()).all(|length| AgentPlan::from_bytes(&bytes[..length]).is_none()));
    }

    #[test]
    fn a_part_has_the_hosts_of_its_nodes() {
        let part = plan().part(1..3);
        assert_eq!((part.node(), part.hosts.join(" ")), (1, "b c".into()));
        assert_eq!(part.part(2..3).hosts, ["c"]);
    }
}
