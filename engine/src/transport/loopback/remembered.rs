//! What a rank remembers of a peer.

use crate::transport::network::Credits;

/// Payloads that a peer has not asked for and not let go of, at most, and their bytes. A wire has room for
/// them at once.
const EAGER: (u64, u64) = (16, 128 << 10);

/// What a rank remembers of a peer.
#[derive(Debug)]
pub struct Peer {
    /// Frames sent to it.
    pub sent: u32,
    /// Long payloads on their way.
    pub credits: Credits,
    /// It has sent something.
    pub is_known: bool,
    /// It is gone.
    pub is_gone: bool,
}

impl Default for Peer {
    fn default() -> Self {
        Peer { sent: 0, credits: Credits::within(EAGER.0, EAGER.1), is_known: false, is_gone: false }
    }
}
