//! The terminal: draws reports and listens to keys.
//!
//! Promise: however it ends (a key, a signal, a panic), the terminal is as it was.

mod draw;
mod keys;
mod matrix;
mod tables;

use super::meter::Meter;
use super::options::Options;
use super::report::Report;
use crate::system::signals::Signals;
use keys::Answer;
use ratatui::crossterm::event;
use ratatui::DefaultTerminal;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// What each rank does, and the traffic if there is room for it.
    Ranks,
    /// Messages, and bytes by means.
    Means,
    /// Memory and unexpected messages.
    Memory,
    /// Who sends how much to whom.
    Traffic,
    /// What goes to file systems and comes from them.
    Files,
}

/// Everything that drawing depends on.
#[derive(Debug)]
pub struct State {
    report: Report,
    view: View,
    /// Column of the view's table to sort by.
    sort: usize,
    reverse: bool,
    /// Totals instead of rates.
    totals: bool,
    paused: bool,
    help: bool,
    scroll: usize,
    style: Style,
}

/// What the terminal can do.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    colour: bool,
    unicode: bool,
}

impl Style {
    /// By the conventions of the environment.
    fn of_terminal() -> Style {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let language = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let language = language.to_uppercase();
        let dumb = set("TERM").is_none_or(|terminal| terminal == "dumb" || terminal.ends_with("-m"));
        Style {
            colour: set("NO_COLOR").is_none() && !dumb,
            unicode: language.contains("UTF-8") || language.contains("UTF8"),
        }
    }
}

impl State {
    fn new(report: Report, style: Style) -> State {
        State {
            report,
            view: View::Ranks,
            sort: 0,
            reverse: false,
            totals: false,
            paused: false,
            help: false,
            scroll: 0,
            style,
        }
    }
}

/// Shows reports until a key, a signal or the count ends it. The end of the job
/// does not: its last totals stay.
///
/// # Errors
/// A sentence when the terminal refuses.
pub fn run(mut meter: Meter, options: &Options, signals: &Signals) -> Result<i32, String> {
    let said = |cause: std::io::Error| format!("the terminal cannot be used: {cause}");
    let style = Style::of_terminal();
    let report = meter.report();
    let mut terminal = ratatui::try_init().map_err(said)?;
    let shown = show(&mut terminal, &mut meter, options, signals, State::new(report, style));
    ratatui::restore();
    shown.map_err(said)
}

/// Waits for a key, a signal or this long. A terminal that is gone counts as the
/// signal that says so, and must not be read: crossterm would read for ever.
fn wait(signals: &Signals, time: Duration) -> Option<i32> {
    let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // crossterm reads /dev/tty where the input is no terminal; -1 is not looked at.
    let input = if std::io::stdin().is_terminal() { 0 } else { -1 };
    let mut entries = [entry(signals.descriptor()), entry(input)];
    // SAFETY: `entries` are two valid pollfds.
    unsafe { libc::poll(entries.as_mut_ptr(), 2, time.as_millis() as i32) };
    if entries[1].revents & (libc::POLLHUP | libc::POLLERR) != 0 {
        return Some(libc::SIGHUP);
    }
    signals.next().map(|received| received.signal)
}

fn show(
    terminal: &mut DefaultTerminal,
    meter: &mut Meter,
    options: &Options,
    signals: &Signals,
    mut state: State,
) -> std::io::Result<i32> {
    let step = Duration::from_secs_f64(options.interval);
    let mut left = options.count.unwrap_or(u64::MAX);
    // The first figures soon.
    let mut next = Instant::now() + step.min(Duration::from_millis(250));
    terminal.draw(|frame| draw::screen(frame, &mut state))?;
    loop {
        let ended = state.report.ended;
        let pause = if ended { Duration::from_millis(100) } else { meter.pause() };
        if let Some(signal) = wait(signals, pause) {
            return Ok(128 + signal);
        }
        let key = event::poll(Duration::ZERO)?.then(event::read).transpose()?;
        let mut changed = key.is_some();
        match key.map_or(Answer::Nothing, |event| keys::press(&mut state, &event)) {
            Answer::End => return Ok(0),
            Answer::Nothing => {}
        }
        if !ended {
            meter.look();
            if Instant::now() >= next || meter.has_ended() {
                next = Instant::now() + step;
                let report = meter.report();
                changed |= !state.paused || report.ended;
                if changed {
                    // Rates of a job that has ended are no use.
                    state.totals |= report.ended;
                    state.report = report;
                }
                left -= 1;
            }
        }
        if changed {
            terminal.draw(|frame| draw::screen(frame, &mut state))?;
        }
        if left == 0 {
            return Ok(0);
        }
    }
}
