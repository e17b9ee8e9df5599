! ranks: 2 3; ways: mpif.h mpi; only: gfortran@-fdefault-integer-8 flang@-fdefault-integer-8
! INTEGERs of 8 bytes over the library that is for them: what begins as garbage, negative results, arrays, statuses, handles,
! functions of the program, numbers that C's int cannot hold.
#include "check.h"
subroutine add_all(from, to, length, datatype)
  implicit none
  integer :: length, datatype, from(length), to(length)
  to = to + from
end subroutine

program wide_library
  INTERFACE
  implicit none
  INCLUDED
  integer, parameter :: GARBAGE = 81985529216486895_8
  integer :: e, rank, size, n, i, op, request, requests(2), indices(2), left, right, cart, group, other, dup, key
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), x(3), y(3), dims(2), coords(2), ranks(2), to(2)
  integer :: row, kinds(2), numbers(10), na, nd, combiner, handler, at, lengths(2), places(2)
  integer(kind=MPI_ADDRESS_KIND) :: addresses(4), value, lower, extent
  integer*4 :: small(2)
  logical :: flag, periods(2)
  character(len=20) :: packed
  external :: add_all

  call MPI_Init(e)
  rank = GARBAGE
  size = GARBAGE
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, size, e)
  CHECK(e == MPI_SUCCESS .and. kind(e) == 8 .and. rank >= 0 .and. rank < size .and. size < 4)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)

  ! MPI_INTEGER is what an INTEGER is.
  n = GARBAGE
  call MPI_Type_size(MPI_INTEGER, n, e)
  CHECK(n == 8)
  call MPI_Type_size(MPI_LOGICAL, n, e)
  CHECK(n == 8)
  x = [rank + 5000000000_8, -rank, 1_8]
  call MPI_Allreduce(x, y, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(y == [size * 5000000000_8 + size * (size - 1) / 2, -size * (size - 1) / 2, size]))
  call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, e)
  CHECK(all(x == [size - 1 + 5000000000_8, 0_8, 1_8]))
  flag = rank == 0
  call MPI_Allreduce(MPI_IN_PLACE, flag, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, e)
  CHECK(flag)
  small = 1
  call MPI_Allreduce(MPI_IN_PLACE, small, 2, MPI_INTEGER4, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(small == size))

  ! Statuses, alone and in arrays; indices; what is negative.
  requests = GARBAGE
  status = GARBAGE
  statuses = GARBAGE
  indices = GARBAGE
  call MPI_Irecv(y, 3, MPI_INTEGER, left, 7, MPI_COMM_WORLD, requests(1), e)
  call MPI_Isend(x, 3, MPI_INTEGER, right, 7, MPI_COMM_WORLD, requests(2), e)
  call MPI_Waitall(2, requests, statuses, e)
  CHECK(all(requests == MPI_REQUEST_NULL) .and. statuses(MPI_SOURCE, 1) == left .and. statuses(MPI_TAG, 1) == 7)
  call MPI_Get_count(statuses(1, 1), MPI_INTEGER, n, e)
  CHECK(n == 3)
  call MPI_Get_count(statuses(1, 1), MPI_DOUBLE_COMPLEX, n, e)
  CHECK(n == MPI_UNDEFINED)
  call MPI_Irecv(y, 3, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1), e)
  requests(2) = MPI_REQUEST_NULL
  call MPI_Send(x, 2, MPI_INTEGER, right, 8, MPI_COMM_WORLD, e)
  n = GARBAGE
  call MPI_Waitsome(2, requests, n, indices, statuses, e)
  CHECK(n == 1 .and. indices(1) == 1 .and. statuses(MPI_SOURCE, 1) == left .and. statuses(MPI_TAG, 1) == 8)
  n = GARBAGE
  call MPI_Waitany(2, requests, n, status, e)
  CHECK(n == MPI_UNDEFINED .and. status(MPI_SOURCE) == MPI_ANY_SOURCE)
  call MPI_Recv(y, 3, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, e)
  CHECK(status(MPI_SOURCE) == MPI_PROC_NULL .and. status(MPI_TAG) == MPI_ANY_TAG)
  call MPI_Recv(y, 3, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, e)
  flag = .true.
  call MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, flag, status, e)
  CHECK(.not. flag)

  ! Arrays: topologies and groups.
  dims = 0
  call MPI_Dims_create(size, 2, dims, e)
  CHECK(dims(1) * dims(2) == size)
  periods = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, [size, 1_8], periods, .false., cart, e)
  coords = GARBAGE
  call MPI_Cart_coords(cart, rank, 2, coords, e)
  CHECK(all(coords == [rank, 0_8]))
  periods = .false.
  call MPI_Cart_get(cart, 2, dims, periods, coords, e)
  CHECK(all(dims == [size, 1_8]) .and. periods(1) .and. .not. periods(2) .and. coords(1) == rank)
  call MPI_Cart_rank(cart, [-1_8, 0_8], n, e)
  CHECK(n == size - 1)
  call MPI_Cart_shift(cart, 1, 1, i, n, e)
  CHECK(i == MPI_PROC_NULL .and. n == MPI_PROC_NULL)
  call MPI_Cart_sub(cart, [.false., .true.], other, e)
  call MPI_Comm_size(other, n, e)
  CHECK(n == 1)
  call MPI_Comm_free(other, e)
  CHECK(other == MPI_COMM_NULL)
  call MPI_Comm_free(cart, e)
  call MPI_Comm_group(MPI_COMM_WORLD, group, e)
  call MPI_Group_incl(group, 2, [1_8, 0_8], other, e)
  ranks = GARBAGE
  call MPI_Group_translate_ranks(other, 2, [0_8, 1_8], group, ranks, e)
  CHECK(all(ranks == [1, 0]))
  call MPI_Group_translate_ranks(group, 2, [size - 1, 0_8], MPI_GROUP_EMPTY, to, e)
  CHECK(all(to == MPI_UNDEFINED))
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., dup, e)
  ranks = GARBAGE
  to = GARBAGE
  call MPI_Dist_graph_neighbors(dup, 1, ranks, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, e)
  CHECK(ranks(1) == left .and. to(1) == right .and. ranks(2) == GARBAGE)
  call MPI_Comm_free(dup, e)

  ! Datatypes, and what they were made of.
  lengths = [1, 2]
  places = [0, 3]
  call MPI_Type_indexed(2, lengths, places, MPI_INTEGER, row, e)
  call MPI_Type_get_extent(row, lower, extent, e)
  CHECK(lower == 0 .and. extent == 40)
  call MPI_Type_get_envelope(row, n, na, nd, combiner, e)
  CHECK(n == 5 .and. na == 0 .and. nd == 1 .and. combiner == MPI_COMBINER_INDEXED)
  numbers = GARBAGE
  call MPI_Type_get_contents(row, n, 0, 1, numbers, addresses, kinds, e)
  CHECK(all(numbers(:5) == [2, 1, 2, 0, 3]) .and. kinds(1) == MPI_INTEGER .and. numbers(6) == GARBAGE)
  call MPI_Type_free(row, e)
  ! A count that no int of C can hold; it is asked for as that (the standard's `_c`).
  call MPI_Type_contiguous(3000000000_8, MPI_BYTE, row, e)
  call MPI_Type_get_extent(row, lower, extent, e)
  CHECK(lower == 0 .and. extent == 3000000000_8)
  call MPI_Type_size(row, n, e)
  CHECK(n == 3000000000_8)
  call MPI_Type_free(row, e)
  places = [0_8, 5000000000_8]
  call MPI_Type_indexed(2, lengths, places, MPI_INTEGER, row, e)
  call MPI_Type_get_extent(row, lower, extent, e)
  CHECK(lower == 0 .and. extent == 40000000016_8)
  call MPI_Type_free(row, e)
  at = 0
  call MPI_Pack(x, 2, MPI_INTEGER, packed, 20, at, MPI_COMM_WORLD, e)
  CHECK(at == 16)

  ! Functions of the program get INTEGERs of 8 bytes too.
  call MPI_Op_create(add_all, .true., op, e)
  x = rank
  call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_INTEGER, op, MPI_COMM_WORLD, e)
  CHECK(all(x == size * (size - 1) / 2))
  call MPI_Op_free(op, e)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, e)
  CHECK(flag .and. value >= 32767)

  ! What no int of C can hold is an error, and no other number.
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, e)
  call MPI_Send(x, 1, MPI_INTEGER, 4294967296_8, 1, MPI_COMM_WORLD, e)
  CHECK(e /= MPI_SUCCESS)
  call MPI_Error_class(e, n, e)
  CHECK(n == MPI_ERR_RANK)
  call MPI_Group_free(group, e)
  call MPI_Group_free(other, e)
  call MPI_Finalize(e)
  call finish()
end program
