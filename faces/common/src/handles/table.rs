//! Tables: from a handle to the engine's object, and back.
//!
//! # Looking up
//! A lookup takes no lock and counts no reference. Slots never move: they lie in chunks that double
//! in size and are never given back. A slot's handle is stored (release) after its object and read
//! (acquire) before it. The object stays alive during a call by MPI's rule that no thread frees an
//! object that another is using (MPI-5.0 §11.6.2); the call that frees one takes the reference out
//! and holds it to its end.
//!
//! # Putting in and taking out
//! is done under the table's lock. An object that is in the table already gets
//! the same handle again, which then has to be freed as often as it was put in.
//! So a call may hand out a predefined object too; but a program cannot free
//! what no call has handed out.

use super::super::entry::Call;
use super::form::Handle;
use super::{prefix, KIND_SHIFT};
use rustc_hash::FxHashMap;
use serried_engine::{Class, Error, Result};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

const INDEX_BITS: u32 = 22;
const FIRST_CHUNK: usize = 64;
const CHUNKS: usize = 16;
const PREDEFINED: usize = 256;

struct Slot<T> {
    handle: AtomicU32,
    value: UnsafeCell<Option<Arc<T>>>,
}

impl<T> Slot<T> {
    const fn empty() -> Slot<T> {
        Slot { handle: AtomicU32::new(0), value: UnsafeCell::new(None) }
    }
}

/// The objects of one kind.
pub struct Table<T: 'static, H> {
    kind: u32,
    class: Class,
    noun: &'static str,
    null: H,
    predefined: [Slot<T>; PREDEFINED],
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    book: LazyLock<Mutex<Book>>,
}

/// What the lock guards.
#[derive(Default)]
struct Book {
    free: VecDeque<u32>,
    generations: Vec<u8>,
    /// By the address of the object: its handle, and how often it was put in. Without those that were put in alone.
    known: FxHashMap<usize, (u32, u32)>,
}

// SAFETY: a slot's value changes only under the lock of `book`, and is read
// only by threads that hold a handle to it (see the module's text).
unsafe impl<T: Send + Sync, H: Sync> Sync for Table<T, H> {}

