//! What the wall promises, with a face of its own.

use super::super::engine::PROCESS;
use super::*;
use serried_engine::engine::Engine;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::PoisonError;

struct Toy;

static TOY: Participant = Participant::new("toy has not begun", "toy has ended", |_: &Engine| Ok(()), || ());
static PREPARED: AtomicU32 = AtomicU32::new(0);

impl Face for Toy {
    type RaisedOn = &'static str;
    type Answer = String;

    fn participant() -> &'static Participant {
        &TOY
    }

    fn prepare() {
        PREPARED.fetch_add(1, Relaxed);
    }

    fn is_silent(_: usize) -> bool {
        false
    }

    fn heard(_call: usize) {}

    fn failed(_call: &Call, number: usize, raised_on: &'static str, error: Error) -> String {
        format!("{number} {raised_on} {:?}: {error}", error.class())
    }
}

fn answer(when: When, body: impl FnOnce(&Call) -> Result<()>) -> String {
    run::<Toy, ()>(7, when, "here", body).map_or_else(|answer| answer, |()| String::new())
}

#[test]
fn errors_and_panics_become_answers_and_a_face_that_has_not_begun_says_so() {
    let _turn = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let before = PREPARED.load(Relaxed);
    assert_eq!(answer(When::Anytime, |_| Ok(())), "");
    assert_eq!(run::<Toy, _>(7, When::Anytime, "here", |_| Ok(2.5)), Ok(2.5));
    let error = || Error::new(Class::Tag, "no such tag");
    assert_eq!(answer(When::Anytime, |_| Err(error())), "7 here Tag: no such tag");
    let found = answer(When::Anytime, |_| panic!("lost at {}", "sea"));
    assert_eq!(found, "7 here Intern: internal error of Serried, please report it: lost at sea");
    assert_eq!(PREPARED.load(Relaxed), before + 4);
    let mut ran = false;
    let found = answer(When::Running, |_| {
        ran = true;
        Ok(())
    });
    assert_eq!((found.as_str(), ran), ("7 here Other: toy has not begun", false));
    let found = absent::<Toy>(8, "toy_play", "there");
    assert!(found.starts_with("8 there UnsupportedOperation: toy_play is not there yet"), "{found}");
    assert!(!page::own().record.inside());
}
