//! The sources of progress that messages and their collectives have, in the order in which they are driven.

use crate::core::Core;
use crate::progress::sources::{Number, Source, Sources};
use crate::Result;

/// Packets that wait for room.
pub const OUTBOX: Number = Number::new(0);
/// Sends that go in parts.
pub const STREAMS: Number = Number::new(1);
/// Partitioned receives that wait for their sender's announcement.
pub const UNMATCHED: Number = Number::new(2);
/// Collective operations by messages.
pub const COLLECTIVES: Number = Number::new(3);
/// Broadcasts to groups.
pub const MULTICASTS: Number = Number::new(4);

/// All of them; other rooms add theirs behind.
pub fn all() -> Sources<Core> {
    let mut all = Sources::default();
    let numbers = [all.add(Box::new(Outbox)), all.add(Box::new(Streams)), all.add(Box::new(Unmatched))];
    debug_assert_eq!(numbers, [OUTBOX, STREAMS, UNMATCHED]);
    let last = all.add(Box::new(Collectives));
    debug_assert_eq!(last, COLLECTIVES);
    let last = all.add(Box::new(Multicasts));
    debug_assert_eq!(last, MULTICASTS);
    all
}

struct Outbox;

impl Source<Core> for Outbox {
    fn go_on(&mut self, core: &mut Core) -> Result<bool> {
        core.flush()?;
        Ok(!core.outbox.is_empty())
    }

    fn looks_before_sleep(&self) -> bool {
        true
    }

    fn is_quiet(&self, core: &Core) -> bool {
        core.outbox.is_empty()
    }

    /// Packets do not tell their contexts: any may be one of these.
    fn is_in(&self, core: &Core, _: &[u64]) -> bool {
        !core.outbox.is_empty()
    }
}

struct Streams;

impl Source<Core> for Streams {
    fn go_on(&mut self, core: &mut Core) -> Result<bool> {
        core.pump_streams()?;
        Ok(!core.streams.is_empty())
    }

    fn looks_before_sleep(&self) -> bool {
        true
    }

    fn is_quiet(&self, core: &Core) -> bool {
        core.streams.is_empty()
    }
}

struct Unmatched;

impl Source<Core> for Unmatched {
    fn go_on(&mut self, core: &mut Core) -> Result<bool> {
        core.match_partitioned()?;
        Ok(!core.unmatched.is_empty())
    }
}

struct Collectives;

impl Source<Core> for Collectives {
    fn go_on(&mut self, core: &mut Core) -> Result<bool> {
        core.advance_collectives();
        Ok(!core.collectives.is_empty())
    }
}

struct Multicasts;

impl Source<Core> for Multicasts {
    fn go_on(&mut self, core: &mut Core) -> Result<bool> {
        Ok(core.go_on_in_groups())
    }

    fn looks_before_sleep(&self) -> bool {
        true
    }
}
