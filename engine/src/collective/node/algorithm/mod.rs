//! The operations: over slots, straight between the buffers of the program, and those of two members.

pub mod all_to_all;
pub mod broadcast;
pub mod gather_scatter;
pub mod irregular;
pub mod pair;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod slots;
pub mod zero_copy;
