//! A driver for tests without a GPU: it is built as `libcuda.so.1` and does with memory of the host
//! what CUDA's driver does with that of a device, as far as Serried and its tests ask for it.
//!
//! * **Device memory** is mapped twice, for the program without any access: a read or write of the
//!   processor that should have been a copy of the driver ends the program (`memory`).
//! * **Streams** run late: a copy is done when the stream is waited for, or at some moment before
//!   that a seed draws (`FAKE_CUDA_SEED`). Until then its target is poisoned, so that a forgotten
//!   wait shows as wrong data (`streams`).
//! * **Copies of the program** of up to 64 KiB from memory of the host run late too, if they have not been ordered
//!   (`SYNC_MEMOPS`): streams that are not blocking do not wait for them. With `FAKE_CUDA_FLAGS` contexts cannot order them.
//! * Copies on stream 0, a missing context, a stream of a context that has gone, memory that was freed: errors.
//! * Handles of memory are good for other processes, once in each, as long as the allocation is there; `FAKE_CUDA_IPC`
//!   has them refused (`off`), each process have another device (`apart`), or the wrong memory mapped (`wrong`) (`lent`).
//! * Programs for the device run as late as copies: twins of them in Rust, of texts that it knows (`kernels`), or the text
//!   itself, if it consists of what `texts` can read (`interpreter`). They reach memory of the device and pinned memory alone.
//!   `FAKE_CUDA_KERNELS` has every text refused (`refused`), or has all do something else (`wrong`). Texts are kept in the
//!   folder `FAKE_CUDA_TEXTS`.
//! * Memory that a program maps by itself (`cuMemMap`) lies in pieces, whose handles are real descriptors (`virtual_memory`).
//! * Addresses, and contexts, are used again; the numbers of allocations are not.
//! * Calls are counted, and the n-th call of a function can be made to fail (`calls`).

#![allow(non_snake_case, missing_docs, reason = "the names are CUDA's")]

mod calls;
mod context_functions;
mod contexts;
mod interpreter;
mod kernel_functions;
mod kernels;
mod lending_functions;
mod lent;
mod mapped;
mod memory;
mod memory_functions;
mod pointers;
mod state;
mod streams;
mod test_functions;
mod texts;
mod virtual_functions;
mod virtual_mappings;
mod virtual_memory;

/// What a function returns.
type Answer = std::ffi::c_int;
/// `CUdeviceptr`.
type Address = u64;
/// `CUcontext`, `CUstream`: numbers, never pointers to anything.
type Handle = usize;

const SUCCESS: Answer = 0;
const INVALID_VALUE: Answer = 1;
const OUT_OF_MEMORY: Answer = 2;
const NOT_INITIALIZED: Answer = 3;
const NO_BINARY_FOR_GPU: Answer = 209;
const INVALID_CONTEXT: Answer = 201;
const ALREADY_MAPPED: Answer = 208;
const INVALID_HANDLE: Answer = 400;
const NOT_FOUND: Answer = 500;
const ILLEGAL_ADDRESS: Answer = 700;
const CONTEXT_IS_DESTROYED: Answer = 709;
const ALREADY_REGISTERED: Answer = 712;
const MISALIGNED_ADDRESS: Answer = 716;
const LAUNCH_FAILED: Answer = 719;
const NOT_SUPPORTED: Answer = 801;
