! ranks: 1 2 4; ways: sections
! mpi_f08 at large: sections of arrays that are not contiguous in every kind of call, callbacks with types, large
! counts, errors without ierror, pointers of C, attributes, info, windows, files.
#include "check.h"
module helpers
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: copies = 0, deletes = 0, errors = 0, calls = 0
  ! Bytes of an INTEGER, which a flag of the compiler may double.
  integer, parameter :: WIDTH = storage_size(copies) / 8
contains
  subroutine add_pairs(invec, inoutvec, length, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    CHECK(datatype == MPI_INTEGER)
    call c_f_pointer(invec, a, [length])
    call c_f_pointer(inoutvec, b, [length])
    b = b + a
    calls = calls + 1
  end subroutine

#ifndef OLD_OPERATIONS
  subroutine add_large(invec, inoutvec, length, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [length])
    call c_f_pointer(inoutvec, b, [length])
    b = b + a
    CHECK(datatype == MPI_INTEGER)
  end subroutine
#endif

  subroutine copy_value(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    CHECK(oldcomm /= MPI_COMM_NULL)
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
    copies = copies + 1
  end subroutine

  subroutine delete_value(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    ierror = MPI_SUCCESS
    deletes = deletes + 1
  end subroutine

  subroutine handle_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    CHECK(comm /= MPI_COMM_NULL .and. error_code /= MPI_SUCCESS)
    errors = errors + 1
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    status%MPI_SOURCE = 0
    status%MPI_TAG = int(extra_state)
    call MPI_Status_set_cancelled(status, .false.)
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
  end subroutine

  subroutine free_request(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    CHECK(extra_state == 11)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    CHECK(extra_state == 11 .and. .not. complete)
    ierror = MPI_SUCCESS
  end subroutine

  ! a(i, j) = 1000 * who + 100 * i + j
  subroutine fill(a, who)
    integer, intent(out) :: a(:, :)
    integer, intent(in) :: who
    integer :: i, j
    do j = 1, ubound(a, 2)
      do i = 1, ubound(a, 1)
        a(i, j) = 1000 * who + 100 * i + j
      end do
    end do
  end subroutine
end module

program sections
  use helpers
  implicit none
  integer :: rank, size, left, right
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call messages()
  call in_the_background()
  call collectives()
  call reductions()
  call datatypes()
  call large_counts()
  call objects()
  call windows()
  call files()
  call MPI_Finalize()
  call finish()
contains
  ! Blocking messages of rows, columns, blocks, backwards, of three dimensions.
  subroutine messages()
    integer :: a(8, 6), b(8, 6), c(4, 3, 5), d(4, 3, 5), count
    type(MPI_Status) :: status
    real(kind=kind(1d0)) :: x(10), y(20)
    character(len=4) :: words(6), others(6)
    integer :: i
    call fill(a, rank)
    b = -1
    call MPI_Sendrecv(a(3, :), 6, MPI_INTEGER, right, 1, b(5, :), 6, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    CHECK(all(b(5, :) == [(1000 * left + 300 + i, i = 1, 6)]))
    CHECK(all(b(1:4, :) == -1) .and. all(b(6:8, :) == -1))
    CHECK(status%MPI_SOURCE == left .and. status%MPI_TAG == 1)
    call MPI_Get_count(status, MPI_INTEGER, count)
    CHECK(count == 6)

    ! Every other row and column, to a block that is not contiguous either.
    b = -1
    call MPI_Sendrecv(a(2:8:2, 1:6:2), 12, MPI_INTEGER, right, 2, b(3:6, 4:6), 12, MPI_INTEGER, left, 2, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    CHECK(b(3, 4) == 1000 * left + 201 .and. b(6, 4) == 1000 * left + 801 .and. b(6, 6) == 1000 * left + 805)
    CHECK(count_of(b, -1) == 48 - 12)

    ! Backwards: the elements come in the order of the section.
    b = -1
    call MPI_Sendrecv(a(8:1:-1, 2), 8, MPI_INTEGER, right, 3, b(:, 1), 8, MPI_INTEGER, left, 3, MPI_COMM_WORLD, status)
    CHECK(all(b(:, 1) == [(1000 * left + 100 * i + 2, i = 8, 1, -1)]))

    ! Less than the whole section arrives; the rest of it stays.
    b = -1
    call MPI_Sendrecv(a(:, 1), 5, MPI_INTEGER, right, 4, b(2, :), 6, MPI_INTEGER, left, 4, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    CHECK(count == 5 .and. b(2, 6) == -1 .and. b(2, 5) == 1000 * left + 501)

    c = reshape([(1000 * rank + i, i = 1, 60)], [4, 3, 5])
    d = 0
    call MPI_Sendrecv(c(2:4:2, 2:3, 1:5:2), 12, MPI_INTEGER, right, 5, d(1:2, 1:2, 3:5), 12, MPI_INTEGER, left, 5, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    CHECK(d(1, 1, 3) == 1000 * left + 6 .and. d(2, 2, 5) == 1000 * left + 60 .and. d(2, 1, 4) == 1000 * left + 32)
    CHECK(sum(d) == 12000 * left + sum([6, 8, 10, 12, 30, 32, 34, 36, 54, 56, 58, 60]))

    ! Reals, a real to every other place, strings, parts of a derived type.
    x = [(rank + 0.5d0 * i, i = 1, 10)]
    y = -1
    call MPI_Sendrecv(x, 10, MPI_DOUBLE_PRECISION, right, 6, y(2::2), 10, MPI_DOUBLE_PRECISION, left, 6, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    CHECK(all(y(2::2) == [(left + 0.5d0 * i, i = 1, 10)]) .and. all(y(1::2) == -1))
    words = ['one ', 'two ', 'thre', 'four', 'five', 'six ']
    others = '....'
    call MPI_Sendrecv(words(1::2), 12, MPI_CHARACTER, right, 7, others(2::2), 12, MPI_CHARACTER, left, 7, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    CHECK(others(2) == 'one' .and. others(4) == 'thre' .and. others(6) == 'five' .and. others(1) == '....')
    call MPI_Sendrecv_replace(b(4, :), 6, MPI_INTEGER, right, 8, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    CHECK(all(b(4, :) == -1))
  end subroutine

  integer function count_of(a, value)
    integer, intent(in) :: a(:, :), value
    count_of = count(a == value)
  end function

  ! Requests: of messages (a datatype finds the elements), persistent, of collectives (a copy, put back at the end).
  subroutine in_the_background()
    integer, asynchronous :: a(8, 6), b(8, 6), c(8, 6)
    integer :: i, round, index, outcount, indices(4)
    type(MPI_Request) :: requests(4)
    type(MPI_Status) :: statuses(4)
    logical :: flag
    call fill(a, rank)
    b = -1
    do i = 1, 2
      call MPI_Irecv(b(2 * i, :), 6, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i))
      call MPI_Isend(a(i + 2, 6:1:-1), 6, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(i + 2))
    end do
    call MPI_Waitall(4, requests, statuses)
    CHECK(all([(requests(i) == MPI_REQUEST_NULL, i = 1, 4)]))
    CHECK(all(b(2, :) == [(1000 * left + 300 + i, i = 6, 1, -1)]) .and. all(b(4, :) == [(1000 * left + 400 + i, i = 6, 1, -1)]))
    CHECK(all(b(1::2, :) == -1) .and. all(b(6:8:2, :) == -1))
    CHECK(statuses(2)%MPI_TAG == 2)

    ! A part of the section: three whole columns and two rows of the next.
    b = -1
    call MPI_Irecv(b(1:7:2, :), 14, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(1))
    call MPI_Send(a(:, 1:2), 14, MPI_INTEGER, right, 3, MPI_COMM_WORLD)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    CHECK(all(b(1:7:2, 1) == [(1000 * left + 100 * i + 1, i = 1, 4)]) .and. b(3, 4) == 1000 * left + 602)
    CHECK(b(5, 4) == -1 .and. count_of(b, -1) == 48 - 14)

    ! Persistent: what lies there when it begins.
    call MPI_Send_init(a(1:8:7, :), 12, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(b(2:3, :), 12, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(2))
    do round = 1, 3
      a(1, :) = 10 * rank + round
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      CHECK(all(b(2, :) == 10 * left + round) .and. b(3, 2) == 1000 * left + 802)
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))

    ! Collectives.
    call fill(a, rank)
    b = -1
    call MPI_Ibcast(a(5, :), 6, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(1))
    call MPI_Iallreduce(a(6, 1:3), b(1:5:2, 3), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(2))
    requests(3:4) = MPI_REQUEST_NULL
    outcount = 0
    do while (outcount /= MPI_UNDEFINED)
      call MPI_Waitsome(4, requests, outcount, indices, statuses)
    end do
    CHECK(all(a(5, :) == [(500 + i, i = 1, 6)]))
    CHECK(all(b(1:5:2, 3) == [(500 * size * (size - 1) + size * (600 + i), i = 1, 3)]) .and. b(2, 3) == -1)
    c = -1
    call MPI_Iallgather(a(1:2, 1), 2, MPI_INTEGER, c(1::2, :), 2, MPI_INTEGER, MPI_COMM_WORLD, requests(1))
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(1), flag, statuses(1))
    end do
    CHECK(c(1, 1) == 101 .and. c(3, 1) == 201 .and. c(2, 1) == -1)
    CHECK(c(5, 1) == merge(1101, -1, size > 1))
    call MPI_Allreduce_init(a(7, :), b(:6, 1), 6, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    do round = 1, 2
      a(7, :) = rank + round
      call MPI_Start(requests(1))
      call MPI_Waitany(1, requests, index, statuses(1))
      CHECK(index == 1 .and. all(b(:6, 1) == size - 1 + round))
    end do
    call MPI_Request_free(requests(1))
  end subroutine

  subroutine collectives()
    integer :: a(8, 6), b(8, 6), counts(16), places(16), i
    type(MPI_Datatype) :: types(16)
    call fill(a, rank)
    call MPI_Bcast(a(2:4, 3:5), 9, MPI_INTEGER, size - 1, MPI_COMM_WORLD)
    CHECK(a(2, 3) == 1000 * (size - 1) + 203 .and. a(4, 5) == 1000 * (size - 1) + 405 .and. a(5, 5) == 1000 * rank + 505)
    call fill(a, rank)
    b = -1
    call MPI_Gather(a(3, 1:2), 2, MPI_INTEGER, b(::2, :), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (rank == 0) then
      CHECK(b(1, 1) == 301 .and. b(3, 1) == 302 .and. b(2, 1) == -1)
      if (size > 1) CHECK(b(5, 1) == 1301)
    end if
    CHECK(rank == 0 .or. all(b == -1))
    ! Displacements count elements of the section.
    counts(:size) = 1
    places(:size) = [(2 * (i - 1), i = 1, size)]
    b = -1
    call MPI_Allgatherv(a(1:1, 1), 1, MPI_INTEGER, b(1::2, 1:3), counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    CHECK(b(1, 1) == 101 .and. b(3, 1) == -1 .and. b(5, 1) == merge(1101, -1, size > 1))
    types = MPI_INTEGER
    places(:size) = [(WIDTH * (i - 1), i = 1, size)]
    call MPI_Alltoallw(a(1, :), counts, places, types, b(8, :), counts, places, types, MPI_COMM_WORLD)
    CHECK(all(b(8, :size) == [(1000 * (i - 1) + 100 + rank + 1, i = 1, size)]))
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine reductions()
    integer :: a(8, 6), b(8, 6), i
    type(MPI_Op) :: op
    logical :: commutes
    call fill(a, rank)
    b = 0
    call MPI_Allreduce(a(2, :), b(7, :), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    CHECK(all(b(7, :) == [(500 * size * (size - 1) + size * (200 + i), i = 1, 6)]))
    call MPI_Allreduce(MPI_IN_PLACE, a(1:8:3, 4), 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    CHECK(all(a(1:8:3, 4) == [1000 * (size - 1) + 104, 1000 * (size - 1) + 404, 1000 * (size - 1) + 704]))
    CHECK(a(2, 4) == 1000 * rank + 204)
    call MPI_Op_create(add_pairs, .true., op)
    call MPI_Op_commutative(op, commutes)
    CHECK(commutes)
    b = 1
    call MPI_Allreduce(b(1:7:2, :), a(2:8:2, :), 24, MPI_INTEGER, op, MPI_COMM_WORLD)
    CHECK(all(a(2:8:2, :) == size) .and. (size == 1 .or. calls > 0))
    call MPI_Reduce_local(b(1, :), b(2, :), 6, MPI_INTEGER, op)
    CHECK(all(b(2, :) == 2) .and. all(b(1, :) == 1))
    call MPI_Op_free(op)
    CHECK(op == MPI_OP_NULL)
  end subroutine

  ! Datatypes of the program over sections, and what cannot be.
  subroutine datatypes()
    integer, asynchronous :: a(8, 6), b(8, 6)
    integer :: ints(4), ierror, class, position, packed(20), length
    integer(kind=MPI_ADDRESS_KIND) :: addresses(1), lower, extent
    type(MPI_Datatype) :: pair, comb, types(1)
    type(MPI_Request) :: request
    character(len=MPI_MAX_ERROR_STRING) :: text
    call fill(a, rank)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    b = -1
    ! A pair is two elements of the section.
    call MPI_Sendrecv(a(1:7:2, :), 3, pair, right, 1, b(2:8:2, 5:6), 3, pair, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    CHECK(all(b(2:8:2, 5) == [(1000 * left + 100 * position + 1, position = 1, 7, 2)]))
    CHECK(b(4, 6) == 1000 * left + 302 .and. b(6, 6) == -1)
    call MPI_Type_get_extent(pair, lower, extent)
    CHECK(lower == 0 .and. extent == 2 * WIDTH)
    call MPI_Type_get_contents(pair, 1, 0, 1, ints, addresses, types)
    CHECK(ints(1) == 2 .and. types(1) == MPI_INTEGER)
    ! A datatype with holes, over the elements of a section as if they lay one behind the other.
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, comb)
    call MPI_Type_commit(comb)
    b = -1
    call MPI_Sendrecv(a(1:7:2, 1), 1, comb, right, 2, b(1, :), 2, MPI_INTEGER, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    CHECK(b(1, 1) == 1000 * left + 101 .and. b(1, 2) == 1000 * left + 501 .and. b(1, 3) == -1)
    ! In the background that cannot be: an error, and nothing else.
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Isend(a(1:7:2, 1), 1, comb, right, 3, MPI_COMM_WORLD, request, ierror)
    call MPI_Error_class(ierror, class)
    call MPI_Error_string(ierror, text, length)
    CHECK(class == MPI_ERR_BUFFER .and. index(text, 'contiguous') > 0)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    position = 0
    call MPI_Pack(a(2, :), 6, MPI_INTEGER, packed, 20 * WIDTH, position, MPI_COMM_WORLD)
    CHECK(position == 6 * WIDTH)
    position = 0
    call MPI_Unpack(packed, 20 * WIDTH, position, b(8, :), 6, MPI_INTEGER, MPI_COMM_WORLD)
    CHECK(all(b(8, :) == a(2, :)))
    call MPI_Type_free(pair)
    call MPI_Type_free(comb)
    CHECK(pair == MPI_DATATYPE_NULL)
  end subroutine

  subroutine large_counts()
    integer :: a(6), b(12), i
    integer(kind=MPI_COUNT_KIND) :: count, counts(16), bytes
    integer(kind=MPI_ADDRESS_KIND) :: places(16)
    type(MPI_Status) :: status
    type(MPI_Datatype) :: vector
    type(MPI_Op) :: op
    a = [(rank + i, i = 1, 6)]
    b = 0
    count = 6
    call MPI_Sendrecv(a, count, MPI_INTEGER, right, 1, b(::2), count, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    CHECK(all(b(::2) == [(left + i, i = 1, 6)]))
    call MPI_Get_count(status, MPI_INTEGER, count)
    CHECK(count == 6)
    counts(:size) = 1
    places(:size) = [(i - 1, i = 1, size)]
    call MPI_Allgatherv(a, 1_MPI_COUNT_KIND, MPI_INTEGER, b, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    CHECK(all(b(:size) == [(i, i = 1, size)]))
    call MPI_Type_vector(3_MPI_COUNT_KIND, 1_MPI_COUNT_KIND, 3000000000_MPI_COUNT_KIND, MPI_INTEGER, vector)
    call MPI_Type_size(vector, bytes)
    CHECK(bytes == 3 * WIDTH)
    call MPI_Type_free(vector)
#ifndef OLD_OPERATIONS
    call MPI_Op_create_c(add_large, .true., op)
    count = 6
    call MPI_Allreduce(a, b, count, MPI_INTEGER, op, MPI_COMM_WORLD)
    CHECK(b(1) == size * (size - 1) / 2 + size)
    call MPI_Op_free(op)
#endif
  end subroutine

  subroutine objects()
    type(MPI_Comm) :: dup, cart
    type(MPI_Errhandler) :: handler
    type(MPI_Info) :: info
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    type(MPI_Group) :: world, some
    integer :: key, ierror, length, class, before, dims(1), coords(1), result, ints(MPI_STATUS_SIZE)
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag, periods(1)
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=10) :: short
    call MPI_Comm_create_keyval(copy_value, delete_value, key, 100_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 7_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, dup)
    call MPI_Comm_get_attr(dup, key, value, flag)
    CHECK(flag .and. value == 107 .and. copies == 1)
    call MPI_Comm_create_errhandler(handle_error, handler)
    call MPI_Comm_set_errhandler(dup, handler)
    before = 1
    call MPI_Send(before, -1, MPI_INTEGER, 0, 0, dup, ierror)
    call MPI_Error_class(ierror, class)
    CHECK(errors == 1 .and. class == MPI_ERR_COUNT)
    call MPI_Comm_set_name(dup, 'a name')
    call MPI_Comm_get_name(dup, name, length)
    CHECK(name == 'a name' .and. length == 6)
    call MPI_Comm_free(dup)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key)
    CHECK(deletes == 2 .and. dup == MPI_COMM_NULL)
    call MPI_Comm_free_keyval(key)
    call MPI_Errhandler_free(handler)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_free_keyval(key)

    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', 'a long value')
    length = 10
    call MPI_Info_get_string(info, 'key', length, short, flag)
    CHECK(flag .and. length == 12 .and. short == 'a long val')
    call MPI_Info_free(info)
    CHECK(info == MPI_INFO_NULL)

    call MPI_Grequest_start(query, free_request, cancel, 11_MPI_ADDRESS_KIND, request)
    call MPI_Cancel(request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_elements(status, MPI_INTEGER, length)
    CHECK(status%MPI_TAG == 11 .and. length == 3)
    call MPI_Status_f082f(status, ints)
    CHECK(ints(MPI_TAG) == 11)
    status%MPI_TAG = 0
    call MPI_Status_f2f08(ints, status)
    CHECK(status%MPI_TAG == 11)

    dims = size
    call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, [.true.], .false., cart)
    call MPI_Cart_get(cart, 1, dims, periods, coords)
    CHECK(periods(1) .and. coords(1) == rank)
    call MPI_Comm_group(cart, world)
    call MPI_Group_incl(world, 1, [size - 1], some)
    call MPI_Group_compare(world, some, result)
    CHECK(result == merge(MPI_IDENT, MPI_UNEQUAL, size == 1))
    call MPI_Group_free(some)
    call MPI_Group_free(world)
    call MPI_Comm_free(cart)
  end subroutine

  subroutine windows()
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer :: memory(:)
    integer, asynchronous :: a(4, 3)
    integer :: rest(6), i
    integer(kind=MPI_ADDRESS_KIND) :: where
    call MPI_Win_allocate(12_MPI_ADDRESS_KIND * WIDTH, WIDTH, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory, [12])
    memory = 0
    a = rank + 1
    a(2, :) = [(10 * rank + i, i = 1, 3)]
    call MPI_Win_fence(0, win)
    where = 2
    call MPI_Put(a(2, :), 3, MPI_INTEGER, right, where, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    CHECK(all(memory(3:5) == [(10 * left + i, i = 1, 3)]))
    a(3, :) = -1
    call MPI_Get(a(3, 1:3:2), 2, MPI_INTEGER, right, where, 2, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    CHECK(a(3, 1) == 10 * rank + 1 .and. a(3, 3) == 10 * rank + 2 .and. a(3, 2) == -1)
    call MPI_Accumulate(a(1, :), 3, MPI_INTEGER, right, where, 3, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    CHECK(memory(4) == 10 * left + 2 + left + 1)
    rest = 0
    call MPI_Win_free(win)
    CHECK(win == MPI_WIN_NULL .and. rest(1) == 0)
  end subroutine

  subroutine files()
    type(MPI_File) :: file
    type(MPI_Status) :: status
    integer :: a(4, 3), count, i
    integer(kind=MPI_OFFSET_KIND) :: offset
    a = 0
    a(2, :) = [(100 * rank + i, i = 1, 3)]
    call MPI_File_open(MPI_COMM_WORLD, 'f08_file', MPI_MODE_RDWR + MPI_MODE_CREATE, MPI_INFO_NULL, file)
    offset = 3 * WIDTH * rank
    call MPI_File_write_at_all(file, offset, a(2, :), 3, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    CHECK(count == 3)
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    offset = 3 * WIDTH * right
    call MPI_File_read_at_all_begin(file, offset, a(4, :), 3, MPI_INTEGER)
    call MPI_File_read_at_all_end(file, a(4, :), status)
    CHECK(all(a(4, :) == [(100 * right + i, i = 1, 3)]) .and. all(a(3, :) == 0))
    call MPI_File_close(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 0) call MPI_File_delete('f08_file', MPI_INFO_NULL)
  end subroutine
end program
