/* ranks: 2 3 5 1
 * Fences, and post/start/complete/wait, with their assertions, in every order in which ranks may come to them. */
#include "windows.h"
#include <unistd.h>

static int right, left;

static MPI_Group group_of(int count, const int *ranks)
{
    MPI_Group all, made;
    MPI_Comm_group(W, &all);
    MPI_Group_incl(all, count, ranks, &made);
    MPI_Group_free(&all);
    return made;
}

/* A fence closes an epoch and opens one; with assertions it does one of both. */
static void fences(struct window *w)
{
    int *mine = (int *)w->memory, got = -1;
    memset(w->memory, 0, 64);
    MPI_Barrier(W);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
    for (int round = 1; round <= 20; round++) {
        int value = round * 100 + rank;
        MPI_Put(&value, 1, MPI_INT, right, at(w, right, 4 * (round % 2)), 1, MPI_INT, w->win);
        MPI_Win_fence(round % 3 ? 0 : MPI_MODE_NOSTORE, w->win);
        CHECK_EQUAL(mine[round % 2], round * 100 + left);
        MPI_Get(&got, 1, MPI_INT, right, at(w, right, 4 * (round % 2)), 1, MPI_INT, w->win);
        MPI_Win_fence(round % 3 ? MPI_MODE_NOPUT : 0, w->win);
        CHECK_EQUAL(got, round * 100 + rank);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    MPI_Win_fence(0, w->win);
    MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, w->win);
}

/* Fences without operations open nothing that stands in the way of other epochs. */
static void fence_then_others(struct window *w)
{
    int value = rank + 1, *mine = (int *)w->memory;
    MPI_Win_fence(0, w->win);
    mine[0] = mine[1] = 0;
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    MPI_Barrier(W);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w->win);
    MPI_Put(&value, 1, MPI_INT, right, at(w, right, 0), 1, MPI_INT, w->win);
    MPI_Win_unlock(right, w->win);
    settle(w);
    CHECK_EQUAL(mine[0], left + 1);
    MPI_Win_fence(0, w->win);
    MPI_Put(&value, 1, MPI_INT, right, at(w, right, 4), 1, MPI_INT, w->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    CHECK_EQUAL(mine[1], left + 1);
    MPI_Barrier(W);
}

