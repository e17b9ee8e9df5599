//! The picture: a head of some lines, the view, a line of keys.

use super::keys::HELP;
use super::matrix::matrix;
use super::tables::{columns, counts, sorted, Column};
use super::{State, View};
use crate::top::report::{Counts, Doing, Rank, Report};
use crate::top::words::{bytes, count, duration, percent};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style as Paint};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table};
use ratatui::Frame;

/// Draws everything.
pub fn screen(frame: &mut Frame, state: &mut State) {
    let lines = head_lines(state, frame.area());
    let height = Constraint::Length(lines.len() as u16);
    let [head, body, foot] =
        Layout::vertical([height, Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
    frame.render_widget(Paragraph::new(lines), head);
    match state.view {
        View::Traffic => traffic(frame, state, body),
        View::Ranks => ranks_and_traffic(frame, state, body),
        View::Means | View::Memory | View::Files => table(frame, state, body),
    }
    frame.render_widget(foot_line(state), foot);
    if state.help {
        help(frame);
    }
}

fn paint(state: &State, colour: Color) -> Paint {
    if state.style.colour {
        Paint::new().fg(colour)
    } else {
        Paint::new()
    }
}

fn bold() -> Paint {
    Paint::new().add_modifier(Modifier::BOLD)
}

fn head_lines(state: &State, area: Rect) -> Vec<Line<'static>> {
    let report = &state.report;
    let right = format!("{} ranks  {}", report.ranks.len(), duration(report.watched));
    let left = format!("serried top  {}  {}", report.process, report.command);
    let room = usize::from(area.width).saturating_sub(right.len() + 2);
    let left: String = left.chars().take(room).collect();
    let gap = " ".repeat(room + 2 - left.chars().count());
    let mut lines = vec![
        Line::from(vec![Span::styled(left, bold()), Span::raw(gap), Span::raw(right)]),
        Line::raw(rates(state)),
        Line::raw(by_means(state)),
    ];
    if state.view == View::Memory || area.height > 24 {
        lines.push(Line::raw(held(report)));
    }
    lines.push(verdict(state));
    lines
}

fn rates(state: &State) -> String {
    let sum = sum(state);
    format!(
        "{} {} messages, {}; {} collectives, {} calls",
        if state.totals { "in all:    " } else { "per second:" },
        count(sum.messages_sent),
        bytes(sum.bytes_sent),
        count(sum.collectives),
        count(sum.calls)
    )
}

fn by_means(state: &State) -> String {
    // Most jobs use no device.
    let shown =
        sum(state).bytes_by.list().into_iter().filter(|&(name, value)| name != "device" || value > 0.0);
    let means: Vec<_> = shown.map(|(name, value)| format!("{} {}", short(name), bytes(value))).collect();
    format!("by means:   {}", means.join(", "))
}

fn sum(state: &State) -> &Counts {
    if state.totals {
        &state.report.total
    } else {
        &state.report.rate
    }
}

/// A means in one short word.
fn short(means: &str) -> &str {
    match means {
        "cross_memory" => "cross-mem",
        "memory_file" => "mem-file",
        other => other,
    }
}

fn held(report: &Report) -> String {
    let sum = |f: fn(&Rank) -> u64| report.ranks.iter().map(f).sum::<u64>() as f64;
    format!(
        "memory:     processes {}, segment {}, aside {} of {}, kept {}",
        bytes(sum(|rank| rank.memory.resident)),
        bytes(sum(|rank| rank.memory.segment)),
        bytes(sum(|rank| rank.memory.aside)),
        bytes(sum(|rank| rank.memory.limit)),
        bytes(sum(|rank| rank.memory.kept))
    )
}

/// The line that says most: that the job has ended, or who is slow.
fn verdict(state: &State) -> Line<'static> {
    let report = &state.report;
    let reverse = Paint::new().add_modifier(Modifier::REVERSED | Modifier::BOLD);
    if report.ended {
        return Line::styled(" The job has ended. These are its last totals; q ends. ", reverse);
    }
    if state.paused {
        return Line::styled(" On hold: the picture stands still; space goes on. ", reverse);
    }
    if let Some(slow) = report.slowest {
        let text = format!(
            "slowest:    rank {} waits {} of its time, the others {}: they wait for it",
            slow.rank,
            percent(slow.waits),
            percent(slow.others_wait)
        );
        return Line::styled(text, paint(state, Color::Yellow).add_modifier(Modifier::BOLD));
    }
    Line::raw("slowest:    no rank lets the others wait")
}

