! ranks: 1 2 4
! Messages, requests, statuses, indices that begin at 1, sentinels.
#include "check.h"
program messages
  INTERFACE
  implicit none
  INCLUDED
  integer :: e, rank, size, left, right, n, i, count, index, outcount
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4), requests(4), indices(4)
  integer :: sent(4), types(2), lengths(2), pair, buffer(100)
  integer, SHARED :: got(4) ! filled while a request goes on
  integer(kind=MPI_ADDRESS_KIND) :: places(2)
  logical :: flag
  double precision :: x(10), y(10)
  character(len=12) :: word

  call MPI_Init(e)
  call MPI_Initialized(flag, e)
  CHECK(flag .and. e == MPI_SUCCESS)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, size, e)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)

  sent = (/ (rank * 10 + i, i = 1, 4) /)
  call MPI_Sendrecv(sent, 4, MPI_INTEGER, right, 7, got, 4, MPI_INTEGER, left, 7, MPI_COMM_WORLD, status, e)
  CHECK(all(got == (/ (left * 10 + i, i = 1, 4) /)))
  CHECK(status(MPI_SOURCE) == left .and. status(MPI_TAG) == 7)
  call MPI_Get_count(status, MPI_INTEGER, count, e)
  CHECK(count == 4)
  call MPI_Sendrecv(sent, 4, MPI_INTEGER, right, 7, got, 4, MPI_INTEGER, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  CHECK(e == MPI_SUCCESS)

  ! All at once.
  got = 0
  do i = 1, 2
    call MPI_Irecv(got(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), e)
    call MPI_Isend(sent(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(i + 2), e)
  end do
  call MPI_Waitall(4, requests, statuses, e)
  CHECK(all(requests == MPI_REQUEST_NULL) .and. all(got(1:2) == (/ left * 10 + 1, left * 10 + 2 /)))
  CHECK(statuses(MPI_TAG, 2) == 2 .and. statuses(MPI_SOURCE, 1) == left)
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, e)
  CHECK(e == MPI_SUCCESS)

  ! One of several: the index begins at 1.
  requests = MPI_REQUEST_NULL
  call MPI_Waitany(4, requests, index, status, e)
  CHECK(index == MPI_UNDEFINED)
  call MPI_Irecv(got(3), 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(3), e)
  call MPI_Send(sent(3), 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, e)
  call MPI_Waitany(4, requests, index, status, e)
  CHECK(index == 3 .and. got(3) == left * 10 + 3 .and. requests(3) == MPI_REQUEST_NULL)
  call MPI_Testany(4, requests, index, flag, status, e)
  CHECK(flag .and. index == MPI_UNDEFINED)
  do i = 1, 2
    call MPI_Irecv(got(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(2 * i), e)
  end do
  do i = 1, 2
    call MPI_Ssend(sent(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, e)
    if (size == 1) exit
  end do
  n = 0
  do while (n < merge(2, 1, size > 1))
    call MPI_Waitsome(4, requests, outcount, indices, MPI_STATUSES_IGNORE, e)
    do i = 1, outcount
      CHECK(indices(i) == 2 .or. indices(i) == 4)
    end do
    n = n + outcount
  end do
  if (size == 1) then
    call MPI_Cancel(requests(4), e)
    call MPI_Wait(requests(4), status, e)
    call MPI_Test_cancelled(status, flag, e)
    CHECK(flag)
  end if
  call MPI_Waitsome(4, requests, outcount, indices, MPI_STATUSES_IGNORE, e)
  CHECK(outcount == MPI_UNDEFINED)
  call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, e)
  CHECK(flag)

  ! Probing, a string, and nobody.
  call MPI_Isend('serried     ', 12, MPI_CHARACTER, right, 9, MPI_COMM_WORLD, requests(1), e)
  call MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, status, e)
  call MPI_Get_count(status, MPI_CHARACTER, count, e)
  CHECK(count == 12 .and. status(MPI_TAG) == 9)
  call MPI_Recv(word, count, MPI_CHARACTER, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  CHECK(word == 'serried')
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, e)
  call MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, flag, status, e)
  CHECK(.not. flag)
  call MPI_Recv(word, 12, MPI_CHARACTER, MPI_PROC_NULL, 9, MPI_COMM_WORLD, status, e)
  CHECK(status(MPI_SOURCE) == MPI_PROC_NULL)

  ! Two arrays in one message, from the bottom of all addresses.
  x = rank
  y = -1
  call MPI_Get_address(x, places(1), e)
  call MPI_Get_address(y, places(2), e)
  types = MPI_DOUBLE_PRECISION
  lengths = (/ 10, 0 /)
  call MPI_Type_create_struct(2, lengths, places, types, pair, e)
  call MPI_Type_commit(pair, e)
  call MPI_Isend(MPI_BOTTOM, 1, pair, right, 5, MPI_COMM_WORLD, requests(1), e)
  call MPI_Recv(y, 10, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, status, e)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, e)
  CHECK(all(y == left))
  call MPI_Type_free(pair, e)
  CHECK(pair == MPI_DATATYPE_NULL)

  ! Persistent requests and the buffer of buffered sends.
  call MPI_Buffer_attach(buffer, 400, e)
  call MPI_Recv_init(got, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1), e)
  call MPI_Bsend_init(sent, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2), e)
  do i = 1, 2
    sent(1) = rank + i
    call MPI_Startall(2, requests, e)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, e)
    CHECK(got(1) == left + i)
  end do
  call MPI_Request_free(requests(1), e)
  call MPI_Request_free(requests(2), e)
  CHECK(all(requests(1:2) == MPI_REQUEST_NULL))
  call MPI_Buffer_detach(buffer, n, e)
  CHECK(n == 400)
  CHECK(MPI_Wtime() > 0 .and. MPI_Wtick() > 0)
  call MPI_Finalize(e)
  call MPI_Finalized(flag, e)
  CHECK(flag)
  call finish()
end program
