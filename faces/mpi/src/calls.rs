//! The names of all calls by their numbers, and which of them are collective: made
//! from the tables, the same in every library.

include!(concat!(env!("OUT_DIR"), "/calls.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_collective_and_what_only_prepares_one_is_not() {
        let is = |name: &str| COLLECTIVE[NAMES.iter().position(|known| *known == name).unwrap()];
        for name in [
            "MPI_Barrier",
            "MPI_Iallreduce_c",
            "MPI_Reduce_scatter_block",
            "MPI_Ineighbor_alltoallw",
            "MPI_File_open",
            "MPI_File_write_ordered_begin",
        ] {
            assert!(is(name), "{name}");
        }
        for name in [
            "",
            "MPI_Send",
            "MPI_Reduce_local",
            "MPI_Allreduce_init",
            "MPI_Comm_dup",
            "MPI_Scan_init_c",
            "MPI_File_write_ordered_end",
            "MPI_File_write_at",
        ] {
            assert!(!is(name), "{name}");
        }
        assert_eq!(COLLECTIVE.iter().filter(|is| **is).count(), 126);
    }
}
