//! What would not work between hosts: each is reached in the way of `serried run`, a doctor there says what it finds, and a job
//! with a rank on each is tried.

use super::finding::{Finding, Findings, Level, Report};
use super::trial::complaint;
use crate::run::across::host_list::Host;
use crate::run::across::remote_shell::RemoteShell;
use crate::run::across::this_host;
use crate::run::{agents, options};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::{Duration, Instant};

/// A host that has said nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often to look whether a command has ended, and how long to wait for the end of its output then.
const LOOK: Duration = Duration::from_millis(5);
const LAST_WORDS: Duration = Duration::from_secs(2);
/// So many hosts are visited at a time.
const AT_ONCE: usize = 32;
/// What a doctor begins with that speaks to another one; its version follows.
const GREETING: &str = "serried-doctor ";

/// The hosts to look at, and how to get there.
pub struct Visits {
    hosts: Vec<Host>,
    shell: RemoteShell,
    serried: PathBuf,
    /// The options of `serried run` that say so.
    words: Vec<OsString>,
    program: Option<OsString>,
}

/// What a visit to a host has brought: how long it took, and what was found there.
type Visit = Result<(Duration, Vec<Finding>), (String, String)>;

impl Visits {
    /// As options of `serried run` tell.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn new(words: Vec<OsString>, program: Option<OsString>) -> Result<Visits, String> {
        let line: Vec<OsString> = words.iter().cloned().chain(["true".into()]).collect();
        let options = options::parse(&line).map_err(|error| error.to_string())?;
        let shell = RemoteShell::wanted(&options.shell)?;
        let serried = agents::own_path(options.shell.serried)?;
        let hosts = options.hosts.ok_or("no hosts are named: use --hosts or --hostfile")?;
        Ok(Visits { hosts, shell, serried, words, program })
    }

    /// Looks at all of it.
    pub fn examine(&self) -> Report {
        let visits: Vec<Visit> = self.hosts.chunks(AT_ONCE).flat_map(|some| self.visit_all(some)).collect();
        let mut report = Report::default();
        report.add("hosts", |findings| {
            for (host, visit) in self.hosts.iter().zip(&visits) {
                reached(&host.name, visit, findings);
            }
        });
        report.add("on these hosts", |findings| self.found_there(&visits, findings));
        if visits.iter().all(Result::is_ok) {
            report.add("between these hosts", |findings| self.try_a_job(findings));
        }
        report
    }

    fn visit_all(&self, hosts: &[Host]) -> Vec<Visit> {
        std::thread::scope(|scope| {
            let visits: Vec<_> = hosts.iter().map(|host| scope.spawn(|| self.visit(&host.name))).collect();
            let failed = || Err(("the visit has failed".to_owned(), String::new()));
            visits.into_iter().map(|visit| visit.join().unwrap_or_else(|_| failed())).collect()
        })
    }

    /// Has a doctor on a host look.
    fn visit(&self, host: &str) -> Visit {
        let here = std::env::current_dir().unwrap_or_default();
        let mut command = vec![self.serried.as_os_str(), OsStr::new("doctor"), OsStr::new("--for-another")];
        command.push(here.as_os_str());
        command.extend(self.program.as_deref());
        let words = match this_host::is_here(host) {
            true => command.iter().map(|word| (*word).to_owned()).collect(),
            false => self.shell.of_command(host, &command),
        };
        let began = Instant::now();
        let output = output_of(&words).map_err(|why| (format!("{host}: {why}"), String::new()))?;
        match read(&String::from_utf8_lossy(&output.stdout)) {
            Some((version, _)) if version != env!("CARGO_PKG_VERSION") => Err((
                format!("{host}: Serried {version} is there, and {} here", env!("CARGO_PKG_VERSION")),
                "install the same version everywhere, or name it with --agent-path".into(),
            )),
            Some((_, findings)) => Ok((began.elapsed(), findings)),
            None => Err(self.why_not(host, &output)),
        }
    }

    /// Why a host has not answered, and what to do.
    fn why_not(&self, host: &str, output: &Output) -> (String, String) {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it says nothing");
        let serried = self.serried.display();
        let advice = match said {
            _ if said.contains("Permission denied") || said.contains("Authentication") => {
                format!("ssh has to work without a password: try `ssh {host} true`; ssh-copy-id helps")
            }
            _ if said.contains("Host key verification") => format!("log in once by hand: ssh {host}"),
            _ if said.contains("resolve") => "correct the name, or the hosts that the machine knows".into(),
            _ if matches!(output.status.code(), Some(126 | 127)) => {
                format!(
                    "Serried has to be at {serried} there as it is here, or name its path with --agent-path"
                )
            }
            _ if output.status.code() == Some(super::USAGE_ERROR) => {
                "another version of Serried is there: install the same everywhere".into()
            }
            _ => String::new(),
        };
        (format!("{host} cannot be reached as `serried run` would: {said}"), advice)
    }

    /// What the doctors have found; what is the same on several hosts is said once.
    fn found_there(&self, visits: &[Visit], findings: &mut Findings) {
        let mut alike: BTreeMap<(std::cmp::Reverse<Level>, String, String, String), Vec<&str>> =
            BTreeMap::new();
        for (host, visit) in self.hosts.iter().zip(visits) {
            for finding in visit.iter().flat_map(|(_, found)| found).filter(|one| one.level > Level::Fine) {
                let Finding { level, about, text, advice } = finding.clone();
                let key = (std::cmp::Reverse(level), about.into_owned(), text, advice);
                alike.entry(key).or_default().push(&host.name);
            }
        }
        for ((level, about, text, advice), hosts) in alike {
            let who = if hosts.len() == self.hosts.len() { "all".to_owned() } else { hosts.join(" ") };
            findings.pass_on(Finding {
                level: level.0,
                about: about.into(),
                text: format!("{who}: {text}"),
                advice,
            });
        }
    }

    /// Tries a job with a rank on each host.
    fn try_a_job(&self, findings: &mut Findings) {
        let Ok(this) = std::env::current_exe() else { return };
        let mut words: Vec<OsString> =
            vec![this.clone().into(), "run".into(), "--timeout".into(), "30".into()];
        words.extend(self.words.iter().cloned().chain(["-ppn".into(), "1".into(), "-n".into()]));
        words.push(self.hosts.len().to_string().into());
        words.extend([self.serried.clone().into(), "info".into(), "--pairs".into()]);
        let output = match output_of(&words) {
            Ok(output) => output,
            Err(why) => {
                return findings.fault("job", format!("a job of all hosts, tried just now: {why}"), "")
            }
        };
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            findings.fine("job", "a job with a rank on each host, tried just now, works");
            let facts = out.lines().filter(|line| line.starts_with("IP multicast"));
            return facts.for_each(|fact| findings.fine("multicast", fact));
        }
        let unreached: Vec<&str> = err.lines().filter(|line| line.contains("does not reach")).collect();
        for line in &unreached {
            let advice = "hosts talk over TCP at ports that the system chooses: a firewall between them has to let these pass";
            findings.fault("reach", line.trim_start_matches("serried: "), advice);
        }
        if unreached.is_empty() {
            let why = complaint(&err, &out);
            findings.fault(
                "job",
                format!("a job with a rank on each host, tried just now, fails: {why}"),
                "",
            );
        }
    }
}

