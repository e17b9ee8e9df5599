//! One-sided communication (MPI-5.0 chapter 12): windows, the operations on them, and
//! how processes synchronise around those.

mod accumulates;
mod assertions;
mod hints;
mod making;
mod members;
mod operands;
mod single;
mod synchronising;
mod transfers;

pub use accumulates::*;
pub use making::*;
pub use members::{win_get_group, win_get_info, win_get_name, win_set_info, win_set_name};
pub use single::*;
pub use synchronising::*;
pub use transfers::*;
