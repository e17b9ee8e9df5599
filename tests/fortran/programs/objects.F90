! ranks: 1 3
! Attributes, error handlers, info, names, topologies, generalized requests, windows, datatypes, files.
#include "check.h"
module callbacks
  implicit none
  integer :: copies = 0, deletes = 0, errors = 0, queries = 0, frees = 0, cancels = 0
end module

program objects
  INTERFACE
  use callbacks
  implicit none
  INCLUDED
  integer :: e, rank, size, key, dup, handler, info, length, request, cart, graph, win, class, file, t, n, i
  integer :: dims(2), coords(2), sources(1), degrees(1), destinations(1), ints(4), types(1)
  integer :: status(MPI_STATUS_SIZE), x(4), combiner, na, nd
  integer, SHARED :: memory(8) ! others write to it, which no compiler can know
  integer(kind=MPI_ADDRESS_KIND) :: value, lower, extent, none(1)
  integer(kind=MPI_ADDRESS_KIND), SHARED :: extra
  integer(kind=MPI_OFFSET_KIND) :: offset
  logical :: flag, periods(2), weighted
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_ERROR_STRING) :: text
  character(len=20) :: short
  external :: copy_value, delete_value, handle_error, query_request, free_request, cancel_request
  external :: handle_window, old_copy, old_delete, free_and_change

  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, size, e)

  ! Attributes: predefined ones are values; the program's are integers, copied and deleted by its functions.
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, e)
  CHECK(flag .and. value >= 32767)
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, n, flag, e)
  CHECK(flag .and. n == value)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, value, flag, e)
  CHECK(.not. flag .or. value >= 1)
  extra = 1000
  call MPI_Comm_create_keyval(copy_value, delete_value, key, extra, e)
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, -5_MPI_ADDRESS_KIND, e)
  value = 0
  call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, flag, e)
  CHECK(flag .and. value == -5)
  call MPI_Comm_dup(MPI_COMM_SELF, dup, e)
  call MPI_Comm_get_attr(dup, key, value, flag, e)
  CHECK(flag .and. value == 995 .and. copies == 1)
  call MPI_Comm_free(dup, e)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, key, e)
  CHECK(deletes == 2)
  call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, flag, e)
  CHECK(.not. flag)
  call MPI_Comm_free_keyval(key, e)
  CHECK(key == MPI_KEYVAL_INVALID)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra, e)
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, 77_MPI_ADDRESS_KIND, e)
  call MPI_Comm_dup(MPI_COMM_SELF, dup, e)
  call MPI_Comm_get_attr(dup, key, value, flag, e)
  CHECK(flag .and. value == 77)
  call MPI_Comm_free(dup, e)
  call MPI_Comm_free_keyval(key, e)
  call MPI_Keyval_create(old_copy, old_delete, key, 3, e)
  call MPI_Attr_put(MPI_COMM_SELF, key, -9, e)
  call MPI_Comm_dup(MPI_COMM_SELF, dup, e)
  call MPI_Attr_get(dup, key, n, flag, e)
  CHECK(flag .and. n == -6)
  call MPI_Comm_free(dup, e)
  call MPI_Attr_delete(MPI_COMM_SELF, key, e)
  CHECK(deletes == 4)
  call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, key, extra, e)
  call MPI_Type_contiguous(3, MPI_INTEGER, t, e)
  call MPI_Type_set_attr(t, key, 8_MPI_ADDRESS_KIND, e)
  call MPI_Type_get_attr(t, key, value, flag, e)
  CHECK(flag .and. value == 8)

  ! Error handlers.
  call MPI_Comm_create_errhandler(handle_error, handler, e)
  call MPI_Comm_dup(MPI_COMM_SELF, dup, e)
  call MPI_Comm_set_errhandler(dup, handler, e)
  call MPI_Send(x, -1, MPI_INTEGER, 0, 0, dup, e)
  CHECK(e /= MPI_SUCCESS .and. errors == 1)
  call MPI_Error_class(e, class, e)
  CHECK(class == MPI_ERR_COUNT)
  call MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN, e)
  call MPI_Send(x, 1, MPI_INTEGER, 5, 0, dup, e)
  CHECK(e /= MPI_SUCCESS .and. errors == 1)
  call MPI_Error_string(e, text, length, i)
  CHECK(length > 0 .and. text(length + 1:) == ' ' .and. text(length:length) /= ' ')
  call MPI_Comm_call_errhandler(dup, MPI_ERR_OTHER, e)
  call MPI_Errhandler_free(handler, e)
  CHECK(handler == MPI_ERRHANDLER_NULL)

  ! Names and info: blanks at the end are none.
  call MPI_Comm_set_name(dup, 'a communicator   ', e)
  call MPI_Comm_get_name(dup, name, length, e)
  CHECK(name == 'a communicator' .and. length == 14)
  call MPI_Comm_free(dup, e)
  call MPI_Info_create(info, e)
  call MPI_Info_set(info, '  key ', ' some value ', e)
  call MPI_Info_get(info, 'key', 20, short, flag, e)
  CHECK(flag .and. short == 'some value')
  short = 'untouched'
  call MPI_Info_get(info, 'another', 20, short, flag, e)
  CHECK(.not. flag .and. short == 'untouched')
  call MPI_Info_get_valuelen(info, 'key', length, flag, e)
  CHECK(flag .and. length == 10)
  call MPI_Info_get_nthkey(info, 0, name, e)
  CHECK(name == 'key')
  call MPI_Info_free(info, e)
  CHECK(info == MPI_INFO_NULL)
