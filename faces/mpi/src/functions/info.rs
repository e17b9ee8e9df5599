//! Info objects (MPI-5.0 chapter 10).

use crate::abi;
use crate::arguments::{not_null, number, read_string, write_string, OutValue};
use crate::handle_arguments::{InOut, Out};
use crate::objects::Info;
use crate::predefined::{LONGEST_KEY, LONGEST_VALUE};
use serried_engine::world::info::{check_key, check_value};
use serried_engine::Result;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// `MPI_Info_create`.
pub fn info_create(info: Out<Info>) -> Result<()> {
    info.put(Arc::default())
}

/// `MPI_Info_dup`.
pub fn info_dup(info: &Arc<Info>, newinfo: Out<Info>) -> Result<()> {
    newinfo.put(Arc::new(Info::clone(info)))
}

/// `MPI_Info_free`.
pub fn info_free(info: InOut<Info>) -> Result<()> {
    info.take().map(drop)
}

/// `MPI_Info_set`.
pub fn info_set(info: &Arc<Info>, key: *const c_char, value: *const c_char) -> Result<()> {
    set(info, &read_key(key)?, &read_string("value", value)?)
}

/// The key of an argument, which with its final 0 has room where a program of this
/// ABI has room for keys.
fn read_key(key: *const c_char) -> Result<String> {
    let key = read_string("key", key)?;
    check_key(&key, LONGEST_KEY)?;
    Ok(key)
}

fn set(info: &Info, key: &str, value: &str) -> Result<()> {
    check_value(key, value, LONGEST_VALUE)?;
    info.set(key, value)
}

/// `MPI_Info_delete`.
pub fn info_delete(info: &Arc<Info>, key: *const c_char) -> Result<()> {
    info.delete(&read_key(key)?)
}

/// `MPI_Info_get_nkeys`.
pub fn info_get_nkeys(info: &Arc<Info>, nkeys: OutValue<c_int>) -> Result<()> {
    nkeys.set(info.len() as c_int);
    Ok(())
}

/// `MPI_Info_get_nthkey`.
pub fn info_get_nthkey(info: &Arc<Info>, n: c_int, key: *mut c_char) -> Result<()> {
    write_string("key", key, abi::MPI_MAX_INFO_KEY as usize, &info.nth_key(n)?).map(drop)
}

/// `MPI_Info_get` (deprecated): `valuelen` does not count the final 0.
pub fn info_get(
    info: &Arc<Info>,
    key: *const c_char,
    valuelen: c_int,
    value: *mut c_char,
    flag: OutValue<c_int>,
) -> Result<()> {
    let capacity = number("valuelen", valuelen)? + 1;
    let found = look_up(info, key)?;
    flag.set_flag(found.is_some());
    match found {
        Some(found) => write_string("value", value, capacity, &found).map(drop),
        None => Ok(()),
    }
}

/// `MPI_Info_get_valuelen` (deprecated).
pub fn info_get_valuelen(
    info: &Arc<Info>,
    key: *const c_char,
    valuelen: OutValue<c_int>,
    flag: OutValue<c_int>,
) -> Result<()> {
    let found = look_up(info, key)?;
    flag.set_flag(found.is_some());
    if let Some(found) = found {
        valuelen.set(found.len() as c_int);
    }
    Ok(())
}

/// `MPI_Info_get_string`: `buflen` counts the final 0; it goes in as the room
/// there is and comes out as the room that is needed.
pub fn info_get_string(
    info: &Arc<Info>,
    key: *const c_char,
    buflen: OutValue<c_int>,
    value: *mut c_char,
    flag: OutValue<c_int>,
) -> Result<()> {
    let capacity = number("buflen", buflen.get())?;
    let found = look_up(info, key)?;
    flag.set_flag(found.is_some());
    if let Some(found) = found {
        if capacity > 0 {
            write_string("value", value, capacity, &found)?;
        }
        buflen.set(found.len() as c_int + 1);
    }
    Ok(())
}

fn look_up(info: &Info, key: *const c_char) -> Result<Option<String>> {
    Ok(info.get(&read_key(key)?))
}

/// `MPIX_Info_set_hex`: the bytes of a value as hexadecimal digits.
pub fn mpix_info_set_hex(
    info: &Arc<Info>,
    key: *const c_char,
    value: *const c_void,
    value_size: c_int,
) -> Result<()> {
    let length = number("value_size", value_size)?;
    if length > 0 {
        not_null("value", value)?;
    }
    // SAFETY: the program says that the value has so many bytes.
    let bytes = (0..length).map(|index| unsafe { value.cast::<u8>().add(index).read() });
    set(info, &read_key(key)?, &bytes.map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// `MPI_Info_create_env`: what `MPI_INFO_ENV` holds, for these arguments.
pub fn info_create_env(argc: c_int, argv: *mut c_void, info: Out<Info>) -> Result<()> {
    let argv: *const *const c_char = argv.cast_const().cast();
    let mut arguments = Vec::new();
    for index in 0..if argv.is_null() { 0 } else { number("argc", argc)? } {
        // SAFETY: MPI says that `argv` has `argc` entries, as `main` gets them.
        let argument = unsafe { argv.add(index).read() };
        not_null("argv", argument)?;
        arguments.push(read_string("argv", argument)?);
    }
    info.put(Arc::new(crate::predefined::environment_info(arguments.into_iter())?))
}
