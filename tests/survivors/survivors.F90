! A program of Fortran that goes on without its last rank: as it is written for Open MPI, by modules or by mpif.h.
program survivors
#if defined(F08)
  use mpi_f08
  use mpi_f08_ext
  implicit none
  type(MPI_Comm) :: world, left
  type(MPI_Group) :: group
  type(MPI_Request) :: request
#else
#if defined(MODULE)
  use mpi
  use mpi_ext
  implicit none
#else
  implicit none
  include 'mpif.h'
  include 'mpif-ext.h'
#endif
  integer :: world, left, group, request
#endif
  integer :: rank, size, code, class, count, flag, process
  logical :: is_revoked
  interface
    integer function getpid() bind(C)
    end function
    integer function kill(process, signal) bind(C)
      integer, value :: process, signal
    end function
  end interface

  call MPI_Init(code)
  world = MPI_COMM_WORLD
  call MPI_Comm_rank(world, rank, code)
  call MPI_Comm_size(world, size, code)
  call MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN, code)
  process = getpid()
  if (rank == size - 1) code = kill(process, 9)
  code = MPI_SUCCESS
  do while (code == MPI_SUCCESS)
    call MPI_Barrier(world, code)
  end do
  call MPI_Error_class(code, class, flag)
  call expect(class == MPIX_ERR_PROC_FAILED)
  call MPIX_Comm_get_failed(world, group, code)
  call MPI_Group_size(group, count, code)
  call expect(count == 1)
  call MPI_Group_free(group, code)
  call MPIX_Comm_failure_ack(world, code)
  call MPIX_Comm_failure_get_acked(world, group, code)
  call MPI_Group_size(group, count, code)
  call expect(count == 1)
  call MPI_Group_free(group, code)
  call MPIX_Comm_ack_failed(world, 1, count, code)
  call expect(count == 1)
  flag = 7
  if (rank == 0) flag = 5
  call MPIX_Comm_agree(world, flag, code)
  call expect(flag == 5 .and. code == MPI_SUCCESS)
  flag = 3
  call MPIX_Comm_iagree(world, flag, request, code)
  call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  call expect(flag == 3 .and. code == MPI_SUCCESS)
  call MPIX_Comm_is_revoked(world, is_revoked, code)
  call expect(.not. is_revoked)
  call MPIX_Comm_shrink(world, left, code)
  call MPI_Comm_size(left, count, code)
  call expect(count == size - 1)
  call MPI_Barrier(left, code)
  call expect(code == MPI_SUCCESS)
  call MPI_Comm_free(left, code)
  call MPIX_Comm_ishrink(world, left, request, code)
  call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  call MPIX_Comm_revoke(world, code)
  call MPIX_Comm_is_revoked(world, is_revoked, code)
  call expect(is_revoked)
  call MPI_Barrier(world, code)
  call MPI_Error_class(code, class, flag)
  call expect(class == MPIX_ERR_REVOKED)
  call MPI_Barrier(left, code)
  call expect(code == MPI_SUCCESS)
  call MPI_Comm_free(left, code)
  if (rank == 0) print '(a)', 'well'
  call MPI_Finalize(code)
contains
  subroutine expect(holds)
    logical, intent(in) :: holds
    if (holds) return
    print '(a)', 'wrong'
    call MPI_Abort(MPI_COMM_WORLD, 9, code)
  end subroutine
end program