impl<T, H: Handle> Table<T, H> {
    /// An empty one. Its kind is a number below 16; errors have the class, and call its
    /// objects by the noun.
    pub const fn new(kind: u32, class: Class, noun: &'static str, null: H) -> Table<T, H> {
        Table {
            kind,
            class,
            noun,
            null,
            predefined: [const { Slot::empty() }; PREDEFINED],
            chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS],
            book: LazyLock::new(Mutex::default),
        }
    }

    /// The null handle of this kind.
    pub fn null(&self) -> H {
        self.null
    }

    /// The object of a handle, for the time of the call.
    #[inline]
    pub fn get<'call>(&'static self, _call: &'call Call, handle: H) -> Option<&'call Arc<T>> {
        let raw = handle.raw();
        let slot = self.slot(raw)?;
        if slot.handle.load(Ordering::Acquire) != raw {
            return None;
        }
        // SAFETY: the slot holds this handle's object, and by MPI's rule nobody
        // frees it while this call uses it.
        unsafe { (*slot.value.get()).as_ref() }
    }

    /// Puts an object in; the same one again gets the same handle.
    ///
    /// # Errors
    /// `NoMem` when four million objects of this kind exist.
    pub fn put(&'static self, object: Arc<T>) -> Result<H> {
        let address = Arc::as_ptr(&object) as usize;
        let mut book = self.lock();
        if let Some((raw, times)) = book.known.get_mut(&address) {
            *times += 1;
            return Ok(H::from_raw(*raw));
        }
        let raw = self.free_raw(&mut book)?;
        book.known.insert(address, (raw, 1));
        self.fill(raw, object);
        Ok(H::from_raw(raw))
    }

    /// Puts in an object that is nowhere else and whose handle no call looks for: of it nothing is noted.
    ///
    /// # Errors
    /// As [`Table::put`].
    pub fn put_alone(&'static self, object: T) -> Result<H> {
        let mut book = self.lock();
        let raw = self.free_raw(&mut book)?;
        self.fill(raw, Arc::new(object));
        Ok(H::from_raw(raw))
    }

    /// Puts another object in the place of one that is in the table and that no call uses: its handle is that of the
    /// new one from now on. Nothing happens if it is not in the table any more.
    pub fn replace(&'static self, old: &Arc<T>, new: Arc<T>) {
        let mut book = self.lock();
        if let Some((raw, times)) = book.known.remove(&(Arc::as_ptr(old) as usize)) {
            book.known.insert(Arc::as_ptr(&new) as usize, (raw, times));
            self.fill(raw, new);
        }
    }

    /// Gives a predefined handle its object (again, if it had one).
    pub fn put_predefined(&'static self, handle: H, object: Arc<T>) {
        let raw = handle.raw();
        let mut book = self.lock();
        book.known.insert(Arc::as_ptr(&object) as usize, (raw, 0));
        self.fill(raw, object);
    }

    /// Takes the object of a predefined handle out, if it has one.
    pub fn withdraw(&'static self, handle: H) {
        let raw = handle.raw();
        let mut book = self.lock();
        book.known.retain(|_, (known, _)| *known != raw);
        if let Some(slot) = self.slot(raw).filter(|slot| slot.handle.load(Ordering::Acquire) == raw) {
            slot.handle.store(0, Ordering::Release);
            // SAFETY: the lock is held; a call that looks the handle up finds none.
            unsafe { *slot.value.get() = None };
        }
    }

    /// The handle of an object that is in the table.
    pub fn handle_of(&'static self, object: &Arc<T>) -> Option<H> {
        self.lock().known.get(&(Arc::as_ptr(object) as usize)).map(|(raw, _)| H::from_raw(*raw))
    }

    /// A live handle whose object is wanted. Looks at all of them: for errors.
    #[cold]
    pub fn find(&'static self, wanted: impl Fn(&T) -> bool) -> Option<H> {
        let book = self.lock();
        let object_of = |raw: u32| {
            // SAFETY: the lock is held, so no other thread changes the value.
            self.slot(raw).and_then(|slot| unsafe { (*slot.value.get()).as_ref() })
        };
        let mut handles = book.known.values().map(|(raw, _)| *raw);
        handles.find(|&raw| object_of(raw).is_some_and(|object| wanted(object))).map(H::from_raw)
    }

    /// Shows all objects, each once.
    #[cold]
    pub fn each(&'static self, visit: &mut dyn FnMut(&Arc<T>)) {
        let book = self.lock();
        for (raw, _) in book.known.values() {
            // SAFETY: the lock is held, so no other thread changes the value.
            if let Some(object) = self.slot(*raw).and_then(|slot| unsafe { (*slot.value.get()).as_ref() }) {
                visit(object);
            }
        }
    }

    /// Whether the handle of an object that is in the table would be gone with
    /// the next [`Table::take`].
    pub fn is_last(&'static self, object: &Arc<T>) -> bool {
        self.lock().known.get(&(Arc::as_ptr(object) as usize)).map_or(0, |(_, times)| *times) <= 1
    }

    /// Gives up one reference of a handle; the handle is gone with the last.
    ///
    /// # Errors
    /// The kind's class when the handle is null, stale or predefined.
    pub fn take(&'static self, name: &str, handle: H) -> Result<Arc<T>> {
        let raw = handle.raw();
        let mut book = self.lock();
        let slot = self.slot(raw).filter(|slot| slot.handle.load(Ordering::Acquire) == raw);
        // SAFETY: the lock is held, so no other thread changes the value.
        let found = slot.and_then(|slot| unsafe { (*slot.value.get()).as_ref() }).cloned();
        let (Some(slot), Some(object)) = (slot, found) else { return Err(self.no_object(name, handle)) };
        let address = Arc::as_ptr(&object) as usize;
        let dynamic = raw >> KIND_SHIFT == prefix(self.kind) >> KIND_SHIFT;
        let times = book.known.get(&address).map_or(u32::from(dynamic), |(_, times)| *times);
        match times {
            0 => {
                let noun = self.noun;
                return Err(Error::new(
                    self.class,
                    format!("argument {name} is a predefined {noun}, which cannot be freed"),
                ));
            }
            1 if dynamic => {
                book.known.remove(&address);
                slot.handle.store(0, Ordering::Release);
                // SAFETY: the lock is held; the program says that nobody uses
                // the handle any more, and `object` keeps what it stands for.
                unsafe { *slot.value.get() = None };
                let index = raw & ((1 << INDEX_BITS) - 1);
                book.generations[index as usize] = book.generations[index as usize].wrapping_add(1);
                book.free.push_back(index);
            }
            _ => {
                book.known.insert(address, (raw, times - 1));
            }
        }
        Ok(object)
    }

    /// Takes out all objects that are not predefined, however often they were put in.
    pub fn clear(&'static self) {
        let mut book = self.lock();
        let dynamic = |raw: u32| raw >> KIND_SHIFT == prefix(self.kind) >> KIND_SHIFT;
        let gone: Vec<u32> = book.known.values().map(|one| one.0).filter(|&raw| dynamic(raw)).collect();
        book.known.retain(|_, (raw, _)| !dynamic(*raw));
        for raw in gone {
            let Some(slot) = self.slot(raw) else { continue };
            slot.handle.store(0, Ordering::Release);
            // SAFETY: the lock is held; the program says that nobody uses the handle any more.
            unsafe { *slot.value.get() = None };
            let index = raw & ((1 << INDEX_BITS) - 1);
            book.generations[index as usize] = book.generations[index as usize].wrapping_add(1);
            book.free.push_back(index);
        }
    }

    /// The error for a handle that stands for nothing.
    #[cold]
    pub fn no_object(&self, name: &str, handle: H) -> Error {
        let noun = self.noun;
        let what = if handle == self.null {
            format!("argument {name} is the null {noun}")
        } else {
            format!("argument {name} ({:#x}) is no {noun}: it was never made, or has been freed", handle)
        };
        Error::new(self.class, what)
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn slot(&'static self, raw: u32) -> Option<&'static Slot<T>> {
        if raw >> KIND_SHIFT != prefix(self.kind) >> KIND_SHIFT {
            return Some(&self.predefined[H::predefined_place(raw)]);
        }
        let (chunk, offset) = place(raw & ((1 << INDEX_BITS) - 1));
        let chunk = self.chunks.get(chunk)?.load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: the chunk is there for ever and has a slot for every offset
        // that `place` gives for it.
        Some(unsafe { &*chunk.add(offset) })
    }

    /// A new handle.
    fn free_raw(&self, book: &mut Book) -> Result<u32> {
        let index = self.free_index(book)?;
        let generation = u32::from(book.generations[index as usize] & 0xf);
        Ok(prefix(self.kind) | generation << INDEX_BITS | index)
    }

    fn free_index(&self, book: &mut Book) -> Result<u32> {
        // A freed index rests while there are few, so that a stale handle shows.
        if book.free.len() > 16 || book.generations.len() == FIRST_CHUNK * ((1 << CHUNKS) - 1) {
            if let Some(index) = book.free.pop_front() {
                return Ok(index);
            }
            return Err(Error::new(
                Class::NoMem,
                format!("the program holds four million handles of kind {}", self.noun),
            ));
        }
        let index = book.generations.len() as u32;
        book.generations.push(0);
        let (chunk, offset) = place(index);
        if offset == 0 {
            let slots: Box<[Slot<T>]> = (0..FIRST_CHUNK << chunk).map(|_| Slot::empty()).collect();
            self.chunks[chunk].store(Box::leak(slots).as_mut_ptr(), Ordering::Release);
        }
        Ok(index)
    }

    /// Stores an object and then its handle; the lock is held.
    fn fill(&'static self, raw: u32, object: Arc<T>) {
        if let Some(slot) = self.slot(raw) {
            // SAFETY: the lock is held, and no call uses this handle yet.
            unsafe { *slot.value.get() = Some(object) };
            slot.handle.store(raw, Ordering::Release);
        }
    }
}

/// The chunk of an index and the place in it.
pub(super) fn place(index: u32) -> (usize, usize) {
    let number = index as usize / FIRST_CHUNK + 1;
    let chunk = number.ilog2() as usize;
    (chunk, index as usize - FIRST_CHUNK * ((1 << chunk) - 1))
}

/// The object of an argument that must have one.
///
/// # Errors
/// The kind's class when the handle is null or stale.
#[inline]
pub fn required<'call, T, H: Handle>(
    table: &'static Table<T, H>,
    call: &'call Call,
    name: &str,
    handle: H,
) -> Result<&'call Arc<T>> {
    table.get(call, handle).ok_or_else(|| table.no_object(name, handle))
}

/// The object of an argument that may be null.
///
/// # Errors
/// The kind's class when the handle is stale.
#[inline]
pub fn optional<'call, T, H: Handle>(
    table: &'static Table<T, H>,
    call: &'call Call,
    name: &str,
    handle: H,
) -> Result<Option<&'call Arc<T>>> {
    if handle == table.null {
        return Ok(None);
    }
    required(table, call, name, handle).map(Some)
}
