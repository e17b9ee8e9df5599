//! The names of options, from Hydra, Open MPI's prterun and ourselves, and
//! what each means.

/// What an option means; the number is how many values it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meaning {
    /// Ranks of a program.
    Count,
    /// `-env NAME VALUE`.
    LocalEnvironment,
    /// `-envnone`.
    LocalEnvironmentNone,
    /// `-genv NAME VALUE`.
    GlobalEnvironment,
    /// `-genvnone`.
    GlobalEnvironmentNone,
    /// `-x NAME[=VALUE]`.
    Export,
    /// `--unset-env NAME`.
    Unset,
    /// `-wdir FOLDER`.
    Directory,
    /// `--memory-alloc-kinds KINDS`.
    MemoryKinds,
    /// `--initial-errhandler NAME`.
    InitialErrorHandler,
    /// `--max-slowdown PERCENT`.
    MaxSlowdown,
    /// `--bind-to KIND`.
    Bind,
    /// `--map-by KIND`.
    Map,
    /// `--report-bindings`.
    ReportBindings,
    /// `-l`.
    Label,
    /// `--tag-output`.
    TagOutput,
    /// `-prepend-pattern PATTERN`.
    LabelPattern,
    /// `--output WORDS`.
    Output,
    /// `-outfile-pattern PATTERN`.
    OutputFile,
    /// `-errfile-pattern PATTERN`.
    ErrorFile,
    /// `--output-filename FOLDER`.
    OutputFolder,
    /// `--timeout SECONDS`.
    Timeout,
    /// `--on-deadlock report|abort|off`.
    OnDeadlock,
    /// `--on-failure abort|continue`.
    OnFailure,
    /// `--with-ft KIND`.
    FaultTolerance,
    /// `--enable-recovery`, which Open MPI has for the same.
    Recovery,
    /// `--restarts N`.
    Restarts,
    /// `--report FILE`.
    Report,
    /// `--stats`.
    Statistics,
    /// `--library-path keep|serried`.
    LibraryPath,
    /// `--launch-only`.
    LaunchOnly,
    /// `--hosts LIST`.
    Hosts,
    /// `--hostfile FILE`.
    HostFile,
    /// `-ppn N`.
    PerHost,
    /// `-localonly`.
    LocalOnly,
    /// `-launcher NAME`.
    Launcher,
    /// `-launcher-exec COMMAND`.
    LauncherCommand,
    /// `--agent-path FILE`.
    AgentPath,
    /// `--fanout N`.
    Fanout,
    /// `--host-timeout SECONDS`.
    HostTimeout,
    /// `--meet FOLDER` and what belongs to it.
    Meet(MeetWord),
    /// `-configfile FILE`.
    ConfigurationFile,
    /// What we do anyway, without values.
    Nothing,
    /// What we do anyway, with values.
    AlreadySo(u8),
    /// Means nothing here: accepted and named once.
    Ignored(u8),
    /// `--help`.
    Help,
    /// `--version`.
    Version,
}

/// Which of the options of a meeting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeetWord {
    /// `--meet FOLDER`.
    Folder,
    /// `--job NAME`.
    Name,
    /// `--parties N`.
    Parties,
    /// `--party N`.
    Own,
    /// `--meet-timeout SECONDS`.
    Patience,
}

use Meaning::*;

