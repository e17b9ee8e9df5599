//! Kinds of memory.

/// A kind of memory. A transport that does not know a kind does not reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct MemoryKind(pub u16);

impl MemoryKind {
    /// Memory that the processor reads and writes.
    pub const HOST: MemoryKind = MemoryKind(0);
    /// Memory of a CUDA device; the processor reaches none of it.
    pub const CUDA: MemoryKind = MemoryKind(1);
    /// Memory that the CUDA driver moves between host and device, whoever touches it.
    pub const CUDA_MANAGED: MemoryKind = MemoryKind(2);

    /// As the memory allocation kinds of MPI name it.
    pub fn name(self) -> &'static str {
        match self {
            MemoryKind::HOST => "system",
            MemoryKind::CUDA => "cuda:device",
            MemoryKind::CUDA_MANAGED => "cuda:managed",
            _ => "unknown",
        }
    }
}
