/* ranks: 2 4 1
 * Windows on memory of every kind, with every way to synchronise: put, get and all that accumulates, of a few bytes
 * and of many. */
#include "windows.h"

#define LONG 30000
#define ROOM (8 + LONG + 64)

static int right, left;

/* Each rank writes to the rank on its right, and reads there what that had before. */
static void put_and_get(struct window *w, enum mode mode)
{
    char small[8], *many = malloc(LONG), *got = malloc(LONG), was[8];
    fill(w->memory, 8, 50 + rank);
    fill(w->memory + 8, LONG, 60 + rank);
    memset(w->memory + 8 + LONG, 0, 64);
    MPI_Barrier(W);
    open_access(w, mode, right);
    MPI_Get(was, 8, MPI_BYTE, right, at(w, right, 0), 8, MPI_BYTE, w->win);
    MPI_Get(got, LONG, MPI_BYTE, right, at(w, right, 8), LONG, MPI_BYTE, w->win);
    close_access(w, mode, right);
    CHECK_FILLED(was, 8, 50 + right);
    CHECK_FILLED(got, LONG, 60 + right);
    fill(small, 8, rank);
    fill(many, LONG, 10 + rank);
    MPI_Barrier(W);
    open_access(w, mode, right);
    MPI_Put(small, 8, MPI_BYTE, right, at(w, right, 0), 8, MPI_BYTE, w->win);
    MPI_Put(many, LONG, MPI_BYTE, right, at(w, right, 8), LONG, MPI_BYTE, w->win);
    close_access(w, mode, right);
    settle(w);
    CHECK_FILLED(w->memory, 8, left);
    CHECK_FILLED(w->memory + 8, LONG, 10 + left);
    for (int index = 0; index < 64; index++)
        CHECK_EQUAL(w->memory[8 + LONG + index], 0);
    free(many);
    free(got);
}

/* Every rank adds to every rank's memory. */
static void accumulate(struct window *w, enum mode mode)
{
    long *mine = (long *)w->memory, ones[3] = {1, 10, rank}, old[3], fetched, one = 1, other = 99, none = 0, swapped;
    memset(w->memory, 0, 64);
    mine[6] = 7;
    MPI_Barrier(W);
    for (int step = 0; step < size; step++) {
        int target = (rank + step) % size;
        open_access(w, mode, target);
        MPI_Accumulate(ones, 3, MPI_LONG, target, at(w, target, 0), 3, MPI_LONG, MPI_SUM, w->win);
        MPI_Get_accumulate(ones, 3, MPI_LONG, old, 3, MPI_LONG, target, at(w, target, 0), 3, MPI_LONG, MPI_SUM, w->win);
        MPI_Fetch_and_op(&one, &fetched, MPI_LONG, target, at(w, target, 24), MPI_SUM, w->win);
        close_access(w, mode, target);
        CHECK(old[0] >= 1 && old[0] < 2 * size && old[1] >= 10 && old[1] < 20 * size && old[1] % 10 == 0);
        /* Under a lock that others have too, an operation is atomic for each element alone (MPI-5.0 §12.7.1). */
        CHECK(old[1] == 10 * old[0] || mode == LOCK_SHARED || mode == LOCK_ALL);
        CHECK(fetched >= 0 && fetched < size);
    }
    /* One rank only swaps at each target. */
    open_access(w, mode, right);
    MPI_Compare_and_swap(&one, &none, &swapped, MPI_LONG, right, at(w, right, 40), w->win);
    close_access(w, mode, right);
    CHECK_EQUAL(swapped, 0);
    open_access(w, mode, right);
    MPI_Compare_and_swap(&other, &none, &swapped, MPI_LONG, right, at(w, right, 40), w->win);
    close_access(w, mode, right);
    CHECK_EQUAL(swapped, 1);
    open_access(w, mode, right);
    MPI_Fetch_and_op(NULL, &fetched, MPI_LONG, right, at(w, right, 48), MPI_NO_OP, w->win);
    close_access(w, mode, right);
    CHECK_EQUAL(fetched, 7);
    settle(w);
    CHECK_EQUAL(mine[0], 2 * size);
    CHECK_EQUAL(mine[1], 20 * size);
    CHECK_EQUAL(mine[2], size * (size - 1));
    CHECK_EQUAL(mine[3], size);
    CHECK_EQUAL(mine[5], 1);
    CHECK_EQUAL(mine[6], 7);
    MPI_Barrier(W);
}

