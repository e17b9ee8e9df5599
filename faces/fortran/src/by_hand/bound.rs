//! Routines with strings as descriptors, which is how interfaces of C get them.

use super::{dynamic, string};
use crate::section::CfiDescriptor;
use std::ffi::{c_int, c_void};

pub unsafe extern "C" fn info_get(
    info: *const c_int,
    key: *const CfiDescriptor,
    valuelen: *const c_int,
    value: *const CfiDescriptor,
    flag: *mut c_int,
    ierror: *mut c_int,
) {
    string::info_get(info, (*key).text(), valuelen, (*value).text(), flag, ierror);
}

pub unsafe extern "C" fn info_get_string(
    info: *const c_int,
    key: *const CfiDescriptor,
    buflen: *mut c_int,
    value: *const CfiDescriptor,
    flag: *mut c_int,
    ierror: *mut c_int,
) {
    string::info_get_string(info, (*key).text(), buflen, (*value).text(), flag, ierror);
}

pub unsafe extern "C" fn session_get_nth_pset(
    session: *const c_int,
    info: *const c_int,
    n: *const c_int,
    pset_len: *mut c_int,
    pset_name: *const CfiDescriptor,
    ierror: *mut c_int,
) {
    string::session_get_nth_pset(session, info, n, pset_len, (*pset_name).text(), ierror);
}

pub unsafe extern "C" fn register_datarep(
    datarep: *const CfiDescriptor,
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: *const i64,
    ierror: *mut c_int,
) {
    string::register_datarep((*datarep).text(), [read, write, extent], extra_state, ierror, false);
}

pub unsafe extern "C" fn register_datarep_c(
    datarep: *const CfiDescriptor,
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: *const i64,
    ierror: *mut c_int,
) {
    string::register_datarep((*datarep).text(), [read, write, extent], extra_state, ierror, true);
}

pub unsafe extern "C" fn comm_spawn(
    command: *const CfiDescriptor,
    argv: *const CfiDescriptor,
    maxprocs: *const c_int,
    info: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    errcodes: *mut c_int,
    ierror: *mut c_int,
) {
    let (command, argv) = ((*command).text(), (*argv).text());
    dynamic::comm_spawn(command, argv, maxprocs, info, root, comm, intercomm, errcodes, ierror);
}

pub unsafe extern "C" fn comm_spawn_multiple(
    count: *const c_int,
    commands: *const CfiDescriptor,
    argvs: *const CfiDescriptor,
    maxprocs: *const c_int,
    infos: *mut c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    errcodes: *mut c_int,
    ierror: *mut c_int,
) {
    let (commands, argvs) = ((*commands).text(), (*argvs).text());
    dynamic::comm_spawn_multiple(
        count, commands, argvs, maxprocs, infos, root, comm, intercomm, errcodes, ierror,
    );
}
