//! The driver's functions, by the names of their present interfaces: a bare name can be an old one.

use crate::device::lent::HANDLE_BYTES;
use crate::loaded_library::LoadedLibrary;
use std::ffi::{c_char, c_int, c_uint, c_void, CStr};

/// What every function returns.
pub(super) type Answer = c_int;
/// `CUdeviceptr`.
pub(super) type Address = u64;
/// `CUcontext`, `CUstream`.
pub(super) type Handle = *mut c_void;

/// `CUipcMemHandle`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct MemHandle(pub [u8; HANDLE_BYTES]);

/// `CUmemAccessDesc`.
#[repr(C)]
pub(super) struct AccessOf {
    pub location: [c_int; 2],
    pub flags: c_int,
}

const LIBRARY: &CStr = c"libcuda.so.1";

/// The library, if this process has it; it stays then.
pub(super) fn library() -> Option<LoadedLibrary> {
    LoadedLibrary::open(LIBRARY, libc::RTLD_LAZY | libc::RTLD_NOLOAD).ok()
}

/// The library, loaded if it was not. That does nothing but to look at its environment.
pub(super) fn load() -> Option<LoadedLibrary> {
    LoadedLibrary::open(LIBRARY, libc::RTLD_LAZY).ok()
}

macro_rules! entry_points {
    ($(#[$about:meta])* $table:ident $($field:ident $name:literal ($($argument:ty),*);)*) => {
        $(#[$about])*
        pub(super) struct $table {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> Answer,)*
        }

        impl $table {
            /// Looks them up; `None` if one is not there.
            pub fn of(library: LoadedLibrary) -> Option<$table> {
                Some($table {
                    $($field: {
                        let name = CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()).ok()?;
                        // SAFETY: the types are those of the driver's documentation for these names.
                        unsafe {
                            library.function::<unsafe extern "C" fn($($argument),*) -> Answer>(name)
                        }?
                    },)*
                })
            }
        }
    };
}

entry_points! {
    /// The functions that all of this needs.
    EntryPoints
    pointer_attributes "cuPointerGetAttributes" (c_uint, *const c_int, *const *mut c_void, Address);
    push_context "cuCtxPushCurrent_v2" (Handle);
    pop_context "cuCtxPopCurrent_v2" (*mut Handle);
    retain_primary "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    create_stream "cuStreamCreate" (*mut Handle, c_uint);
    copy "cuMemcpyAsync" (Address, Address, usize, Handle);
    synchronize "cuStreamSynchronize" (Handle);
    error_name "cuGetErrorName" (Answer, *mut *const c_char);
    error_text "cuGetErrorString" (Answer, *mut *const c_char);
}

entry_points! {
    /// Those that change how a context behaves (drivers of CUDA 12.1 and later).
    ContextEntryPoints
    flags "cuCtxGetFlags" (*mut c_uint);
    set_flags "cuCtxSetFlags" (c_uint);
}

entry_points! {
    /// Those for programs on the device; without them data with gaps are copied piece by piece.
    KernelEntryPoints
    load "cuModuleLoadData" (*mut Handle, *const c_void);
    function "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    launch "cuLaunchKernel" (
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
    allocate "cuMemAlloc_v2" (*mut Address, usize);
    free "cuMemFree_v2" (Address);
    allocate_host "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
}

entry_points! {
    /// That for memory of the host that the device reads and writes by itself; without it copies of such memory take longer.
    PinEntryPoints
    register "cuMemHostRegister_v2" (*mut c_void, usize, c_uint);
}

entry_points! {
    /// Those with which processes lend memory to each other; without them all of it is copied by its owner.
    IpcEntryPoints
    handle "cuIpcGetMemHandle" (*mut MemHandle, Address);
    open "cuIpcOpenMemHandle_v2" (*mut Address, MemHandle, c_uint);
    close "cuIpcCloseMemHandle" (Address);
    allocate "cuMemAlloc_v2" (*mut Address, usize);
    devices "cuDeviceGetCount" (*mut c_int);
    device "cuDeviceGet" (*mut c_int, c_int);
    uuid "cuDeviceGetUuid_v2" (*mut u8, c_int);
    state "cuDevicePrimaryCtxGetState" (c_int, *mut c_uint, *mut c_int);
}

entry_points! {
    /// Those for memory that programs map; without them it is copied through the host.
    VirtualEntryPoints
    retain "cuMemRetainAllocationHandle" (*mut u64, *mut c_void);
    release "cuMemRelease" (u64);
    export "cuMemExportToShareableHandle" (*mut c_void, u64, c_int, u64);
    import "cuMemImportFromShareableHandle" (*mut u64, *mut c_void, c_int);
    reserve "cuMemAddressReserve" (*mut Address, usize, usize, Address, u64);
    free_range "cuMemAddressFree" (Address, usize);
    map "cuMemMap" (Address, usize, usize, u64, u64);
    unmap "cuMemUnmap" (Address, usize);
    set_access "cuMemSetAccess" (Address, usize, *const AccessOf, usize);
}
