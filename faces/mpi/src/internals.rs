//! Functions from the inside of another MPI that its own further libraries look for. They have to be there
//! so that these libraries load; their arguments are structures of that MPI, which nobody has here.

use std::ffi::c_int;

/// Says which function was called, and ends the program: going on would be wrong results.
pub fn called(name: &str) -> c_int {
    eprintln!(
        "serried: {name} was called, a function inside Open MPI that Serried does not have.\n  \
         It belongs to the old C++ classes of MPI (MPI::Comm and so on), which MPI-3.0 has removed.\n  \
         Use the C functions, or run this program with Open MPI."
    );
    std::process::abort()
}
