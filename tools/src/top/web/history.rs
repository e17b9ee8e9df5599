//! What the timeline shows: a point for each report, as far back as a page is wide.

use crate::top::json;
use crate::top::report::{Rank, Report, Share};
use std::collections::VecDeque;

/// Points that are kept.
const POINTS: usize = 600;

/// One moment of the timeline.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    sequence: u64,
    time: f64,
    messages: f64,
    bytes: f64,
    share: Share,
}

/// The last report and the points so far.
#[derive(Debug)]
pub struct History {
    interval: f64,
    last: Option<Report>,
    points: VecDeque<Point>,
}

impl Point {
    fn of(report: &Report) -> Point {
        Point {
            sequence: report.sequence,
            time: report.time,
            messages: report.rate.messages_sent,
            bytes: report.rate.bytes_sent,
            share: mean(&report.ranks),
        }
    }

    /// As the page reads it.
    pub fn json(&self) -> String {
        json::Object::default()
            .whole("sequence", self.sequence)
            .number("time", self.time)
            .number("messages", self.messages)
            .number("bytes", self.bytes)
            .number("computing", self.share.computing)
            .number("waiting", self.share.waiting)
            .number("copying", self.share.copying)
            .number("library", self.share.library)
            .end()
    }
}

/// What the time of the ranks that take part went into, on average.
fn mean(ranks: &[Rank]) -> Share {
    let shares: Vec<Share> = ranks.iter().filter_map(|rank| rank.share).collect();
    let part = |f: fn(&Share) -> f64| shares.iter().map(f).sum::<f64>() / shares.len().max(1) as f64;
    Share {
        computing: part(|share| share.computing),
        waiting: part(|share| share.waiting),
        copying: part(|share| share.copying),
        library: part(|share| share.library),
    }
}

impl History {
    /// Empty, for a report every so many seconds.
    pub fn new(interval: f64) -> History {
        History { interval, last: None, points: VecDeque::new() }
    }

    /// Adds a report.
    pub fn add(&mut self, report: Report) {
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back(Point::of(&report));
        self.last = Some(report);
    }

    /// Seconds between two.
    pub fn interval(&self) -> f64 {
        self.interval
    }

    /// The last report.
    pub fn last(&self) -> Option<&Report> {
        self.last.as_ref()
    }

    /// The points that are newer than one.
    pub fn after(&self, sequence: u64) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |point| point.sequence > sequence)
    }
}
