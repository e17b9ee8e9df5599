//! Reports as JSON: one object a line. `docs/top.md` explains every field.

use super::report::{Counts, Flow, Rank, Report};
use std::fmt::Write;

/// Builds one object; values are JSON already.
#[derive(Default)]
pub struct Object(String);

impl Object {
    /// Adds a field.
    pub fn with(mut self, name: &str, value: impl AsRef<str>) -> Object {
        let comma = if self.0.is_empty() { "" } else { "," };
        let _ = write!(self.0, "{comma}\"{name}\":{}", value.as_ref());
        self
    }

    /// Adds a number.
    pub fn number(self, name: &str, value: f64) -> Object {
        self.with(name, number(value))
    }

    /// Adds a whole number.
    pub fn whole(self, name: &str, value: impl Into<i128>) -> Object {
        self.with(name, value.into().to_string())
    }

    /// The object.
    pub fn end(self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// A number with six digits behind the point at most.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let text = format!("{value:.6}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" {
        "0".to_owned()
    } else {
        short.to_owned()
    }
}

/// A string with what JSON wants escaped.
pub fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // `<` as well, so that it is harmless inside a page.
            control if control < ' ' || control == '<' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out + "\""
}

/// An array of values that are JSON already.
pub fn array(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(","))
}

fn or_null(value: Option<String>) -> String {
    value.unwrap_or_else(|| "null".to_owned())
}

/// A report.
pub fn report(report: &Report) -> String {
    let slowest = report.slowest.map(|slowest| {
        let object = Object::default().whole("rank", slowest.rank);
        object.number("waiting", slowest.waits).number("others_waiting", slowest.others_wait).end()
    });
    let job = Object::default()
        .whole("process", report.process)
        .with("command", string(&report.command))
        .whole("ranks", report.ranks.len() as i64)
        .with("ended", report.ended.to_string());
    Object::default()
        .whole("sequence", report.sequence)
        .number("time", report.time)
        .number("interval", report.interval)
        .number("watched", report.watched)
        .with("job", job.end())
        .with("rate", counts(&report.rate))
        .with("total", counts(&report.total))
        .with("slowest", or_null(slowest))
        .with("ranks", array(report.ranks.iter().map(rank)))
        .with("traffic", array(report.traffic.iter().map(flow)))
        .end()
}

fn rank(rank: &Rank) -> String {
    let share = rank.share.map(|share| {
        Object::default()
            .number("computing", share.computing)
            .number("waiting", share.waiting)
            .number("copying", share.copying)
            .number("library", share.library)
            .end()
    });
    let memory = Object::default()
        .whole("aside", rank.memory.aside)
        .whole("limit", rank.memory.limit)
        .whole("kept", rank.memory.kept)
        .whole("segment", rank.memory.segment)
        .whole("resident", rank.memory.resident);
    let unexpected = Object::default().whole("now", rank.unexpected.0).whole("most", rank.unexpected.1);
    Object::default()
        .whole("rank", rank.rank)
        .whole("process", rank.process)
        .with("state", string(rank.doing.word()))
        .with("call", string(&rank.call))
        .with("peer", or_null(rank.peer.map(|peer| peer.to_string())))
        .with("tag", or_null(rank.tag.map(|tag| tag.to_string())))
        .number("since", rank.since)
        .with("share", or_null(share))
        .with("rate", counts(&rank.rate))
        .with("total", counts(&rank.total))
        .with("unexpected", unexpected.end())
        .with("memory", memory.end())
        .end()
}

fn counts(counts: &Counts) -> String {
    let object = |list: &[(&str, f64)]| {
        list.iter().fold(Object::default(), |object, &(name, value)| object.number(name, value)).end()
    };
    Object::default()
        .number("calls", counts.calls)
        .number("messages_sent", counts.messages_sent)
        .number("bytes_sent", counts.bytes_sent)
        .number("messages_received", counts.messages_received)
        .number("bytes_received", counts.bytes_received)
        .number("collectives", counts.collectives)
        .number("sleeps", counts.sleeps)
        .number("waiting", counts.waiting)
        .with("bytes_by", object(&counts.bytes_by.list()))
        .with("files", object(&counts.files.list()))
        .end()
}

fn flow(flow: &Flow) -> String {
    Object::default()
        .whole("from", flow.from)
        .whole("to", flow.to)
        .whole("messages", flow.messages)
        .whole("bytes", flow.bytes)
        .number("message_rate", flow.message_rate)
        .number("byte_rate", flow.byte_rate)
        .end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_strings_escaped() {
        assert_eq!([0.0, 1.5, 1e12, -1e-9, f64::NAN].map(number), ["0", "1.5", "1000000000000", "0", "null"]);
        assert_eq!(string("a\"b\\\n<"), r#""a\"b\\\u000a\u003c""#);
        let object = Object::default().whole("a", 1u32).with("b", array(["2".to_owned()].into_iter()));
        assert_eq!(object.end(), r#"{"a":1,"b":[2]}"#);
    }
}