#ifdef MODULE
  call MPI_Sizeof(value, length, e)
  CHECK(length == 8)
#endif
  call MPI_Get_processor_name(name, length, e)
  CHECK(length > 0 .and. name(length + 1:) == ' ')

  ! Topologies.
  dims = 0
  call MPI_Dims_create(size, 2, dims, e)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, (/ .true., .false. /), .false., cart, e)
  call MPI_Cart_get(cart, 2, dims, periods, coords, e)
  CHECK(periods(1) .and. .not. periods(2))
  call MPI_Cart_shift(cart, 1, 1, i, n, e)
  CHECK(n == MPI_PROC_NULL .or. n >= 0)
  call MPI_Comm_free(cart, e)
  sources = rank
  degrees = 1
  destinations = mod(rank + 1, size)
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, e)
  call MPI_Dist_graph_neighbors_count(graph, i, n, weighted, e)
  CHECK(i == 1 .and. n == 1 .and. .not. weighted)
  call MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, e)
  CHECK(sources(1) == mod(rank + size - 1, size))
  call MPI_Comm_free(graph, e)

  ! Generalized requests.
  call MPI_Grequest_start(query_request, free_request, cancel_request, 17_MPI_ADDRESS_KIND, request, e)
  call MPI_Test(request, flag, status, e)
  CHECK(.not. flag)
  call MPI_Cancel(request, e)
  call MPI_Grequest_complete(request, e)
  call MPI_Wait(request, status, e)
  CHECK(status(MPI_TAG) == 17 .and. queries == 1 .and. frees == 1 .and. cancels == 1)
  extra = 18
  call MPI_Grequest_start(query_request, free_and_change, cancel_request, extra, request, e)
  call MPI_Grequest_complete(request, e)
  call MPI_Wait(request, status, e)
  call MPI_Get_address(extra, value, e) ! so a compiler cannot know that it is 18
  CHECK(status(MPI_TAG) == 18 .and. extra == 17)

  ! Windows.
  memory = rank
  extent = 8 * kind(memory)
  call MPI_Win_create(memory, extent, kind(memory), MPI_INFO_NULL, MPI_COMM_WORLD, win, e)
  call MPI_Win_fence(0, win, e)
  value = 1
  call MPI_Put(rank, 1, MPI_INTEGER, mod(rank + 1, size), value, 1, MPI_INTEGER, win, e)
  call MPI_Win_fence(0, win, e)
  CHECK(memory(2) == mod(rank + size - 1, size))
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, e)
  CHECK(flag .and. value == 8 * kind(memory))
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, e)
  CHECK(flag .and. value == kind(memory))
  call MPI_Get_address(memory, extra, e)
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, e)
  CHECK(flag .and. value == extra)
  call MPI_Win_create_errhandler(handle_window, handler, e)
  call MPI_Win_set_errhandler(win, handler, e)
  call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, e)
  CHECK(errors == 2)
  call MPI_Win_free(win, e)
  CHECK(win == MPI_WIN_NULL)

  ! Datatypes.
  call MPI_Type_get_extent(t, lower, extent, e)
  CHECK(lower == 0 .and. extent == 3 * kind(x))
  call MPI_Type_get_envelope(t, n, na, nd, combiner, e)
  CHECK(n == 1 .and. na == 0 .and. nd == 1 .and. combiner == MPI_COMBINER_CONTIGUOUS)
  call MPI_Type_get_contents(t, 1, 0, 1, ints, none, types, e)
  CHECK(ints(1) == 3 .and. types(1) == MPI_INTEGER)
  call MPI_Type_free(t, e)

  ! Files.
  call MPI_File_open(MPI_COMM_WORLD, 'fortran_file   ', ior(MPI_MODE_RDWR, MPI_MODE_CREATE), MPI_INFO_NULL, file, e)
  CHECK(e == MPI_SUCCESS)
  x = rank
  offset = 4 * kind(x) * rank
  call MPI_File_write_at_all(file, offset, x, 4, MPI_INTEGER, status, e)
  call MPI_Get_count(status, MPI_INTEGER, n, e)
  CHECK(n == 4)
  call MPI_File_sync(file, e)
  call MPI_Barrier(MPI_COMM_WORLD, e)
  offset = 4 * kind(x) * mod(rank + 1, size)
  call MPI_File_read_at(file, offset, x, 4, MPI_INTEGER, MPI_STATUS_IGNORE, e)
  CHECK(all(x == mod(rank + 1, size)))
  call MPI_File_get_size(file, offset, e)
  CHECK(offset == 4 * kind(x) * size)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, e)
  call MPI_File_get_view(file, offset, n, t, name, e)
  CHECK(name == 'native' .and. n == MPI_INTEGER)
  call MPI_File_close(file, e)
  CHECK(file == MPI_FILE_NULL)
  call MPI_Barrier(MPI_COMM_WORLD, e)
  if (rank == 0) call MPI_File_delete('fortran_file', MPI_INFO_NULL, e)
  call MPI_Finalize(e)
  call finish()
