//! The fields of `MPI_Status` as an ABI's file lists them: in C and in Rust.

use crate::Problem;
use std::fmt::Write;

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `MPI_SOURCE`.
    Source,
    /// `MPI_TAG`.
    Tag,
    /// `MPI_ERROR`.
    Error,
    /// The lower half of the size of the message.
    BytesLow,
    /// The upper half.
    BytesHigh,
    /// The upper half in 31 bits, and in the lowest whether it was cancelled.
    BytesHighAndCancelled,
    /// The size of the message in 64 bits.
    Bytes,
    /// Whether it was cancelled.
    Cancelled,
    /// An int that says nothing.
    Unused,
}

/// The fields by their words in the file, with the C name of those that have one.
const FIELDS: [(&str, Field, Option<&str>); 9] = [
    ("source", Field::Source, Some("MPI_SOURCE")),
    ("tag", Field::Tag, Some("MPI_TAG")),
    ("error", Field::Error, Some("MPI_ERROR")),
    ("bytes_low", Field::BytesLow, None),
    ("bytes_high", Field::BytesHigh, None),
    ("bytes_high+cancelled", Field::BytesHighAndCancelled, None),
    ("bytes", Field::Bytes, None),
    ("cancelled", Field::Cancelled, None),
    ("unused", Field::Unused, None),
];

impl Field {
    /// Reads a field.
    ///
    /// # Errors
    /// A word that is none.
    pub fn parse(word: &str) -> Result<Field, Problem> {
        let found = FIELDS.iter().find(|(known, ..)| *known == word);
        found.map(|(_, field, _)| *field).ok_or_else(|| format!("a status has no field `{word}`"))
    }

    fn public(self) -> Option<&'static str> {
        FIELDS.iter().find(|(_, field, _)| *field == self).and_then(|(.., name)| *name)
    }

    /// What the field's own half of a status needs in `set_bytes`, `bytes` and
    /// `cancelled`; `%` stands for the field.
    fn code(self) -> [Option<&'static str>; 3] {
        match self {
            Field::BytesLow => [Some("self.% = bytes as c_int;"), Some("u64::from(self.% as u32)"), None],
            Field::BytesHigh => {
                [Some("self.% = (bytes >> 32) as c_int;"), Some("u64::from(self.% as u32) << 32"), None]
            }
            Field::BytesHighAndCancelled => [
                Some("self.% = (((bytes >> 32) << 1) as c_int) | c_int::from(cancelled);"),
                Some("u64::from(self.% as u32 >> 1) << 32"),
                Some("self.% & 1 != 0"),
            ],
            Field::Bytes => [Some("self.% = bytes;"), Some("self.%"), None],
            Field::Cancelled => [Some("self.% = c_int::from(cancelled);"), None, Some("self.% != 0")],
            Field::Source | Field::Tag | Field::Error | Field::Unused => [None; 3],
        }
    }
}

/// The size of the structure in ints, as a Fortran array has it.
pub fn ints(fields: &[Field]) -> usize {
    let wide = fields.contains(&Field::Bytes);
    let end = fields.iter().fold(0usize, |end, field| match field {
        Field::Bytes => end.next_multiple_of(2) + 2,
        _ => end + 1,
    });
    end.next_multiple_of(if wide { 2 } else { 1 })
}

/// The structure in C.
pub fn in_c(fields: &[Field]) -> String {
    let mut text = "typedef struct {\n".to_string();
    let (mut at, mut runs) = (0, 0);
    while let Some(&field) = fields.get(at) {
        let alike =
            |other: &&Field| other.public().is_none() && (**other == Field::Bytes) == (field == Field::Bytes);
        let run = fields[at..].iter().take_while(alike).count();
        let _ = match field.public() {
            Some(name) => writeln!(text, "    int {name};"),
            None => {
                let c_type = if field == Field::Bytes { "size_t" } else { "int" };
                runs += 1;
                let suffix = if runs == 1 { String::new() } else { runs.to_string() };
                match run {
                    1 => writeln!(text, "    {c_type} MPI_internal{suffix};"),
                    _ => writeln!(text, "    {c_type} MPI_internal{suffix}[{run}];"),
                }
            }
        };
        at += if field.public().is_some() { 1 } else { run };
    }
    text + "} MPI_Status;\n"
}

/// The structure in Rust, with what the bodies ask of it.
pub fn in_rust(fields: &[Field]) -> String {
    let mut text =
        "/// `MPI_Status`.\n#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct Status {\n".to_string();
    let mut code = [const { Vec::new() }; 3];
    for (place, field) in fields.iter().enumerate() {
        let name = format!("internal_{place}");
        let c_type = if *field == Field::Bytes { "u64" } else { "c_int" };
        let _ = match field.public() {
            Some(name) => writeln!(text, "    pub {name}: c_int,"),
            None => writeln!(text, "    {name}: {c_type},"),
        };
        for (all, one) in code.iter_mut().zip(field.code()) {
            all.extend(one.map(|one| one.replace('%', &name)));
        }
    }
    let [set, bytes, cancelled] = code;
    let (set, bytes, cancelled) = (set.join(" "), bytes.join(" | "), cancelled.join(" || "));
    let _ = write!(
        text,
        "}}\nimpl Status {{\n\
         /// Stores the size of the message, and whether it was cancelled.\n\
         #[inline]\npub fn set_bytes(&mut self, bytes: u64, cancelled: bool) {{ {set} }}\n\
         /// The size of the message.\npub fn bytes(&self) -> u64 {{ {bytes} }}\n\
         /// Whether the operation was cancelled.\npub fn cancelled(&self) -> bool {{ {cancelled} }}\n}}\n"
    );
    text
}