/// Speaks to a doctor on another host, from a folder of it.
pub fn for_another(folder: &Path, program: Option<&OsStr>) -> i32 {
    let there = std::env::set_current_dir(folder);
    let mut report = super::examine(program);
    report.add("folder", |findings| {
        if let Err(cause) = &there {
            let text = format!(
                "the folder {}, in which programs would start, cannot be entered: {cause}",
                folder.display()
            );
            findings.fault("folder", text, "start from a folder that all hosts have, or use -wdir");
        }
    });
    println!("{GREETING}{}", env!("CARGO_PKG_VERSION"));
    print!("{}", report.lines());
    0
}

/// The version of the doctor that has spoken, and its findings. A shell may have written something before.
fn read(said: &str) -> Option<(&str, Vec<Finding>)> {
    let (_, mine) = said.split_once(GREETING)?;
    let (version, lines) = mine.split_once('\n')?;
    Some((version, lines.lines().filter_map(Finding::read).collect()))
}

fn reached(host: &str, visit: &Visit, findings: &mut Findings) {
    match visit {
        Ok((took, _)) => {
            let how = if this_host::is_here(host) { "is this machine" } else { "is reached" };
            findings
                .fine("host", format!("{host} {how}; its doctor answered in {:.1} s", took.as_secs_f64()));
        }
        Err((text, advice)) => findings.fault("host", text, advice),
    }
}

/// Runs a command, for a while at most.
fn output_of(words: &[OsString]) -> Result<Output, String> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|cause| format!("{} cannot be run: {cause}", words[0].display()))?;
    let streams = (all_of(child.stdout.take()), all_of(child.stderr.take()));
    let began = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|cause| cause.to_string())? {
            Some(status) => break status,
            None if began.elapsed() < PATIENCE => std::thread::sleep(LOOK),
            None => {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(format!("no answer within {} s", PATIENCE.as_secs()));
            }
        }
    };
    // Something that the command has left behind may hold its streams open.
    let said = |stream: Receiver<Vec<u8>>| stream.recv_timeout(LAST_WORDS).unwrap_or_default();
    Ok(Output { status, stdout: said(streams.0), stderr: said(streams.1) })
}

/// Reads a stream to its end.
fn all_of(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stream.map(|mut stream| stream.read_to_end(&mut said));
        let _ = send.send(said);
    });
    receive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_doctor_says_is_read_whatever_its_shell_has_said_before() {
        let said = "Welcome\nserried-doctor 0.1.0\nnote\tx\tso it is\t\nfault\ty\tno\tdo this\n";
        let (version, findings) = read(said).unwrap();
        assert_eq!((version, findings.len(), findings[1].level), ("0.1.0", 2, Level::Fault));
        assert!(read("bash: serried: command not found\n").is_none());
    }

    #[test]
    fn what_is_the_same_on_all_hosts_is_said_once() {
        let words = ["--hosts", "a,b,c"].map(OsString::from).to_vec();
        let visits = Visits::new(words, None).unwrap();
        let found = |text: &str| Finding::read(&format!("note\tx\t{text}\t")).unwrap();
        let visit = |one: &str| Ok((Duration::ZERO, vec![found("one"), found(one)]));
        let mut report = Report::default();
        report
            .add("all", |findings| visits.found_there(&[visit("two"), visit("two"), visit("six")], findings));
        let text = report.text();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines[1..4], ["note  all: one", "note  c: six", "note  a b: two"]);
        assert!(Visits::new(Vec::new(), None).is_err());
        assert!(Visits::new(["--hosts", ","].map(OsString::from).to_vec(), None).is_err());
    }
}
