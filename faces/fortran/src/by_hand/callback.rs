//! Functions of the program that MPI calls: what C calls is here, with the program's function as its extra state, and
//! calls that with references (MPI-5.0 §6.9.5, §9.3, §13.2, §14.5.3).

use super::report;
use crate::abi::{self, FileHandle, Handle, Status};
use crate::handles::{self, Place};
use crate::integers::{long, narrow, widen, with_status, Fint};
use std::ffi::{c_int, c_void};
use std::ptr::null;

type Operation = unsafe extern "C" fn(*mut c_void, *mut c_void, *const Fint, *const Fint);
type LargeOperation = unsafe extern "C" fn(*mut c_void, *mut c_void, *const i64, *const Fint);

/// Calls the program's operation, in pieces that its integer can count.
unsafe extern "C" fn operate(
    mut input: *mut c_void,
    mut inout: *mut c_void,
    mut length: i64,
    datatype: Handle,
    function: *mut c_void,
) {
    let function = std::mem::transmute::<*mut c_void, Operation>(function);
    let integer = widen(handles::from_datatype(datatype));
    let largest = long(Fint::MAX);
    while length > largest {
        let (mut lower, mut extent) = (0, 0);
        abi::c_type_get_extent(datatype, &mut lower, &mut extent);
        function(input, inout, &Fint::MAX, &integer);
        let bytes = (largest * extent) as isize;
        (input, inout, length) = (input.byte_offset(bytes), inout.byte_offset(bytes), length - largest);
    }
    function(input, inout, &(length as Fint), &integer);
}

unsafe extern "C" fn operate_large(
    input: *mut c_void,
    inout: *mut c_void,
    length: i64,
    datatype: Handle,
    function: *mut c_void,
) {
    let function = std::mem::transmute::<*mut c_void, LargeOperation>(function);
    function(input, inout, &length, &widen(handles::from_datatype(datatype)));
}

unsafe fn create_operation(
    (function, called): (*mut c_void, *const c_void),
    commute: *const Fint,
    op: *mut Fint,
    ierror: *mut Fint,
) {
    let mut op_c = Place::empty(op);
    let code =
        abi::c_mpix_op_create_x(called, null(), c_int::from(*commute != 0), function, op_c.as_mut_ptr());
    if code == abi::MPI_SUCCESS {
        op_c.store(handles::from_op);
    }
    report(ierror, code);
}

pub unsafe extern "C" fn op_create(
    function: *mut c_void,
    commute: *const Fint,
    op: *mut Fint,
    ierror: *mut Fint,
) {
    create_operation((function, operate as *const c_void), commute, op, ierror);
}

pub unsafe extern "C" fn op_create_c(
    function: *mut c_void,
    commute: *const Fint,
    op: *mut Fint,
    ierror: *mut Fint,
) {
    create_operation((function, operate_large as *const c_void), commute, op, ierror);
}

type HandleError = unsafe extern "C" fn(*mut Fint, *mut Fint);

macro_rules! error_handlers {
    ($($create:ident => $called:ident, $calls:ident, $from:ident, $handle:ty;)*) => {$(
        unsafe extern "C" fn $calls(object: $handle, code: c_int, function: *mut c_void) {
            let function = std::mem::transmute::<*mut c_void, HandleError>(function);
            function(&mut widen(handles::$from(object)), &mut widen(code));
        }

        pub unsafe extern "C" fn $create(function: *mut c_void, errhandler: *mut Fint, ierror: *mut Fint) {
            let mut errhandler_c = Place::empty(errhandler);
            let code = abi::$called($calls as *const c_void, null(), function, errhandler_c.as_mut_ptr());
            if code == abi::MPI_SUCCESS {
                errhandler_c.store(handles::from_errhandler);
            }
            report(ierror, code);
        }
    )*};
}

error_handlers! {
    comm_create_errhandler => c_mpix_comm_create_errhandler_x, error_on_comm, from_comm, Handle;
    file_create_errhandler => c_mpix_file_create_errhandler_x, error_on_file, from_file, FileHandle;
    session_create_errhandler => c_mpix_session_create_errhandler_x, error_on_session, from_session, Handle;
    win_create_errhandler => c_mpix_win_create_errhandler_x, error_on_win, from_win, Handle;
}

pub unsafe extern "C" fn errhandler_create(function: *mut c_void, errhandler: *mut Fint, ierror: *mut Fint) {
    comm_create_errhandler(function, errhandler, ierror);
}

type Query = unsafe extern "C" fn(*mut i64, *mut Fint, *mut Fint);
type Free = unsafe extern "C" fn(*mut i64, *mut Fint);
type Cancel = unsafe extern "C" fn(*mut i64, *const Fint, *mut Fint);

/// What a program gives for a generalized request; it lives until the free function was called.
struct Request {
    query: Query,
    free: Free,
    cancel: Cancel,
    extra_state: i64,
    /// The program's variable, which may be gone: other libraries give this to the functions. So what a function changes
    /// is changed there too, and nothing else is read or written.
    variable: *mut i64,
}

impl Request {
    unsafe fn call(&mut self, function: impl FnOnce(*mut i64, *mut Fint)) -> c_int {
        let (before, mut code) = (self.extra_state, widen(abi::MPI_SUCCESS));
        function(&mut self.extra_state, &mut code);
        if self.extra_state != before {
            *self.variable = self.extra_state;
        }
        narrow(code)
    }
}

