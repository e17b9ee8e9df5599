//! What `serried top` shows, as plain data: the terminal, the page and `--json`
//! draw the same report.

/// How a job did in one interval, and in all.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Counts reports, from 1.
    pub sequence: u64,
    /// Seconds since 1970 when it was taken.
    pub time: f64,
    /// Seconds that rates and shares are about.
    pub interval: f64,
    /// Seconds since we attached.
    pub watched: f64,
    /// The job's first process, and its command.
    pub process: i32,
    /// See `process`.
    pub command: String,
    /// The job has ended; totals are its last.
    pub ended: bool,
    /// By local rank.
    pub ranks: Vec<Rank>,
    /// All ranks together, per second of the interval.
    pub rate: Counts,
    /// All ranks together, since their start.
    pub total: Counts,
    /// Pairs between which something has moved, by sender and receiver.
    pub traffic: Vec<Flow>,
    /// The rank that the others seem to wait for.
    pub slowest: Option<Slowest>,
}

/// What a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It has not come into MPI yet.
    NotStarted,
    /// It is inside MPI_Init.
    Starting,
    /// It is outside MPI.
    Computing,
    /// It is in a call and does not sleep.
    InCall,
    /// It sleeps in a call.
    Waiting,
    /// It has finalized.
    Finalized,
    /// It has called MPI_Abort.
    Aborted,
    /// Its process is no more, and it has not finalized.
    Gone,
}

impl Doing {
    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Doing::NotStarted => "not started",
            Doing::Starting => "starting",
            Doing::Computing => "computing",
            Doing::InCall => "in call",
            Doing::Waiting => "waiting",
            Doing::Finalized => "finalized",
            Doing::Aborted => "aborted",
            Doing::Gone => "gone",
        }
    }

    /// Whether it takes part in the job.
    pub fn is_live(self) -> bool {
        matches!(self, Doing::Computing | Doing::InCall | Doing::Waiting)
    }
}

/// One rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// Rank in the job.
    pub rank: u32,
    /// Its process.
    pub process: i32,
    /// What it does.
    pub doing: Doing,
    /// The call that it is in, or was in last.
    pub call: String,
    /// The rank (in its communicator) and the tag that the call is about.
    pub peer: Option<i32>,
    /// See `peer`.
    pub tag: Option<i32>,
    /// Seconds since when it does that: exact while it waits, else as seen.
    pub since: f64,
    /// What its time went into; `None` unless it is live.
    pub share: Option<Share>,
    /// Per second of the interval.
    pub rate: Counts,
    /// Since its start.
    pub total: Counts,
    /// Messages that nobody has asked for: now, and the most there were.
    pub unexpected: (u64, u64),
    /// What it holds.
    pub memory: Memory,
}

/// Parts of the time, which together are 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Share {
    /// Outside MPI.
    pub computing: f64,
    /// Asleep in a call.
    pub waiting: f64,
    /// Copying messages longer than a packet.
    pub copying: f64,
    /// Otherwise in MPI; a short wait that looks and does not sleep counts here.
    pub library: f64,
}

/// Things that are counted: a rate or a total.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counts {
    /// Calls of MPI.
    pub calls: f64,
    /// Messages sent, also those of collectives.
    pub messages_sent: f64,
    /// Their payload.
    pub bytes_sent: f64,
    /// Messages received.
    pub messages_received: f64,
    /// Their payload.
    pub bytes_received: f64,
    /// Collective operations.
    pub collectives: f64,
    /// Sleeps.
    pub sleeps: f64,
    /// Seconds asleep in calls.
    pub waiting: f64,
    /// Bytes by the means that moved them.
    pub bytes_by: Means,
    /// Files.
    pub files: Files,
}

/// What has gone to file systems and come from them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Files {
    /// Bytes read.
    pub bytes_read: f64,
    /// Bytes written.
    pub bytes_written: f64,
    /// Calls of the file system that read.
    pub reads: f64,
    /// Calls that write.
    pub writes: f64,
    /// Calls that bring a file to its device.
    pub syncs: f64,
    /// Seconds in these calls.
    pub waiting: f64,
}

impl Files {
    /// Names and values, in the order in which all faces show them.
    pub fn list(&self) -> [(&'static str, f64); 6] {
        [
            ("bytes_read", self.bytes_read),
            ("bytes_written", self.bytes_written),
            ("reads", self.reads),
            ("writes", self.writes),
            ("syncs", self.syncs),
            ("waiting", self.waiting),
        ]
    }

    fn combine(&self, other: &Files, f: impl Fn(f64, f64) -> f64) -> Files {
        Files {
            bytes_read: f(self.bytes_read, other.bytes_read),
            bytes_written: f(self.bytes_written, other.bytes_written),
            reads: f(self.reads, other.reads),
            writes: f(self.writes, other.writes),
            syncs: f(self.syncs, other.syncs),
            waiting: f(self.waiting, other.waiting),
        }
    }
}

/// Bytes by means.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Means {
    /// In packets.
    pub inline: f64,
    /// Through cells.
    pub cells: f64,
    /// By the kernel.
    pub cross_memory: f64,
    /// From a memory file.
    pub memory_file: f64,
    /// By plain loads and stores.
    pub direct: f64,
    /// By drivers of devices, before and after other means too.
    pub device: f64,
}

impl Means {
    /// Names and values, in the order in which all faces show them.
    pub fn list(&self) -> [(&'static str, f64); 6] {
        [
            ("inline", self.inline),
            ("cells", self.cells),
            ("cross_memory", self.cross_memory),
            ("memory_file", self.memory_file),
            ("direct", self.direct),
            ("device", self.device),
        ]
    }
}

impl Counts {
    /// Applies `f` to the numbers of two, one by one.
    pub fn combine(&self, other: &Counts, f: impl Fn(f64, f64) -> f64) -> Counts {
        let (a, b) = (&self.bytes_by, &other.bytes_by);
        Counts {
            calls: f(self.calls, other.calls),
            messages_sent: f(self.messages_sent, other.messages_sent),
            bytes_sent: f(self.bytes_sent, other.bytes_sent),
            messages_received: f(self.messages_received, other.messages_received),
            bytes_received: f(self.bytes_received, other.bytes_received),
            collectives: f(self.collectives, other.collectives),
            sleeps: f(self.sleeps, other.sleeps),
            waiting: f(self.waiting, other.waiting),
            bytes_by: Means {
                inline: f(a.inline, b.inline),
                cells: f(a.cells, b.cells),
                cross_memory: f(a.cross_memory, b.cross_memory),
                memory_file: f(a.memory_file, b.memory_file),
                direct: f(a.direct, b.direct),
                device: f(a.device, b.device),
            },
            files: self.files.combine(&other.files, f),
        }
    }
}

/// What a rank holds, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Memory {
    /// Messages copied aside.
    pub aside: u64,
    /// How much may be.
    pub limit: u64,
    /// Unexpected messages kept.
    pub kept: u64,
    /// Behind its part of the node segment.
    pub segment: u64,
    /// The process in all.
    pub resident: u64,
}

/// What has moved from one rank to another: payload of messages, and what
/// collectives have taken or put straight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Who had it.
    pub from: u32,
    /// Who has got it.
    pub to: u32,
    /// Messages in all.
    pub messages: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// Messages per second of the interval.
    pub message_rate: f64,
    /// Bytes per second.
    pub byte_rate: f64,
}

/// The rank that waits least while the others wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowest {
    /// Its rank.
    pub rank: u32,
    /// The part of its time that it waits.
    pub waits: f64,
    /// The same of the others, on average.
    pub others_wait: f64,
}
