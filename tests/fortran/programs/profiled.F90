! ranks: 1 2
! A program that counts calls, as tools in Fortran do: its routines have MPI's names and call those with a P.
#include "check.h"

program profiled
  INTERFACE
  implicit none
  INCLUDED
  integer :: e, rank, barriers, names, length
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  common /counted/ barriers, names

  barriers = 0
  names = 0
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Barrier(MPI_COMM_WORLD, e)
  call MPI_Barrier(MPI_COMM_WORLD, e)
  call MPI_Get_processor_name(name, length, e)
  CHECK(barriers == 2 .and. names == 1 .and. length > 0)
  call MPI_Finalize(e)
  call finish()
end program

subroutine MPI_Barrier(comm, ierror)
  implicit none
  integer :: comm, ierror, barriers, names
  common /counted/ barriers, names
  barriers = barriers + 1
  call PMPI_Barrier(comm, ierror)
end subroutine

subroutine MPI_Get_processor_name(name, resultlen, ierror)
  implicit none
  character(len=*) :: name
  integer :: resultlen, ierror, barriers, names
  common /counted/ barriers, names
  names = names + 1
  call PMPI_Get_processor_name(name, resultlen, ierror)
end subroutine
