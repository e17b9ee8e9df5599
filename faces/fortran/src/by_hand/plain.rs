//! Routines with strings as most compilers pass them: addresses, and the lengths behind all arguments.

use super::{dynamic, string};
use std::ffi::{c_char, c_int, c_void};

pub unsafe extern "C" fn info_get(
    info: *const c_int,
    key: *mut c_char,
    valuelen: *const c_int,
    value: *mut c_char,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_length: usize,
    value_length: usize,
) {
    string::info_get(
        info,
        (key.cast_const(), key_length),
        valuelen,
        (value.cast_const(), value_length),
        flag,
        ierror,
    );
}

pub unsafe extern "C" fn info_get_string(
    info: *const c_int,
    key: *mut c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_length: usize,
    value_length: usize,
) {
    string::info_get_string(
        info,
        (key.cast_const(), key_length),
        buflen,
        (value.cast_const(), value_length),
        flag,
        ierror,
    );
}

pub unsafe extern "C" fn session_get_nth_pset(
    session: *const c_int,
    info: *const c_int,
    n: *const c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
    ierror: *mut c_int,
    pset_name_length: usize,
) {
    string::session_get_nth_pset(
        session,
        info,
        n,
        pset_len,
        (pset_name.cast_const(), pset_name_length),
        ierror,
    );
}

pub unsafe extern "C" fn register_datarep(
    datarep: *mut c_char,
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: *const i64,
    ierror: *mut c_int,
    datarep_length: usize,
) {
    string::register_datarep(
        (datarep.cast_const(), datarep_length),
        [read, write, extent],
        extra_state,
        ierror,
        false,
    );
}

pub unsafe extern "C" fn register_datarep_c(
    datarep: *mut c_char,
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: *const i64,
    ierror: *mut c_int,
    datarep_length: usize,
) {
    string::register_datarep(
        (datarep.cast_const(), datarep_length),
        [read, write, extent],
        extra_state,
        ierror,
        true,
    );
}

pub unsafe extern "C" fn comm_spawn(
    command: *mut c_char,
    argv: *mut c_char,
    maxprocs: *const c_int,
    info: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    errcodes: *mut c_int,
    ierror: *mut c_int,
    command_length: usize,
    argv_length: usize,
) {
    let (command, argv) = ((command.cast_const(), command_length), (argv.cast_const(), argv_length));
    dynamic::comm_spawn(command, argv, maxprocs, info, root, comm, intercomm, errcodes, ierror);
}

pub unsafe extern "C" fn comm_spawn_multiple(
    count: *const c_int,
    commands: *mut c_char,
    argvs: *mut c_char,
    maxprocs: *const c_int,
    infos: *mut c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    errcodes: *mut c_int,
    ierror: *mut c_int,
    commands_length: usize,
    argvs_length: usize,
) {
    let (commands, argvs) = ((commands.cast_const(), commands_length), (argvs.cast_const(), argvs_length));
    dynamic::comm_spawn_multiple(
        count, commands, argvs, maxprocs, infos, root, comm, intercomm, errcodes, ierror,
    );
}