end program

subroutine copy_value(comm, key, extra, value, copy, flag, e)
  INTERFACE
  use callbacks
  implicit none
  INCLUDED
  integer :: comm, key, e
  integer(kind=MPI_ADDRESS_KIND) :: extra, value, copy
  logical :: flag
  CHECK(comm == MPI_COMM_SELF)
  copies = copies + 1
  copy = value + extra
  flag = .true.
  e = MPI_SUCCESS
end subroutine

subroutine delete_value(comm, key, value, extra, e)
  INTERFACE
  use callbacks
  implicit none
  INCLUDED
  integer :: comm, key, e
  integer(kind=MPI_ADDRESS_KIND) :: extra, value
  CHECK(extra == 1000 .and. (value == -5 .or. value == 995))
  deletes = deletes + 1
  e = MPI_SUCCESS
end subroutine

subroutine old_copy(comm, key, extra, value, copy, flag, e)
  INTERFACE
  implicit none
  INCLUDED
  integer :: comm, key, extra, value, copy, e
  logical :: flag
  copy = value + extra
  flag = .true.
  e = MPI_SUCCESS
end subroutine

subroutine old_delete(comm, key, value, extra, e)
  INTERFACE
  use callbacks
  implicit none
  INCLUDED
  integer :: comm, key, value, extra, e
  CHECK(extra == 3)
  deletes = deletes + 1
  e = MPI_SUCCESS
end subroutine

subroutine handle_error(comm, code)
  INTERFACE
  use callbacks
  implicit none
  INCLUDED
  integer :: comm, code
  CHECK(comm /= MPI_COMM_NULL .and. comm /= MPI_COMM_WORLD .and. code /= MPI_SUCCESS)
  errors = errors + 1
end subroutine

subroutine handle_window(win, code)
  INTERFACE
  use callbacks
  implicit none
  INCLUDED
  integer :: win, code
  CHECK(win /= MPI_WIN_NULL .and. code == MPI_ERR_OTHER)
  errors = errors + 1
end subroutine

subroutine query_request(extra, status, e)
  INTERFACE
  use callbacks
  implicit none
  INCLUDED
  integer(kind=MPI_ADDRESS_KIND) :: extra
  integer :: status(MPI_STATUS_SIZE), e
  queries = queries + 1
  status(MPI_TAG) = int(extra)
  status(MPI_SOURCE) = 0
  call MPI_Status_set_cancelled(status, .false., e)
  call MPI_Status_set_elements(status, MPI_INTEGER, 1, e)
end subroutine

subroutine free_request(extra, e)
  INTERFACE
  use callbacks
  implicit none
  INCLUDED
  integer(kind=MPI_ADDRESS_KIND) :: extra
  integer :: e
  CHECK(extra == 17)
  frees = frees + 1
  e = MPI_SUCCESS
end subroutine

subroutine free_and_change(extra, e)
  INTERFACE
  implicit none
  INCLUDED
  integer(kind=MPI_ADDRESS_KIND) :: extra
  integer :: e
  extra = extra - 1
  e = MPI_SUCCESS
end subroutine

subroutine cancel_request(extra, complete, e)
  INTERFACE
  use callbacks
  implicit none
  INCLUDED
  integer(kind=MPI_ADDRESS_KIND) :: extra
  logical :: complete
  integer :: e
  CHECK(extra == 17 .and. .not. complete)
  cancels = cancels + 1
  e = MPI_SUCCESS
end subroutine
