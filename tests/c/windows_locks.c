/* ranks: 2 4 8
 * Locks: an exclusive one keeps all others out, shared ones go together, nobody is left behind; accumulates lose
 * nothing whoever else works on the same element, and need no lock for it; loads and stores of the owner go between. */
#include "windows.h"

#define ROUNDS 200

/* Read, change, write under an exclusive lock: no round may be lost. Each rank's turn is also logged, in order. */
static void exclusive(struct window *w)
{
    long *mine = (long *)w->memory;
    memset(w->memory, 0, 64);
    MPI_Barrier(W);
    for (int round = 0; round < ROUNDS; round++) {
        int target = round % size;
        long two[2];
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win);
        MPI_Get(two, 2, MPI_LONG, target, at(w, target, 0), 2, MPI_LONG, w->win);
        MPI_Win_flush(target, w->win);
        CHECK_EQUAL(two[0], 2 * two[1]);
        two[0] += 2, two[1] += 1;
        MPI_Put(&two[0], 1, MPI_LONG, target, at(w, target, 0), 1, MPI_LONG, w->win);
        MPI_Put(&two[1], 1, MPI_LONG, target, at(w, target, 8), 1, MPI_LONG, w->win);
        MPI_Win_unlock(target, w->win);
    }
    settle(w);
    long sum = mine[1], all = 0;
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, W);
    CHECK_EQUAL(all, (long)ROUNDS * size);
    CHECK_EQUAL(mine[0], 2 * mine[1]);
    MPI_Barrier(W);
}

/* The owner works on its memory by loads and stores, with a lock of itself. */
static void of_oneself(struct window *w)
{
    volatile long *mine = (long *)w->memory;
    mine[0] = 0;
    MPI_Barrier(W);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win);
        if (rank == 0)
            mine[0] = mine[0] + 1;
        else {
            long value;
            MPI_Get(&value, 1, MPI_LONG, 0, at(w, 0, 0), 1, MPI_LONG, w->win);
            MPI_Win_flush(0, w->win);
            value++;
            MPI_Put(&value, 1, MPI_LONG, 0, at(w, 0, 0), 1, MPI_LONG, w->win);
        }
        MPI_Win_unlock(0, w->win);
    }
    settle(w);
    if (rank == 0)
        CHECK_EQUAL(mine[0], (long)ROUNDS * size);
    MPI_Barrier(W);
}

/* All add to one element of rank 0, in every way there is. */
static void hammered(struct window *w)
{
    long *mine = (long *)w->memory, one = 1, old;
    double *real = (double *)(w->memory + 8), half = 0.5, before;
    int *small = (int *)(w->memory + 16), unit = 1;
    memset(w->memory, 0, 64);
    MPI_Barrier(W);
    MPI_Win_lock_all(0, w->win);
    for (int round = 0; round < ROUNDS; round++) {
        switch ((round + rank) % 4) {
        case 0:
            MPI_Accumulate(&one, 1, MPI_LONG, 0, at(w, 0, 0), 1, MPI_LONG, MPI_SUM, w->win);
            break;
        case 1:
            MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, at(w, 0, 0), MPI_SUM, w->win);
            break;
        case 2:
            MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, 0, at(w, 0, 0), 1, MPI_LONG, MPI_SUM, w->win);
            break;
        default: {
            long expected, next, found;
            MPI_Fetch_and_op(NULL, &found, MPI_LONG, 0, at(w, 0, 0), MPI_NO_OP, w->win);
            MPI_Win_flush(0, w->win);
            do {
                expected = found, next = expected + 1;
                MPI_Compare_and_swap(&next, &expected, &found, MPI_LONG, 0, at(w, 0, 0), w->win);
                MPI_Win_flush(0, w->win);
            } while (found != expected);
        }
        }
        MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, at(w, 0, 8), 1, MPI_DOUBLE, MPI_SUM, w->win);
        MPI_Get_accumulate(&half, 1, MPI_DOUBLE, &before, 1, MPI_DOUBLE, 0, at(w, 0, 8), 1, MPI_DOUBLE, MPI_SUM, w->win);
        MPI_Accumulate(&unit, 1, MPI_INT, 0, at(w, 0, 16 + 4 * (round % 2)), 1, MPI_INT, MPI_SUM, w->win);
    }
    MPI_Win_unlock_all(w->win);
    settle(w);
    if (rank == 0) {
        CHECK_EQUAL(*mine, (long)ROUNDS * size);
        CHECK(*real == (double)ROUNDS * size);
        CHECK_EQUAL(small[0] + small[1], ROUNDS * size);
    }
    MPI_Barrier(W);
}

