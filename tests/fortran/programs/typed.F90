! ranks: 1 3; ways: f08
! mpi_f08 as every library has it: types, ierror left out, callbacks, sentinels, comparisons, attributes.
#include "check.h"
module typed_callbacks
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: deletes = 0
contains
  subroutine smaller(invec, inoutvec, length, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    CHECK(datatype == MPI_INTEGER)
    call c_f_pointer(invec, a, [length])
    call c_f_pointer(inoutvec, b, [length])
    b = min(a, b)
  end subroutine

  subroutine delete_value(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    CHECK(comm == MPI_COMM_SELF .and. attribute_val == 5 .and. extra_state == 9)
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program typed
  use typed_callbacks
  implicit none
  integer :: rank, size, x(3), y(3), key, length, ierror, class, indices(2), outcount
  integer, volatile :: got(2)
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag
  type(MPI_Op) :: op
  type(MPI_Comm) :: half, none
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Info) :: info
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  character(len=20) :: text
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  x = [rank, -rank, 4]
  call MPI_Op_create(smaller, .true., op)
  call MPI_Allreduce(x, y, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
  CHECK(all(y == [0, 1 - size, 4]))
  call MPI_Op_free(op)
  call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  CHECK(x(3) == 4 * size)
  CHECK(MPI_COMM_WORLD /= MPI_COMM_SELF .and. .not. MPI_COMM_WORLD == MPI_COMM_NULL)

  call MPI_Irecv(got(1), 1, MPI_INTEGER, mod(rank + size - 1, size), 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank + 1, size), 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  CHECK(got(1) == mod(rank + size - 1, size) .and. statuses(1)%MPI_TAG == 1)
  CHECK(requests(1) == MPI_REQUEST_NULL)
  call MPI_Waitsome(2, requests, outcount, indices, MPI_STATUSES_IGNORE)
  CHECK(outcount == MPI_UNDEFINED)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, rank, 2, got(2), 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, status)
  call MPI_Get_count(status, MPI_INTEGER, length)
  CHECK(got(2) == rank .and. status%MPI_SOURCE == rank .and. length == 1)

  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  CHECK(flag .and. value >= 32767)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_value, key, 9_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, key)
  CHECK(deletes == 1)
  call MPI_Comm_free_keyval(key)
  call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, half)
  call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, none)
  CHECK(none == MPI_COMM_NULL .and. half /= MPI_COMM_NULL)
  call MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN)
  call MPI_Bcast(x, -1, MPI_INTEGER, 0, half, ierror)
  call MPI_Error_class(ierror, class)
  CHECK(class == MPI_ERR_COUNT)
  call MPI_Comm_free(half)
  call MPI_Info_create(info)
  call MPI_Info_set(info, 'a', 'b')
  call MPI_Info_get(info, 'a', 20, text, flag)
  CHECK(flag .and. text == 'b')
  call MPI_Info_free(info)
  call MPI_Sizeof(x, length)
  CHECK(length == storage_size(x) / 8)
  call MPI_Sizeof(1d0, length, ierror)
  CHECK(length == 8 .and. ierror == MPI_SUCCESS)
  call MPI_Get_processor_name(name, length)
  CHECK(length > 0)
  call MPI_Finalize()
  call finish()
end program
