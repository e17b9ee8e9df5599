//! Random datatypes against a naive model: the list of all elements with their
//! displacements, straight from the definitions of MPI-5.0 §5.1.
//!
//! Seeds are fixed, so a run is the same every time. To look for more:
//! `FUZZ_SECONDS=600 FUZZ_SEED=7 cargo test --release -p serried-engine --test datatypes`
//! A failure names the seed of its case: `FUZZ_SEED=… FUZZ_CASES=1` runs it alone.

mod generate;
mod model;
mod movement;
mod rebuild;
mod wild;

use generate::{random_type, Random};
use model::Model;
use serried_engine::datatype::Datatype;
use std::time::{Duration, Instant};

/// Types with more pieces are left out, so that the model stays quick.
const MOST_PIECES: usize = 400;

/// Runs a check on many cases, each with a seed of its own.
fn cases(usual: u64, check: impl Fn(&mut Random)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("FUZZ_SEED").unwrap_or(0x5eed);
    let until = number("FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let usual = number("FUZZ_CASES").unwrap_or(usual);
    let mut case = 0;
    while until.map_or(case < usual, |until| Instant::now() < until) {
        let seed = Seed(first.wrapping_add(case));
        check(&mut Random::new(seed.0));
        case += 1;
    }
}

/// Tells the seed of the case that panics.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was FUZZ_SEED={} FUZZ_CASES=1", self.0);
        }
    }
}

#[test]
fn what_a_type_says_of_itself_is_what_the_model_says() {
    cases(30_000, |random| {
        let (new, model) = random_type(random, 5);
        check_queries(&new, &model);
    });
}

fn check_queries(new: &Datatype, model: &Model) {
    assert_eq!((new.size(), new.elements()), (model.size(), model.pieces.len() as u64));
    assert_eq!((new.lower_bound(), new.extent()), (model.bounds().0, model.extent()));
    let (begin, end) = model.true_bounds();
    assert_eq!((new.true_lower_bound(), new.true_extent()), (begin, end - begin));
    let external: u64 = model.pieces.iter().map(|piece| piece.external).sum();
    assert_eq!(new.external_size(3).unwrap(), 3 * external);
    let mut position = 0;
    for (number, piece) in model.pieces.iter().enumerate() {
        assert_eq!(new.get_elements(position), Some(number as u64));
        assert_eq!(new.bytes_of_elements(number as u64).unwrap(), position);
        if piece.size > 1 {
            assert_eq!(new.get_elements(position + 1), None);
        }
        position += piece.size;
    }
    assert_eq!(new.get_elements(position), Some(model.pieces.len() as u64));
}

#[test]
fn a_type_moves_the_bytes_of_the_model_and_no_other() {
    cases(20_000, |random| {
        let (new, model) = random_type(random, 5);
        let count = random.below(4) as u64;
        movement::check(random, &new, &model, count);
        movement::check_external(random, &new, &model, count);
    });
}

#[test]
fn copying_between_two_layouts_is_packing_and_unpacking() {
    cases(30_000, movement::check_copy);
}

#[test]
fn a_type_made_again_of_its_contents_is_the_same() {
    cases(20_000, |random| {
        let (new, model) = random_type(random, 5);
        let again = rebuild::rebuilt(&new);
        check_queries(&again, &model);
        movement::check(random, &again, &model, 2);
    });
}

#[test]
fn wild_arguments_give_errors_or_types_that_hold_together() {
    cases(100_000, wild::check);
}
