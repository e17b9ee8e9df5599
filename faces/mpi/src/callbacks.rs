//! The types of the program's functions that MPI calls (MPI-5.0 §A.1.3), and
//! how a pointer becomes one. Null and the predefined sentinels are checked by
//! the bodies before.

use crate::abi::{Handle, Status};
use std::ffi::{c_int, c_void};

/// `MPI_User_function`
pub type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);
/// `MPI_User_function_c`
pub type UserFunctionWide = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut Handle);
/// `MPI_Comm_copy_attr_function` and its kin
pub type CopyAttribute =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// `MPI_Comm_delete_attr_function` and its kin
pub type DeleteAttribute = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;
/// `MPI_Comm_errhandler_function` and its kin
pub type HandleError = unsafe extern "C" fn(*mut Handle, *mut c_int, ...);
/// `MPI_Grequest_query_function`
pub type QueryRequest = unsafe extern "C" fn(*mut c_void, *mut Status) -> c_int;
/// `MPI_Grequest_free_function`
pub type FreeRequest = unsafe extern "C" fn(*mut c_void) -> c_int;
/// `MPI_Grequest_cancel_function`
pub type CancelRequest = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
/// `MPI_Datarep_conversion_function`
pub type ConvertData =
    unsafe extern "C" fn(*mut c_void, Handle, c_int, *mut c_void, i64, *mut c_void) -> c_int;
/// `MPI_Datarep_conversion_function_c`
pub type ConvertDataWide =
    unsafe extern "C" fn(*mut c_void, Handle, i64, *mut c_void, i64, *mut c_void) -> c_int;
/// `MPI_Datarep_extent_function`
pub type ExtentInFile = unsafe extern "C" fn(Handle, *mut i64, *mut c_void) -> c_int;
