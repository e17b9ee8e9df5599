//! What the user asks for: the command line of `serried run`, in the words of
//! all the launchers that people come from.
//!
//! A long option may have one dash or two, and its value behind a blank or
//! `=`. Options that have no meaning here are accepted and named
//! once ([`Options::ignored`]).

use super::across::host_list::{self, Host};
use super::binding::{Bind, Map};
use super::configuration;
use super::meeting_options::Meeting;
use super::option_table::{find, Meaning};
use super::option_values::{count, error_handler, keep_library_path, percent, restarts, seconds};
use serried_engine::settings::{INITIAL_ERROR_HANDLER, MAX_SLOWDOWN, MEMORY_KINDS};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One program of the job (the parts between `:`).
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Program {
    /// How many ranks run it; 1 if not said.
    pub ranks: Option<u32>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Variables set for this program alone.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether to start from an empty environment.
    pub empty_environment: bool,
    /// Directory to run in.
    pub directory: Option<PathBuf>,
}

/// What stands before each line of output.
#[derive(Debug, Default, Clone, PartialEq)]
pub enum Label {
    /// Nothing.
    #[default]
    None,
    /// `[3] `.
    Rank,
    /// `[1,3]<stdout>: `, as Open MPI writes it.
    Tag,
    /// The user's pattern (see `patterns`).
    Pattern(String),
}

/// What to do when ranks can never go on.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub enum OnDeadlock {
    /// Say so, and let the job be.
    #[default]
    Report,
    /// Say so and end the job.
    Abort,
    /// Do not look.
    Off,
}

impl OnDeadlock {
    fn named(text: &str) -> Result<OnDeadlock, String> {
        match text {
            "report" => Ok(OnDeadlock::Report),
            "abort" => Ok(OnDeadlock::Abort),
            "off" => Ok(OnDeadlock::Off),
            _ => Err(format!("--on-deadlock {text}: known are report, abort and off")),
        }
    }
}

/// What to do when a rank fails.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub enum OnFailure {
    /// End the job.
    #[default]
    Abort,
    /// Tell the others, and let the job go on without it.
    Continue,
}

impl OnFailure {
    /// What a word means.
    ///
    /// # Errors
    /// A sentence.
    pub fn named(text: &str) -> Result<OnFailure, String> {
        match text {
            "abort" => Ok(OnFailure::Abort),
            "continue" => Ok(OnFailure::Continue),
            _ => Err(format!("--on-failure {text}: known are abort and continue")),
        }
    }

    /// By the word of Open MPI's `--with-ft`.
    fn of_kind(text: &str) -> Result<OnFailure, String> {
        match text {
            "ulfm" | "mpi" | "yes" | "true" | "1" => Ok(OnFailure::Continue),
            "none" | "no" | "false" | "0" => Ok(OnFailure::Abort),
            _ => Err(format!("--with-ft {text}: known are ulfm and none")),
        }
    }
}

/// Everything that the command line says.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The programs, at least one.
    pub programs: Vec<Program>,
    /// Variables set for all programs.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables removed for all programs.
    pub unset: Vec<OsString>,
    /// Whether to start from an empty environment.
    pub empty_environment: bool,
    /// Directory for programs that have none of their own.
    pub directory: Option<PathBuf>,
    /// What to bind ranks to.
    pub bind: Bind,
    /// In which order to place ranks.
    pub map: Map,
    /// Whether to say who is bound where.
    pub report_bindings: bool,
    /// The hosts to run on, if the user names some.
    pub hosts: Option<Vec<Host>>,
    /// Ranks on each host.
    pub per_host: Option<u32>,
    /// One rank to each host in turn.
    pub deal_in_turn: bool,
    /// Whether to stay on this machine whatever the batch system says.
    pub local_only: bool,
    /// How agents are started on other hosts.
    pub shell: Shell,
    /// Where other parties of the job are met, which nobody starts.
    pub meet: Option<Meeting>,
    /// After so long a silent host is given up.
    pub host_timeout: Duration,
    /// What stands before each line.
    pub label: Label,
    /// Pattern of the file that takes a rank's standard output.
    pub output_file: Option<String>,
    /// Pattern of the file that takes a rank's standard error.
    pub error_file: Option<String>,
    /// The job is ended after this time.
    pub timeout: Option<Duration>,
    /// Whether to print each rank's counters at the end.
    pub statistics: bool,
    /// Where to write a report if something goes wrong.
    pub report: Option<PathBuf>,
    /// What to do when ranks can never go on.
    pub on_deadlock: OnDeadlock,
    /// What to do when a rank fails.
    pub on_failure: OnFailure,
    /// How often a job that has failed is started again.
    pub restarts: u32,
    /// Whether to leave the library path alone.
    pub keep_library_path: bool,
    /// Whether the user only wants the help text.
    pub help: bool,
    /// Whether the user only wants the version.
    pub version: bool,
    /// Options accepted that mean nothing here, as written.
    pub ignored: Vec<String>,
}

