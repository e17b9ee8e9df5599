//! Reductions of operands that can be read here.

pub mod combine;
pub mod divided;
pub mod elements;
pub mod operands;
pub mod prefixes;
pub mod slices;
