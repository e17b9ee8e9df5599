//! The payload that a member publishes, and reads of others.

use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::control_block::{Published, INLINE_BYTES};
use crate::collective::node::protocol::member::Member;
use crate::collective::Data;
use crate::datatype::{self, Basic, Datatype};
use crate::memory::copy::{plain, Chooser};
use crate::tuning::crossovers::SHORT_SLOT;
use crate::{Class, Error, Result};

impl Member {
    /// Takes a place for `bytes` bytes of payload of an epoch: the epoch at which it is free.
    #[inline]
    pub(super) fn take_place(&self, epoch: u64, bytes: u64) -> u64 {
        let is_wide = bytes > self.narrow();
        self.room.take(&self.block.shape(), (self.rank, is_wide), epoch, bytes)
    }

    /// A member that writes payload has taken a place and waited until it is free (rule 2 of the control block).
    #[inline]
    pub(crate) fn debug_rule_2(&self, epoch: u64) {
        debug_assert!(self.room.is_taken(&self.block.shape(), epoch));
    }

    /// The place that is taken for `bytes` bytes.
    #[inline]
    fn taken_place(&self, epoch: u64, bytes: usize) -> *mut u8 {
        match bytes <= INLINE_BYTES {
            true => self.block.inline(self.rank, epoch),
            false => self.block.at(self.room.place()),
        }
    }

    /// Publishes what lies in the place that is taken.
    #[inline]
    fn publish_as(&self, epoch: u64, what: Published) {
        self.block.publish(self.rank, epoch, what, self.room.place());
        self.wake();
    }

    /// Publishes items, one after the other, as the payload of an epoch. Before this or anything else is
    /// published, the caller waits as rule 2 of the control block demands.
    #[inline]
    pub(crate) fn publish(&self, epoch: u64, data: &Data) {
        self.debug_rule_2(epoch);
        let bytes = data.bytes() as usize;
        let packed = self.taken_place(epoch, bytes);
        // SAFETY: the program lends the data; the place is ours by rule 2, and
        // has room, because who called has compared `bytes` with `slot`.
        unsafe { self.pack(data, packed) };
        self.publish_as(epoch, Published::Payload(bytes));
    }

