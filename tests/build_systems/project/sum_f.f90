! The same in Fortran.
program main
    use mpi_f08
    implicit none
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: rank, total, length
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Get_library_version(version, length)
    if (rank == 0) print '(a, 1x, i0)', version(1:7), total
    call MPI_Finalize()
end program
