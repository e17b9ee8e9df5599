//! What this processor is good at.

/// Whether vectors of 512 bits are as good as others. With the first processors that had
/// them a core went slower for a while once it had used them; those that have this one of the later
/// extensions (Intel's since Ice Lake, AMD's since Zen 4) do not.
#[inline]
pub fn has_wide_vectors() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx512vbmi2") && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl")
}
