//! Publishing a table whose blocks all lie behind it in the slot: straight from where they lie, with short lines.

use crate::collective::node::buffer::table_entry::{Entry, LOWEST, SHORT, SHORT_LINE};
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::Data;
use crate::Result;

/// Publishes blocks, each with the member that it is for, if they fit into a slot behind their table: the epoch.
/// `None`, and nothing is published, where they do not.
///
/// # Errors
/// What waiting reports.
#[inline]
pub(crate) async fn publish_short<'a, Memory>(
    party: &Party<'_, impl Wait, Memory>,
    blocks: impl Iterator<Item = (u32, &'a Data)> + Clone,
) -> Result<Option<u64>> {
    let (mut lines, mut used) = (SHORT_LINE, SHORT_LINE as u64);
    for (_, data) in blocks.clone() {
        lines += SHORT_LINE;
        used = used.saturating_add(data.bytes()).saturating_add(SHORT_LINE as u64);
    }
    if used > party.slot().min(LOWEST - 1) {
        return Ok(None);
    }
    let epoch = party.begin();
    party.wait_until_free(epoch, used).await?;
    // SAFETY: table and blocks have `used` bytes together, and the place is ours; the program lends the blocks.
    let write = |slot| unsafe { write(party.member, slot, lines, blocks) };
    party.publish_table(epoch, (used as usize, false), write);
    Ok(Some(epoch))
}

/// Writes a table with `lines` bytes of lines, and the blocks behind it.
///
/// # Safety
/// There must be room for all of it, for nobody else meanwhile; the program must lend the blocks.
#[inline]
unsafe fn write<'a>(me: &Member, slot: *mut u8, lines: usize, blocks: impl Iterator<Item = (u32, &'a Data)>) {
    let (mut number, mut place) = (0, lines);
    for (member, data) in blocks {
        let (bytes, line) = (data.bytes(), slot.wrapping_add((number + 1) * SHORT_LINE));
        // SAFETY: by the caller.
        unsafe {
            line.cast::<u64>().write_unaligned(Entry::new(place as u64, bytes, member).as_short());
            me.pack(data, slot.wrapping_add(place));
        }
        (number, place) = (number + 1, place + bytes as usize);
    }
    // SAFETY: by the caller.
    unsafe { slot.cast::<u64>().write_unaligned(SHORT | number as u64) };
}
