//! Hints: ordered pairs of strings (MPI-5.0 §10).

use crate::{Class, Error, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest key, in bytes. A face may have a lower limit.
pub const LONGEST_KEY: usize = 254;
/// The longest value, in bytes. A face may have a lower limit.
pub const LONGEST_VALUE: usize = 1023;

/// Keys and values, in the order in which the keys were first set.
#[derive(Debug, Default)]
pub struct Info {
    entries: Mutex<Vec<(String, String)>>,
}

impl Info {
    /// Sets a value; a key that is there keeps its place.
    ///
    /// # Errors
    /// `InfoKey` when the key is empty or too long, `InfoValue` when the value
    /// is too long.
    pub fn set(&self, key: &str, value: &str) -> Result<()> {
        check_key(key, LONGEST_KEY)?;
        check_value(key, value, LONGEST_VALUE)?;
        let mut entries = self.lock();
        match entries.iter_mut().find(|(other, _)| other == key) {
            Some(entry) => entry.1 = value.to_owned(),
            None => entries.push((key.to_owned(), value.to_owned())),
        }
        Ok(())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<String> {
        self.lock().iter().find(|(other, _)| other == key).map(|(_, value)| value.clone())
    }

    /// Removes a key.
    ///
    /// # Errors
    /// `InfoNokey` when it is not there, `InfoKey` when it cannot be a key.
    pub fn delete(&self, key: &str) -> Result<()> {
        check_key(key, LONGEST_KEY)?;
        let mut entries = self.lock();
        match entries.iter().position(|(other, _)| other == key) {
            Some(place) => drop(entries.remove(place)),
            None => {
                return Err(Error::new(Class::InfoNokey, format!("the info object has no key \"{key}\"")))
            }
        }
        Ok(())
    }

    /// How many keys.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key at a place in the order.
    ///
    /// # Errors
    /// `Arg` when there are not so many keys.
    pub fn nth_key(&self, number: i32) -> Result<String> {
        let entries = self.lock();
        let entry = usize::try_from(number).ok().and_then(|number| entries.get(number));
        entry.map(|(key, _)| key.clone()).ok_or_else(|| {
            let count = entries.len();
            Error::new(Class::Arg, format!("key number {number} of an info object that has {count} keys"))
        })
    }

    /// All keys and values in their order.
    pub fn entries(&self) -> Vec<(String, String)> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Info {
    fn clone(&self) -> Info {
        Info { entries: Mutex::new(self.entries()) }
    }
}

/// Checks a key of at most so many bytes.
///
/// # Errors
/// `InfoKey` when it is empty or too long.
pub fn check_key(key: &str, longest: usize) -> Result<()> {
    match key.len() {
        0 => Err(Error::new(Class::InfoKey, "an info key is empty")),
        length if length <= longest => Ok(()),
        length => Err(Error::new(
            Class::InfoKey,
            format!("an info key has {length} bytes; at most {longest} are allowed"),
        )),
    }
}

/// Checks the value of a key, of at most so many bytes.
///
/// # Errors
/// `InfoValue` when it is too long.
pub fn check_value(key: &str, value: &str, longest: usize) -> Result<()> {
    if value.len() <= longest {
        return Ok(());
    }
    let length = value.len();
    let sentence =
        format!("the value of info key \"{key}\" has {length} bytes; at most {longest} are allowed");
    Err(Error::new(Class::InfoValue, sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_values_change() {
        let info = Info::default();
        for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
            info.set(key, value).unwrap();
        }
        assert_eq!(info.entries(), [("b".into(), "3".into()), ("a".into(), "2".into())]);
        assert_eq!(info.nth_key(1).unwrap(), "a");
        let copy = info.clone();
        info.delete("b").unwrap();
        assert_eq!((info.len(), copy.len()), (1, 2));
        assert_eq!(info.get("b"), None);
    }

    #[test]
    fn limits_and_missing_keys_are_errors_of_their_class() {
        let info = Info::default();
        let class = |result: Result<()>| result.unwrap_err().class();
        assert_eq!(class(info.set("", "x")), Class::InfoKey);
        assert_eq!(class(info.set(&"k".repeat(255), "x")), Class::InfoKey);
        assert_eq!(class(info.set("k", &"v".repeat(1024))), Class::InfoValue);
        assert_eq!(class(info.delete("k")), Class::InfoNokey);
        assert_eq!(info.nth_key(0).unwrap_err().class(), Class::Arg);
        assert_eq!(info.nth_key(-1).unwrap_err().class(), Class::Arg);
        info.set(&"k".repeat(254), &"v".repeat(1023)).unwrap();
    }
}
