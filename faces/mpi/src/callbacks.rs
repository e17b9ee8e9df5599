//! The types of the program's functions that MPI calls (MPI-5.0 §A.1.3), and
//! how a pointer becomes one. Null and the predefined sentinels are checked by
//! the bodies before.

use crate::abi::{FileHandle, Handle, Status};
use std::ffi::{c_int, c_void};

/// The program's own word for a callback, until the object that calls it is gone.
pub struct ExtraState {
    word: usize,
    destructor: Option<Destructor>,
}

impl ExtraState {
    /// # Safety
    /// `destructor` is null or of the type [`Destructor`].
    pub unsafe fn new(word: *mut c_void, destructor: *const c_void) -> ExtraState {
        // SAFETY: by the contract; null is `None`.
        let destructor = unsafe { std::mem::transmute::<*const c_void, Option<Destructor>>(destructor) };
        ExtraState { word: word as usize, destructor }
    }

    /// The word.
    pub fn get(&self) -> *mut c_void {
        self.word as *mut c_void
    }
}

impl Drop for ExtraState {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the program's own function with its own word, once.
            unsafe { destructor(self.get()) };
        }
    }
}

/// `MPI_User_function`
pub type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);
/// `MPI_User_function_c`
pub type UserFunctionWide = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut Handle);
/// `MPI_Comm_copy_attr_function` and its kin
pub type CopyAttribute =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// `MPI_Comm_delete_attr_function` and its kin
pub type DeleteAttribute = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;
/// What calls the program's attribute copy function: gets that, the handle as a Fortran integer, the keyval, the
/// extra state, in which language the value is, the value, where its copy goes, the flag.
pub type CopyProxy = unsafe extern "C" fn(
    *const c_void,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;
/// What calls the program's attribute delete function.
pub type DeleteProxy =
    unsafe extern "C" fn(*const c_void, c_int, c_int, c_int, *mut c_void, *mut c_void) -> c_int;
/// `MPIX_User_function_x`
pub type UserFunctionWithState = unsafe extern "C" fn(*mut c_void, *mut c_void, i64, Handle, *mut c_void);
/// `MPIX_Comm_errhandler_function_x` and its kin
pub type HandleErrorWithState = unsafe extern "C" fn(Handle, c_int, *mut c_void);
/// `MPIX_File_errhandler_function_x`
pub type HandleFileErrorWithState = unsafe extern "C" fn(FileHandle, c_int, *mut c_void);
/// `MPIX_Destructor_function`
pub type Destructor = unsafe extern "C" fn(*mut c_void);
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
