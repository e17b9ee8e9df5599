//! Objects and the one function that programs built against MPICH's headers find
//! by name. An object's own address, or the address in it, is the constant.

use std::ffi::{c_int, c_void};

/// An address that only says which constant it is.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Address(pub *mut c_void);

// SAFETY: it is only compared, and never changes.
unsafe impl Sync for Address {}

/// Five ints of nothing: what the Fortran "ignore" constants point to.
#[repr(transparent)]
#[derive(Debug)]
pub struct NoStatus(#[allow(dead_code)] [c_int; 5]);

static UNWEIGHTED: c_int = 0;
static WEIGHTS_EMPTY: c_int = 0;
static ALL_HANDLES: c_int = 0;

const fn address_of<T>(object: &'static T) -> Address {
    Address(std::ptr::from_ref(object).cast_mut().cast())
}

/// `MPI_UNWEIGHTED` (MPI-5.0 §8.5.4).
#[no_mangle]
pub static MPI_UNWEIGHTED: Address = address_of(&UNWEIGHTED);
/// `MPI_WEIGHTS_EMPTY` (MPI-5.0 §8.5.4).
#[no_mangle]
pub static MPI_WEIGHTS_EMPTY: Address = address_of(&WEIGHTS_EMPTY);
/// `MPI_T_PVAR_ALL_HANDLES` (MPI-5.0 §15.3.7).
#[no_mangle]
pub static MPI_T_PVAR_ALL_HANDLES: Address = address_of(&ALL_HANDLES);
/// `MPI_F_STATUS_IGNORE` (MPI-5.0 §19.3.5).
#[no_mangle]
pub static MPI_F_STATUS_IGNORE: Address = Address(std::ptr::dangling_mut::<u8>().cast());
/// `MPI_F_STATUSES_IGNORE` (MPI-5.0 §19.3.5).
#[no_mangle]
pub static MPI_F_STATUSES_IGNORE: Address = Address(std::ptr::dangling_mut::<u8>().cast());
/// What `MPI_F08_STATUS_IGNORE` points to.
#[no_mangle]
pub static MPIR_F08_MPI_STATUS_IGNORE_OBJ: NoStatus = NoStatus([0; 5]);
/// What `MPI_F08_STATUSES_IGNORE` points to.
#[no_mangle]
pub static MPIR_F08_MPI_STATUSES_IGNORE_OBJ: NoStatus = NoStatus([0; 5]);
/// `MPI_F08_STATUS_IGNORE` (MPI-5.0 §19.3.5).
#[no_mangle]
pub static MPI_F08_STATUS_IGNORE: Address = address_of(&MPIR_F08_MPI_STATUS_IGNORE_OBJ);
/// `MPI_F08_STATUSES_IGNORE` (MPI-5.0 §19.3.5).
#[no_mangle]
pub static MPI_F08_STATUSES_IGNORE: Address = address_of(&MPIR_F08_MPI_STATUSES_IGNORE_OBJ);

/// `MPI_DUP_FN` and its kin (MPI-5.0 §7.7.2): copies the attribute's value.
///
/// # Safety
/// Called as MPI calls an attribute copy function: both results can be written.
#[no_mangle]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int,
    _keyval: c_int,
    _extra_state: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: by the contract.
    unsafe {
        copy.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    0
}
