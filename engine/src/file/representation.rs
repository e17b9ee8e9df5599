//! How data are represented in a file (MPI-5.0 §14.5).

use crate::datatype::{Basic, Datatype};
use crate::world::context;
use crate::{Class, Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

/// A representation that the program has registered (§14.5.3). Extents are those of predefined types.
pub trait Conversion: Send + Sync {
    /// Bytes of one element in the file.
    ///
    /// # Errors
    /// What the program's function says.
    fn extent(&self, element: &Arc<Datatype>) -> Result<u64>;

    /// Whether data change on their way out (`writing`) or in; else they are in the file as in memory.
    fn converts(&self, writing: bool) -> bool;

    /// From the file to memory: of those at `memory`, `items.1` from item `items.0` on.
    ///
    /// # Errors
    /// What the program's function says.
    ///
    /// # Safety
    /// The items must be writable, and `file` must hold as many items in this representation.
    unsafe fn read(
        &self,
        memory: *mut u8,
        datatype: &Arc<Datatype>,
        items: (u64, u64),
        file: *mut u8,
    ) -> Result<()>;

    /// From memory to the file.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// The items must be readable, and `file` must have room for them in this representation.
    unsafe fn write(
        &self,
        memory: *mut u8,
        datatype: &Arc<Datatype>,
        items: (u64, u64),
        file: *mut u8,
    ) -> Result<()>;
}

/// A representation.
#[derive(Clone)]
pub enum Representation {
    /// As in memory.
    Native,
    /// As in memory: all processes of a job are alike here.
    Internal,
    /// The portable one.
    External32,
    /// One of the program, by its name.
    Registered(String, Arc<dyn Conversion>),
}

/// Those of the program, by name.
static REGISTERED: Mutex<Vec<(String, Arc<dyn Conversion>)>> = Mutex::new(Vec::new());

impl Representation {
    /// The one of this name.
    ///
    /// # Errors
    /// `UnsupportedDatarep` for an unknown one.
    pub fn find(name: &str) -> Result<Representation> {
        match name {
            "native" => return Ok(Representation::Native),
            "internal" => return Ok(Representation::Internal),
            "external32" => return Ok(Representation::External32),
            _ => (),
        }
        let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        let found = registered.iter().find(|(known, _)| known == name);
        found.map(|(name, conversion)| Representation::Registered(name.clone(), conversion.clone())).ok_or_else(|| {
            let message = format!(
                "argument datarep is \"{name}\", which is no data representation: there are native, internal, \
                 external32, and those that the program has registered"
            );
            Error::new(Class::UnsupportedDatarep, message)
        })
    }

    /// Makes one of the program known, for as long as the process lives.
    ///
    /// # Errors
    /// `DupDatarep` where there is one of that name.
    pub fn register(name: &str, conversion: Arc<dyn Conversion>) -> Result<()> {
        if Representation::find(name).is_ok() {
            let message = format!("there is a data representation \"{name}\" already");
            return Err(Error::new(Class::DupDatarep, message));
        }
        REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), conversion));
        Ok(())
    }

    /// As a number that two ranks can compare.
    pub(super) fn number(&self) -> u64 {
        match self {
            Representation::Native => 0,
            Representation::Internal => 1,
            Representation::External32 => 2,
            Representation::Registered(name, _) => context::hash(name.bytes()) | 4,
        }
    }

    /// That number as a person reads it.
    pub(super) fn in_words(number: u64) -> String {
        ["native", "internal", "external32"]
            .get(number as usize)
            .copied()
            .unwrap_or("one of the program")
            .to_owned()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::Registered(name, _) => name,
        }
    }

    /// Whether the bytes of data in the file are those in memory.
    pub fn is_native(&self) -> bool {
        matches!(self, Representation::Native | Representation::Internal)
    }

    /// A type as it is in the file: its elements have the sizes that they have there.
    ///
    /// # Errors
    /// What the program's functions say; `Arg` where something does not fit.
    pub fn in_file(&self, datatype: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        if self.is_native() {
            return Ok(datatype.clone());
        }
        datatype.replaced(&|element| {
            let bytes = match self {
                Representation::Registered(_, conversion) => conversion.extent(element)?,
                _ => element.external_size(1)?,
            };
            Datatype::contiguous(bytes as i64, Datatype::shared(Basic::Byte))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_in_external32_has_the_sizes_of_external32() {
        let long = Datatype::named_narrow(Basic::Int64, "a long");
        let row = Datatype::vector(3, 1, 2, &long).unwrap();
        let there = Representation::External32.in_file(&row).unwrap();
        assert_eq!((row.size(), row.extent()), (24, 40));
        assert_eq!((there.size(), there.extent()), (12, 20));
        assert!(Arc::ptr_eq(&Representation::Native.in_file(&row).unwrap(), &row));
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let class = |name| Representation::find(name).err().map(|error| error.class());
        assert_eq!(class("Native"), Some(Class::UnsupportedDatarep));
        assert_eq!(class("external32"), None);
    }
}
