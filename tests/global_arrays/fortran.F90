! ranks: 1 2 3 4 8
! The same library from Fortran, with integers of 8 bytes, as it is compiled: arrays, patches, counters, sums, groups.
program arrays
    implicit none
#include "mafdecls.fh"
#include "global.fh"
    integer, parameter :: n = 50
    integer :: g_a, g_c, me, ranks, i, j, wrong, lo(2), hi(2), at(1), ld(1), ticket, total, word
    integer :: ierr
    double precision :: block(n, n), alpha, number(1)
    logical :: fine
    integer(4) :: short

    call mpi_init(short)
    call ga_initialize()
    me = ga_nodeid()
    ranks = ga_nnodes()
    wrong = 0
    fine = ma_init(mt_dbl, 100000, 100000)
    if (.not. fine) wrong = wrong + 1
    if (bit_size(me) /= 64) wrong = wrong + 1

    ! Columns are spread over the ranks; each puts some, all get all.
    lo = (/ n, n /)
    fine = nga_create(mt_dbl, 2, lo, 'a', (/ 0, 0 /), g_a)
    if (.not. fine) call ga_error('no array', 1)
    call ga_zero(g_a)
    do j = 1 + me, n, ranks
        do i = 1, n
            block(i, 1) = i + 100 * j
        end do
        lo = (/ 1, j /)
        hi = (/ n, j /)
        ld = (/ n /)
        call nga_put(g_a, lo, hi, block, ld)
    end do
    call ga_sync()
    alpha = 0.5d0
    block = 2
    lo = (/ 5, 6 /)
    hi = (/ 44, 45 /)
    ld = (/ n /)
    call nga_acc(g_a, lo, hi, block, ld, alpha)
    call ga_sync()
    block = -1
    lo = (/ 1, 1 /)
    hi = (/ n, n /)
    call nga_get(g_a, lo, hi, block, ld)
    do j = 1, n
        do i = 1, n
            number(1) = i + 100 * j
            if (i >= 5 .and. i <= 44 .and. j >= 6 .and. j <= 45) number(1) = number(1) + ranks
            if (block(i, j) /= number(1)) wrong = wrong + 1
        end do
    end do
    if (ga_ddot(g_a, g_a) <= 0) wrong = wrong + 1

    ! A counter of integers of 8 bytes, beyond 32 bits.
    lo(1) = ranks
    fine = nga_create(mt_int, 1, lo, 'c', (/ 1, 1 /), g_c)
    call ga_fill(g_c, 4294967296_8)
    call ga_sync()
    at(1) = ranks
    do i = 1, 50
        ticket = nga_read_inc(g_c, at, 1)
        if (ticket < 4294967296_8 .or. ticket >= 4294967296_8 + 50 * ranks) wrong = wrong + 1
    end do
    call ga_sync()
    ld(1) = 1
    call nga_get(g_c, at, at, total, ld)
    if (total /= 4294967296_8 + 50 * ranks) wrong = wrong + 1
    call ga_sync()

    number(1) = me
    call ga_dgop(77, number, 1, 'max')
    if (number(1) /= ranks - 1) wrong = wrong + 1
    word = me
    call ga_igop(78, word, 1, '+')
    if (word /= ranks * (ranks - 1) / 2) wrong = wrong + 1
    word = me
    call ga_brdcst(79, word, 8, ranks - 1)
    if (word /= ranks - 1) wrong = wrong + 1
    fine = ga_destroy(g_c)
    fine = ga_destroy(g_a)
    call ga_igop(80, wrong, 1, '+')
    if (me == 0 .and. wrong == 0) print '(a)', 'all is right'
    if (me == 0 .and. wrong /= 0) print *, 'wrong elements: ', wrong
    call ga_terminate()
    call mpi_finalize(short)
    if (wrong /= 0) stop 1
end program
