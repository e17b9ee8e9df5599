//! A group of ranks, one of each node, and what has come for it.

use super::pacing::Pacing;
use super::{Halves, Said};
use crate::transport::multicast::{Channel, Mute, Piece};
use std::collections::VecDeque;

/// Bytes that a root may be ahead of the last rank, at most.
const WINDOW: u64 = 1 << 20;
/// Pieces of the next round that are kept for it.
const EARLY: usize = 256;

/// What a peer has said, and in which round.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The round.
    pub epoch: u32,
    /// What.
    pub said: Said,
}

/// How a rank got its pieces, since this was asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub pieces: u64,
    /// Those for which it had to ask.
    pub repaired: u64,
}

/// The way of this rank to a group, whatever round it is in.
#[derive(Debug)]
pub struct Group {
    pub(super) channel: Box<dyn Channel>,
    piece: u32,
    half: u32,
    pub(super) pacing: Pacing,
    epoch: u32,
    is_active: bool,
    heard: Vec<Heard>,
    early: VecDeque<(u32, Box<[u8]>)>,
    /// How it got its pieces.
    pub tally: Tally,
}

impl Group {
    /// A group whose members have agreed on the bytes of a piece, the bytes that each of them keeps unread, and the
    /// rate of the slowest link.
    pub fn new(channel: Box<dyn Channel>, piece: u32, room: u64, rate: u64) -> Group {
        let piece = piece.max(1);
        let half = (room.min(WINDOW) / 2 / u64::from(piece)).max(1) as u32;
        let (heard, early) = (Vec::new(), VecDeque::new());
        let (pacing, tally) = (Pacing::new(rate), Tally::default());
        Group { channel, piece, half, pacing, epoch: 0, is_active: false, heard, early, tally }
    }

    /// How so many bytes are cut up.
    pub(super) fn halves(&self, bytes: u64) -> Halves {
        Halves { bytes, piece: self.piece, half: self.half }
    }

    /// Whether a round is under way here.
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// The channel, to be tried.
    pub fn channel(&mut self) -> &mut dyn Channel {
        &mut *self.channel
    }

    /// It is not used any more: what stands for it in the system goes.
    pub fn silence(&mut self) {
        self.channel = Box::new(Mute);
    }

    /// A round begins here.
    pub(super) fn begin(&mut self, epoch: u32) {
        if epoch != self.epoch + 1 {
            self.early.clear();
        }
        (self.epoch, self.is_active) = (epoch, true);
        self.heard.retain(|heard| heard.epoch >= epoch);
        self.channel.attend(true);
    }

    /// It has ended here.
    pub(super) fn end(&mut self) {
        self.is_active = false;
        self.channel.attend(false);
    }

    /// A peer has said something. A peer may be in the round already that comes next here.
    pub fn hear(&mut self, heard: Heard) {
        if heard.epoch >= self.epoch {
            self.heard.push(heard);
        }
    }

    /// What was said in this round.
    pub(super) fn take_heard(&mut self) -> Vec<Said> {
        let epoch = self.epoch;
        if self.heard.is_empty() {
            return Vec::new();
        }
        let (now, later) =
            std::mem::take(&mut self.heard).into_iter().partition(|heard| heard.epoch == epoch);
        self.heard = later;
        let now: Vec<Heard> = now;
        now.into_iter().map(|heard| heard.said).collect()
    }

    /// Hands on the pieces of this round that have come, until one is `enough`. Those of earlier rounds are dropped,
    /// those of the next one kept.
    pub(super) fn receive(&mut self, mut enough: impl FnMut(u32, &[u8]) -> bool) {
        while let Some((index, bytes)) = self.early.pop_front() {
            enough(index, &bytes);
        }
        while let Some(Piece { epoch, index, bytes }) = self.channel.receive() {
            if epoch == self.epoch && enough(index, bytes) {
                return;
            }
            if epoch == self.epoch + 1 && self.early.len() < EARLY {
                self.early.push_back((index, bytes.into()));
            }
        }
    }
}
