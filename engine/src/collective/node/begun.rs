//! A reduction whose members have lent their operands, and the places of their results.

use super::items::operand;
use super::lent::Lent;
use super::reach::Reach;
use super::seat::{Seat, Wait};
use super::whole::Whole;
use crate::collective::Data;
use crate::Result;

/// A reduction that has begun: what I have lent to the others.
pub(super) struct Begun {
    pub epoch: u64,
    /// What I contribute.
    pub operand: Whole,
    /// Where my result goes, if I get one.
    pub out: Option<Whole>,
}

impl Begun {
    /// Where my result begins.
    pub fn result(&self) -> Option<*mut u8> {
        self.out.as_ref().map(|out| out.address)
    }

    /// What a member has lent.
    ///
    /// # Errors
    /// `Truncate` where it does not agree with this one about how much it is.
    pub fn of_member(&self, seat: &Seat, member: u32) -> Result<Lent> {
        seat.told(member, self.epoch, self.operand.bytes)
    }

    /// Whether members agree about how much it is.
    ///
    /// # Errors
    /// `Truncate` if not: each of them finds that.
    pub fn agree(&self, seat: &Seat) -> Result<()> {
        (0..seat.size).try_for_each(|member| self.of_member(seat, member).map(drop))
    }

    /// What has come, if all has, goes to where it belongs.
    pub fn finish(&self, complete: bool, receive: &Data) {
        if let (Some(out), true) = (&self.out, complete) {
            out.finish(&operand(receive));
        }
    }
}

/// Whether a member lends its result for others to read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lending {
    Not,
    /// But for ends that others would reach through the kernel only.
    ButEnds,
    Whole,
    /// As a copy: others still read what lies where it goes.
    Copy,
}

/// Lends the operand, and tells the place of the result if there is one here; lends that too
/// as far as it is said.
pub(super) async fn begin_reduction(
    seat: &Seat,
    send: &Data,
    receive: Option<(&Data, Lending)>,
    by: &(impl Wait + Reach),
) -> Result<Begun> {
    let contributed = Whole::to_read(seat, &operand(send), 1, by)?;
    let place = |(receive, lending): (&Data, Lending)| match lending {
        Lending::Not => Whole::to_write(&operand(receive)),
        Lending::ButEnds => Whole::to_be_written_but_ends(seat, &operand(receive), by),
        Lending::Whole => Whole::to_be_written(seat, &operand(receive), by),
        Lending::Copy => Whole::room_to_be_written(seat, &operand(receive), by),
    };
    let out = receive.map(place).transpose()?;
    let lent = Lent::of(seat, &contributed);
    let lent = out.iter().fold(lent, Lent::with_result);
    let epoch = seat.begin();
    lent.tell(seat, epoch, by).await?;
    Ok(Begun { epoch, operand: contributed, out })
}
