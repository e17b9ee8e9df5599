//! The file that says where the crossovers of a machine lie.
//!
//! `serried tune` writes it, `share/serried/tuning.toml` beside the folder of the library; [`TUNING`] names another one. It
//! is TOML of one kind of line, `name = bytes`, and comments. A line that means nothing is an error: a job that takes other
//! ways than its owner believes would be worse.

use super::crossovers::{place_of, ALL, COUNT};
use crate::own_file::own_file;
use crate::settings::TUNING;
use crate::{Class, Error, Result};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Of [`TUNING`]: no file is read.
pub const NONE: &str = "none";

/// Where the values of a node come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nothing has been measured, or nobody wants that.
    Defaults,
    /// This file.
    File(PathBuf),
}

/// The file beside this library, whether it is there or not; `None` where the library does not find itself.
pub fn beside_library() -> Option<PathBuf> {
    Some(own_file()?.parent()?.parent()?.join("share/serried/tuning.toml"))
}

/// Where the values come from, by the setting and by what is there.
pub fn source() -> Source {
    match std::env::var_os(TUNING).filter(|value| !value.is_empty()) {
        Some(value) if value == NONE => Source::Defaults,
        Some(value) => Source::File(value.into()),
        None => beside_library().filter(|file| file.is_file()).map_or(Source::Defaults, Source::File),
    }
}

/// The values of this machine, in the order of [`ALL`].
///
/// # Errors
/// `Arg` for a file that cannot be read or has a line that means nothing.
pub fn of_this_machine() -> Result<[u32; COUNT]> {
    match source() {
        Source::Defaults => Ok(ALL.map(|crossover| crossover.default)),
        Source::File(file) => read(&file),
    }
}

/// The values in a file; what it does not name is the default.
///
/// # Errors
/// As [`of_this_machine`].
pub fn read(file: &Path) -> Result<[u32; COUNT]> {
    let text =
        std::fs::read_to_string(file).map_err(|cause| wrong(file, &format!("cannot be read: {cause}")))?;
    parse(&text).map_err(|why| wrong(file, &why))
}

fn wrong(file: &Path, why: &str) -> Error {
    let sentence = format!(
        "the file of crossovers {} {why}; `serried tune` makes it anew, {TUNING}={NONE} does without it",
        file.display()
    );
    Error::new(Class::Arg, sentence)
}

/// The values in a text; why it means nothing.
fn parse(text: &str) -> std::result::Result<[u32; COUNT], String> {
    let mut values = ALL.map(|crossover| crossover.default);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("has `{line}` in line {number}, not `name = bytes`"))?;
        let (name, value) = (name.trim(), value.trim());
        let place = place_of(name)
            .ok_or_else(|| format!("names `{name}` in line {number}, which is no crossover"))?;
        let (least, most) = (ALL[place].least, ALL[place].most);
        let bytes = value.replace('_', "").parse().ok().filter(|bytes| (least..=most).contains(bytes));
        values[place] = bytes.ok_or_else(|| {
            format!("says {name} = {value} in line {number}, which has to be {least} to {most} bytes")
        })?;
    }
    Ok(values)
}

/// The text of a file: a comment, and a line for each value that is not the default.
pub fn text(comment: &str, values: &[u32; COUNT]) -> String {
    let mut text: String = comment.lines().map(|line| format!("# {line}\n")).collect();
    for (crossover, value) in ALL.iter().zip(values).filter(|(crossover, value)| crossover.default != **value)
    {
        let (below, beyond) = (crossover.below, crossover.beyond);
        let _ = write!(text, "\n# up to this {below};\n# then {beyond}\n{} = {value}\n", crossover.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::crossovers::{EAGER_BLOCK, WHOLE};

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let mut values = ALL.map(|crossover| crossover.default);
        values[0] = EAGER_BLOCK.least;
        values[COUNT - 1] += 8;
        let written = text("measured on a machine\nof two cores", &values);
        assert_eq!(parse(&written), Ok(values));
        assert!(written.starts_with("# measured on a machine\n# of two cores\n"));
        assert_eq!(written.matches(" = ").count(), 2, "defaults are left out: {written}");
        assert_eq!(parse("\n  eager_block=65_536 # short\n").map(|values| values[0]), Ok(65536));
    }

    #[test]
    fn a_line_that_means_nothing_is_named() {
        let most = u64::from(WHOLE.most) + 1;
        for (line, why) in [
            ("whole", "has `whole` in line 2"),
            ("hole = 3", "names `hole` in line 2"),
            ("whole = many", "says whole = many in line 2"),
            (&format!("whole = {most}"), "has to be 4096 to 1048576 bytes"),
            ("whole = -1", "has to be"),
        ] {
            let found = parse(&format!("# a comment\n{line}\n")).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
        let error = read(Path::new("/nowhere/tuning.toml")).unwrap_err();
        assert!(error.message().contains("/nowhere/tuning.toml cannot be read"), "{}", error.message());
    }

    #[test]
    fn names_differ_and_are_found() {
        for (index, crossover) in ALL.iter().enumerate() {
            assert_eq!(place_of(crossover.name), Some(index));
        }
        assert!(place_of("").is_none());
    }
}
