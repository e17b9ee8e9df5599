//! Assertions of programs about how they synchronise.

/// What a program asserts at a synchronising call (MPI-5.0 §12.5.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assertions(u32);

impl Assertions {
    /// Nothing is asserted.
    pub const NONE: Assertions = Assertions(0);
    /// Nobody holds or asks for a lock that conflicts; or all targets have posted.
    pub const NOCHECK: Assertions = Assertions(1);
    /// The own memory was not changed by stores since the last synchronisation.
    pub const NOSTORE: Assertions = Assertions(2);
    /// Nobody puts into the own memory until the next synchronisation.
    pub const NOPUT: Assertions = Assertions(4);
    /// No operation of this member comes before this fence.
    pub const NOPRECEDE: Assertions = Assertions(8);
    /// None follows it, before the next synchronisation.
    pub const NOSUCCEED: Assertions = Assertions(16);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Assertions) -> Assertions {
        Assertions(self.0 | other.0)
    }

    /// Whether all of `other` is asserted.
    #[inline]
    pub const fn has(self, other: Assertions) -> bool {
        self.0 & other.0 == other.0
    }
}

#[cfg(test)]
mod tests {
    use super::Assertions;

    #[test]
    fn assertions_are_put_together() {
        let both = Assertions::NOPUT.and(Assertions::NOSTORE);
        assert!(both.has(Assertions::NOPUT) && both.has(Assertions::NOSTORE) && both.has(Assertions::NONE));
        assert!(!both.has(Assertions::NOCHECK) && !both.has(both.and(Assertions::NOCHECK)));
    }
}
