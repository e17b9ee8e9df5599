//! A reduction whose members have lent their operands, and the places of their results.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::elements::operand;
use crate::collective::Data;
use crate::Result;

/// A reduction that has begun: what I have lent to the others.
pub(crate) struct Operands {
    pub epoch: u64,
    /// What I contribute.
    pub operand: Contiguous,
    /// Where my result goes, if I get one.
    pub out: Option<Contiguous>,
}

impl Operands {
    /// Where my result begins.
    pub fn result(&self) -> Option<*mut u8> {
        self.out.as_ref().map(|out| out.address)
    }

    /// What a member has lent.
    ///
    /// # Errors
    /// `Truncate` where it does not agree with this one about how much it is.
    pub fn of_member(&self, me: &Member, member: u32) -> Result<Descriptor> {
        me.lent_by(member, self.epoch, self.operand.bytes)
    }

    /// Whether members agree about how much it is.
    ///
    /// # Errors
    /// `Truncate` if not: each of them finds that.
    pub fn agree(&self, me: &Member) -> Result<()> {
        (0..me.size).try_for_each(|member| self.of_member(me, member).map(drop))
    }

    /// The result goes to where it belongs, once all of it has come.
    pub fn finish(&self, complete: bool, receive: &Data) {
        if let (Some(out), true) = (&self.out, complete) {
            out.finish(&operand(receive));
        }
    }
}

/// Whether a member lends its result for others to read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lending {
    Not,
    /// But for ends that others would reach through the kernel only.
    ButEnds,
    Whole,
    /// As a copy: others still read what lies where it goes.
    Copy,
}

/// Lends the operand, and tells the place of the result if there is one here; lends that too
/// as far as it is said.
pub(crate) async fn begin_reduction(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: &Data,
    receive: Option<(&Data, Lending)>,
) -> Result<Operands> {
    let contributed = Contiguous::to_read(party, &operand(send), 1)?;
    let place = |(receive, lending): (&Data, Lending)| match lending {
        Lending::Not => Contiguous::to_write(&operand(receive)),
        Lending::ButEnds => Contiguous::to_be_written_but_ends(party, &operand(receive)),
        Lending::Whole => Contiguous::to_be_written(party, &operand(receive)),
        Lending::Copy => Contiguous::scratch_to_be_written(party, &operand(receive)),
    };
    let out = receive.map(place).transpose()?;
    let lent = contributed.descriptor(party.member);
    let lent = out.iter().fold(lent, |lent, out| lent.with_result(out.as_result()));
    let epoch = party.begin();
    lent.lend(party, epoch).await?;
    Ok(Operands { epoch, operand: contributed, out })
}
