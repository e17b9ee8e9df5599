! ranks: 1; ways: mpif.h; only: mpich
! C code that gets a status of Fortran compares its address with what the C library has for MPI_STATUS_IGNORE.
#include "check.h"
module of_c
  use, intrinsic :: iso_c_binding
  implicit none
  type(c_ptr), bind(C, name="MPI_F_STATUS_IGNORE") :: ignored
  type(c_ptr), bind(C, name="MPI_F_STATUSES_IGNORE") :: all_ignored
end module

program seen_by_c
  use of_c
  implicit none
  INCLUDED
  integer :: e
  target :: MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
  call MPI_Init(e)
  CHECK(c_associated(ignored, c_loc(MPI_STATUS_IGNORE)))
  CHECK(c_associated(all_ignored, c_loc(MPI_STATUSES_IGNORE)))
  call MPI_Finalize(e)
  call finish()
end program