fn ranks_and_traffic(frame: &mut Frame, state: &mut State, area: Rect) {
    let wanted = state.report.ranks.len() as u16 + 1;
    // The matrix needs a title, a head and some rows to be of use.
    let left = area.height.saturating_sub(wanted);
    if left < 5 || state.report.ranks.len() < 2 {
        return table(frame, state, area);
    }
    let [upper, lower] = Layout::vertical([Constraint::Length(wanted), Constraint::Min(1)]).areas(area);
    table(frame, state, upper);
    traffic(frame, state, lower);
}

fn traffic(frame: &mut Frame, state: &State, area: Rect) {
    let drawn = matrix(state, area.width, area.height);
    let mut lines = vec![Line::styled(drawn.title, bold()), Line::raw(drawn.head)];
    lines.extend(drawn.rows.into_iter().map(|row| Line::styled(row, paint(state, Color::Cyan))));
    frame.render_widget(Paragraph::new(lines), area);
}

fn table(frame: &mut Frame, state: &mut State, area: Rect) {
    let room = usize::from(area.height.saturating_sub(1)).max(1);
    let all = state.report.ranks.len();
    state.scroll = state.scroll.min(all.saturating_sub(room));
    let shown: Vec<(usize, &Column)> = columns(state.view, state.totals)
        .iter()
        .enumerate()
        .filter(|(_, column)| column.from_width <= area.width)
        .collect();
    let head = shown.iter().map(|&(index, column)| {
        let style = if index == state.sort { bold().add_modifier(Modifier::UNDERLINED) } else { bold() };
        Cell::from(aligned(column, column.name).style(style))
    });
    let rows = sorted(state).into_iter().skip(state.scroll).take(room).map(|rank| {
        let cells = shown.iter().map(|(_, column)| {
            let text = (column.text)(rank, counts(state, rank));
            Cell::from(aligned(column, &text))
        });
        Row::new(cells.collect::<Vec<_>>()).style(row_style(state, rank))
    });
    let widths = shown.iter().map(|(_, column)| match column.width {
        0 => Constraint::Min(12),
        width => Constraint::Length(width),
    });
    let drawn = Table::new(rows.collect::<Vec<_>>(), widths).header(Row::new(head)).column_spacing(1);
    frame.render_widget(drawn, area);
}

fn aligned(column: &Column, text: &str) -> Line<'static> {
    let line = Line::raw(text.to_owned());
    if column.width == 0 {
        line.left_aligned()
    } else {
        line.right_aligned()
    }
}

fn row_style(state: &State, rank: &Rank) -> Paint {
    match rank.doing {
        Doing::Waiting => paint(state, Color::Yellow),
        Doing::Computing => paint(state, Color::Green),
        Doing::Gone | Doing::Aborted => paint(state, Color::Red).add_modifier(Modifier::BOLD),
        Doing::Finalized | Doing::NotStarted | Doing::Starting => Paint::new().add_modifier(Modifier::DIM),
        Doing::InCall => Paint::new(),
    }
}

fn foot_line(state: &State) -> Line<'static> {
    let views = [
        (View::Ranks, "1 ranks"),
        (View::Means, "2 means"),
        (View::Memory, "3 memory"),
        (View::Traffic, "4 traffic"),
        (View::Files, "5 files"),
    ];
    let mut spans: Vec<Span> = Vec::new();
    for (view, name) in views {
        let style =
            if view == state.view { Paint::new().add_modifier(Modifier::REVERSED) } else { Paint::new() };
        spans.extend([Span::styled(format!(" {name} "), style), Span::raw(" ")]);
    }
    let what = if state.totals { "totals" } else { "per second" };
    spans.push(Span::raw(format!("  {what}   q ends  ? help")));
    Line::from(spans)
}

fn help(frame: &mut Frame) {
    let area = frame.area();
    let (width, height) = (area.width.min(70), area.height.min(HELP.len() as u16 + 9));
    let middle = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    let mut lines: Vec<Line> =
        HELP.iter().map(|(key, what)| Line::raw(format!(" {key:<22}{what}"))).collect();
    lines.extend(
        [
            "",
            " COMP outside MPI   WAIT asleep in a call   COPY copying messages",
            " MPI  else in a call; short waits look and do not sleep",
            " SENT and BYTES are messages; COLL collective operations",
            " MPI_Recv 3: in that call, about rank 3 of its communicator",
        ]
        .map(Line::raw),
    );
    frame.render_widget(Clear, middle);
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title(" keys, any key goes back ")),
        middle,
    );
}
