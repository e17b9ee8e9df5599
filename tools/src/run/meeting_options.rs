//! The options of a meeting: `--meet` and what belongs to it.

use super::option_table::MeetWord;
use super::option_values::{count, seconds};
use std::path::PathBuf;
use std::time::Duration;

/// What the command line says of a meeting.
#[derive(Debug, Clone, PartialEq)]
pub struct Meeting {
    /// The folder that all parties have.
    pub folder: PathBuf,
    /// What tells it from other meetings in the same folder.
    pub name: String,
    /// How many parties there are.
    pub parties: Option<u32>,
    /// Which of them this is, from 0, if that was said.
    pub own: Option<u32>,
    /// How long to wait for the others.
    pub patience: Duration,
}

impl Default for Meeting {
    fn default() -> Meeting {
        let patience = Duration::from_secs(120);
        Meeting { folder: PathBuf::new(), name: "job".into(), parties: None, own: None, patience }
    }
}

impl Meeting {
    /// Takes the value of an option.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn set(&mut self, word: MeetWord, option: &str, text: String) -> Result<(), String> {
        match word {
            MeetWord::Folder => self.folder = text.into(),
            MeetWord::Name => self.name = text,
            MeetWord::Parties => self.parties = Some(count(option, "parties", &text)?),
            MeetWord::Own => {
                let wrong = || format!("{option} {text}: it must be a number from 0");
                self.own = Some(text.parse().map_err(|_| wrong())?);
            }
            MeetWord::Patience => self.patience = seconds(option, &text)?,
        }
        Ok(())
    }
}
