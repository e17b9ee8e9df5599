//! `serried top`: what the ranks of a running job do, live.
//!
//! ```text
//! attach ── meter ── report ──┬── screen  (terminal)
//!                             ├── json    (--json)
//!                             └── web     (--web)
//! ```
//!
//! The job is not asked and does not notice: its pages are read. One thread
//! takes all reports, and ends orderly by any signal that asks it to.

mod json;
mod meter;
mod options;
mod reading;
mod report;
mod screen;
mod web;
mod words;

use crate::attach;
use crate::system::signals::Signals;
use meter::Meter;
use options::{Face, Options};
use report::Report;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Write};
use std::time::{Duration, Instant};

const USAGE: &str = "\
usage: serried top [PID] [--json | --web[=PORT]] [--interval SECONDS] [--count N]

Shows what the ranks of a running job do: state and call of each, what their time goes into,
rates of messages and bytes, memory, who sends how much to whom, and who is slow.
PID is the launcher or a rank of the job; without it there must be one job of yours.

  --json               one JSON object a line for each interval, the last when the job has ended
  --web[=PORT]         the same as a page for a browser on this machine; prints its address
  -i, --interval S     seconds between two reports (1)
  -n, --count N        end after N reports

Keys in the terminal: q ends, Tab changes the view, arrows sort and scroll, ? shows all.
The job does not notice: attach and detach at any time. docs/top.md explains what is shown.
";

/// Does it; returns the exit status.
pub fn command(arguments: &[OsString]) -> i32 {
    let options = match options::parse(arguments) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{USAGE}");
            return 0;
        }
        Err(problem) => {
            eprintln!("serried top: {problem}\n\n{USAGE}");
            return 2;
        }
    };
    if options.face == Face::Terminal && !std::io::stdout().is_terminal() {
        eprintln!("serried top: the output is no terminal; use --json (or --web) there");
        return 2;
    }
    run(&options).unwrap_or_else(|problem| {
        eprintln!("serried top: {problem}");
        1
    })
}

fn run(options: &Options) -> Result<i32, String> {
    // First of all, so that it ends orderly at any time; and before there are threads, so that they all leave
    // signals to this one.
    let signals = Signals::take(&[]).map_err(|cause| format!("signals cannot be read: {cause}"))?;
    let job = attach::find(options.process).map_err(|problem| with_hint(problem, options))?.open()?;
    let meter = Meter::new(job);
    match options.face {
        Face::Terminal => screen::run(meter, options, &signals),
        Face::Json => {
            let mut written = Ok(());
            let status = watch(meter, options, &signals, |report| {
                written = writeln!(std::io::stdout().lock(), "{}", json::report(&report));
                written.is_ok()
            });
            match written {
                // A reader may have had enough.
                Err(cause) if cause.kind() != ErrorKind::BrokenPipe => {
                    Err(format!("cannot write to standard output: {cause}"))
                }
                _ => Ok(status),
            }
        }
        Face::Web(port) => web::run(meter, options, port, &signals),
    }
}

/// Adds how a port is given, where one may have been meant.
fn with_hint(problem: String, options: &Options) -> String {
    match (options.face, options.process) {
        (Face::Web(0), Some(number)) if number <= i32::from(u16::MAX) => {
            format!("{problem}\n  if {number} is meant as a port: --web={number}")
        }
        _ => problem,
    }
}

/// Makes reports until enough, the end of the job, a signal, or `show` returns
/// `false`. Returns the exit status.
fn watch(
    mut meter: Meter,
    options: &Options,
    signals: &Signals,
    mut show: impl FnMut(Report) -> bool,
) -> i32 {
    let step = Duration::from_secs_f64(options.interval);
    let mut next = Instant::now() + step;
    let mut left = options.count.unwrap_or(u64::MAX);
    loop {
        while Instant::now() < next && !meter.has_ended() {
            meter.look();
            let pause = meter.pause().min(next.saturating_duration_since(Instant::now()));
            if let Some(signal) = wait(signals, pause) {
                return 128 + signal;
            }
        }
        // A loop that was held up does not hurry to catch up.
        next = (next + step).max(Instant::now() + step / 2);
        left -= 1;
        let report = meter.report();
        let ended = report.ended;
        if !show(report) || ended || left == 0 {
            return 0;
        }
    }
}

/// Waits for this long, or for a signal.
fn wait(signals: &Signals, time: Duration) -> Option<i32> {
    let mut entry = libc::pollfd { fd: signals.descriptor(), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos() as libc::c_long,
    };
    // SAFETY: `entry` is one valid pollfd; no mask is changed.
    let ready = unsafe { libc::ppoll(&mut entry, 1, &time, std::ptr::null()) } > 0;
    ready.then(|| signals.next()).flatten().map(|received| received.signal)
}
