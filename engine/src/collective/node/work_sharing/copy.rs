//! A copy from one member to another, made by either of them or by a third one.

use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::destination::Destination;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::temporary::Temporary;
use crate::Result;

/// Some bytes of what a member has lent, and where they go.
pub(crate) struct Copy<'a> {
    pub from: u32,
    pub lent: &'a Descriptor,
    /// Where they begin in what is lent.
    pub offset: u64,
    pub to: u32,
    /// The result of that member that they go to, and where they go there.
    pub target: Destination,
    pub at: u64,
    pub bytes: usize,
}

/// Copies from one member to another, of which this one may be either; `kinds` say how to read and
/// how to write.
///
/// # Errors
/// What reaching reports, `NoMem`.
///
/// # Safety
/// Both members have lent their memory, and nobody else touches where it goes.
pub(crate) unsafe fn copy(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    epoch: u64,
    what: &Copy<'_>,
    (read, written): (CopyKind, CopyKind),
) -> Result<()> {
    let &Copy { from, lent, offset, to, target, at, bytes } = what;
    let place = (from, epoch);
    if to == party.rank {
        // SAFETY: by the caller.
        return unsafe {
            lent.read(party, place, offset, (target.here(at), bytes), party.member.chooser(read))?;
            target.keep(at, bytes);
            Ok(())
        };
    }
    let mut staged = None;
    let room = || Ok(staged.insert(Temporary::packed(bytes as u64)?).1.address);
    let source = match from == party.rank {
        true => (lent.send + offset) as *const u8,
        // SAFETY: by the caller; the room is ours.
        false => unsafe { lent.find(party, place, (offset, bytes as u64), room, read)? },
    };
    let copies = party.member.chooser(written);
    // SAFETY: by the caller.
    unsafe { target.write(party, to, at, (source, bytes), copies) }
}
