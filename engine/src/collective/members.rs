//! Who takes part in an operation, and in which role.

/// The sizes of a communicator and my place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// My rank in the local group.
    pub rank: u32,
    /// The size of the local group.
    pub size: u32,
    /// The size of the remote group, if this is an intercommunicator.
    pub remote: Option<u32>,
}

/// Who the root is (MPI-5.0 §6.2.3): in an intercommunicator the group of the
/// root passes `Me` or `Nobody`, the other group the root's rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The root is this rank: of the only group, or of the remote group.
    Rank(u32),
    /// `MPI_ROOT`: the root is me.
    Me,
    /// `MPI_PROC_NULL`: the root is another one of my group.
    Nobody,
}

/// What I do in an operation with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// I am the root.
    Root,
    /// I exchange data with the root, which is this peer.
    Leaf(u32),
    /// I have no part in it.
    Absent,
}

impl Members {
    /// How many peers the arguments speak of: the remote group of an
    /// intercommunicator, else the only group, myself included.
    pub fn peers(&self) -> u32 {
        self.remote.unwrap_or(self.size)
    }

    /// Whether peer `peer` is myself.
    pub(super) fn is_me(&self, peer: u32) -> bool {
        self.remote.is_none() && peer == self.rank
    }

    /// What I do in an operation with this root.
    pub fn role(&self, root: Root) -> Role {
        match root {
            Root::Me => Role::Root,
            Root::Nobody => Role::Absent,
            Root::Rank(rank) if self.is_me(rank) => Role::Root,
            Root::Rank(rank) => Role::Leaf(rank),
        }
    }

    /// My rank counted from `root`, in an intracommunicator.
    pub(super) fn relative(&self, root: u32) -> u32 {
        (self.rank + self.size - root) % self.size
    }

    /// The rank that is `relative` counted from `root`.
    pub(super) fn absolute(&self, relative: u32, root: u32) -> u32 {
        ((u64::from(relative) + u64::from(root)) % u64::from(self.size)) as u32
    }
}
