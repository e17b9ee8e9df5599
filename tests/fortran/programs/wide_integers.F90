! ranks: 1 2; ways: mpif.h; flags: -fdefault-integer-8; only: openmpi mpich
! Programs with INTEGERs of 8 bytes over libraries whose integers have 4: what goes in is read in its lower half, what
! comes out is stored there; so results begin as zeros. Sentinels lie in larger common blocks.
#include "check.h"
program wide_integers
  implicit none
  INCLUDED
  integer :: e = 0, rank = 0, size = 0, request = 0, comm = 0, count = 0
  integer*8 :: x(3), y(3)
  integer*4 :: flat(3)
  double precision :: d(2)
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, size, e)
  CHECK(size >= 1 .and. rank < size .and. e == MPI_SUCCESS)
  x = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(x == size * (size + 1) / 2))
  call MPI_Isend(x, 3, MPI_INTEGER8, mod(rank + 1, size), 4, MPI_COMM_WORLD, request, e)
  call MPI_Recv(y, 3, MPI_INTEGER8, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  call MPI_Wait(request, MPI_STATUS_IGNORE, e)
  CHECK(all(y == x) .and. int(request, 4) == MPI_REQUEST_NULL)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, e)
  d = rank
  call MPI_Bcast(d, 2, MPI_DOUBLE_PRECISION, size - 1, comm, e)
  CHECK(all(d == size - 1))
  flat = 1
  call MPI_Allreduce(MPI_IN_PLACE, flat, 3, MPI_INTEGER, MPI_SUM, comm, e)
  CHECK(all(flat == size))
  call MPI_Type_size(MPI_INTEGER, count, e)
  CHECK(count == 4)
  call MPI_Comm_free(comm, e)
  call MPI_Finalize(e)
  call finish()
end program
