//! The members of a window, and what programs give it as they give it communicators.

use super::hints;
use crate::arguments::{rank_text, OutValue};
use crate::common::page;
use crate::functions::communicator::{read_name, write_name};
use crate::handle_arguments::Out;
use crate::memory_kinds::with_kinds;
use crate::objects::{Group, Info, Win};
use serried_engine::message::PROC_NULL;
use serried_engine::observe::page::NONE;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// Says on the rank's page which window a call is about.
#[inline]
pub fn about(win: &Win) {
    page::own().about(win.members().context(), NONE, NONE, 0);
}

/// Which member a call is about, and says so; `None` for `MPI_PROC_NULL`. The engine knows how many there are.
///
/// # Errors
/// `Rank` for a negative rank.
#[inline(always)]
pub fn member(name: &str, win: &Win, rank: i32) -> Result<Option<u32>> {
    match u32::try_from(rank) {
        Ok(member) => {
            page::own().about(win.members().context(), rank, NONE, 0);
            Ok(Some(member))
        }
        Err(_) if rank == PROC_NULL => Ok(None),
        Err(_) => Err(no_member(name, win, rank)),
    }
}

#[cold]
fn no_member(name: &str, win: &Win, rank: i32) -> Error {
    let (given, last) = (rank_text(rank), win.size() - 1);
    Error::new(
        Class::Rank,
        format!("argument {name} is {given}, but the ranks of this window are 0 to {last}"),
    )
}

/// `MPI_Win_get_group` (§12.2.7).
pub fn win_get_group(win: &Arc<Win>, group: Out<Group>) -> Result<()> {
    group.put(win.group().clone())
}

/// `MPI_Win_set_name` (§7.8).
pub fn win_set_name(win: &Arc<Win>, win_name: *const c_char) -> Result<()> {
    win.members().set_name(&read_name("win_name", win_name)?);
    Ok(())
}

/// `MPI_Win_get_name`; the null handle has a name too (§7.8).
pub fn win_get_name(win: Option<&Arc<Win>>, win_name: *mut c_char, resultlen: OutValue<c_int>) -> Result<()> {
    let name = win.map_or("MPI_WIN_NULL".to_owned(), |win| win.members().name());
    write_name("win_name", win_name, resultlen, &name)
}

/// `MPI_Win_set_info` (§12.2.8).
pub fn win_set_info(win: &Arc<Win>, info: Option<&Arc<Info>>) -> Result<()> {
    if let Some(info) = info {
        hints::change(win, info);
    }
    Ok(())
}

/// `MPI_Win_get_info` (§12.2.8).
pub fn win_get_info(win: &Arc<Win>, info_used: Out<Info>) -> Result<()> {
    info_used.put(with_kinds(win.members().hints())?)
}