unsafe extern "C" fn query(request: *mut c_void, status: *mut Status) -> c_int {
    let request = &mut *request.cast::<Request>();
    let query = request.query;
    with_status(status, |status| request.call(|state, code| query(state, status, code)))
}

unsafe extern "C" fn free(request: *mut c_void) -> c_int {
    let mut request = Box::from_raw(request.cast::<Request>());
    let free = request.free;
    request.call(|state, code| free(state, code))
}

unsafe extern "C" fn cancel(request: *mut c_void, complete: c_int) -> c_int {
    let request = &mut *request.cast::<Request>();
    let cancel = request.cancel;
    request.call(|state, code| cancel(state, &widen(complete), code))
}

pub unsafe extern "C" fn grequest_start(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *mut i64,
    request: *mut Fint,
    ierror: *mut Fint,
) {
    let given = Box::into_raw(Box::new(Request {
        query: std::mem::transmute::<*const c_void, Query>(query_fn),
        free: std::mem::transmute::<*const c_void, Free>(free_fn),
        cancel: std::mem::transmute::<*const c_void, Cancel>(cancel_fn),
        extra_state: *extra_state,
        variable: extra_state,
    }));
    let mut request_c = Place::empty(request);
    let (query, free, cancel) = (query as *const c_void, free as *const c_void, cancel as *const c_void);
    let code = abi::c_grequest_start(query, free, cancel, given.cast(), request_c.as_mut_ptr());
    match code == abi::MPI_SUCCESS {
        true => request_c.store(handles::from_request),
        false => drop(Box::from_raw(given)),
    }
    report(ierror, code);
}

/// What a program gives for a data representation, which lives as long as the program.
struct Representation {
    read: *const c_void,
    write: *const c_void,
    extent: unsafe extern "C" fn(*const Fint, *mut i64, *const i64, *mut Fint),
    extra_state: i64,
}

macro_rules! conversions {
    ($($name:ident $field:ident $count:ty => $of_program:ty;)*) => {$(
        unsafe extern "C" fn $name(
            memory: *mut c_void,
            datatype: Handle,
            count: $count,
            file: *mut c_void,
            position: i64,
            given: *mut c_void,
        ) -> c_int {
            type Convert = unsafe extern "C" fn(
                *mut c_void,
                *const Fint,
                *const $of_program,
                *mut c_void,
                *const i64,
                *const i64,
                *mut Fint,
            );
            let (given, mut code) = (&*given.cast::<Representation>(), widen(abi::MPI_SUCCESS));
            let function = std::mem::transmute::<*const c_void, Convert>(given.$field);
            let (datatype, count) = (widen(handles::from_datatype(datatype)), count as $of_program);
            function(memory, &datatype, &count, file, &position, &given.extra_state, &mut code);
            narrow(code)
        }
    )*};
}

conversions! {
    read read c_int => Fint;
    write write c_int => Fint;
    read_large read i64 => i64;
    write_large write i64 => i64;
}

unsafe extern "C" fn extent(datatype: Handle, extent: *mut i64, given: *mut c_void) -> c_int {
    let (given, mut code) = (&*given.cast::<Representation>(), widen(abi::MPI_SUCCESS));
    (given.extent)(&widen(handles::from_datatype(datatype)), extent, &given.extra_state, &mut code);
    narrow(code)
}

/// Makes of the program's functions those that C calls: reading, writing, and what belongs to both. The program says
/// by a function of MPI that there is no conversion.
pub unsafe fn representation(
    [read_fn, write_fn, extent_fn]: [*const c_void; 3],
    extra_state: *const i64,
    [reading, writing]: [*const c_void; 2],
) -> ([*const c_void; 3], *mut c_void) {
    let given = Box::new(Representation {
        read: read_fn,
        write: write_fn,
        extent: std::mem::transmute::<
            *const c_void,
            unsafe extern "C" fn(*const Fint, *mut i64, *const i64, *mut Fint),
        >(extent_fn),
        extra_state: *extra_state,
    });
    let chosen = |function: *const c_void, ours| match is_no_conversion(function) {
        true => null(),
        false => ours,
    };
    let functions = [chosen(read_fn, reading), chosen(write_fn, writing), extent as *const c_void];
    (functions, Box::into_raw(given).cast())
}

/// The functions that C calls for counts of the two widths.
pub fn conversions(large: bool) -> [*const c_void; 2] {
    match large {
        true => [read_large as *const c_void, write_large as *const c_void],
        false => [read as *const c_void, write as *const c_void],
    }
}

unsafe fn is_no_conversion(function: *const c_void) -> bool {
    extern "C" {
        fn mpi_conversion_fn_null_();
        fn mpi_conversion_fn_null_c_();
    }
    let none = [mpi_conversion_fn_null_ as *const c_void, mpi_conversion_fn_null_c_ as *const c_void];
    function.is_null() || none.contains(&function)
}

/// Stands for no conversion; nobody calls it.
pub unsafe extern "C" fn conversion_fn_null(
    _memory: *mut c_void,
    _datatype: *const Fint,
    _count: *const Fint,
    _file: *mut c_void,
    _position: *const i64,
    _extra_state: *const i64,
    ierror: *mut Fint,
) {
    report(ierror, abi::MPI_SUCCESS);
}

/// The same for large counts.
pub unsafe extern "C" fn conversion_fn_null_c(
    _memory: *mut c_void,
    _datatype: *const Fint,
    _count: *const i64,
    _file: *mut c_void,
    _position: *const i64,
    _extra_state: *const i64,
    ierror: *mut Fint,
) {
    report(ierror, abi::MPI_SUCCESS);
}
