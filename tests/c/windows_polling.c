/* ranks: 2 3 5
 * A member that waits for a change of its memory may call nothing but MPI_Win_sync or MPI_Win_flush meanwhile: where the
 * others cannot reach its memory, and ask it, it has to answer, in all its windows. */
#include "windows.h"

static void by_polling(struct window *w, struct window *before, int flushes)
{
    volatile int *mine = (int *)w->memory;
    memset(w->memory, 0, 64);
    MPI_Barrier(W);
    MPI_Win_lock_all(0, w->win);
    MPI_Win_lock_all(0, before->win);
    for (int turn = 0; turn < size && size > 1; turn++) {
        int giver = (turn + 1) % size, value = turn + 1, got;
        if (rank == turn)
            while (*mine != value) {
                if (flushes)
                    MPI_Win_flush(rank, w->win);
                MPI_Win_sync(w->win);
            }
        else if (rank == giver) {
            MPI_Get(&got, 1, MPI_INT, turn, at(before, turn, 0), 1, MPI_INT, before->win);
            MPI_Win_flush(turn, before->win);
            CHECK_EQUAL(got, turn);
            MPI_Accumulate(&value, 1, MPI_INT, turn, at(w, turn, 0), 1, MPI_INT, MPI_REPLACE, w->win);
            MPI_Win_flush(turn, w->win);
        }
    }
    MPI_Win_unlock_all(before->win);
    MPI_Win_unlock_all(w->win);
    MPI_Barrier(W);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        if (kind != OF_HEAP && kind != ALLOCATED && kind != DYNAMIC)
            continue;
        struct window w = make_window(kind, 1024), before = make_window(OF_HEAP, 64);
        *(int *)before.memory = rank;
        for (int round = 0; round < 4; round++)
            by_polling(&w, &before, round % 2);
        free_window(&before);
        free_window(&w);
    }
    return check_end();
}
