//! The predefined datatypes (MPI-5.0 §3.2.2, §20.3): each name's element, as
//! `constants.api` has it. Where MPI has two names for one, the table gives the element
//! to the one by which MPICH, Open MPI and Intel MPI call it.
//!
//! `MPI_LB` and `MPI_UB`, which MPI-3.0 removed, are there in the ABIs that still have them: programs as
//! old as that are in use.

use crate::abi::{PREDEFINED_DATATYPES, PREDEFINED_MARKERS};
use crate::handle::DATATYPES;
use crate::objects::Datatype;

/// Gives every predefined datatype its handle.
pub fn install() {
    for &(handle, name, basic, is_narrow) in PREDEFINED_DATATYPES {
        let made = if is_narrow { Datatype::named_narrow(basic, name) } else { Datatype::named(basic, name) };
        DATATYPES.put_predefined(handle, made);
    }
    for &(handle, name, edge) in PREDEFINED_MARKERS {
        DATATYPES.put_predefined(handle, Datatype::marker(edge, name));
    }
}
