//! One-sided communication (MPI-5.0 chapter 12): windows, the operations on them, and
//! how processes synchronise around those.

mod assertions;
mod hints;
mod making;
mod members;
mod operands;
mod operations;
mod single;
mod synchronising;

pub use making::*;
pub use members::{win_get_group, win_get_info, win_get_name, win_set_info, win_set_name};
pub use operations::*;
pub use single::*;
pub use synchronising::*;
