//! Routines with strings as descriptors, which is how interfaces of C get them.

use super::{dynamic, string};
use crate::integers::Fint;
use crate::section::CfiDescriptor;
use std::ffi::c_void;

pub unsafe extern "C" fn info_get(
    info: *const Fint,
    key: *const CfiDescriptor,
    valuelen: *const Fint,
    value: *const CfiDescriptor,
    flag: *mut Fint,
    ierror: *mut Fint,
) {
    string::info_get(info, (*key).text(), valuelen, (*value).text(), flag, ierror);
}

pub unsafe extern "C" fn info_get_string(
    info: *const Fint,
    key: *const CfiDescriptor,
    buflen: *mut Fint,
    value: *const CfiDescriptor,
    flag: *mut Fint,
    ierror: *mut Fint,
) {
    string::info_get_string(info, (*key).text(), buflen, (*value).text(), flag, ierror);
}

pub unsafe extern "C" fn session_get_nth_pset(
    session: *const Fint,
    info: *const Fint,
    n: *const Fint,
    pset_len: *mut Fint,
    pset_name: *const CfiDescriptor,
    ierror: *mut Fint,
) {
    string::session_get_nth_pset(session, info, n, pset_len, (*pset_name).text(), ierror);
}

pub unsafe extern "C" fn register_datarep(
    datarep: *const CfiDescriptor,
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: *const i64,
    ierror: *mut Fint,
) {
    string::register_datarep((*datarep).text(), [read, write, extent], extra_state, ierror, false);
}

pub unsafe extern "C" fn register_datarep_c(
    datarep: *const CfiDescriptor,
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: *const i64,
    ierror: *mut Fint,
) {
    string::register_datarep((*datarep).text(), [read, write, extent], extra_state, ierror, true);
}

pub unsafe extern "C" fn comm_spawn(
    command: *const CfiDescriptor,
    argv: *const CfiDescriptor,
    maxprocs: *const Fint,
    info: *const Fint,
    root: *const Fint,
    comm: *const Fint,
    intercomm: *mut Fint,
    errcodes: *mut Fint,
    ierror: *mut Fint,
) {
    let (command, argv) = ((*command).text(), (*argv).text());
    dynamic::comm_spawn(command, argv, maxprocs, info, root, comm, intercomm, errcodes, ierror);
}

pub unsafe extern "C" fn comm_spawn_multiple(
    count: *const Fint,
    commands: *const CfiDescriptor,
    argvs: *const CfiDescriptor,
    maxprocs: *const Fint,
    infos: *mut Fint,
    root: *const Fint,
    comm: *const Fint,
    intercomm: *mut Fint,
    errcodes: *mut Fint,
    ierror: *mut Fint,
) {
    let (commands, argvs) = ((*commands).text(), (*argvs).text());
    dynamic::comm_spawn_multiple(
        count, commands, argvs, maxprocs, infos, root, comm, intercomm, errcodes, ierror,
    );
}
