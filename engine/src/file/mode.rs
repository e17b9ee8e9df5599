//! How a file is opened (MPI-5.0 §14.2.1).

/// The access mode; each field is the constant of that name. A face has checked that they go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // they are MPI's
pub struct Mode {
    pub read_only: bool,
    pub read_write: bool,
    pub write_only: bool,
    pub create: bool,
    pub exclusive: bool,
    pub delete_on_close: bool,
    pub unique_open: bool,
    pub sequential: bool,
    pub append: bool,
}

/// What the fields are called, in the order of bits of [`Mode::number`].
const NAMES: [&str; 9] =
    ["RDONLY", "RDWR", "WRONLY", "CREATE", "EXCL", "DELETE_ON_CLOSE", "UNIQUE_OPEN", "SEQUENTIAL", "APPEND"];

impl Mode {
    /// Whether it may read.
    pub fn reads(&self) -> bool {
        !self.write_only
    }

    /// Whether it may write.
    pub fn writes(&self) -> bool {
        !self.read_only
    }

    /// Such a number as a person reads it.
    pub(super) fn in_words(number: u64) -> String {
        let set = NAMES.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1);
        set.map(|(_, name)| format!("MPI_MODE_{name}")).collect::<Vec<_>>().join(" | ")
    }

    /// As a number that two ranks can compare.
    pub(super) fn number(&self) -> u64 {
        let all = [
            self.read_only,
            self.read_write,
            self.write_only,
            self.create,
            self.exclusive,
            self.delete_on_close,
            self.unique_open,
            self.sequential,
            self.append,
        ];
        all.iter().rev().fold(0, |number, &set| number << 1 | u64::from(set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_told_by_the_names_of_its_constants() {
        let mode = Mode { read_write: true, create: true, append: true, ..Mode::default() };
        assert_eq!(Mode::in_words(mode.number()), "MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_APPEND");
    }
}
