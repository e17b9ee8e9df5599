//! The functions that take or give a `long double` by value, a type that Rust has not: each takes it as the machine passes
//! it and hands its address on.

use super::exports::{pshmem_ctx_getmem, pshmem_ctx_putmem};
use super::handles::shmem_ctx_t;
use std::ffi::{c_int, c_void};

/// Bytes of a `long double`.
const BYTES: usize = 16;

unsafe extern "C" fn put(ctx: shmem_ctx_t, dest: *mut c_void, pe: c_int, value: *const c_void) {
    // SAFETY: as the program calls it; the value lies on the stack.
    unsafe { pshmem_ctx_putmem(ctx, dest.cast(), value.cast(), BYTES, pe) }
}

unsafe extern "C" fn get(ctx: shmem_ctx_t, source: *const c_void, pe: c_int, value: *mut c_void) {
    // SAFETY: as above.
    unsafe { pshmem_ctx_getmem(ctx, value.cast(), source.cast(), BYTES, pe) }
}

/// x86-64: an argument lies on the stack behind the return address, a result in the register st0.
#[cfg(target_arch = "x86_64")]
mod machine {
    use super::{get, put};
    use std::arch::naked_asm;

    macro_rules! puts {
        ($($name:ident)*) => {$(
            #[no_mangle]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                // (dest, pe) become (ctx, dest, pe, address of the value).
                naked_asm!(
                    "lea rcx, [rsp + 8]",
                    "mov edx, esi",
                    "mov rsi, rdi",
                    "mov edi, 1",
                    "jmp {put}",
                    put = sym put
                )
            }
        )*};
    }
    puts! { shmem_longdouble_p pshmem_longdouble_p }

    macro_rules! puts_with_context {
        ($($name:ident)*) => {$(
            #[no_mangle]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                // (ctx, dest, pe) stay.
                naked_asm!("lea rcx, [rsp + 8]", "jmp {put}", put = sym put)
            }
        )*};
    }
    puts_with_context! { shmem_ctx_longdouble_p pshmem_ctx_longdouble_p }

    macro_rules! gets {
        ($($name:ident)*) => {$(
            #[no_mangle]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                // (source, pe) become (ctx, source, pe, room for the value).
                naked_asm!(
                    "sub rsp, 24",
                    "mov rcx, rsp",
                    "mov edx, esi",
                    "mov rsi, rdi",
                    "mov edi, 1",
                    "call {get}",
                    "fld tbyte ptr [rsp]",
                    "add rsp, 24",
                    "ret",
                    get = sym get
                )
            }
        )*};
    }
    gets! { shmem_longdouble_g pshmem_longdouble_g }

    macro_rules! gets_with_context {
        ($($name:ident)*) => {$(
            #[no_mangle]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                naked_asm!(
                    "sub rsp, 24",
                    "mov rcx, rsp",
                    "call {get}",
                    "fld tbyte ptr [rsp]",
                    "add rsp, 24",
                    "ret",
                    get = sym get
                )
            }
        )*};
    }
    gets_with_context! { shmem_ctx_longdouble_g pshmem_ctx_longdouble_g }
}

/// aarch64: 128 bits in the register of a vector. The compiler warns of a vector's layout, but it is passed in that register.
#[cfg(target_arch = "aarch64")]
#[allow(improper_ctypes_definitions)]
mod machine {
    use super::super::handles::{shmem_ctx_t, SHMEM_CTX_DEFAULT};
    use super::{get, put};
    use std::arch::aarch64::uint8x16_t;
    use std::ffi::{c_int, c_void};

    unsafe fn got(ctx: shmem_ctx_t, source: *const c_void, pe: c_int) -> uint8x16_t {
        let mut value = std::mem::MaybeUninit::<uint8x16_t>::zeroed();
        // SAFETY: as the program calls it.
        unsafe {
            get(ctx, source, pe, value.as_mut_ptr().cast());
            value.assume_init()
        }
    }

    macro_rules! functions {
        ($($put:ident $get:ident $put_with:ident $get_with:ident;)*) => {$(
            #[no_mangle]
            unsafe extern "C" fn $put(dest: *mut c_void, value: uint8x16_t, pe: c_int) {
                // SAFETY: as the program calls it.
                unsafe { put(SHMEM_CTX_DEFAULT, dest, pe, (&raw const value).cast()) }
            }
            #[no_mangle]
            unsafe extern "C" fn $get(source: *const c_void, pe: c_int) -> uint8x16_t {
                // SAFETY: as above.
                unsafe { got(SHMEM_CTX_DEFAULT, source, pe) }
            }
            #[no_mangle]
            unsafe extern "C" fn $put_with(ctx: shmem_ctx_t, dest: *mut c_void, value: uint8x16_t, pe: c_int) {
                // SAFETY: as above.
                unsafe { put(ctx, dest, pe, (&raw const value).cast()) }
            }
            #[no_mangle]
            unsafe extern "C" fn $get_with(ctx: shmem_ctx_t, source: *const c_void, pe: c_int) -> uint8x16_t {
                // SAFETY: as above.
                unsafe { got(ctx, source, pe) }
            }
        )*};
    }
    functions! {
        shmem_longdouble_p shmem_longdouble_g shmem_ctx_longdouble_p shmem_ctx_longdouble_g;
        pshmem_longdouble_p pshmem_longdouble_g pshmem_ctx_longdouble_p pshmem_ctx_longdouble_g;
    }
}