/* Elements that no processor changes at once: each is added to as a whole, here both parts of a complex number. */
static void wide(struct window *w)
{
    double pair[2] = {1, -1}, *mine = (double *)w->memory;
    long double one = 1, *big = (long double *)(w->memory + 16);
    memset(w->memory, 0, 64);
    MPI_Barrier(W);
    MPI_Win_lock_all(0, w->win);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Accumulate(pair, 1, MPI_C_DOUBLE_COMPLEX, 0, at(w, 0, 0), 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, w->win);
        MPI_Accumulate(&one, 1, MPI_LONG_DOUBLE, 0, at(w, 0, 16), 1, MPI_LONG_DOUBLE, MPI_SUM, w->win);
        if (round % 8 == 0) {
            double seen[2];
            MPI_Get_accumulate(NULL, 0, MPI_C_DOUBLE_COMPLEX, seen, 1, MPI_C_DOUBLE_COMPLEX, 0, at(w, 0, 0), 1, MPI_C_DOUBLE_COMPLEX, MPI_NO_OP, w->win);
            MPI_Win_flush(0, w->win);
            CHECK(seen[0] == -seen[1]);
        }
    }
    MPI_Win_unlock_all(w->win);
    settle(w);
    if (rank == 0) {
        CHECK(mine[0] == (double)ROUNDS * size && mine[1] == -mine[0]);
        CHECK(*big == (long double)ROUNDS * size);
    }
    MPI_Barrier(W);
}

/* A lock for all is shared: it goes with shared ones, and an exclusive one waits for its end. */
static void for_all(struct window *w)
{
    long *mine = (long *)w->memory, seen = -1, value = 77;
    int token = 0;
    memset(w->memory, 0, 64);
    MPI_Barrier(W);
    if (rank == 0) {
        MPI_Win_lock_all(0, w->win);
        MPI_Send(&token, 1, MPI_INT, 1, 5, W);
        MPI_Recv(&token, 1, MPI_INT, 1, 6, W, MPI_STATUS_IGNORE); /* rank 1 has had a shared lock meanwhile */
        MPI_Put(&value, 1, MPI_LONG, 0, at(w, 0, 0), 1, MPI_LONG, w->win);
        MPI_Win_unlock_all(w->win);
    } else if (rank == 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 5, W, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win);
        MPI_Win_unlock(0, w->win);
        MPI_Send(&token, 1, MPI_INT, 0, 6, W);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win);
        MPI_Get(&seen, 1, MPI_LONG, 0, at(w, 0, 0), 1, MPI_LONG, w->win);
        MPI_Win_unlock(0, w->win);
        CHECK(seen == 0 || seen == 77); /* some libraries take the lock for all only when it is used */
    }
    settle(w);
    if (rank == 0)
        CHECK_EQUAL(mine[0], 77);
    MPI_Barrier(W);
}

/* Locks of several members at once, and without a check. */
static void several(struct window *w)
{
    long *mine = (long *)w->memory;
    memset(w->memory, 0, 64);
    MPI_Barrier(W);
    for (int target = 0; target < size; target++)
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
    for (int target = size - 1; target >= 0; target--) {
        long value = rank + 1;
        MPI_Put(&value, 1, MPI_LONG, target, at(w, target, 8 * rank), 1, MPI_LONG, w->win);
        MPI_Win_flush_local(target, w->win);
    }
    MPI_Win_flush_all(w->win);
    MPI_Win_flush_local_all(w->win);
    for (int target = 0; target < size; target++)
        MPI_Win_unlock(target, w->win);
    settle(w);
    for (int who = 0; who < size; who++)
        CHECK_EQUAL(mine[who], who + 1);
    MPI_Barrier(W);
    if (rank == 0) { /* nobody else asks for one */
        long value = 5;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, MPI_MODE_NOCHECK, w->win);
        MPI_Put(&value, 1, MPI_LONG, size - 1, at(w, size - 1, 0), 1, MPI_LONG, w->win);
        MPI_Win_unlock(size - 1, w->win);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win);
        MPI_Win_unlock_all(w->win);
    }
    settle(w);
    CHECK_EQUAL(mine[0], rank == size - 1 ? 5 : 1);
    MPI_Barrier(W);
}

/* All ask for the locks of all members in one order, and use them in the other: nobody waits in a circle. */
static void in_one_order(struct window *w)
{
    enum { ROUNDS_OF_ALL = 15 };
    long *mine = (long *)w->memory, value;
    *mine = 0;
    settle(w);
    MPI_Barrier(W);
    for (int round = 0; round < ROUNDS_OF_ALL; round++) {
        for (int target = 0; target < size; target++)
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win);
        for (int target = size - 1; target >= 0; target--) {
            MPI_Get(&value, 1, MPI_LONG, target, at(w, target, 0), 1, MPI_LONG, w->win);
            MPI_Win_flush(target, w->win);
            value++;
            MPI_Put(&value, 1, MPI_LONG, target, at(w, target, 0), 1, MPI_LONG, w->win);
            MPI_Win_flush_local(target, w->win);
        }
        for (int target = 0; target < size; target++)
            MPI_Win_unlock(target, w->win);
    }
    MPI_Barrier(W);
    settle(w);
    CHECK_EQUAL(*mine, ROUNDS_OF_ALL * size);
    MPI_Barrier(W);
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    check_begin(&argc, &argv);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        if (kind == STATIC)
            continue;
        struct window w = make_window(kind, 4096);
        exclusive(&w);
        of_oneself(&w);
        hammered(&w);
        wide(&w);
        for_all(&w);
        several(&w);
        in_one_order(&w);
        free_window(&w);
    }
    return check_end();
}
