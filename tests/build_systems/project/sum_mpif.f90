! With mpif.h, which needs no module.
program main
    implicit none
    include 'mpif.h'
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: rank, total, length, ierror
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call MPI_Get_library_version(version, length, ierror)
    if (rank == 0) print '(a, 1x, i0)', version(1:7), total
    call MPI_Finalize(ierror)
end program
