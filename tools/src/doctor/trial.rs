//! By what means two ranks reach each other's memory here: tried, in a job of
//! its own (`serried info --pairs`).

use super::finding::Findings;
use std::process::{Command, Stdio};

/// Runs it.
pub fn look(findings: &mut Findings) {
    let Ok(this) = std::env::current_exe() else { return };
    let mut command = Command::new(&this);
    command
        .args(["run", "--timeout", "20", "-n", "2"])
        .arg(&this)
        .args(["info", "--pairs"])
        .stdin(Stdio::null());
    let output = match command.output() {
        Ok(output) => output,
        Err(cause) => return findings.fault("pairs", format!("no job can be started: {cause}"), ""),
    };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        let why = complaint(&err, &out);
        return findings.fault("pairs", format!("a job of two ranks, tried just now, fails: {why}"), "");
    }
    findings.fine("pairs", "a job of two ranks, tried just now, works");
    let mut said = Vec::new();
    for line in out.lines().filter(|line| line.starts_with("    ")).map(str::trim) {
        // A fact that is the same for both ranks, but for the number of the process, is said once.
        let words: String = line.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        if said.contains(&words) {
            continue;
        }
        said.push(words);
        if line.contains("not mapped") || line.contains("two copies") {
            findings.warn("pairs", format!("between two ranks: {line}"), "messages are slower so, but right");
        } else {
            findings.fine("pairs", format!("between two ranks: {line}"));
        }
    }
}

/// What a job that has failed says first of that.
pub fn complaint<'a>(err: &'a str, out: &'a str) -> &'a str {
    let said = err.lines().chain(out.lines()).find(|line| line.contains("serried:"));
    said.unwrap_or("it says nothing").trim_start_matches("serried: ")
}
