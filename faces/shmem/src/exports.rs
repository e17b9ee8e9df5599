//! The `extern "C"` functions, made from the tables: each calls its body behind the entry wall.
#![allow(missing_docs, non_camel_case_types, non_snake_case, dead_code, clippy::all, clippy::pedantic)]

use super::calls::FIRST_CALL;
use super::element::{ComplexDouble, ComplexFloat, LongDouble};
use super::entry::{self, When};
use super::functions;
use super::handles::{
    shmem_ctx_session_config_t, shmem_ctx_t, shmem_team_config_t, shmem_team_t, SHMEM_CTX_DEFAULT,
};
use std::ffi::{c_char, c_int, c_long, c_void};

include!(concat!(env!("OUT_DIR"), "/shmem_exports.rs"));
