//! The command line of `serried top`.

use std::ffi::OsString;

/// How to show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Face {
    /// In the terminal.
    Terminal,
    /// One object a line.
    Json,
    /// A page at this port of the loopback; 0: any that is free.
    Web(u16),
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// A process of the job.
    pub process: Option<i32>,
    /// How to show it.
    pub face: Face,
    /// Seconds between two reports.
    pub interval: f64,
    /// Reports until it ends by itself.
    pub count: Option<u64>,
}

/// `Ok(None)`: help was asked for.
///
/// # Errors
/// A sentence.
pub fn parse(arguments: &[OsString]) -> Result<Option<Options>, String> {
    let mut options = Options { process: None, face: Face::Terminal, interval: 1.0, count: None };
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (name, mut value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (word, None),
        };
        match name {
            "--help" | "-h" => return Ok(None),
            "--json" => options.face = Face::Json,
            "--web" => {
                options.face = Face::Web(
                    value
                        .map_or(Ok(0), |port| port.parse())
                        .map_err(|_| bad(name, value, "a port, 0 to 65535"))?,
                );
            }
            "--interval" | "-i" => {
                value = value.or_else(|| words.next());
                let seconds = value.and_then(|text| text.parse().ok());
                options.interval = seconds
                    .filter(|seconds| (0.05..=3600.0).contains(seconds))
                    .ok_or_else(|| bad(name, value, "seconds, 0.05 to 3600"))?;
            }
            "--count" | "-n" => {
                value = value.or_else(|| words.next());
                let count = value.and_then(|text| text.parse().ok()).filter(|&count| count > 0);
                options.count = Some(count.ok_or_else(|| bad(name, value, "how many reports, 1 or more"))?);
            }
            _ if options.process.is_none() && word.parse::<i32>().is_ok_and(|number| number > 0) => {
                options.process = word.parse().ok();
            }
            _ if options.process.is_some() && word.parse::<u32>().is_ok() => {
                return Err(format!("`{word}` is a second process; a port is given as --web={word}"))
            }
            _ => return Err(format!("`{word}` is no option of top, and no process id")),
        }
    }
    Ok(Some(options))
}

fn bad(name: &str, value: Option<&str>, wanted: &str) -> String {
    match value {
        Some(value) => format!("{name} {value}: it takes {wanted}"),
        None => format!("{name} takes {wanted}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<Options>, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words)
    }

    #[test]
    fn what_was_asked_for_is_understood() {
        let options = parsed("77 --json --interval 0.5 -n 3").unwrap().unwrap();
        assert_eq!(options, Options { process: Some(77), face: Face::Json, interval: 0.5, count: Some(3) });
        let face = |line: &str| parsed(line).unwrap().unwrap().face;
        assert_eq!(
            [face("--web"), face("--web=8080 77"), face("--web=1")],
            [Face::Web(0), Face::Web(8080), Face::Web(1)]
        );
        for line in ["--web 77", "77 --web", "--web=0 77"] {
            let options = parsed(line).unwrap().unwrap();
            assert_eq!((options.face, options.process), (Face::Web(0), Some(77)), "{line}");
        }
        assert_eq!(parsed("--help"), Ok(None));
    }

    #[test]
    fn nonsense_is_named() {
        for (line, word) in [
            ("-x", "-x"),
            ("1 2", "`2`"),
            ("77 --web 8080", "--web=8080"),
            ("--interval 0", "0.05"),
            ("--count", "how many"),
            ("--web=70000", "port"),
        ] {
            let refused = parsed(line).unwrap_err();
            assert!(refused.contains(word), "{line}: {refused}");
        }
    }
}