/// Names separated by blanks, and their meaning.
const TABLE: &[(&str, Meaning)] = &[
    ("n np c N", Count),
    ("env", LocalEnvironment),
    ("envnone", LocalEnvironmentNone),
    ("genv", GlobalEnvironment),
    ("genvnone", GlobalEnvironmentNone),
    ("x set-env", Export),
    ("unset unset-env", Unset),
    ("wdir wd dir", Directory),
    ("memory-alloc-kinds memory-allocation-kinds", MemoryKinds),
    ("initial-errhandler", InitialErrorHandler),
    ("max-slowdown", MaxSlowdown),
    ("bind-to binding", Bind),
    ("map-by", Map),
    ("report-bindings", ReportBindings),
    ("l label prepend-rank", Label),
    ("tag-output", TagOutput),
    ("prepend-pattern", LabelPattern),
    ("output", Output),
    ("outfile-pattern", OutputFile),
    ("errfile-pattern", ErrorFile),
    ("output-filename", OutputFolder),
    ("timeout", Timeout),
    ("on-deadlock", OnDeadlock),
    ("on-failure", OnFailure),
    ("with-ft", FaultTolerance),
    ("enable-recovery disable-auto-cleanup", Recovery),
    ("restarts", Restarts),
    ("report", Report),
    ("stats", Statistics),
    ("library-path", LibraryPath),
    ("launch-only", LaunchOnly),
    ("hosts host H hostlist", Hosts),
    ("f hostfile machinefile machine default-hostfile", HostFile),
    ("configfile", ConfigurationFile),
    ("ppn perhost npernode", PerHost),
    ("localonly", LocalOnly),
    ("launcher bootstrap", Launcher),
    ("launcher-exec bootstrap-exec", LauncherCommand),
    ("agent-path", AgentPath),
    ("fanout", Fanout),
    ("host-timeout", HostTimeout),
    ("meet", Meet(MeetWord::Folder)),
    ("job", Meet(MeetWord::Name)),
    ("parties containers", Meet(MeetWord::Parties)),
    ("party", Meet(MeetWord::Own)),
    ("meet-timeout", Meet(MeetWord::Patience)),
    ("envall genvall", Nothing),
    ("envlist genvlist", AlreadySo(1)),
    ("h help", Help),
    ("V version", Version),
    // No meaning here.
    ("oversubscribe nooversubscribe no-oversubscribe allow-run-as-root", Ignored(0)),
    ("mca gmca prtemca pmixmca omca tune am", Ignored(2)),
    ("npersocket rank-by ranks-per-proc rankmap order-nodes", Ignored(1)),
    ("rmk iface localhost nameserver usize", Ignored(1)),
    ("topolib membind demux gpus-per-proc prefix stdin s personality", Ignored(1)),
    ("cpus-per-proc cpus-per-rank cpu-set cpu-list", Ignored(1)),
    ("use-hwthread-cpus bynode byslot bycore bysocket display-map display-allocation", Ignored(0)),
    ("timestamp-output merge-stderr-to-stdout disable-recovery", Ignored(0)),
    ("print-all-exitcodes profile disable-hostname-propagation", Ignored(0)),
    ("skip-launch-node hybrid-hosts enable-x disable-x pmi-port verbose v quiet q info", Ignored(0)),
    ("do-not-launch do-not-resolve get-stack-traces report-state-on-timeout nolocal", Ignored(0)),
];

/// The meaning of an option's name, written without dashes.
pub fn find(name: &str) -> Option<Meaning> {
    let known = |names: &str| names.split(' ').any(|known| known == name);
    TABLE.iter().find(|(names, _)| known(names)).map(|(_, meaning)| *meaning)
}

/// The known long name that is nearest to `name`, if one is near.
pub fn closest(name: &str) -> Option<&'static str> {
    let names = TABLE.iter().flat_map(|(names, _)| names.split(' ')).filter(|known| known.len() > 2);
    let (distance, best) = names.map(|known| (distance(name, known), known)).min()?;
    (distance <= 2 && distance < name.len()).then_some(best)
}

/// How many letters must be changed, added or removed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..other.len() {
            let change = diagonal + usize::from(letter != other[j]);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<_> = TABLE.iter().flat_map(|(names, _)| names.split(' ')).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_slip_of_the_pen_finds_the_option_meant() {
        assert_eq!(closest("timout"), Some("timeout"));
        assert_eq!(closest("qqqqqqqq"), None);
    }
}
