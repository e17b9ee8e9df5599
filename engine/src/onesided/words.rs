//! Changing elements of memory that others change too.
//!
//! An element of 1, 2, 4 or 8 bytes at a multiple of its size is a *word*: an instruction of the
//! processor changes it. All other elements are changed under a lock by everybody. Which it is
//! depends on type and address alone, so it is the same for all.

use super::atomic_word::Word;
use crate::datatype::{Basic, Datatype};
use crate::reduce::{Builtin, OfDevice, Operator};
use crate::{Class, Error, Result};
use std::ptr;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicU8, Ordering::*};
use std::sync::{Arc, OnceLock};

/// What one kind of element is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element(pub Basic);

impl Element {
    /// The kind of element that a datatype consists of.
    ///
    /// # Errors
    /// `Type` when they are several.
    #[inline]
    pub fn of(datatype: &Datatype) -> Result<Element> {
        datatype.uniform().map(Element).ok_or_else(|| mixed(datatype))
    }

    /// Bytes of data, as packed.
    #[inline]
    pub fn size(self) -> usize {
        self.0.size() as usize
    }

    /// Bytes that it touches in memory: data, and a hole in them.
    #[inline]
    pub fn span(self) -> usize {
        match self.0.pair() {
            Some((_, second)) => (self.0.second_offset() + second.size()) as usize,
            None => self.size(),
        }
    }

    /// Bytes of the hole.
    pub fn hole(self) -> u64 {
        (self.span() - self.size()) as u64
    }

    /// Whether its data have no hole: then a run of elements may be one piece.
    #[inline]
    pub fn is_block(self) -> bool {
        self.0.is_block()
    }

    /// Whether an array of it has no padding.
    #[inline]
    fn is_gapless(self) -> bool {
        self.is_block() && self.0.extent() == self.0.size()
    }

    /// Its size if an instruction changes it where it lies at a multiple of that; else 0.
    fn word(self) -> usize {
        match self.size() {
            size @ (1 | 2 | 4 | 8) if self.is_gapless() => size,
            _ => 0,
        }
    }
}

#[cold]
fn mixed(datatype: &Datatype) -> Error {
    let sentence = format!(
        "the datatype {:?} has elements of several kinds; an accumulate takes one predefined type, or a \
         datatype made of one",
        datatype.name()
    );
    Error::new(Class::Type, sentence)
}

/// Bytes that are copied and combined at a time.
const PART: usize = 8 << 10;

/// Room for an element as C lays it out.
#[repr(C, align(16))]
struct Room([u8; 32]);

/// How elements are changed.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    element: Element,
    builtin: Builtin,
    operator: &'a Operator,
    datatype: &'static Arc<Datatype>,
    /// See [`Element::word`].
    word: usize,
}

