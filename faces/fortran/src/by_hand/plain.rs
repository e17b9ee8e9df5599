//! Routines with strings as most compilers pass them: addresses, and the lengths behind all arguments.

use super::{dynamic, string};
use crate::integers::Fint;
use std::ffi::{c_char, c_void};

pub unsafe extern "C" fn info_get(
    info: *const Fint,
    key: *mut c_char,
    valuelen: *const Fint,
    value: *mut c_char,
    flag: *mut Fint,
    ierror: *mut Fint,
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
    info: *const Fint,
    key: *mut c_char,
    buflen: *mut Fint,
    value: *mut c_char,
    flag: *mut Fint,
    ierror: *mut Fint,
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
    session: *const Fint,
    info: *const Fint,
    n: *const Fint,
    pset_len: *mut Fint,
    pset_name: *mut c_char,
    ierror: *mut Fint,
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
    ierror: *mut Fint,
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
    ierror: *mut Fint,
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
    maxprocs: *const Fint,
    info: *const Fint,
    root: *const Fint,
    comm: *const Fint,
    intercomm: *mut Fint,
    errcodes: *mut Fint,
    ierror: *mut Fint,
    command_length: usize,
    argv_length: usize,
) {
    let (command, argv) = ((command.cast_const(), command_length), (argv.cast_const(), argv_length));
    dynamic::comm_spawn(command, argv, maxprocs, info, root, comm, intercomm, errcodes, ierror);
}

pub unsafe extern "C" fn comm_spawn_multiple(
    count: *const Fint,
    commands: *mut c_char,
    argvs: *mut c_char,
    maxprocs: *const Fint,
    infos: *mut Fint,
    root: *const Fint,
    comm: *const Fint,
    intercomm: *mut Fint,
    errcodes: *mut Fint,
    ierror: *mut Fint,
    commands_length: usize,
    argvs_length: usize,
) {
    let (commands, argvs) = ((commands.cast_const(), commands_length), (argvs.cast_const(), argvs_length));
    dynamic::comm_spawn_multiple(
        count, commands, argvs, maxprocs, infos, root, comm, intercomm, errcodes, ierror,
    );
}
