! ranks: 2; ways: mpif.h; only: openmpi mpich
! Types whose bounds are set as MPI-1 did it, by MPI_LB and MPI_UB in a structure. MPI-3.0 has removed them, and programs
! of a distribution still use them.
#include "check.h"
program bounds
  implicit none
  INCLUDED
  integer :: e, rank, n, types(3), lengths(3), places(3), row, i
  integer :: integers(4), kinds(3), ni, na, nd, combiner
  integer(kind=MPI_ADDRESS_KIND) :: addresses(3), lower, extent
  integer :: table(4, 6), status(MPI_STATUS_SIZE)

  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  ! Two integers of a column of four.
  lengths = [1, 2, 1]
  places = [0, 4, 16]
  types = [MPI_LB, MPI_INTEGER, MPI_UB]
  call MPI_Type_struct(3, lengths, places, types, row, e)
  call MPI_Type_commit(row, e)
  call MPI_Type_size(row, n, e)
  CHECK(n == 8)
  call MPI_Type_get_extent(row, lower, extent, e)
  CHECK(lower == 0 .and. extent == 16)
  call MPI_Type_extent(row, n, e)
  CHECK(n == 16)
  call MPI_Type_ub(row, n, e)
  CHECK(n == 16)
  table = 0
  if (rank == 0) then
    table = reshape([(i, i = 1, 24)], [4, 6])
    call MPI_Send(table, 6, row, 1, 3, MPI_COMM_WORLD, e)
  else if (rank == 1) then
    call MPI_Recv(table, 6, row, 0, 3, MPI_COMM_WORLD, status, e)
    CHECK(all(table(2:3, 6) == [22, 23]) .and. all(table(1:4:3, :) == 0) .and. table(2, 1) == 2)
    call MPI_Get_count(status, row, n, e)
    CHECK(n == 6)
    call MPI_Get_elements(status, row, n, e)
    CHECK(n == 12)
  end if
  call MPI_Type_get_envelope(row, ni, na, nd, combiner, e)
  CHECK(ni == 4 .and. na == 3 .and. nd == 3)
  call MPI_Type_get_contents(row, ni, na, nd, integers, addresses, kinds, e)
  CHECK(all(integers == [3, lengths]) .and. kinds(1) == MPI_LB .and. kinds(3) == MPI_UB .and. addresses(3) == 16)
  call MPI_Type_free(row, e)
  call MPI_Finalize(e)
  call finish()
end program
