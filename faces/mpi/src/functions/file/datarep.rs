//! Data representations of the program (MPI-5.0 §14.5.3).

use crate::abi;
use crate::arguments::{not_null, read_string};
use crate::callbacks::{ConvertData, ConvertDataWide, ExtentInFile};
use crate::handle::DATATYPES;
use crate::objects::Datatype;
use serried_engine::file::{Conversion, Representation};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// A conversion function of the program.
#[derive(Clone, Copy)]
enum Convert {
    Narrow(ConvertData),
    Wide(ConvertDataWide),
}

/// What the program gave.
struct Given {
    read: Option<Convert>,
    write: Option<Convert>,
    extent: ExtentInFile,
    extra: usize,
}

fn check(code: c_int, which: &str) -> Result<()> {
    match code == abi::MPI_SUCCESS {
        true => Ok(()),
        false => {
            let message = format!("the {which} function of the data representation failed with code {code}");
            Err(Error::new(Class::Conversion, message))
        }
    }
}

/// Calls something with a handle of the type.
fn with_handle<T>(datatype: &Arc<Datatype>, call: impl FnOnce(abi::Handle) -> T) -> Result<T> {
    let known = DATATYPES.handle_of(datatype);
    let handle = match known {
        Some(handle) => handle,
        None => DATATYPES.put(datatype.clone())?,
    };
    let done = call(handle);
    if known.is_none() {
        DATATYPES.take("datatype", handle)?;
    }
    Ok(done)
}

impl Given {
    fn convert(
        &self,
        (function, which): (Convert, &str),
        memory: *mut u8,
        datatype: &Arc<Datatype>,
        (position, count): (u64, u64),
        file: *mut u8,
    ) -> Result<()> {
        let (memory, file, extra) = (memory.cast(), file.cast(), self.extra as *mut c_void);
        let code = with_handle(datatype, |handle| match function {
            // SAFETY: the program's own function, with what MPI says that it gets.
            Convert::Narrow(function) => unsafe {
                function(memory, handle, count as c_int, file, position as i64, extra)
            },
            // SAFETY: as above.
            Convert::Wide(function) => unsafe {
                function(memory, handle, count as i64, file, position as i64, extra)
            },
        })?;
        check(code, which)
    }
}

impl Conversion for Given {
    fn extent(&self, element: &Arc<Datatype>) -> Result<u64> {
        let mut extent = 0;
        // SAFETY: the program's own function, with what MPI says that it gets.
        let ask = |handle| unsafe { (self.extent)(handle, &mut extent, self.extra as *mut c_void) };
        check(with_handle(element, ask)?, "extent")?;
        u64::try_from(extent).map_err(|_| {
            Error::new(
                Class::Conversion,
                format!("the extent function of the data representation gives {extent}"),
            )
        })
    }

    fn converts(&self, writing: bool) -> bool {
        if writing { self.write } else { self.read }.is_some()
    }

    unsafe fn read(
        &self,
        memory: *mut u8,
        datatype: &Arc<Datatype>,
        items: (u64, u64),
        file: *mut u8,
    ) -> Result<()> {
        match self.read {
            Some(function) => self.convert((function, "read conversion"), memory, datatype, items, file),
            None => Ok(()),
        }
    }

    unsafe fn write(
        &self,
        memory: *mut u8,
        datatype: &Arc<Datatype>,
        items: (u64, u64),
        file: *mut u8,
    ) -> Result<()> {
        match self.write {
            Some(function) => self.convert((function, "write conversion"), memory, datatype, items, file),
            None => Ok(()),
        }
    }
}

fn register(
    datarep: *const c_char,
    read: Option<Convert>,
    write: Option<Convert>,
    extent: *const c_void,
    extra: *mut c_void,
) -> Result<()> {
    let name = read_string("datarep", datarep)?;
    if name.is_empty() || name.len() >= abi::MPI_MAX_DATAREP_STRING as usize {
        let message = format!(
            "argument datarep has {} bytes; it must have at least 1 and fewer than MPI_MAX_DATAREP_STRING",
            name.len()
        );
        return Err(Error::new(Class::Arg, message));
    }
    not_null("dtype_file_extent_fn", extent)?;
    // SAFETY: not null, and of this type by the prototype of the function.
    let extent = unsafe { std::mem::transmute::<*const c_void, ExtentInFile>(extent) };
    Representation::register(&name, Arc::new(Given { read, write, extent, extra: extra as usize }))
}

/// `MPI_Register_datarep` (§14.5.3).
pub fn register_datarep(
    datarep: *const c_char,
    read_conversion_fn: *const c_void,
    write_conversion_fn: *const c_void,
    dtype_file_extent_fn: *const c_void,
    extra_state: *mut c_void,
) -> Result<()> {
    let convert = |function: *const c_void| {
        // SAFETY: not null, and of this type by the prototype of the function.
        let convert =
            || Convert::Narrow(unsafe { std::mem::transmute::<*const c_void, ConvertData>(function) });
        (!std::ptr::eq(function, abi::MPI_CONVERSION_FN_NULL)).then(convert)
    };
    register(
        datarep,
        convert(read_conversion_fn),
        convert(write_conversion_fn),
        dtype_file_extent_fn,
        extra_state,
    )
}

/// `MPI_Register_datarep_c` (§14.5.3).
pub fn register_datarep_c(
    datarep: *const c_char,
    read_conversion_fn: *const c_void,
    write_conversion_fn: *const c_void,
    dtype_file_extent_fn: *const c_void,
    extra_state: *mut c_void,
) -> Result<()> {
    let convert = |function: *const c_void| {
        // SAFETY: not null, and of this type by the prototype of the function.
        let convert =
            || Convert::Wide(unsafe { std::mem::transmute::<*const c_void, ConvertDataWide>(function) });
        (!std::ptr::eq(function, abi::MPI_CONVERSION_FN_NULL_C)).then(convert)
    };
    register(
        datarep,
        convert(read_conversion_fn),
        convert(write_conversion_fn),
        dtype_file_extent_fn,
        extra_state,
    )
}
