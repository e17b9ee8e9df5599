//! The `extern "C"` functions of this library, made from the tables: each converts its
//! arguments and calls its body behind the entry wall.
#![allow(missing_docs, non_snake_case, unused_variables, unused_imports, clippy::all, clippy::pedantic)]

use crate::arguments::{self, Counts, Ints, OutArray, OutCount, OutValue};
use crate::entry::{self, When};
use crate::error_handler::RaisedOn;
use crate::handle_arguments::{Handles, InOut, Late, Out, OutHandles};
use crate::request::{self, InOutRequest, OutRequest, Requests};
use crate::status::{StatusIn, StatusOut};
use crate::{abi, functions, handle};
use std::ffi::{c_char, c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/exports.rs"));
