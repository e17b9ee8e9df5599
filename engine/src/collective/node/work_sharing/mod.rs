//! Operations in which members that wait do the work of those that compute.
//!
//! The work of a long operation at a place is divided into *parts*, one for each member: what it
//! does for itself, or its share of what is for others. A part is made of pieces, and each is done
//! by whoever has claimed it ([`part`]). A member that goes on with the operation claims all that is
//! left of its own part, so where nobody is away each does its own, as ever; under a root it takes
//! pieces in turn with the root. A member with nothing left to do, in a call that waits, takes
//! pieces of others, one at a time. After each it looks whether it can go on. A call that only tests
//! does not do so, because its program has something else to do.
//!
//! # Ownership
//! One epoch begins the operation, as in `zero_copy.rs`, and there is no other: the operation is over
//! for a member when the parts of all are. Then nobody touches the memory of anybody any more, and
//! a member that computes is not waited for; it finds all done when it comes back. A member that has given
//! a copy that stays behind (`retained.rs`) leaves when its own part is over: the others may do without it.
//!
//! A short result that others do not reach is *closed*. Its owner claims its whole part before it arrives, and does
//! it when all it reads is there. The copy that others would write, and its way home, take longer than that.
//!
//! All that a member needs for a piece of another stands in the marks and slots of the epoch: where each
//! has its data, and where they go. Those stay until all have begun the next operation (rule 3 of the
//! block). So all members must be able to read and write the memory of each other. A function of the
//! program reduces pieces of others as it reduces shares: each member calls its own, which is the same.
//!
//! A member that fails in a piece counts it as finished all the same, so that no other waits for it
//! in vain; it reports the failure itself.

pub mod all_to_all;
pub mod arrivals;
pub mod copy;
pub mod gather_scatter;
pub mod irregular;
pub mod reduction;
pub mod work;
