//! A program that nobody launched: a job of one rank.

use super::{Bootstrap, NodeMap, NodeSegment, Started};
use crate::Result;
use std::collections::HashMap;

#[derive(Default)]
struct Singleton {
    published: HashMap<String, String>,
}

pub(super) fn start() -> Result<Started> {
    let node = NodeSegment::create(1)?;
    Ok(Started {
        local_rank: 0,
        local_ranks: vec![0],
        node,
        others: None,
        descent: None,
        bootstrap: bootstrap(),
    })
}

/// The services of no launcher.
pub(super) fn bootstrap() -> Box<dyn Bootstrap> {
    Box::new(Singleton::default())
}

impl Bootstrap for Singleton {
    fn rank(&self) -> u32 {
        0
    }

    fn size(&self) -> u32 {
        1
    }

    fn nodes(&mut self) -> Result<NodeMap> {
        Ok(NodeMap::one(1))
    }

    fn program(&mut self) -> Result<u32> {
        Ok(0)
    }

    fn put(&mut self, key: &str, value: &str) -> Result<()> {
        self.published.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn get(&mut self, _from: u32, key: &str) -> Result<Option<String>> {
        Ok(self.published.get(key).cloned())
    }

    fn fence(&mut self) -> Result<()> {
        Ok(())
    }

    fn abort(&mut self, _code: i32, _message: &str) -> bool {
        false
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}
