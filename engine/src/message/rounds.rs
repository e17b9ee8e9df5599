//! Partitioned operations as requests: how they are made, started, driven and given up.

use super::partitioned::{check_partition, wrong, Announcement, Data, Part, Partitioned, Receiving, Side};
use super::progress_sources;
use super::work::{Recipe, Work};
use super::{Buffer, Envelope, Mode, EAGER_FAR_BYTES};
use crate::core::Core;
use crate::datatype::HostCopies;
use crate::{Cause, Class, Error, JobRank, Result};

impl Core {
    /// Adds a partitioned send in a new channel, and announces it to `peer`
    /// in the context of `announced`.
    pub(crate) fn add_partitioned_send(
        &mut self,
        data: Data,
        peer: Option<JobRank>,
        announced: Envelope,
        channel: u64,
    ) -> Result<u32> {
        let partitions = data.partitions;
        if let Some(peer) = peer {
            let mut announcement = Announcement { channel, partitions, bytes: data.partition_bytes() };
            // Buffered: it leaves this place at once.
            self.start_send(peer, announced, bytes_of(&mut announcement), Mode::Buffered)?;
        }
        let to = peer.map(|peer| (peer, Envelope { context: channel, ..announced }));
        self.add_persistent(Recipe::Partitioned(Partitioned::new(data, Side::Send(to), partitions)))
    }

    /// Adds a partitioned receive that waits for an announcement; `None` for
    /// the null process.
    pub(crate) fn add_partitioned_receive(&mut self, data: Data, wanted: Option<Envelope>) -> Result<u32> {
        let receiving = match wanted {
            None => Receiving::NullProcess,
            Some(wanted) => {
                let mut announcement = Box::<Announcement>::default();
                let request = self.start_receive(wanted, bytes_of(&mut announcement))?;
                Receiving::Unmatched(request, announcement)
            }
        };
        self.add_persistent(Recipe::Partitioned(Partitioned::new(data, Side::Receive(receiving), 0)))
    }

    /// Runs `work` on a partitioned operation, which is out of the table
    /// meanwhile.
    fn with_partitioned<R>(
        &mut self,
        index: u32,
        work: impl FnOnce(&mut Core, &mut Partitioned, &mut HostCopies) -> Result<R>,
    ) -> Result<R> {
        let mut taken = std::mem::replace(&mut self.requests[index].work, Work::Nothing);
        let result = match &mut taken {
            Work::Persistent(persistent) => match &mut persistent.recipe {
                Recipe::Partitioned(partitioned) => work(self, partitioned, &mut persistent.copies),
                _ => Err(wrong(Class::Request, "the request is that of no partitioned operation")),
            },
            _ => Err(wrong(Class::Request, "the request is that of no partitioned operation")),
        };
        self.requests[index].work = taken;
        result
    }

    /// Starts a round.
    pub(super) fn start_partitioned(&mut self, index: u32) -> Result<()> {
        self.with_partitioned(index, |core, partitioned, _| {
            if matches!(partitioned.side, Side::Receive(_)) && !core.post_parts(partitioned)? {
                core.unmatched.push(index);
                core.flags.raise(progress_sources::UNMATCHED);
            }
            Ok(())
        })
    }

    /// Posts the receives of a round; `false` if nothing is announced yet.
    fn post_parts(&mut self, partitioned: &mut Partitioned) -> Result<bool> {
        if let Side::Receive(Receiving::Unmatched(request, announcement)) = &partitioned.side {
            if !self.requests[*request].complete {
                return Ok(false);
            }
            let from = **announcement;
            let status = self.requests.remove(*request);
            let matched = Receiving::Matched { source: status.source, tag: status.tag, from };
            partitioned.side = Side::Receive(matched);
            partitioned.parts = (0..from.partitions).map(|_| Part::idle()).collect();
        }
        let Side::Receive(Receiving::Matched { source, from, .. }) = &partitioned.side else {
            return Ok(true);
        };
        for number in 0..from.partitions {
            let (buffer, aside) = partitioned.room(number, from.bytes);
            let wanted = Envelope { context: from.channel, source: *source, tag: number as i32 };
            let request = Some(self.start_receive(wanted, buffer)?);
            partitioned.parts[number as usize] = Part { request, begun: true, aside };
        }
        Ok(true)
    }

