//! A line of the PMI-1 wire: `cmd=name key=value key=value`, ended by a newline.
//!
//! Read leniently: launchers differ in what they add (`rc`, `msg`, `tag`) and
//! in which answers carry a return code.

/// A PMI-1 line taken apart; borrows the text.
#[derive(Debug, Clone, Copy)]
pub struct PmiLine<'a>(&'a str);

impl<'a> PmiLine<'a> {
    /// Looks at `line`, with or without its newline.
    pub fn new(line: &'a str) -> Self {
        PmiLine(line.trim_end_matches(['\n', '\r', '\0']))
    }

    /// The command (`cmd=` or, for several lines, `mcmd=`); empty if none.
    pub fn command(&self) -> &'a str {
        self.value("cmd").or_else(|| self.value("mcmd")).unwrap_or("")
    }

    /// The value of `key`, up to the next space.
    pub fn value(&self, key: &str) -> Option<&'a str> {
        self.0.split(' ').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
    }

    /// The value of `key` to the end of the line (messages have spaces).
    pub fn rest(&self, key: &str) -> Option<&'a str> {
        let start = self.0.find(&format!("{key}="))?;
        Some(&self.0[start + key.len() + 1..])
    }

    /// The value of `key` as a number.
    pub fn number(&self, key: &str) -> Option<i64> {
        self.value(key)?.parse().ok()
    }

    /// Whether the answer says that it went wrong: a return code other than 0.
    pub fn refused(&self) -> bool {
        self.number("rc").is_some_and(|code| code != 0)
    }

    /// The whole line.
    pub fn text(&self) -> &'a str {
        self.0
    }
}
