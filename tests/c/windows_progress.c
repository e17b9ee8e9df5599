/* ranks: 2 3
 * Nobody waits for the target: while it computes, and while it is stopped, every operation on every kind of memory is
 * done, under locks that nobody else holds; and a program that mixes windows with messages goes on. */
#include "windows.h"
#include <signal.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* All operations, with rank 1, which does nothing for it. The longest of these operations took so many seconds. */
static double operations(struct window *w)
{
    long value = 3, got = -1, old = -1, expected = 3, next = 12;
    double longest = 0;
    for (int round = 0; round < 20; round++) {
        double began = now();
        MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 1, 0, w->win);
        value = 3, next = 12, expected = 3 + 2;
        MPI_Put(&value, 1, MPI_LONG, 1, at(w, 1, 0), 1, MPI_LONG, w->win);
        MPI_Win_flush(1, w->win);
        MPI_Get(&got, 1, MPI_LONG, 1, at(w, 1, 0), 1, MPI_LONG, w->win);
        MPI_Win_flush(1, w->win);
        CHECK_EQUAL(got, 3);
        value = 2;
        MPI_Accumulate(&value, 1, MPI_LONG, 1, at(w, 1, 0), 1, MPI_LONG, MPI_SUM, w->win);
        MPI_Fetch_and_op(NULL, &old, MPI_LONG, 1, at(w, 1, 0), MPI_NO_OP, w->win);
        MPI_Win_flush(1, w->win);
        CHECK_EQUAL(old, 5);
        MPI_Compare_and_swap(&next, &expected, &old, MPI_LONG, 1, at(w, 1, 0), w->win);
        MPI_Win_flush(1, w->win);
        CHECK_EQUAL(old, 5);
        MPI_Win_unlock(1, w->win);
        double took = now() - began;
        longest = took > longest ? took : longest;
    }
    return longest;
}

static void while_it_computes(struct window *w, volatile int *ended)
{
    MPI_Barrier(W);
    if (rank == 1) {
        double until = now() + 20;
        while (!*ended && now() < until)
            ;
        CHECK(*ended); /* all was done long before */
    } else if (rank == 0) {
        long one = 1;
        operations(w);
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w->win);
        MPI_Accumulate(&one, 1, MPI_LONG, 1, at(w, 1, 64), 1, MPI_LONG, MPI_REPLACE, w->win);
        MPI_Win_unlock(1, w->win);
    }
    MPI_Barrier(W);
}

static void while_it_is_stopped(struct window *w)
{
    int pid = getpid();
    if (rank == 1)
        MPI_Send(&pid, 1, MPI_INT, 0, 1, W);
    if (rank == 0) {
        MPI_Recv(&pid, 1, MPI_INT, 1, 1, W, MPI_STATUS_IGNORE);
        kill(pid, SIGSTOP);
        usleep(20000);
        operations(w);
        kill(pid, SIGCONT);
    }
    MPI_Barrier(W);
}

/* A message that is sent when a word in a window has changed, which is changed when another message has come. */
static void mixed(struct window *w)
{
    long one = 1, seen = 0;
    int token = 0;
    *(long *)w->memory = 0;
    MPI_Barrier(W);
    for (int round = 1; round <= 50; round++) {
        if (rank == 0) {
            MPI_Recv(&token, 1, MPI_INT, 1, 7, W, MPI_STATUS_IGNORE);
            CHECK_EQUAL(token, round);
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w->win);
            MPI_Accumulate(&one, 1, MPI_LONG, 1, at(w, 1, 0), 1, MPI_LONG, MPI_SUM, w->win);
            MPI_Win_unlock(1, w->win);
        } else if (rank == 1) {
            token = round;
            MPI_Send(&token, 1, MPI_INT, 0, 7, W);
            do {
                MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w->win);
                MPI_Fetch_and_op(NULL, &seen, MPI_LONG, 1, at(w, 1, 0), MPI_NO_OP, w->win);
                MPI_Win_unlock(1, w->win);
            } while (seen < round);
        }
    }
    MPI_Barrier(W);
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    check_begin(&argc, &argv);
    int stops = !getenv("NEVER_STOP"); /* other libraries wait for the target */
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct window w = make_window(kind, 256);
        if (stops) {
            while_it_computes(&w, (volatile int *)(w.memory + 64));
            while_it_is_stopped(&w);
        }
        mixed(&w);
        free_window(&w);
    }
    return check_end();
}