    /// Looks at the receives that wait for their announcement.
    #[cold]
    pub(crate) fn match_partitioned(&mut self) -> Result<()> {
        for index in std::mem::take(&mut self.unmatched) {
            let given_up = self.requests[index].detached;
            let matched = self.with_partitioned(index, |core, partitioned, _| match given_up {
                true => Ok(core.announced(partitioned)),
                false => core.post_parts(partitioned),
            })?;
            match (matched, given_up) {
                (false, _) => self.unmatched.push(index),
                (true, false) => self.epoch += 1,
                (true, true) => drop(self.requests.remove(index)),
            }
        }
        Ok(())
    }

    /// Whether a receive that is given up has had its announcement, so that no
    /// later one gets it.
    fn announced(&mut self, partitioned: &Partitioned) -> bool {
        match &partitioned.side {
            Side::Receive(Receiving::Unmatched(request, _)) if self.requests[*request].complete => {
                self.requests.remove(*request);
                true
            }
            Side::Receive(Receiving::Unmatched(..)) => false,
            _ => true,
        }
    }

    /// Sends partitions of an active send; none, if one of them cannot be.
    pub(crate) fn ready(&mut self, index: u32, partitions: impl Iterator<Item = i64> + Clone) -> Result<()> {
        if !self.requests[index].active {
            return Err(Error::because(Class::Request, Cause::SendIsNotStarted));
        }
        self.with_partitioned(index, |core, partitioned, copies| {
            for partition in partitions.clone() {
                partitioned.check_ready(partition)?;
            }
            for partition in partitions {
                if !copies.is_empty() {
                    // SAFETY: the program lends the partition from now on.
                    unsafe { copies.fetch_part(partition as u64, EAGER_FAR_BYTES)? };
                }
                core.send_partition(partitioned, partition)?;
            }
            core.epoch += 1;
            Ok(())
        })
    }

    fn send_partition(&mut self, partitioned: &mut Partitioned, partition: i64) -> Result<()> {
        let (number, to) = partitioned.check_ready(partition)?;
        let request = match to {
            Some((peer, envelope)) => {
                let count = partitioned.data.count;
                let buffer = partitioned.data.items(number as u64 * count, count);
                let envelope = Envelope { tag: number as i32, ..*envelope };
                self.start_send(*peer, envelope, buffer, Mode::Standard)?
            }
            None => None,
        };
        partitioned.parts[number] = Part { request, begun: true, aside: None };
        Ok(())
    }

    /// Whether a partition of a receive has come (all have, of an inactive one).
    pub(crate) fn arrived_partition(&mut self, index: u32, partition: i64) -> Result<bool> {
        let active = self.requests[index].active;
        self.with_partitioned(index, |core, partitioned, copies| {
            let Side::Receive(receiving) = &partitioned.side else {
                let message = "the request is a partitioned send; only partitions of a receive arrive";
                return Err(wrong(Class::Request, message));
            };
            let number = check_partition(partition, partitioned.data.partitions)?;
            let covering = match receiving {
                _ if !active => return Ok(true),
                Receiving::NullProcess => return Ok(true),
                Receiving::Unmatched(..) => return Ok(false),
                Receiving::Matched { from, .. } => partitioned.covering(number as u64, from),
            };
            let all = partitioned.parts[covering.clone()].iter().all(|part| part.complete(&core.requests));
            if all {
                covering.for_each(|part| partitioned.unpack(part));
                if !copies.is_empty() {
                    // SAFETY: it has come, and the program waits to be told so.
                    unsafe { copies.store_part(number as u64)? };
                }
            }
            Ok(all)
        })
    }

    /// Gives up a partitioned request that is not active.
    ///
    /// # Errors
    /// `Request` if it is active (MPI-5.0 §4.2).
    pub(super) fn release_partitioned(&mut self, index: u32) -> Result<()> {
        if self.requests[index].active {
            let message = "the partitioned operation is active; complete it before it is freed";
            return Err(wrong(Class::Request, message));
        }
        let unmatched = self.with_partitioned(index, |core, partitioned, _| match &partitioned.side {
            Side::Receive(Receiving::Matched { from, .. }) => {
                core.matching.retire(from.channel);
                Ok(false)
            }
            Side::Receive(Receiving::Unmatched(..)) => Ok(!core.announced(partitioned)),
            _ => Ok(false),
        })?;
        if unmatched {
            self.requests[index].detached = true;
            self.requests[index].complete = true; // finalization does not wait for it
            self.unmatched.push(index);
            self.flags.raise(progress_sources::UNMATCHED);
        } else {
            self.requests.remove(index);
        }
        Ok(())
    }
}

fn bytes_of(announcement: &mut Announcement) -> Buffer {
    let address = std::ptr::from_mut(announcement).cast();
    Buffer::Dense { address, bytes: size_of::<Announcement>() as u64 }
}