/* What a rank does with its own memory. */
static void with_itself(struct window *w, enum mode mode)
{
    long value = 1000 + rank, got = -1;
    open_access(w, mode, rank);
    MPI_Put(&value, 1, MPI_LONG, rank, at(w, rank, 16), 1, MPI_LONG, w->win);
    close_access(w, mode, rank);
    open_access(w, mode, rank);
    MPI_Get(&got, 1, MPI_LONG, rank, at(w, rank, 16), 1, MPI_LONG, w->win);
    close_access(w, mode, rank);
    CHECK_EQUAL(got, value);
    CHECK_EQUAL(((long *)w->memory)[2], value);
}

/* Nothing happens with MPI_PROC_NULL, and nothing with counts of 0. */
static void with_nobody(struct window *w)
{
    long value = 5, result = 6;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, w->win);
    MPI_Put(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, w->win);
    MPI_Win_unlock(MPI_PROC_NULL, w->win);
    MPI_Win_lock_all(0, w->win);
    MPI_Put(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, w->win);
    MPI_Get(&result, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, w->win);
    MPI_Accumulate(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, w->win);
    MPI_Get_accumulate(&value, 1, MPI_LONG, &result, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, w->win);
    MPI_Fetch_and_op(&value, &result, MPI_LONG, MPI_PROC_NULL, 0, MPI_SUM, w->win);
    MPI_Compare_and_swap(&value, &value, &result, MPI_LONG, MPI_PROC_NULL, 0, w->win);
    MPI_Win_flush(MPI_PROC_NULL, w->win);
    MPI_Win_flush_local(MPI_PROC_NULL, w->win);
    MPI_Put(NULL, 0, MPI_LONG, right, at(w, right, 0), 0, MPI_LONG, w->win);
    MPI_Get(NULL, 0, MPI_LONG, right, at(w, right, 0), 0, MPI_LONG, w->win);
    MPI_Accumulate(NULL, 0, MPI_LONG, right, at(w, right, 0), 0, MPI_LONG, MPI_SUM, w->win);
    MPI_Win_unlock_all(w->win);
    CHECK_EQUAL(result, 6);
}

/* Windows without memory. */
static void without_memory(void)
{
    MPI_Win win;
    char *base = (char *)1;
    long value = rank;
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, W, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 0, MPI_LONG, right, 0, 0, MPI_LONG, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Win_allocate(0, 1, MPI_INFO_NULL, W, &base, &win);
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    /* Rank 0 has memory for all. */
    MPI_Win_allocate(rank == 0 ? size * (MPI_Aint)sizeof(long) : 0, sizeof(long), MPI_INFO_NULL, W, &base, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, 0, rank, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    for (int index = 0; rank == 0 && index < size; index++)
        CHECK_EQUAL(((long *)base)[index], index);
    MPI_Win_free(&win);
}

/* Displacements are counted in the unit of the target, which is another at each rank. */
static void units(void)
{
    MPI_Win win;
    long *base, value = 100 + rank;
    int unit = rank % 2 ? 8 : 4, unit_there = right % 2 ? 8 : 4;
    MPI_Win_allocate(10 * sizeof(long), unit, MPI_INFO_NULL, W, &base, &win);
    memset(base, 0, 10 * sizeof(long));
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, right, 40 / unit_there, 1, MPI_LONG, win);
    MPI_Put_c(&value, 1, MPI_LONG, right, 48 / unit_there, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK_EQUAL(base[5], 100 + left);
    CHECK_EQUAL(base[6], 100 + left);
    CHECK_EQUAL(base[4], 0);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    check_begin(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct window w = make_window(kind, ROOM);
        for (enum mode mode = 0; mode < MODES; mode++) {
            int before = check_failures;
            put_and_get(&w, mode);
            accumulate(&w, mode);
            with_itself(&w, mode);
            if (check_failures != before)
                fprintf(stderr, "... with memory %s and %s\n", kind_names[kind], mode_names[mode]);
        }
        with_nobody(&w);
        free_window(&w);
    }
    without_memory();
    units();
    return check_end();
}
