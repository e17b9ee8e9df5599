! ranks: 1 2 4
! Collectives, in place and not, an operation of the program, arrays of handles, communicators and groups.
#include "check.h"
program collectives
  INTERFACE
  implicit none
  INCLUDED
  integer, parameter :: most = 16
  integer :: e, rank, size, i, op, request, comm, half, group, world, key, n
  integer :: x(4), y(4), all_of(4 * most), counts(most), places(most), types(most), ranges(3, 1)
  logical :: flag
  external :: largest_digit

  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, size, e)

  x = rank
  call MPI_Allreduce(MPI_IN_PLACE, x, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(x == size * (size - 1) / 2))
  x = (/ (rank + i, i = 1, 4) /)
  call MPI_Allgather(x, 4, MPI_INTEGER, all_of, 4, MPI_INTEGER, MPI_COMM_WORLD, e)
  do i = 0, size - 1
    CHECK(all_of(4 * i + 2) == i + 2)
  end do
  if (rank == 0) y = 42
  call MPI_Bcast(y, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
  CHECK(all(y == 42))

  call MPI_Op_create(largest_digit, .true., op, e)
  call MPI_Op_commutative(op, flag, e)
  CHECK(flag)
  x = (/ rank, 10 - rank, 5, rank * rank /)
  call MPI_Allreduce(x, y, 4, MPI_INTEGER, op, MPI_COMM_WORLD, e)
  CHECK(all(y == (/ size - 1, 10, 5, (size - 1) ** 2 /)))
  call MPI_Iallreduce(x, y, 4, MPI_INTEGER, op, MPI_COMM_WORLD, request, e)
  call MPI_Wait(request, MPI_STATUS_IGNORE, e)
  CHECK(y(2) == 10)
  call MPI_Op_free(op, e)
  CHECK(op == MPI_OP_NULL)

  ! Different numbers from each.
  do i = 1, size
    counts(i) = mod(i, 3) + 1
    places(i) = 4 * (i - 1)
  end do
  x = rank + 1
  all_of = 0
  call MPI_Gatherv(x, counts(rank + 1), MPI_INTEGER, all_of, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
  if (rank == 0) then
    do i = 1, size
      CHECK(sum(all_of(4 * i - 3:4 * i)) == i * counts(i))
    end do
  end if

  ! A datatype for each, with and without a buffer to send from.
  types = MPI_INTEGER
  counts = 1
  places(1:size) = (/ (kind(x) * (i - 1), i = 1, size) /)
  all_of(1:size) = (/ (rank * 100 + i, i = 1, size) /)
  all_of(most + 1:most + size) = -1
  call MPI_Alltoallw(all_of, counts, places, types, all_of(most + 1), counts, places, types, MPI_COMM_WORLD, e)
  do i = 1, size
    CHECK(all_of(most + i) == (i - 1) * 100 + rank + 1)
  end do
  call MPI_Alltoallw(MPI_IN_PLACE, counts, places, types, all_of, counts, places, types, MPI_COMM_WORLD, e)
  CHECK(all_of(1) == rank + 1)

  ! Communicators and groups.
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, e)
  call MPI_Comm_rank(half, key, e)
  call MPI_Comm_size(half, n, e)
  CHECK(key == n - 1 - rank / 2)
  call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, comm, e)
  CHECK(comm == MPI_COMM_NULL)
  call MPI_Comm_dup(half, comm, e)
  call MPI_Comm_compare(half, comm, key, e)
  CHECK(key == MPI_CONGRUENT)
  call MPI_Comm_free(comm, e)
  CHECK(comm == MPI_COMM_NULL)
  call MPI_Comm_group(MPI_COMM_WORLD, world, e)
  ranges(:, 1) = (/ 0, size - 1, 1 /)
  call MPI_Group_range_incl(world, 1, ranges, group, e)
  call MPI_Group_compare(world, group, key, e)
  CHECK(key == MPI_IDENT)
  call MPI_Comm_create(MPI_COMM_WORLD, group, comm, e)
  call MPI_Comm_test_inter(comm, flag, e)
  CHECK(.not. flag)
  call MPI_Comm_free(comm, e)
  call MPI_Comm_free(half, e)
  call MPI_Group_free(group, e)
  call MPI_Group_free(world, e)
  CHECK(world == MPI_GROUP_NULL)
  call MPI_Finalize(e)
  call finish()
end program

subroutine largest_digit(new, old, length, datatype)
  INTERFACE
  implicit none
  INCLUDED
  integer :: length, datatype, new(length), old(length)
  CHECK(datatype == MPI_INTEGER)
  old = max(new, old)
end subroutine
