//! A clock that stands still: what is measured decides nothing in the models.

pub fn nanoseconds() -> u64 {
    0
}
