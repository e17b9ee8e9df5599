//! What is told: a table for people, a row as soon as it has been measured, or JSON.

use super::cells::{Cell, LENGTHS};
use std::io::Write;

/// The report of rank 0; the others tell nothing.
pub struct Report {
    is_json: bool,
    speaks: bool,
    hosts: Vec<String>,
    rows: Vec<String>,
}

impl Report {
    /// Begins; `hosts` are those of all ranks, at rank 0.
    pub fn new(is_json: bool, speaks: bool, hosts: Vec<String>) -> Report {
        let report = Report { is_json, speaks, hosts, rows: Vec::new() };
        if speaks && !is_json {
            let lengths: String = LENGTHS.iter().map(|bytes| format!("{bytes:>10}")).collect();
            say(&format!("{}\n\n{:24}{lengths}\n", report.heading(), "microseconds, for bytes"));
        }
        report
    }

    fn heading(&self) -> String {
        let mut names = self.hosts.clone();
        names.sort_unstable();
        names.dedup();
        let ranks = match self.hosts.len() {
            1 => "one rank".to_owned(),
            ranks => format!("{ranks} ranks"),
        };
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        format!(
            "Serried {}, {ranks} on {}, where {cpus} CPUs may be used",
            env!("CARGO_PKG_VERSION"),
            names.join(" ")
        )
    }

    /// Tells a row: seconds for each of its cells.
    pub fn add(&mut self, row: &[(Cell, f64)]) {
        let Some(&(first, seconds)) = row.first().filter(|_| self.speaks) else { return };
        if self.is_json {
            let cell = |&(cell, seconds): &(Cell, f64)| {
                let partner = cell.partner().map_or("null".to_owned(), |rank| rank.to_string());
                format!(
                    "    {{\"what\": \"{}\", \"partner\": {partner}, \"bytes\": {}, \"microseconds\": {:.4}}}",
                    cell.name(),
                    cell.bytes(),
                    seconds * 1e6
                )
            };
            return self.rows.extend(row.iter().map(cell));
        }
        let name = self.name(first);
        if let Cell::Burst { .. } = first {
            return say(&format!(
                "{name:24}{:>10} a second: {:.2} million\n",
                figure(seconds),
                1e-6 / seconds
            ));
        }
        let times: String = row.iter().map(|(_, seconds)| format!("{:>10}", figure(*seconds))).collect();
        say(&format!("{name:24}{times}\n"));
    }

    fn name(&self, cell: Cell) -> String {
        match cell.partner() {
            None => cell.name().to_owned(),
            Some(rank) if self.hosts.first() == self.hosts.get(rank as usize) => {
                format!("{}, rank {rank}", cell.name())
            }
            Some(rank) => format!("{}, {}", cell.name(), self.hosts[rank as usize]),
        }
    }

    /// All has been measured.
    pub fn end(&self) {
        if self.speaks && self.is_json {
            say(&format!(
                "{{\n  \"serried\": \"{}\",\n  \"ranks\": {},\n  \"rows\": [\n{}\n  ]\n}}\n",
                env!("CARGO_PKG_VERSION"),
                self.hosts.len(),
                self.rows.join(",\n")
            ));
        }
    }
}

/// Microseconds with three digits that mean something.
fn figure(seconds: f64) -> String {
    match seconds * 1e6 {
        short if short < 10.0 => format!("{short:.2}"),
        middle if middle < 100.0 => format!("{middle:.1}"),
        long => format!("{long:.0}"),
    }
}

/// A reader that has had enough is no error.
fn say(text: &str) {
    let mut output = std::io::stdout();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_rows_the_names_of_partners() {
        assert_eq!([0.1234e-6, 12.34e-6, 1234e-6].map(figure), ["0.12", "12.3", "1234"]);
        let report = Report::new(true, false, ["n1", "n1", "n2"].map(str::to_owned).to_vec());
        assert_eq!(report.name(Cell::Message { partner: 1, bytes: 8 }), "message, rank 1");
        assert_eq!(report.name(Cell::Burst { partner: 2 }), "message of many, n2");
        assert!(report.heading().contains("3 ranks on n1 n2"));
    }
}
