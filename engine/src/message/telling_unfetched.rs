//! Buffers of collective operations that their ranks could not fetch from a device: who reads them is told before the rank takes
//! part, and says that it has heard.
//!
//! ```text
//! rank                                        each reader
//! UNFETCHED: which operation             -->  keeps it
//!                                        <--  HEARD
//! takes part, with zeros                      ends the operation: an error, as it was told
//! ```

use super::turn::Turn;
use super::wire::{Unfetched, HEARD, UNFETCHED};
use crate::core::Core;
use crate::transport::{Arrival, Packet};
use crate::world::Communicator;
use crate::{Class, Error, JobRank, Result};

impl Core {
    /// Tells peers of an operation that this rank's buffer is not to be had.
    pub(crate) fn tell_unfetched(
        &mut self,
        communicator: &Communicator,
        turn: Turn,
        peers: &[JobRank],
    ) -> Result<()> {
        for &peer in peers {
            let told = Unfetched { peer: self.name_for(peer), rank: communicator.rank, round: turn.round };
            let header = [communicator.context(), turn.call.number];
            self.unfetched.tell(communicator.context(), peer);
            self.post(peer, &Packet::with(UNFETCHED, header, &told))?;
        }
        Ok(())
    }

    /// A rank tells so.
    pub(crate) fn hear_unfetched(&mut self, arrival: &Arrival) -> Result<()> {
        let (header, told) = (arrival.header, arrival.read::<Unfetched>());
        self.unfetched.keep((header[0], header[1]), told);
        let answer = Packet::with(HEARD, header, &self.name_for(told.peer).0);
        self.post(self.sender(told.peer), &answer).map(drop)
    }

    /// A peer has heard.
    pub(crate) fn heard_unfetched(&mut self, arrival: &Arrival) {
        let peer = self.sender(JobRank(arrival.read::<u32>()));
        self.unfetched.heard(arrival.header[0], peer);
        self.epoch += 1;
    }

    /// Takes what was told of an operation that ends.
    ///
    /// # Errors
    /// `Other` if a rank could not fetch its buffer.
    #[inline]
    pub(crate) fn all_were_fetched(&mut self, communicator: &Communicator, turn: Turn) -> Result<()> {
        match self.unfetched.is_empty() {
            true => Ok(()),
            false => self.look_for_unfetched(communicator, turn),
        }
    }

    #[cold]
    fn look_for_unfetched(&mut self, communicator: &Communicator, turn: Turn) -> Result<()> {
        let which = (communicator.context(), turn.call.number);
        let Some(rank) = self.unfetched.take(which, turn.round) else { return Ok(()) };
        let call = self.job.node.name(turn.call.name).unwrap_or_else(|| "a collective operation".into());
        let sentence = format!(
            "rank {rank} of the communicator could not fetch its buffer of {call} from the memory of a device, so the data of \
             that rank are missing here; the call of that rank says what the driver says"
        );
        Err(Error::echo(Class::Other, sentence))
    }
}
