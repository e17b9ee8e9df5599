//! The file of `-configfile`, as the MPI standard and Hydra have it: each line is
//! what would stand between two `:` of the command line.
//!
//! Blank lines and those that begin with `#` mean nothing, a `\` at the end of a
//! line continues it, and a word in double quotes may have blanks in it.

use std::ffi::OsString;
use std::path::Path;

/// The words of a file, its lines divided by `:`.
///
/// # Errors
/// What is wrong with it.
pub fn read(file: &Path) -> Result<Vec<OsString>, String> {
    let text = text(file)?.replace("\r\n", "\n").replace("\\\n", " ");
    let mut words: Vec<OsString> = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let in_line = split(line).ok_or_else(|| format!("a double quote is not closed: {line}"))?;
        if !in_line.is_empty() && words.last().is_some_and(|last| last != ":") {
            words.push(":".into());
        }
        words.extend(in_line.into_iter().map(OsString::from));
    }
    match words.is_empty() {
        true => Err("there is no program in it".into()),
        false => Ok(words),
    }
}

/// What is in a file that the user names.
///
/// # Errors
/// Why it cannot be read.
pub fn text(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        _ => format!("it cannot be read: {cause}"),
    })
}

/// The words of a line; `None` where a quote is not closed.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let (mut word, mut quoted) = (None::<String>, false);
    for letter in line.chars() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            blank if blank.is_whitespace() && !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    (!quoted).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn words(text: &str) -> Result<Vec<String>, String> {
        // Tests run at the same time, each with files of its own.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("unit-test-words-{}-{number}", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let words = read(&file);
        std::fs::remove_file(&file).unwrap();
        words.map(|words| words.into_iter().map(|word| word.into_string().unwrap()).collect())
    }

    #[test]
    fn each_line_is_a_program_with_its_options() {
        let text = "# two programs\n\n-n 2 ./one \"a  b\" c#d\n  # the other\n-n 1 \\\n  ./two \"\"\n";
        assert_eq!(words(text).unwrap(), ["-n", "2", "./one", "a  b", "c#d", ":", "-n", "1", "./two", ""]);
        assert_eq!(words("a : b\nc :\nd").unwrap().join(" "), "a : b : c : d");
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        assert!(words("# nothing\n\n").unwrap_err().contains("no program in it"));
        assert!(words("./one \"a b\nc").unwrap_err().contains("not closed: ./one"));
        assert!(read(Path::new("/no/such/file")).unwrap_err().contains("there is no such file"));
    }
}
