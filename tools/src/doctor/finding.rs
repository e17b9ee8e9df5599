//! What the doctor has found, and how it says it: to people and to machines.

use std::borrow::Cow;
use std::fmt::Write;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Fine,
    /// Worth knowing; nothing to do.
    Note,
    /// Jobs run, but not as well, or not as one thinks.
    Warning,
    /// Jobs, or this program, cannot run.
    Fault,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Fine => "fine",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Fault => "fault",
        }
    }

    fn read(word: &str) -> Option<Level> {
        [Level::Fine, Level::Note, Level::Warning, Level::Fault]
            .into_iter()
            .find(|level| level.word() == word)
    }
}

/// One fact, in a sentence.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is about: a word that stays the same.
    pub about: Cow<'static, str>,
    /// How bad it is.
    pub level: Level,
    /// The sentence.
    pub text: String,
    /// What to do; empty if there is nothing to do.
    pub advice: String,
}

/// All that was found, by sections.
#[derive(Debug, Default)]
pub struct Report {
    sections: Vec<(&'static str, Vec<Finding>)>,
}

/// What one section finds.
#[derive(Debug, Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Adds what is as it should be.
    pub fn fine(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(about, Level::Fine, text, "");
    }

    /// Adds what is worth knowing.
    pub fn note(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(about, Level::Note, text, "");
    }

    /// Adds what is not as one thinks, and what to do.
    pub fn warn(&mut self, about: &'static str, text: impl Into<String>, advice: impl Into<String>) {
        self.add(about, Level::Warning, text, advice);
    }

    /// Adds what makes jobs impossible, and what to do.
    pub fn fault(&mut self, about: &'static str, text: impl Into<String>, advice: impl Into<String>) {
        self.add(about, Level::Fault, text, advice);
    }

    fn add(&mut self, about: &'static str, level: Level, text: impl Into<String>, advice: impl Into<String>) {
        self.0.push(Finding { about: about.into(), level, text: text.into(), advice: advice.into() });
    }

    /// Adds what another doctor has found.
    pub fn pass_on(&mut self, finding: Finding) {
        self.0.push(finding);
    }
}

impl Finding {
    /// As a line for a doctor on another host, which reads it by [`Finding::read`].
    fn to_line(&self) -> String {
        let words = [self.level.word(), &self.about, &self.text, &self.advice];
        words.map(|word| word.replace('\t', " ").replace('\n', "\u{b}")).join("\t")
    }

    /// From such a line; `None` if it is none.
    pub fn read(line: &str) -> Option<Finding> {
        let words: Vec<String> = line.split('\t').map(|word| word.replace('\u{b}', "\n")).collect();
        let [level, about, text, advice] = <[String; 4]>::try_from(words).ok()?;
        Some(Finding { level: Level::read(&level)?, about: about.into(), text, advice })
    }
}

impl Report {
    /// Adds a section.
    pub fn add(&mut self, name: &'static str, look: impl FnOnce(&mut Findings)) {
        let mut findings = Findings::default();
        look(&mut findings);
        self.sections.push((name, findings.0));
    }

    fn all(&self) -> impl Iterator<Item = &Finding> {
        self.sections.iter().flat_map(|(_, findings)| findings)
    }

    /// The worst of it.
    pub fn worst(&self) -> Level {
        self.all().map(|finding| finding.level).max().unwrap_or(Level::Fine)
    }

    /// The exit status: 0 fine, 1 warnings, 2 faults.
    pub fn status(&self) -> i32 {
        match self.worst() {
            Level::Fine | Level::Note => 0,
            Level::Warning => 1,
            Level::Fault => 2,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, findings) in self.sections.iter().filter(|(_, findings)| !findings.is_empty()) {
            let _ = writeln!(text, "{name}");
            for finding in findings {
                text += &line(finding);
            }
        }
        let count = |level| self.all().filter(|finding| finding.level == level).count();
        let _ = match (count(Level::Fault), count(Level::Warning)) {
            (0, 0) => writeln!(text, "Nothing is wrong."),
            (0, warnings) => writeln!(text, "Jobs run; warnings: {warnings}."),
            (faults, warnings) => writeln!(text, "Faults: {faults}; warnings: {warnings}."),
        };
        text
    }

    /// Only what is wrong, indented to stand below another message; empty if
    /// nothing is.
    pub fn short(&self) -> String {
        self.all().filter(|finding| finding.level >= Level::Warning).map(line).collect()
    }

    /// For a doctor on another host, which reads each line by [`Finding::read`].
    pub fn lines(&self) -> String {
        self.all().map(|finding| finding.to_line() + "\n").collect()
    }

    /// For machines.
    pub fn json(&self, host: &str) -> String {
        let mut rows = Vec::new();
        for (section, findings) in &self.sections {
            rows.extend(findings.iter().map(|finding| {
                format!(
                    "    {{\"section\": {}, \"about\": {}, \"level\": {}, \"text\": {}, \"advice\": {}}}",
                    quoted(section),
                    quoted(&finding.about),
                    quoted(finding.level.word()),
                    quoted(&finding.text),
                    if finding.advice.is_empty() { "null".to_owned() } else { quoted(&finding.advice) }
                )
            }));
        }
        format!(
            "{{\n  \"serried\": {},\n  \"host\": {},\n  \"result\": {},\n  \"status\": {},\n  \"findings\": [\n{}\n  ]\n}}\n",
            quoted(env!("CARGO_PKG_VERSION")),
            quoted(host),
            quoted(self.worst().word()),
            self.status(),
            rows.join(",\n")
        )
    }
}

fn line(finding: &Finding) -> String {
    let mark = match finding.level {
        Level::Fine => "      ",
        Level::Note => "note  ",
        Level::Warning => "WARN  ",
        Level::Fault => "FAULT ",
    };
    let mut text = format!("  {mark}{}\n", finding.text.replace('\n', "\n        "));
    if !finding.advice.is_empty() {
        let _ = writeln!(text, "        -> {}", finding.advice);
    }
    text
}

/// A string as JSON writes it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Bytes as people read them.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value < 10.0 && unit > 0 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_that_of_the_worst() {
        let mut report = Report::default();
        report.add("one", |findings| findings.note("a", "so it is"));
        assert_eq!((report.status(), report.short().as_str()), (0, ""));
        report.add("two", |findings| findings.warn("b", "a \"quoted\"\nthing", "do this"));
        assert_eq!(report.status(), 1);
        assert!(report.short().contains("do this") && !report.short().contains("so it is"));
        report.add("three", |findings| findings.fault("c", "no", ""));
        assert_eq!(report.status(), 2);
        assert!(report.json("h").contains(r#""a \"quoted\"\nthing""#));
        assert!(report.text().ends_with("Faults: 1; warnings: 1.\n"));
    }

    #[test]
    fn a_finding_comes_back_from_its_line() {
        let mut report = Report::default();
        report.add("one", |findings| findings.warn("b", "two\nlines\there", "do this"));
        report.add("two", |findings| findings.fine("c", "well"));
        let read: Vec<Finding> = report.lines().lines().filter_map(Finding::read).collect();
        assert_eq!(
            (read.len(), read[0].level, read[0].text.as_str()),
            (2, Level::Warning, "two\nlines here")
        );
        assert_eq!((&*read[1].about, read[1].advice.as_str()), ("c", ""));
        assert!(Finding::read("Welcome to this machine").is_none());
    }
}
