//! Counting calls, and failures on demand.

use crate::{Answer, LAUNCH_FAILED};
use std::collections::HashMap;

#[derive(Default)]
pub struct Calls {
    counts: HashMap<&'static str, u64>,
    /// The call that shall fail: of which function (of any: empty), and how many come before it.
    pub failing: Option<(String, u64)>,
}

impl Calls {
    /// Counts a call; an error if it shall fail.
    pub fn count(&mut self, name: &'static str) -> Result<(), Answer> {
        *self.counts.entry(name).or_default() += 1;
        match &mut self.failing {
            Some((of, before)) if of.is_empty() || of == name => match *before {
                0 => {
                    self.failing = None;
                    Err(LAUNCH_FAILED)
                }
                _ => {
                    *before -= 1;
                    Ok(())
                }
            },
            _ => Ok(()),
        }
    }

    /// How many calls of a function there were; of all for an empty name.
    pub fn number(&self, of: &str) -> u64 {
        self.counts.iter().filter(|(name, _)| of.is_empty() || **name == of).map(|(_, count)| count).sum()
    }
}
