//! The traffic matrix in letters: a row for each sender, a column for each receiver.

use super::{State, Style};
use crate::top::report::{Flow, Report};
use crate::top::words::count;

/// Letters from nothing to the most.
const UNICODE: [char; 6] = ['·', '░', '▒', '▓', '█', '█'];
const ASCII: [char; 6] = ['.', ':', '+', '#', '@', '@'];

/// A matrix ready to be drawn.
pub struct Matrix {
    /// What it says of itself.
    pub title: String,
    /// Heads of the columns, in one line.
    pub head: String,
    /// Rows with their heads.
    pub rows: Vec<String>,
}

/// Makes it for so much room; ranks are taken together where there is too little.
pub fn matrix(state: &State, width: u16, height: u16) -> Matrix {
    let report = &state.report;
    let size = report.ranks.len().max(1);
    let (width, height) = (usize::from(width.max(16)), usize::from(height.max(3)));
    let label = digits(size) + 1;
    let fits = ((width - label) / 2).min(height - 2).max(1);
    let group = size.div_ceil(fits);
    let groups = size.div_ceil(group);
    let values = gather(report, groups, group, state.totals);
    let most = values.iter().copied().fold(0.0, f64::max);
    let cell = ((width - label) / groups).min(7);
    let numbers = cell >= 6;
    let head: String = (0..groups)
        .map(|g| {
            format!("{:>cell$}", if cell > digits(size) { (g * group).to_string() } else { String::new() })
        })
        .collect();
    let row = |from: usize| -> String {
        let cells = (0..groups).map(|to| {
            let value = values[from * groups + to];
            let text = if numbers && value > 0.0 {
                count(value)
            } else {
                shade(value, most, cell.min(3) - 1, state.style)
            };
            format!("{text:>cell$}")
        });
        format!("{:>width$}{}", from * group, cells.collect::<String>(), width = label - 1)
    };
    Matrix {
        title: title(state, most, group),
        head: format!("{:>width$}{head}", "", width = label - 1),
        rows: (0..groups).map(row).collect(),
    }
}

fn title(state: &State, most: f64, group: usize) -> String {
    let unit = if state.totals { "bytes in all" } else { "bytes/s" };
    let letters = if state.style.unicode { UNICODE } else { ASCII };
    let grouped = if group > 1 { format!(", {group} ranks together") } else { String::new() };
    format!("traffic: rows send to columns, {unit}{grouped}; {} is {}", letters[4], count(most))
}

fn gather(report: &Report, groups: usize, group: usize, totals: bool) -> Vec<f64> {
    let mut values = vec![0.0; groups * groups];
    let value = |flow: &Flow| if totals { flow.bytes as f64 } else { flow.byte_rate };
    for flow in &report.traffic {
        let (from, to) = (flow.from as usize / group, flow.to as usize / group);
        if let Some(place) = values.get_mut(from * groups + to) {
            *place += value(flow);
        }
    }
    values
}

fn shade(value: f64, most: f64, width: usize, style: Style) -> String {
    let letters = if style.unicode { UNICODE } else { ASCII };
    let level = if value <= 0.0 || most <= 0.0 {
        0
    } else {
        1 + (value / most * 4.0 - 0.001).clamp(0.0, 3.0) as usize
    };
    letters[level].to_string().repeat(width.max(1))
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}