/// By each of MPI's own operators, of each type that it takes: made at first use.
static KNOWN: [[OnceLock<Elements<'static>>; Basic::NUMBER]; Builtin::NUMBER] =
    [const { [const { OnceLock::new() }; Basic::NUMBER] }; Builtin::NUMBER];

impl<'a> Elements<'a> {
    /// By an operator, of the type of which `datatype` consists.
    ///
    /// # Errors
    /// `Op` when the operator is the program's own or does not take the type.
    #[inline]
    pub fn new(operator: &'a Operator, datatype: &Datatype) -> Result<Elements<'a>> {
        let element = Element::of(datatype)?;
        let Some(builtin) = operator.as_builtin() else { return Err(own_operator()) };
        let shared = Datatype::shared(element.0);
        if !matches!(builtin, Builtin::Replace | Builtin::NoOp) {
            let named = if datatype.is_predefined() { datatype } else { shared };
            operator.check(named)?;
        }
        Ok(Elements { element, builtin, operator, datatype: shared, word: element.word() })
    }

    /// The same, made once for each operator and kind of elements.
    ///
    /// # Errors
    /// As [`Elements::new`].
    #[inline]
    pub fn of(operator: &Operator, datatype: &Datatype) -> Result<&'static Elements<'static>> {
        if let (Some(builtin), Some(basic)) = (operator.as_builtin(), datatype.as_basic()) {
            if let Some(known) = KNOWN[builtin as usize][basic as usize].get() {
                return Ok(known);
            }
        }
        // What does not fit is told of the datatype that the program has given.
        let given = Elements::new(operator, datatype)?;
        Elements::known(given.builtin, given.element)
    }

    /// The same by one of MPI's own operators, of this type.
    ///
    /// # Errors
    /// As [`Elements::new`].
    #[inline]
    pub fn known(builtin: Builtin, element: Element) -> Result<&'static Elements<'static>> {
        match KNOWN[builtin as usize][element.0 as usize].get() {
            Some(known) => Ok(known),
            None => Elements::learn(builtin, element),
        }
    }

    #[cold]
    fn learn(builtin: Builtin, element: Element) -> Result<&'static Elements<'static>> {
        static OPERATORS: [OnceLock<Operator>; Builtin::NUMBER] =
            [const { OnceLock::new() }; Builtin::NUMBER];
        let operator = OPERATORS[builtin as usize].get_or_init(|| Operator::builtin(builtin));
        let elements = Elements::new(operator, Datatype::shared(element.0))?;
        Ok(KNOWN[builtin as usize][element.0 as usize].get_or_init(|| elements))
    }

    /// Whether an instruction changes one at this address.
    #[inline]
    pub fn is_word(&self, address: *const u8) -> bool {
        self.word != 0 && address as usize & (self.word - 1) == 0
    }

    /// Bytes of a word; 0 if no instruction changes one.
    #[inline]
    pub fn word_bytes(&self) -> usize {
        self.word
    }

    /// How a device changes them, if it can.
    pub fn of_device(&self) -> Option<OfDevice> {
        self.operator.of_device(self.datatype)
    }

    /// By which of MPI's own operators.
    pub fn builtin(&self) -> Builtin {
        self.builtin
    }

    /// What is changed.
    #[inline]
    pub fn element(&self) -> Element {
        self.element
    }

    /// Whether nothing is changed.
    #[inline]
    pub fn only_reads(&self) -> bool {
        self.builtin == Builtin::NoOp
    }

    /// Whether it does not matter what the elements were, of which nobody wants to know either.
    #[inline]
    pub fn only_writes(&self, result: *mut u8) -> bool {
        self.builtin == Builtin::Replace && result.is_null() && self.element.is_gapless()
    }

    /// Changes `count` words that lie one after the other; puts what they were to `result`, packed, if
    /// that is not null.
    ///
    /// # Safety
    /// `target` is a [word](Elements::is_word), mapped for reading and writing for all of them. `origin` can be
    /// read (unless nothing is changed) and `result` written for as many elements, packed; they are apart from
    /// each other.
    #[inline]
    pub unsafe fn change_words(&self, origin: *const u8, target: *mut u8, count: usize, result: *mut u8) {
        // SAFETY: by the caller.
        unsafe {
            match self.element.size() {
                8 => self.words::<AtomicU64>(origin, target, count, result),
                4 => self.words::<AtomicU32>(origin, target, count, result),
                2 => self.words::<AtomicU16>(origin, target, count, result),
                _ => self.words::<AtomicU8>(origin, target, count, result),
            }
        }
    }

    /// # Safety
    /// As [`Elements::change_words`], for words of this size.
    #[inline]
    unsafe fn words<W: Word>(&self, origin: *const u8, target: *mut u8, count: usize, result: *mut u8) {
        use Basic::*;
        let origin = if self.only_reads() { ptr::null() } else { origin };
        let run = Run::<W> { origin: origin.cast(), target: target.cast(), count, result: result.cast() };
        let is_integer =
            matches!(self.element.0, Int8 | Int16 | Int32 | Int64 | Uint8 | Uint16 | Uint32 | Uint64);
        // SAFETY: by the caller.
        unsafe {
            match self.builtin {
                Builtin::NoOp => run.many(|word, _| word.load(), |word, _| word.load(Acquire)),
                Builtin::Replace if result.is_null() => {
                    let store = |word: &W, new| {
                        word.store(new);
                        new
                    };
                    let store_wide = |word: &AtomicU64, new| {
                        word.store(new, Release);
                        new
                    };
                    run.many(store, store_wide);
                }
                Builtin::Replace => run.each(|word, new| word.swap(new)),
                Builtin::Sum if is_integer => run.each(|word, by| word.add(by)),
                Builtin::BitAnd => run.each(|word, by| word.and(by)),
                Builtin::BitOr => run.each(|word, by| word.or(by)),
                Builtin::BitXor => run.each(|word, by| word.xor(by)),
                Builtin::Sum if self.element.0 == Float64 => {
                    run.each(|word, by| word.change(|old| W::add_double(by, old)))
                }
                Builtin::Sum if self.element.0 == Float32 => {
                    run.each(|word, by| word.change(|old| W::add_single(by, old)))
                }
                _ => run.each(|word, by| {
                    word.change(|old| {
                        let mut new = old;
                        let (left, right) = ((&raw const by).cast(), (&raw const old).cast());
                        self.operator.combine(left, right, (&raw mut new).cast(), 1, self.datatype);
                        new
                    })
                }),
            }
        }
    }

    /// Changes `count` elements that nobody else changes meanwhile and that follow each other by their size (one, if
    /// it has a hole); else as [`Elements::change_words`].
    ///
    /// # Safety
    /// As there, at any address; whoever changes them holds the lock.
    pub unsafe fn change_alone(&self, origin: *const u8, target: *mut u8, count: usize, result: *mut u8) {
        let (size, element) = (self.element.size(), self.element);
        // SAFETY: by the caller.
        unsafe {
            if element.is_gapless() {
                // What is both copied and combined is so in parts that stay in the first cache meanwhile.
                let part = if result.is_null() { count } else { (PART / size).max(1) };
                for done in (0..count).step_by(part) {
                    let (at, number) = (done * size, part.min(count - done));
                    let (from, here) = (origin.wrapping_add(at), target.add(at));
                    if !result.is_null() {
                        ptr::copy_nonoverlapping(here, result.add(at), number * size);
                    }
                    match self.builtin {
                        Builtin::NoOp => {}
                        Builtin::Replace => ptr::copy_nonoverlapping(from, here, number * size),
                        _ => self.operator.combine(from, here, here, number as u64, self.datatype),
                    }
                }
                return;
            }
            for index in 0..count {
                let at = index * size;
                let result = if result.is_null() { result } else { result.add(at) };
                let origin = if self.only_reads() { origin } else { origin.add(at) };
                self.change_one(origin, target.add(at), result);
            }
        }
    }

    /// One element that is padded in arrays.
    ///
    /// # Safety
    /// As [`Elements::change_alone`].
    unsafe fn change_one(&self, origin: *const u8, target: *mut u8, result: *mut u8) {
        let (mut old, mut by) = (Room([0; 32]), Room([0; 32]));
        let layout = Layout::of(self.element);
        // SAFETY: by the caller; a room is as large as any element.
        unsafe {
            layout.copy(target, layout.memory, old.0.as_mut_ptr(), layout.memory);
            if !result.is_null() {
                layout.copy(old.0.as_ptr(), layout.memory, result, layout.packed);
            }
            if self.only_reads() {
                return;
            }
            layout.copy(origin, layout.packed, by.0.as_mut_ptr(), layout.memory);
            if self.builtin != Builtin::Replace {
                let (left, right) = (by.0.as_ptr(), old.0.as_ptr());
                let mut new = Room([0; 32]);
                self.operator.combine(left, right, new.0.as_mut_ptr(), 1, self.datatype);
                by = new;
            }
            layout.copy(by.0.as_ptr(), layout.memory, target, layout.memory);
        }
    }
}

#[cold]
fn own_operator() -> Error {
    Error::new(
        Class::Op,
        "the operator is a function of the program; an accumulate takes the predefined operators only",
    )
}

/// Where the second member of a pair lies, packed and in memory.
struct Layout {
    first: usize,
    second: usize,
    packed: usize,
    memory: usize,
}

impl Layout {
    fn of(element: Element) -> Layout {
        match element.0.pair() {
            Some((first, second)) => Layout {
                first: first.size() as usize,
                second: second.size() as usize,
                packed: first.size() as usize,
                memory: element.0.second_offset() as usize,
            },
            None => Layout { first: element.size(), second: 0, packed: 0, memory: 0 },
        }
    }

    /// Copies an element whose second member lies at `from_at` to where it lies at `to_at`.
    ///
    /// # Safety
    /// One can be read and the other written.
    unsafe fn copy(&self, from: *const u8, from_at: usize, to: *mut u8, to_at: usize) {
        // SAFETY: by the caller.
        unsafe {
            ptr::copy_nonoverlapping(from, to, self.first);
            ptr::copy_nonoverlapping(from.add(from_at), to.add(to_at), self.second);
        }
    }
}

/// Words one after the other.
struct Run<W: Word> {
    origin: *const W::Value,
    target: *const W,
    count: usize,
    result: *mut W::Value,
}

impl<W: Word> Run<W> {
    /// Calls `change` with each word and what comes from the origin; it gives what the word was.
    ///
    /// # Safety
    /// As [`Elements::change_words`].
    #[inline(always)]
    unsafe fn each(&self, change: impl Fn(&W, W::Value) -> W::Value) {
        for index in 0..self.count {
            // SAFETY: by the caller.
            unsafe {
                let by = match self.origin.is_null() {
                    true => W::Value::default(),
                    false => self.origin.add(index).read_unaligned(),
                };
                let old = change(&*self.target.add(index), by);
                if !self.result.is_null() {
                    self.result.add(index).write_unaligned(old);
                }
            }
        }
    }
}

impl<W: Word> Run<W> {
    /// As [`Run::each`] where nothing is computed: one instruction moves as many elements as 8 bytes have.
    ///
    /// # Safety
    /// As [`Elements::change_words`].
    #[inline]
    unsafe fn many(
        &self,
        change: impl Fn(&W, W::Value) -> W::Value,
        change_wide: impl Fn(&AtomicU64, u64) -> u64,
    ) {
        let (size, wide) = (size_of::<W>(), size_of::<u64>());
        let before = ((self.target as usize).wrapping_neg() % wide / size).min(self.count);
        let words = (self.count - before) * size / wide;
        let after = before + words * wide / size;
        // SAFETY: by the caller; the middle begins at a multiple of 8.
        unsafe {
            self.part(0, before).each(&change);
            let middle = self.part(before, after);
            let (origin, target) = (middle.origin.cast(), middle.target.cast());
            Run::<AtomicU64> { origin, target, count: words, result: middle.result.cast() }.each(change_wide);
            self.part(after, self.count).each(change);
        }
    }

    /// The words from one to another.
    fn part(&self, from: usize, to: usize) -> Run<W> {
        let result = self.result;
        Run {
            origin: if self.origin.is_null() { self.origin } else { self.origin.wrapping_add(from) },
            target: self.target.wrapping_add(from),
            count: to - from,
            result: if result.is_null() { result } else { result.wrapping_add(from) },
        }
    }
}