/* A ring: to the right I write, from the left I am written to; one of both is late. */
static void ring(struct window *w, int late, int test)
{
    int *mine = (int *)w->memory, value = 500 + rank, flag = 0;
    MPI_Group to = group_of(1, &right), from = group_of(1, &left);
    mine[0] = 0;
    MPI_Barrier(W);
    if (late && rank == 0)
        usleep(30000);
    MPI_Win_post(from, late ? MPI_MODE_NOSTORE : 0, w->win);
    MPI_Win_start(to, 0, w->win);
    MPI_Put(&value, 1, MPI_INT, right, at(w, right, 0), 1, MPI_INT, w->win);
    MPI_Win_complete(w->win);
    if (test)
        while (!flag)
            MPI_Win_test(w->win, &flag);
    else
        MPI_Win_wait(w->win);
    CHECK_EQUAL(mine[0], 500 + left);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

/* One exposes, all others write; a rank that has started before it was posted waits for that. */
static void many_to_one(struct window *w)
{
    int *mine = (int *)w->memory, others[64], value = rank + 1, zero = 0;
    for (int who = 1; who < size; who++)
        others[who - 1] = who;
    MPI_Group all_others = group_of(size - 1, others), first = group_of(1, &zero);
    for (int round = 0; round < 5; round++) {
        memset(w->memory, 0, 4 * size);
        MPI_Barrier(W);
        if (rank == 0) {
            int done = 0;
            usleep(2000);
            MPI_Win_post(all_others, 0, w->win);
            if (round % 2)
                MPI_Win_wait(w->win);
            else
                while (!done)
                    MPI_Win_test(w->win, &done);
            for (int who = 1; who < size; who++)
                CHECK_EQUAL(mine[who], who + 1);
        } else {
            MPI_Win_start(first, 0, w->win);
            MPI_Put(&value, 1, MPI_INT, 0, at(w, 0, 4 * rank), 1, MPI_INT, w->win);
            MPI_Win_complete(w->win);
        }
    }
    MPI_Group_free(&all_others);
    MPI_Group_free(&first);
}

/* One writes to all, which have posted before, and says so. */
static void no_check(struct window *w)
{
    int *mine = (int *)w->memory, zero = 0, all[64], value = 9;
    for (int who = 0; who < size; who++)
        all[who] = who;
    MPI_Group everybody = group_of(size, all), first = group_of(1, &zero);
    mine[0] = 0;
    MPI_Win_post(first, MPI_MODE_NOCHECK, w->win);
    MPI_Barrier(W);
    if (rank == 0) {
        MPI_Win_start(everybody, MPI_MODE_NOCHECK, w->win);
        for (int who = 0; who < size; who++)
            MPI_Put(&value, 1, MPI_INT, who, at(w, who, 0), 1, MPI_INT, w->win);
        MPI_Win_complete(w->win);
    }
    MPI_Win_wait(w->win);
    CHECK_EQUAL(mine[0], 9);
    MPI_Group_free(&everybody);
    MPI_Group_free(&first);
    MPI_Barrier(W);
}

/* Epochs with nobody. */
static void with_nobody(struct window *w)
{
    int flag = 0;
    MPI_Win_post(MPI_GROUP_EMPTY, 0, w->win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, w->win);
    MPI_Win_complete(w->win);
    MPI_Win_wait(w->win);
    MPI_Win_post(MPI_GROUP_EMPTY, MPI_MODE_NOPUT, w->win);
    while (!flag)
        MPI_Win_test(w->win, &flag);
}

/* Epochs of two windows overlap, and messages go between. */
static void two_windows(struct window *w)
{
    struct window other = make_window(w->kind == STATIC || w->kind == OF_STACK ? OF_HEAP : w->kind, 64);
    int *mine = (int *)w->memory, *there = (int *)other.memory, value = rank + 40, message = -1;
    MPI_Group to = group_of(1, &right), from = group_of(1, &left);
    mine[0] = 0;
    MPI_Barrier(W);
    MPI_Win_fence(0, other.win);
    MPI_Win_post(from, 0, w->win);
    MPI_Win_start(to, 0, w->win);
    MPI_Put(&value, 1, MPI_INT, right, at(&other, right, 0), 1, MPI_INT, other.win);
    MPI_Put(&value, 1, MPI_INT, right, at(w, right, 0), 1, MPI_INT, w->win);
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &message, 1, MPI_INT, left, 1, W, MPI_STATUS_IGNORE);
    CHECK_EQUAL(message, left);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, other.win);
    MPI_Win_complete(w->win);
    MPI_Win_wait(w->win);
    CHECK_EQUAL(mine[0], left + 40);
    CHECK_EQUAL(there[0], left + 40);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    free_window(&other);
}

/* Ranks that share memory by loads and stores, with MPI_Win_sync between. */
static void by_loads(void)
{
    struct window w = make_window(SHARED, 64);
    volatile int *there;
    MPI_Aint bytes;
    int unit, zero = 0;
    MPI_Win_shared_query(w.win, zero, &bytes, &unit, &there);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win);
    for (int turn = 0; turn < 3 * size; turn++) {
        if (turn % size == rank) {
            CHECK_EQUAL(there[0], turn);
            there[0] = turn + 1;
        }
        MPI_Win_sync(w.win);
        MPI_Barrier(W);
        MPI_Win_sync(w.win);
        CHECK_EQUAL(there[0], turn + 1);
        MPI_Barrier(W);
    }
    MPI_Win_unlock_all(w.win);
    free_window(&w);
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    check_begin(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct window w = make_window(kind, 1024);
        fences(&w);
        fence_then_others(&w);
        for (int round = 0; round < 8; round++)
            ring(&w, round < 4, round % 2);
        many_to_one(&w);
        no_check(&w);
        with_nobody(&w);
        two_windows(&w);
        free_window(&w);
    }
    by_loads();
    return check_end();
}