/// How agents are started on other hosts.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Shell {
    /// The name of a kind of remote shell.
    pub kind: Option<String>,
    /// A command in its place.
    pub command: Option<String>,
    /// Where `serried` is on other hosts, if not where it is here.
    pub serried: Option<PathBuf>,
    /// How many agents one process starts.
    pub fanout: Option<u32>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            programs: Vec::new(),
            environment: Vec::new(),
            unset: Vec::new(),
            empty_environment: false,
            directory: None,
            bind: Bind::default(),
            map: Map::default(),
            report_bindings: false,
            hosts: None,
            per_host: None,
            deal_in_turn: false,
            local_only: false,
            shell: Shell::default(),
            meet: None,
            host_timeout: Duration::from_secs(10),
            label: Label::default(),
            output_file: None,
            error_file: None,
            timeout: None,
            statistics: false,
            report: None,
            on_deadlock: OnDeadlock::default(),
            on_failure: OnFailure::default(),
            restarts: 0,
            keep_library_path: false,
            help: false,
            version: false,
            ignored: Vec::new(),
        }
    }
}

/// Reads the arguments behind `serried run`.
///
/// # Errors
/// A sentence for the user: which option, what is wrong, what would be right.
pub fn parse(arguments: &[OsString]) -> Result<Options, String> {
    let mut options = Options::default();
    let Some(file) = options.read(arguments)? else { return Ok(options) };
    // Once more, the file first: what the command line says of the whole job counts.
    let mut options = Options::default();
    let said = |text: String| format!("-configfile {}: {text}", file.display());
    if options.read(&configuration::read(&file).map_err(said)?).map_err(said)?.is_some() {
        return Err(said("there is another -configfile in it".into()));
    }
    let of_file = std::mem::take(&mut options.programs);
    options.read(arguments)?;
    options.programs.extend(of_file);
    Ok(options)
}

impl Options {
    /// Adds what these arguments say; returns the configuration file that they name.
    fn read(&mut self, arguments: &[OsString]) -> Result<Option<PathBuf>, String> {
        let mut file = None;
        for arguments in arguments.split(|argument| argument == ":") {
            let mut section = Section { arguments, at: 0, program: Program::default(), file: None };
            section.parse(self)?;
            if self.help || self.version {
                return Ok(None);
            }
            let program = section.program;
            if section.file.is_none() {
                self.add(program, file.is_some())?;
            } else if file.is_some() {
                return Err("-configfile: there can be one such file only".into());
            } else if program != Program::default() {
                return Err("-configfile FILE stands in the place of a program: its lines are the programs \
                            with their own options, such as -n"
                    .into());
            } else {
                file = section.file;
            }
        }
        Ok(file)
    }

    fn add(&mut self, program: Program, others: bool) -> Result<(), String> {
        if !program.command.is_empty() {
            self.programs.push(program);
            return Ok(());
        }
        Err(match self.programs.is_empty() && !others {
            true => "which program? For example: serried run -n 4 ./program".into(),
            false => "there is no program behind `:`".into(),
        })
    }
}

/// The arguments of one program, and how far they are read.
struct Section<'a> {
    arguments: &'a [OsString],
    at: usize,
    program: Program,
    /// What `-configfile` names in it.
    file: Option<PathBuf>,
}

