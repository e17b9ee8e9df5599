//! Twin of `progress/knock.rs`. No doorbell here has a name.

pub type Name = [u64; 2];

pub fn knock(_: Name) {
    unreachable!("nobody waits for descriptors")
}
