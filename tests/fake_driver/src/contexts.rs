//! Contexts: primary ones and those that a program makes; each thread has a stack of them.

use crate::{Answer, Handle, CONTEXT_IS_DESTROYED, INVALID_CONTEXT};
use std::cell::RefCell;

/// The primary context; others follow. A number that has become free is given out again.
const PRIMARY: Handle = 0x1000;
const STEP: Handle = 0x10;

#[derive(Default)]
pub struct Contexts {
    /// Whether each is there, the primary one first.
    there: Vec<bool>,
    /// Those in which copies of the program are done when they say so.
    ordered: Vec<Handle>,
}

impl Contexts {
    fn place(context: Handle) -> Option<usize> {
        let offset = context.checked_sub(PRIMARY)?;
        (offset % STEP == 0).then_some(offset / STEP)
    }

    pub fn is_there(&self, context: Handle) -> bool {
        Contexts::place(context).and_then(|place| self.there.get(place).copied()).unwrap_or(false)
    }

    pub fn retain_primary(&mut self) -> Handle {
        match self.there.first_mut() {
            Some(there) => *there = true,
            None => self.there.push(true),
        }
        PRIMARY
    }

    pub fn has_primary(&self) -> bool {
        self.is_there(PRIMARY)
    }

    pub fn is_ordered(&self, context: Handle) -> bool {
        self.ordered.contains(&context)
    }

    pub fn order(&mut self, context: Handle, is_ordered: bool) {
        self.ordered.retain(|&one| one != context);
        self.ordered.extend(is_ordered.then_some(context));
    }

    pub fn create(&mut self) -> Handle {
        if self.there.is_empty() {
            self.there.push(false);
        }
        let free = self.there.iter().skip(1).position(|&there| !there).map(|place| place + 1);
        let place = free.unwrap_or_else(|| {
            self.there.push(false);
            self.there.len() - 1
        });
        self.there[place] = true;
        PRIMARY + place * STEP
    }
}

thread_local! {
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

impl Contexts {
    /// The context of this thread.
    pub fn current(&self) -> Result<Handle, Answer> {
        match STACK.with_borrow(|stack| stack.last().copied()) {
            None | Some(0) => Err(INVALID_CONTEXT),
            Some(context) if self.is_there(context) => Ok(context),
            Some(_) => Err(CONTEXT_IS_DESTROYED),
        }
    }

    pub fn push(&self, context: Handle) -> Result<(), Answer> {
        if !self.is_there(context) {
            return Err(INVALID_CONTEXT);
        }
        STACK.with_borrow_mut(|stack| stack.push(context));
        Ok(())
    }

    pub fn pop(&self) -> Result<Handle, Answer> {
        STACK.with_borrow_mut(Vec::pop).ok_or(INVALID_CONTEXT)
    }

    pub fn destroy(&mut self, context: Handle) -> Result<(), Answer> {
        let place = Contexts::place(context).filter(|&place| place > 0 && self.is_there(context));
        self.there[place.ok_or(INVALID_CONTEXT)?] = false;
        self.order(context, false);
        STACK.with_borrow_mut(|stack| {
            if stack.last() == Some(&context) {
                stack.pop();
            }
        });
        Ok(())
    }
}