impl Section<'_> {
    fn parse(&mut self, options: &mut Options) -> Result<(), String> {
        while let Some(argument) = self.arguments.get(self.at) {
            let text = argument.to_str().unwrap_or("");
            if text == "--" {
                self.at += 1;
                break;
            }
            if !text.starts_with('-') || text.len() < 2 {
                break;
            }
            self.at += 1;
            self.option(text, options)?;
        }
        self.program.command = self.arguments[self.at..].to_vec();
        Ok(())
    }

    fn option(&mut self, text: &str, options: &mut Options) -> Result<(), String> {
        let bare = text.trim_start_matches('-');
        let (name, inline) = match bare.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (bare, None),
        };
        let meaning = find(name).ok_or_else(|| unknown(text))?;
        let mut value = Value { section: self, option: text, inline };
        if !value.of_program(meaning)?
            && !value.of_output(meaning, options)?
            && !value.of_hosts(meaning, options)?
        {
            value.of_job(meaning, options)?;
        }
        Ok(())
    }
}

/// The values behind an option.
struct Value<'s, 'a> {
    section: &'s mut Section<'a>,
    option: &'s str,
    inline: Option<&'s str>,
}

impl Value<'_, '_> {
    fn next(&mut self) -> Result<OsString, String> {
        if let Some(value) = self.inline.take() {
            return Ok(value.into());
        }
        let value = self.section.arguments.get(self.section.at);
        self.section.at += 1;
        value.cloned().ok_or_else(|| format!("{} wants a value behind it", self.option))
    }

    fn text(&mut self) -> Result<String, String> {
        let value = self.next()?;
        value.into_string().map_err(|value| format!("{}: {value:?} is not text", self.option))
    }

    /// `NAME VALUE`, or `NAME=VALUE`.
    fn assignment(&mut self) -> Result<(OsString, OsString), String> {
        let name = self.text()?;
        match name.split_once('=') {
            Some((name, value)) => Ok((name.into(), value.into())),
            None => Ok((name.into(), self.next()?)),
        }
    }

    /// `NAME=VALUE`, or `NAME` alone, which keeps the value it has.
    fn export(&mut self) -> Result<Option<(OsString, OsString)>, String> {
        let name = self.text()?;
        Ok(match name.split_once('=') {
            Some((name, value)) => Some((name.into(), value.into())),
            None => std::env::var_os(&name).map(|value| (name.into(), value)),
        })
    }

