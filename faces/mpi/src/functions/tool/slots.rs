//! Handles of the tool interface: pointers in C that point nowhere. Each is a
//! kind, a generation and a place, so that one freed twice is an error.

use super::Raw;

const PLACE_BITS: u32 = 24;
const GENERATION_BITS: u32 = 32;

/// A table of one kind of handle.
pub struct Slots<T> {
    kind: u8,
    slots: Vec<Slot<T>>,
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slots<T> {
    /// An empty one; each table has a kind of its own.
    pub const fn new(kind: u8) -> Slots<T> {
        Slots { kind, slots: Vec::new() }
    }

    /// Puts a value in and gives its handle; `None` when there are too many.
    pub fn put(&mut self, value: T) -> Option<Raw> {
        let place = match self.slots.iter().position(|slot| slot.value.is_none()) {
            Some(place) => place,
            None => {
                self.slots.push(Slot { generation: 0, value: None });
                self.slots.len() - 1
            }
        };
        if place >> PLACE_BITS != 0 {
            return None;
        }
        let slot = &mut self.slots[place];
        slot.generation = slot.generation.wrapping_add(1);
        slot.value = Some(value);
        Some(self.handle(place))
    }

    fn handle(&self, place: usize) -> Raw {
        let generation = self.slots[place].generation as usize;
        let word = (self.kind as usize) << (PLACE_BITS + GENERATION_BITS) | generation << PLACE_BITS | place;
        word as Raw
    }

    fn place(&self, handle: Raw) -> Option<usize> {
        let place = handle as usize & ((1 << PLACE_BITS) - 1);
        let living = self.slots.get(place).is_some_and(|slot| slot.value.is_some());
        (living && self.handle(place) == handle).then_some(place)
    }

    /// The value behind a handle that has not been freed.
    pub fn get(&mut self, handle: Raw) -> Option<&mut T> {
        let place = self.place(handle)?;
        self.slots[place].value.as_mut()
    }

    /// Takes it out.
    pub fn take(&mut self, handle: Raw) -> Option<T> {
        let place = self.place(handle)?;
        self.slots[place].value.take()
    }

    /// All values with their handles.
    pub fn all(&mut self) -> impl Iterator<Item = (Raw, &mut T)> {
        let handles: Vec<Raw> = (0..self.slots.len()).map(|place| self.handle(place)).collect();
        handles
            .into_iter()
            .zip(&mut self.slots)
            .filter_map(|(handle, slot)| Some((handle, slot.value.as_mut()?)))
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }

    /// Takes all out; generations go on.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.value = None);
    }
}

// SAFETY: handles are numbers; values that point somewhere say so themselves.
unsafe impl<T> Send for Slots<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_lives_until_it_is_taken_out_and_never_again() {
        let mut slots = Slots::new(3);
        let (first, second) = (slots.put('a').unwrap(), slots.put('b').unwrap());
        assert!(first != second && !first.is_null());
        assert_eq!((slots.take(first), slots.take(first)), (Some('a'), None));
        let third = slots.put('c').unwrap();
        assert!(third != first && slots.get(first).is_none());
        assert_eq!(slots.get(third), Some(&mut 'c'));
        assert!(Slots::<char>::new(4).get(third).is_none() && slots.get(std::ptr::null_mut()).is_none());
        slots.clear();
        assert!(slots.get(second).is_none() && slots.values().count() == 0);
    }
}