    /// Writes items one after the other.
    ///
    /// # Safety
    /// The program must lend them, and there must be room for them, for nobody else meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn pack(&self, data: &Data, to: *mut u8) {
        let bytes = data.bytes() as usize;
        // SAFETY: by the caller.
        unsafe {
            match data.dense() {
                Some((from, _)) if bytes >= Chooser::WORTH => {
                    let copied =
                        if bytes as u64 <= SHORT_SLOT.bytes() { CopyKind::Short } else { CopyKind::Slot };
                    self.chooser(copied).copy(from, to, bytes);
                }
                Some((from, _)) => std::ptr::copy_nonoverlapping(from, to, bytes),
                None => {
                    let source = (&**data.datatype, data.address.cast_const(), data.count);
                    datatype::copy(source, (Member::bytes(), to, bytes as u64));
                }
            }
        }
    }

    /// Where the payload of a member that has arrived lies.
    #[inline]
    pub(crate) fn packed(&self, member: u32, epoch: u64, bytes: usize) -> *mut u8 {
        self.block.payload(member, epoch, bytes)
    }

    /// Publishes `bytes` bytes that `write` writes and that begin with a table. Where copies are retained for the half
    /// (`has_copies`), nothing else comes there, and the place has been taken as for a whole slot at least.
    pub(crate) fn publish_table(
        &self,
        epoch: u64,
        (bytes, has_copies): (usize, bool),
        write: impl FnOnce(*mut u8),
    ) {
        self.debug_rule_2(epoch);
        write(self.taken_place(epoch, bytes));
        if has_copies {
            self.room.close();
        }
        self.publish_as(epoch, Published::Table(bytes));
    }

    /// The payload of a member that has arrived, if it begins with a table, and how
    /// long it is.
    pub(crate) fn table(&self, member: u32, epoch: u64) -> Option<(*const u8, usize)> {
        let bytes = self.block.table_bytes(member, epoch)?.min(self.block.shape().widest());
        Some((self.packed(member, epoch, bytes).cast_const(), bytes))
    }

    /// Publishes words that say where payload lies, instead of the payload, and something more, which `write`
    /// writes into the place: as much as a slot holds. Nothing else comes into its half, so a copy that is retained
    /// for that half stays as long.
    #[inline]
    pub(crate) fn publish_words<Words: Copy>(&self, epoch: u64, words: Words, write: impl FnOnce(*mut u8)) {
        const { assert!(size_of::<Words>() <= INLINE_BYTES && align_of::<Words>() <= 16) };
        self.debug_rule_2(epoch);
        write(self.taken_place(epoch, self.narrow() as usize));
        let place = self.block.inline(self.rank, epoch).cast::<Words>();
        // SAFETY: the place is ours by rule 2, and has room and alignment for them.
        unsafe { place.write(words) };
        self.room.close();
        self.publish_as(epoch, Published::Words);
    }

    /// Whether a member that has arrived has published words, and not payload.
    #[inline]
    pub(crate) fn has_words(&self, member: u32, epoch: u64) -> bool {
        self.block.has_words(member, epoch)
    }

    /// The words that a member that has arrived has published.
    ///
    /// # Safety
    /// They must be of this type.
    #[inline]
    pub(crate) unsafe fn words<Words: Copy>(&self, member: u32, epoch: u64) -> Words {
        let place = self.block.inline(member, epoch).cast_const().cast::<Words>();
        // SAFETY: published, and so they stay by rule 3; the type by the caller.
        unsafe { place.read() }
    }

    /// How many bytes of payload a member that has arrived has published.
    #[inline]
    pub(crate) fn published_by(&self, member: u32, epoch: u64) -> u64 {
        self.block.published(member, epoch) as u64
    }

    /// Checks that a member that has arrived has published `expected` bytes.
    ///
    /// # Errors
    /// `Truncate`: the members do not agree.
    #[inline]
    pub(crate) fn agree(&self, member: u32, epoch: u64, expected: u64) -> Result<()> {
        let published = self.published_by(member, epoch);
        if published == expected {
            return Ok(());
        }
        Err(self.disagree(member, published, expected))
    }

    #[cold]
    pub(crate) fn disagree(&self, member: u32, published: u64, expected: u64) -> Error {
        let sentence = format!(
            "rank {} takes part with {published} bytes and this rank ({}) with {expected}; all ranks must call the \
             same operations in the same order, with counts and types that match (SERRIED_CHECK=1 tells what differs)",
            self.name(member),
            self.name(self.rank)
        );
        Error::new(Class::Truncate, sentence)
    }

    /// Copies `bytes` payload bytes from `offset` on of a member to `data`.
    #[inline(always)]
    pub(crate) fn take(&self, member: u32, epoch: u64, (offset, bytes): (u64, u64), data: &Data) {
        let payload = self.packed(member, epoch, bytes as usize);
        let part = data.bytes();
        debug_assert!(offset + part <= bytes);
        // SAFETY: the payload has `bytes` bytes, which stay by rule 3; the program
        // lends the data.
        unsafe { Member::unpack(payload.cast_const().add(offset as usize), data) };
    }

    /// Copies payload to `data`.
    ///
    /// # Safety
    /// It must be long enough; the program lends the data, which lie elsewhere.
    #[inline(always)]
    pub(crate) unsafe fn unpack(from: *const u8, data: &Data) {
        let part = data.bytes();
        // SAFETY: by the caller.
        unsafe {
            if let Some((to, _)) = data.dense() {
                return plain(from, to, part as usize);
            }
            datatype::copy((Member::bytes(), from, part), (&**data.datatype, data.address, data.count));
        }
    }

    fn bytes() -> &'static Datatype {
        Datatype::shared(Basic::Packed)
    }
}