    fn of_program(&mut self, meaning: Meaning) -> Result<bool, String> {
        match meaning {
            Meaning::Count => {
                let text = self.text()?;
                self.section.program.ranks = Some(count(self.option, "ranks", &text)?);
            }
            Meaning::LocalEnvironment => {
                let pair = self.assignment()?;
                self.section.program.environment.push(pair);
            }
            Meaning::LocalEnvironmentNone => self.section.program.empty_environment = true,
            Meaning::Directory => self.section.program.directory = Some(self.next()?.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn of_output(&mut self, meaning: Meaning, options: &mut Options) -> Result<bool, String> {
        match meaning {
            Meaning::Label => options.label = Label::Rank,
            Meaning::TagOutput => options.label = Label::Tag,
            Meaning::LabelPattern => options.label = Label::Pattern(self.text()?),
            Meaning::Output => {
                for word in self.text()?.split(',') {
                    self.output_word(word, options)?;
                }
            }
            Meaning::OutputFile => options.output_file = Some(self.text()?),
            Meaning::ErrorFile => options.error_file = Some(self.text()?),
            Meaning::OutputFolder => set_output_folder(&self.text()?, options),
            Meaning::Statistics => options.statistics = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn of_hosts(&mut self, meaning: Meaning, options: &mut Options) -> Result<bool, String> {
        match meaning {
            Meaning::Hosts => options.hosts = Some(host_list::read_list(self.option, &self.text()?)?),
            Meaning::HostFile => {
                options.hosts = Some(host_list::read_file(self.option, Path::new(&self.next()?))?);
            }
            Meaning::PerHost => {
                let text = self.text()?;
                options.per_host = Some(count(self.option, "ranks", &text)?);
            }
            Meaning::LocalOnly => options.local_only = true,
            Meaning::Map => {
                let text = self.text()?;
                options.map = Map::named(&text)?;
                let mut words = text.split(':');
                match (words.next(), words.next().map(str::parse), words.next()) {
                    (Some("node"), ..) => options.deal_in_turn = true,
                    (Some("ppr"), Some(Ok(ranks)), Some("node")) => options.per_host = Some(ranks),
                    _ => {}
                }
            }
            Meaning::Launcher => options.shell.kind = Some(self.text()?),
            Meaning::LauncherCommand => options.shell.command = Some(self.text()?),
            Meaning::AgentPath => options.shell.serried = Some(self.next()?.into()),
            Meaning::Fanout => {
                let text = self.text()?;
                options.shell.fanout = Some(count(self.option, "agents", &text)?);
            }
            Meaning::Meet(word) => {
                let text = self.text()?;
                options.meet.get_or_insert_default().set(word, self.option, text)?;
            }
            Meaning::HostTimeout => options.host_timeout = seconds(self.option, &self.text()?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A word of Open MPI's `--output tag,dir=…`.
    fn output_word(&self, word: &str, options: &mut Options) -> Result<(), String> {
        match word.split_once('=').unwrap_or((word, "")) {
            ("tag" | "tag-detailed" | "tag-fullname", _) => options.label = Label::Tag,
            ("rank", _) => options.label = Label::Rank,
            ("dir" | "directory", folder) if !folder.is_empty() => set_output_folder(folder, options),
            ("file" | "filename", name) if !name.is_empty() => {
                options.output_file = Some(format!("{name}.%r.out"));
                options.error_file = Some(format!("{name}.%r.err"));
            }
            _ => return Err(format!("--output {word}: known are tag, rank, dir=FOLDER and file=NAME")),
        }
        Ok(())
    }

    fn of_job(&mut self, meaning: Meaning, options: &mut Options) -> Result<(), String> {
        match meaning {
            Meaning::GlobalEnvironment => options.environment.push(self.assignment()?),
            Meaning::Export => options.environment.extend(self.export()?),
            Meaning::Unset => options.unset.push(self.next()?),
            Meaning::MemoryKinds => options.environment.push((MEMORY_KINDS.into(), self.next()?)),
            Meaning::InitialErrorHandler => {
                let handler = error_handler(self.option, self.text()?)?;
                options.environment.push((INITIAL_ERROR_HANDLER.into(), handler.into()));
            }
            Meaning::MaxSlowdown => {
                let bound = percent(self.option, &self.text()?)?;
                options.environment.push((MAX_SLOWDOWN.into(), bound.into()));
            }
            Meaning::GlobalEnvironmentNone => options.empty_environment = true,
            Meaning::Bind => options.bind = Bind::named(&self.text()?)?,
            Meaning::ReportBindings => options.report_bindings = true,
            Meaning::Timeout => options.timeout = Some(seconds(self.option, &self.text()?)?),
            Meaning::Report => options.report = Some(self.next()?.into()),
            Meaning::OnDeadlock => options.on_deadlock = OnDeadlock::named(&self.text()?)?,
            Meaning::OnFailure => options.on_failure = OnFailure::named(&self.text()?)?,
            Meaning::FaultTolerance => options.on_failure = OnFailure::of_kind(&self.text()?)?,
            Meaning::Recovery => options.on_failure = OnFailure::Continue,
            Meaning::Restarts => options.restarts = restarts(self.option, &self.text()?)?,
            Meaning::LibraryPath => options.keep_library_path = keep_library_path(&self.text()?)?,
            Meaning::LaunchOnly => options.keep_library_path = true,
            Meaning::ConfigurationFile => self.section.file = Some(self.next()?.into()),
            Meaning::Nothing => {}
            Meaning::AlreadySo(values) => (0..values).try_for_each(|_| self.next().map(drop))?,
            Meaning::Ignored(values) => {
                let mut words = vec![self.option.to_owned()];
                for _ in 0..values {
                    words.push(self.next()?.to_string_lossy().into_owned());
                }
                options.ignored.push(words.join(" "));
            }
            Meaning::Help => options.help = true,
            Meaning::Version => options.version = true,
            _ => unreachable!("taken by of_program, of_output or of_hosts"),
        }
        Ok(())
    }
}

fn set_output_folder(folder: &str, options: &mut Options) {
    options.output_file = Some(format!("{folder}/rank.%r/stdout"));
    options.error_file = Some(format!("{folder}/rank.%r/stderr"));
}

fn unknown(text: &str) -> String {
    let close = super::option_table::closest(text.trim_start_matches('-'));
    let hint = close.map(|name| format!("; is it --{name}?")).unwrap_or_default();
    format!("there is no option {text}{hint} (`serried run --help` lists them)")
}
