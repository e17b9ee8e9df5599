//! Messages that nobody has asked for, when they are many: finding the first
//! that a receive accepts takes the same time however many there are.
//!
//! Each message is in four lists, by what a receive may ask for: its source or
//! any, with its tag or any. Each list is in order of arrival; its first entry is
//! the one that such a receive gets.

use super::unexpected::Unexpected;
use super::{ANY_SOURCE, ANY_TAG};
use std::collections::HashMap;

/// What a receive asks for: source and tag, wildcards allowed.
type Key = (i32, i32);

/// No neighbour in a list.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Neighbours {
    before: u32,
    after: u32,
}

#[derive(Debug)]
struct Place {
    message: Option<Unexpected>,
    neighbours: [Neighbours; 4],
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// Places in a piece of memory. Pieces, so that growing moves nothing and takes no
/// more than is used.
const PIECE: usize = 256;

/// A queue of many messages.
#[derive(Debug, Default)]
pub struct Many {
    pieces: Vec<Vec<Place>>,
    free: Vec<u32>,
    lists: HashMap<Key, List>,
}

/// What the receives ask for that accept a message.
fn keys(source: i32, tag: i32) -> [Key; 4] {
    [(source, tag), (source, ANY_TAG), (ANY_SOURCE, tag), (ANY_SOURCE, ANY_TAG)]
}

impl Many {
    /// Whether no message is here.
    pub fn is_empty(&self) -> bool {
        self.most() == self.free.len()
    }

    /// How many messages there have been at once.
    pub fn most(&self) -> usize {
        self.pieces.last().map_or(0, |last| (self.pieces.len() - 1) * PIECE + last.len())
    }

    fn place(&mut self, index: u32) -> &mut Place {
        &mut self.pieces[index as usize / PIECE][index as usize % PIECE]
    }

    /// Puts a place where there is room for it.
    fn insert(&mut self, place: Place) -> u32 {
        if let Some(index) = self.free.pop() {
            *self.place(index) = place;
            return index;
        }
        let index = self.most() as u32;
        if self.pieces.len() * PIECE == index as usize {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        self.pieces[index as usize / PIECE].push(place);
        index
    }

    /// Adds a message behind all others.
    pub fn push(&mut self, message: Unexpected) {
        let keys = keys(message.source, message.tag);
        let neighbours = [Neighbours { before: NONE, after: NONE }; 4];
        let index = self.insert(Place { message: Some(message), neighbours });
        for (kind, key) in keys.into_iter().enumerate() {
            let list = self.lists.entry(key).or_insert(List { first: index, last: NONE });
            let before = std::mem::replace(&mut list.last, index);
            self.place(index).neighbours[kind].before = before;
            if before != NONE {
                self.place(before).neighbours[kind].after = index;
            }
        }
    }

    /// All messages, in order of arrival.
    pub fn in_order(&self) -> impl Iterator<Item = &Unexpected> {
        self.indices().filter_map(|index| self.at(index).message.as_ref())
    }

    fn at(&self, index: u32) -> &Place {
        &self.pieces[index as usize / PIECE][index as usize % PIECE]
    }

    fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        let of_any = keys(0, 0).len() - 1;
        let first = self.lists.get(&(ANY_SOURCE, ANY_TAG)).map(|list| list.first);
        let next =
            move |&index: &u32| Some(self.at(index).neighbours[of_any].after).filter(|&after| after != NONE);
        std::iter::successors(first, next)
    }

    /// The first message that a receive accepts.
    pub fn first(&self, source: i32, tag: i32) -> Option<&Unexpected> {
        let index = self.lists.get(&(source, tag))?.first as usize;
        self.pieces[index / PIECE][index % PIECE].message.as_ref()
    }

    /// Takes it.
    pub fn take(&mut self, source: i32, tag: i32) -> Option<Unexpected> {
        self.remove(self.lists.get(&(source, tag))?.first)
    }

    /// Takes the first message in order of arrival that `is_it`.
    pub fn remove_first(&mut self, is_it: impl Fn(&Unexpected) -> bool) -> Option<Unexpected> {
        let index = self.indices().find(|&index| self.at(index).message.as_ref().is_some_and(&is_it))?;
        self.remove(index)
    }

    fn remove(&mut self, index: u32) -> Option<Unexpected> {
        let place = self.place(index);
        let (message, neighbours) = (place.message.take()?, place.neighbours);
        let keys = keys(message.source, message.tag);
        for (kind, (key, Neighbours { before, after })) in keys.into_iter().zip(neighbours).enumerate() {
            self.unlink(kind, key, before, after);
        }
        self.free.push(index);
        Some(message)
    }

    /// Joins the neighbours of an entry that leaves a list.
    fn unlink(&mut self, kind: usize, key: Key, before: u32, after: u32) {
        if before == NONE && after == NONE {
            self.lists.remove(&key);
            return;
        }
        if before != NONE {
            self.place(before).neighbours[kind].after = after;
        } else if let Some(list) = self.lists.get_mut(&key) {
            list.first = after;
        }
        if after != NONE {
            self.place(after).neighbours[kind].before = before;
        } else if let Some(list) = self.lists.get_mut(&key) {
            list.last = before;
        }
    }
}
