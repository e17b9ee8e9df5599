//! A partial result of a reduction on its way up the tree.

use super::{Data, Schedule};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// A vector of which some part is the combination of some ranks so far.
///
/// An operator overwrites its right operand, so the value wanders between
/// buffers: the program's send buffer at first, which is never written, then
/// its receive buffer and temporaries, which are made when first needed.
pub(super) struct Partial {
    operator: Arc<Operator>,
    /// The value so far.
    pub value: Data,
    /// Whether the value may be overwritten.
    writable: bool,
    /// Buffers that may be used.
    free: Vec<Data>,
}

impl Partial {
    /// Begins with what one rank contributes: `send`, or in place what lies in
    /// `receive`. `receive`, where there is one, is used as a buffer too.
    pub fn new(operator: &Arc<Operator>, send: Option<&Data>, receive: Option<&Data>) -> Option<Partial> {
        let value = send.or(receive)?.clone();
        let free = if send.is_some() { receive.into_iter().cloned().collect() } else { Vec::new() };
        Some(Partial { operator: operator.clone(), value, writable: send.is_none(), free })
    }

    /// A buffer for what comes from another rank, to be given to `fold`;
    /// `from_lower` as there.
    pub fn incoming(&mut self, schedule: &mut Schedule, from_lower: bool) -> Result<Data> {
        // Where `fold` will need a free buffer, leave it that.
        if from_lower && !self.writable && self.free.len() < 2 {
            return schedule.temporary(self.value.count, &self.value.datatype);
        }
        self.take_free(schedule)
    }

    fn take_free(&mut self, schedule: &mut Schedule) -> Result<Data> {
        match self.free.pop() {
            Some(data) => Ok(data),
            None => schedule.temporary(self.value.count, &self.value.datatype),
        }
    }

    /// Combines `count` items from `first` on with those of `incoming`, which
    /// come from lower ranks or from higher ones. The other items are lost.
    pub fn fold(
        &mut self,
        schedule: &mut Schedule,
        incoming: Data,
        from_lower: bool,
        (first, count): (u64, u64),
    ) -> Result<()> {
        if from_lower {
            if !self.writable {
                let copy = self.take_free(schedule)?;
                schedule.copy(self.value.items(first, count), copy.items(first, count));
                self.value = copy;
            }
            schedule.reduce(&self.operator, &incoming.items(first, count), &self.value.items(first, count));
            self.free.push(incoming);
        } else {
            schedule.reduce(&self.operator, &self.value.items(first, count), &incoming.items(first, count));
            let old = std::mem::replace(&mut self.value, incoming);
            if self.writable {
                self.free.push(old);
            }
        }
        self.writable = true;
        Ok(())
    }

    /// Folds in all that `peer` sends.
    pub fn fold_from(&mut self, schedule: &mut Schedule, peer: u32, from_lower: bool) -> Result<()> {
        let incoming = self.incoming(schedule, from_lower)?;
        schedule.receive(peer, incoming.clone());
        schedule.wait();
        self.fold(schedule, incoming, from_lower, (0, self.value.count))
    }

    /// Copies `count` items of the value from `first` on to the same place of
    /// `target`, unless they are there.
    pub fn settle(&self, schedule: &mut Schedule, target: &Data, (first, count): (u64, u64)) {
        schedule.copy(self.value.items(first, count), target.items(first, count));
    }
}
