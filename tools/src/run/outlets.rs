//! Every place where output of the job goes: the launcher's own standard output
//! and error, and the files that the user names.
//!
//! A file is emptied once and then only added to, also by further attempts of a job that is started again. Ranks whose patterns name the
//! same file share it, so that their lines are never mixed.

use super::descriptors;
use super::output::Sink;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The launcher's standard output, among [`Outlets`].
pub const OUTPUT: usize = 0;

/// The places, by number.
#[derive(Debug)]
pub struct Outlets {
    sinks: Vec<Sink>,
    /// The launcher's standard error: [`OUTPUT`], where both are one.
    pub error: usize,
    /// Device and inode of files that are open, with their numbers.
    files: HashMap<(u64, u64), usize>,
    /// Whether files keep what is in them.
    keeps: bool,
}

impl Outlets {
    /// The launcher's own streams. `keeps`: what earlier attempts have written to files stays.
    pub fn new(keeps: bool) -> Outlets {
        let mut sinks = vec![Sink::new("standard output", 1)];
        let error = if descriptors::identity(1) == descriptors::identity(2) { OUTPUT } else { 1 };
        if error != OUTPUT {
            sinks.push(Sink::new("standard error", 2));
        }
        Outlets { sinks, error, files: HashMap::new(), keeps }
    }

    /// The number of a file, which is made with its folders if it is not there.
    ///
    /// # Errors
    /// What the system says.
    pub fn file(&mut self, name: &str) -> std::io::Result<usize> {
        if let Some(folder) = Path::new(name).parent().filter(|folder| !folder.exists()) {
            std::fs::create_dir_all(folder)?;
        }
        let file = File::options().append(true).create(true).open(name)?;
        let identity = descriptors::identity(file.as_raw_fd()).unwrap_or_default();
        if let Some(&known) = self.files.get(&identity) {
            return Ok(known);
        }
        if !self.keeps && descriptors::is_regular(file.as_raw_fd()) {
            file.set_len(0)?;
        }
        self.files.insert(identity, self.sinks.len());
        self.sinks.push(Sink::to_file(name, file));
        Ok(self.sinks.len() - 1)
    }

    /// The place with this number.
    pub fn get(&mut self, number: usize) -> &mut Sink {
        &mut self.sinks[number]
    }

    /// All places.
    pub fn all(&self) -> &[Sink] {
        &self.sinks
    }
}
