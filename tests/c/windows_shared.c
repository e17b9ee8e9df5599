/* ranks: 2 3 1
 * Windows of shared memory, and what MPI_Win_shared_query says of every kind of window. */
#include "windows.h"

/* Each part begins where that of the rank before ends, also where some ranks have none. */
static void contiguous(void)
{
    for (int round = 0; round < 3; round++) {
        MPI_Aint mine = round == 0 ? 24 : round == 1 ? (rank == size - 1 ? 40 : 0) : 8 * (rank % 2), bytes, before = 0;
        char *base, *there, *first = NULL;
        int unit, lowest = -1;
        MPI_Win win;
        MPI_Win_allocate_shared(mine, 1 + rank, MPI_INFO_NULL, W, &base, &win);
        for (int who = 0; who < size; who++) {
            MPI_Aint wanted = round == 0 ? 24 : round == 1 ? (who == size - 1 ? 40 : 0) : 8 * (who % 2);
            MPI_Win_shared_query(win, who, &bytes, &unit, &there);
            CHECK_EQUAL(bytes, wanted);
            CHECK_EQUAL(unit, 1 + who);
            if (who == rank)
                CHECK(there == base);
            if (bytes && !first)
                first = there, lowest = who;
            else if (bytes)
                CHECK_EQUAL(there - first, before);
            before += bytes;
        }
        MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &there);
        if (lowest >= 0) {
            CHECK(there == first);
            CHECK_EQUAL(unit, 1 + lowest);
            CHECK_EQUAL(bytes, round == 0 ? 24 : round == 1 ? 40 : 8);
        } else
            CHECK_EQUAL(bytes, 0);
        MPI_Win_lock_all(0, win);
        if (mine)
            memset(base, 10 + rank, mine);
        MPI_Win_sync(win);
        MPI_Barrier(W);
        MPI_Win_sync(win);
        for (MPI_Aint index = 0, who = 0; who < size; who++) {
            MPI_Win_shared_query(win, who, &bytes, &unit, &there);
            for (index = 0; index < bytes; index++)
                CHECK_EQUAL(there[index], 10 + who);
        }
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
}

/* Nobody has any. */
static void empty(void)
{
    MPI_Win win;
    char *base, *there;
    MPI_Aint bytes = -1;
    int unit;
    MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, W, &base, &win);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &there);
    CHECK_EQUAL(bytes, 0);
    MPI_Win_shared_query(win, size - 1, &bytes, &unit, &there);
    CHECK_EQUAL(bytes, 0);
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

/* With the hint each part may begin anywhere; the large-count form. */
static void apart(void)
{
    MPI_Win win;
    MPI_Info info;
    long *base, *there;
    MPI_Aint bytes, unit;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Win_allocate_shared_c(1000 * sizeof(long), sizeof(long), info, W, &base, &win);
    MPI_Info_free(&info);
    for (int index = 0; index < 1000; index++)
        base[index] = rank * 1000 + index;
    MPI_Win_fence(0, win);
    for (int who = 0; who < size; who++) {
        MPI_Win_shared_query_c(win, who, &bytes, &unit, &there);
        CHECK_EQUAL(bytes, 1000 * sizeof(long));
        CHECK_EQUAL(unit, sizeof(long));
        CHECK_EQUAL(there[999], who * 1000 + 999);
    }
    MPI_Win_fence(0, win);
    MPI_Win_get_info(win, &info);
    char value[16] = "";
    int length = sizeof value, known = 0;
    MPI_Info_get_string(info, "alloc_shared_noncontig", &length, value, &known);
    CHECK(known && !strcmp(value, "true"));
    MPI_Info_free(&info);
    MPI_Win_free(&win);
}

/* Operations go between loads and stores. */
static void operations(void)
{
    struct window w = make_window(SHARED, 4096);
    long value = 7 + rank, *there, got = -1;
    MPI_Aint bytes;
    int unit, right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Win_fence(0, w.win);
    MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, w.win);
    MPI_Win_fence(0, w.win);
    CHECK_EQUAL(((long *)w.memory)[0], 7 + left);
    MPI_Win_shared_query(w.win, right, &bytes, &unit, &there);
    CHECK_EQUAL(there[0], 7 + rank);
    there[1] = 100 + rank;
    MPI_Win_fence(0, w.win);
    MPI_Get(&got, 1, MPI_LONG, right, 8, 1, MPI_LONG, w.win);
    MPI_Win_fence(0, w.win);
    CHECK_EQUAL(got, 100 + rank);
    free_window(&w);
}

/* Since MPI-4.1 other kinds may be asked too: they have bytes where memory is shared, and say so where not. */
static void other_kinds(enum kind kind)
{
    struct window w = make_window(kind, 4096);
    for (int who = 0; who < size; who++) {
        char *there = (char *)1;
        MPI_Aint bytes = -1;
        int unit = -1;
        w.memory[5] = 50 + rank;
        MPI_Win_fence(0, w.win);
        MPI_Win_shared_query(w.win, who, &bytes, &unit, &there);
        CHECK(bytes == 4096 || bytes == 0);
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer leaves no room for the windows of ranks */
        if (kind == ALLOCATED)
            CHECK_EQUAL(bytes, 4096); /* on one node it is shared where ranks have windows */
#endif
        if (bytes) {
            CHECK_EQUAL(unit, 1);
            CHECK_EQUAL(there[5], 50 + who);
        }
        MPI_Win_shared_query(w.win, MPI_PROC_NULL, &bytes, &unit, &there);
        if (bytes)
            CHECK_EQUAL(there[5], 50);
        MPI_Win_fence(0, w.win);
    }
    free_window(&w);
}

/* A rank exposes its part once more. All add to all parts by either window, many numbers or one at a time. */
static void exposed_twice(void)
{
    enum { NUMBERS = 2000, ROUNDS = 300 };
    static double ones[NUMBERS];
    MPI_Win wins[2];
    double *base;
    MPI_Win_allocate_shared(sizeof ones, sizeof *ones, MPI_INFO_NULL, W, &base, &wins[0]);
    for (int index = 0; index < NUMBERS; index++)
        ones[index] = 1, base[index] = 0;
    MPI_Win_create(base, sizeof ones, sizeof *ones, MPI_INFO_NULL, W, &wins[1]);
    for (int which = 0; which < 2; which++)
        MPI_Win_lock_all(0, wins[which]);
    MPI_Barrier(W);
    for (int round = 0; round < ROUNDS; round++) {
        int by = (rank + round) % 2;
        for (int to = 0; to < size; to++) {
            MPI_Accumulate(ones, NUMBERS, MPI_DOUBLE, to, 0, NUMBERS, MPI_DOUBLE, MPI_SUM, wins[by]);
            for (int place = 0; place < NUMBERS; place += 100)
                MPI_Accumulate(ones, 1, MPI_DOUBLE, to, place, 1, MPI_DOUBLE, MPI_SUM, wins[!by]);
        }
    }
    for (int which = 0; which < 2; which++)
        MPI_Win_unlock_all(wins[which]);
    MPI_Barrier(W);
    for (int index = 0; index < NUMBERS; index++)
        CHECK_EQUAL(base[index], (double)size * ROUNDS * (index % 100 ? 1 : 2));
    MPI_Win_free(&wins[1]);
    MPI_Win_free(&wins[0]);
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    check_begin(&argc, &argv);
    contiguous();
    empty();
    apart();
    operations();
    exposed_twice();
    other_kinds(ALLOCATED);
    other_kinds(OF_HEAP);
    other_kinds(STATIC);
    return check_end();
}
