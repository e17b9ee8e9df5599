//! Ports, and names under which they are published (MPI-5.0 §11.9).
//!
//! Processes of a universe find the names of each other in memory that they share; others find them in a folder
//! (`job::names_folder`).

use super::Engine;
use crate::job::names_folder::NamesFolder;
use crate::job::port_name::PORT_BYTES;
use crate::job::ports::closed;
use crate::job::{Contact, PortName};
use crate::lock_order::{self, Level, Ordered};
use crate::{Class, Error, Result};
use std::sync::Mutex;

/// The folder of names, once it has been asked for.
#[derive(Default)]
pub(super) struct Names(Mutex<Option<NamesFolder>>);

impl Names {
    fn folder(&self) -> Ordered<'_, Option<NamesFolder>> {
        let mut folder = lock_order::lock(&self.0, Level::CHILDREN);
        if folder.is_none() {
            *folder = NamesFolder::of_environment();
        }
        folder
    }

    /// Takes back what this process has published.
    pub(super) fn end(&self) {
        drop(lock_order::lock(&self.0, Level::CHILDREN).take());
    }
}

impl Engine {
    /// `MPI_Open_port`: its name.
    ///
    /// # Errors
    /// `Port` when too many are open; what the system says to listening.
    pub fn open_port(&self) -> Result<String> {
        let strangers = self.strangers()?;
        let (place, serial) = match self.universe()? {
            Some(universe) => universe.open_port()?,
            None => (0, self.beyond.next_port()),
        };
        let key = strangers.open_port(serial)?;
        Ok(PortName { owner: Contact { key, ..strangers.own_contact() }, place, serial }.to_string())
    }

    /// `MPI_Close_port`.
    ///
    /// # Errors
    /// `Port` if it is not open, or not of this universe.
    pub fn close_port(&self, name: &str) -> Result<()> {
        let (strangers, port) = (self.strangers()?, PortName::read(name)?);
        match self.universe()? {
            _ if port.owner.name.mark() != strangers.own().mark() => return Err(closed()),
            Some(universe) => universe.close_port(port.place, port.serial)?,
            None => self.check_open(&port)?,
        }
        strangers.close_port(port.serial);
        Ok(())
    }

    /// Whether a port of this universe is open; where its jobs share no memory, as far as this process knows.
    ///
    /// # Errors
    /// `Port` if it is not.
    pub(super) fn check_open(&self, port: &PortName) -> Result<()> {
        let strangers = self.strangers()?;
        match self.universe()? {
            Some(universe) => universe.check_open(port.place, port.serial),
            None if port.owner.name == strangers.own() && !strangers.has_port(port.serial) => Err(closed()),
            None => Ok(()),
        }
    }

    /// `MPI_Publish_name`. The port may be any text: it is looked at when somebody connects to it.
    ///
    /// # Errors
    /// `Service` for a name that cannot be published, or is already; `Port`; `Other` for a folder that cannot be written.
    pub fn publish_name(&self, service: &str, port: &str) -> Result<()> {
        if port.len() > PORT_BYTES {
            let text =
                format!("the name of the port has {} bytes; at most {PORT_BYTES} are possible", port.len());
            return Err(Error::new(Class::Port, text));
        }
        let universe = self.universe()?;
        if let Some(universe) = universe {
            universe.publish(service, port)?;
        }
        let published = match (&mut *self.beyond.names.folder(), universe) {
            (Some(folder), _) => folder.publish(service, port),
            (None, Some(_)) => Ok(()),
            (None, None) => Err(no_folder(service)),
        };
        if let (Err(_), Some(universe)) = (&published, universe) {
            universe.unpublish(service, port)?;
        }
        published
    }

    /// `MPI_Unpublish_name`.
    ///
    /// # Errors
    /// `Service` if it is not published with this port.
    pub fn unpublish_name(&self, service: &str, port: &str) -> Result<()> {
        let universe = self.universe()?;
        if let Some(universe) = universe {
            universe.unpublish(service, port)?;
        }
        let mut folder = self.beyond.names.folder();
        let was_there = folder.as_mut().is_some_and(|folder| folder.unpublish(service, port));
        match was_there || universe.is_some() {
            true => Ok(()),
            false => Err(Error::new(
                Class::Service,
                format!("the service name {service:?} is not published with this port"),
            )),
        }
    }

    /// `MPI_Lookup_name`: the port that is published under a name.
    ///
    /// # Errors
    /// `Name` if none is.
    pub fn look_up_name(&self, service: &str) -> Result<String> {
        let here = self.universe()?.map(|universe| universe.look_up(service));
        if let Some(Ok(found)) = here {
            return Ok(found);
        }
        let folder = self.beyond.names.folder();
        let found = folder.as_ref().and_then(|folder| folder.look_up(service));
        found.ok_or_else(|| {
            let text = format!(
                "the service name {service:?} is not published by a process that lives; jobs that are started apart find \
                 each other's names in the folder that {} names",
                crate::settings::NAMES
            );
            Error::new(Class::Name, text)
        })
    }
}

#[cold]
fn no_folder(service: &str) -> Error {
    let text = format!(
        "the service name {service:?} cannot be published: the ranks of this job are on several nodes, and no folder for \
         names is known; set {} to one that all of them share",
        crate::settings::NAMES
    );
    Error::new(Class::Service, text)
}
