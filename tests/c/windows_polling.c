/* ranks: 2 3 5
 * A member that waits for a change of its memory may call nothing but MPI_Win_sync or MPI_Win_flush meanwhile: where the
 * others cannot reach its memory, and ask it, it has to answer, in all its windows. Neither need it flush what it waits for the
 * effect of. */
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

/* One that waits for the answer to what it has put under a lock and not flushed: in a call that waits for a message, with one
 * that asks for it, by looking at its memory, or at that of a third. */
static void without_flush(struct window *w)
{
    volatile int *mine = (int *)w->memory;
    int one = 1, got;
    for (int way = 0; way < 8 && size > 1; way++) {
        int lock_all = way % 2, seen = 0;
        memset(w->memory, 0, 64);
        MPI_Barrier(W);
        if (rank == 0) {
            if (lock_all)
                MPI_Win_lock_all(0, w->win);
            else
                for (int member = 0; member < size; member++)
                    MPI_Win_lock(MPI_LOCK_SHARED, member, 0, w->win);
            MPI_Accumulate(&one, 1, MPI_INT, 1, at(w, 1, 0), 1, MPI_INT, MPI_REPLACE, w->win);
            if (way / 2 == 0)
                MPI_Recv(&got, 1, MPI_INT, 1, 0, W, MPI_STATUS_IGNORE);
            while (way / 2 == 1 && !seen)
                MPI_Iprobe(1, 0, W, &seen, MPI_STATUS_IGNORE);
            if (seen)
                MPI_Recv(&got, 1, MPI_INT, 1, 0, W, MPI_STATUS_IGNORE);
            while (way / 2 == 2 && *mine == 0)
                MPI_Win_sync(w->win);
            for (got = way / 2 < 3; got == 0; MPI_Win_flush_local(size - 1, w->win)) {
                MPI_Fetch_and_op(NULL, &got, MPI_INT, size - 1, at(w, size - 1, 8), MPI_NO_OP, w->win);
                MPI_Win_flush(size - 1, w->win);
            }
            if (lock_all)
                MPI_Win_unlock_all(w->win);
            else
                for (int member = 0; member < size; member++)
                    MPI_Win_unlock(member, w->win);
        } else if (rank == 1) {
            MPI_Win_lock_all(0, w->win);
            while (*mine == 0)
                MPI_Win_sync(w->win);
            if (way / 2 < 2)
                MPI_Send(&one, 1, MPI_INT, 0, 0, W);
            else if (way / 2 == 2)
                MPI_Accumulate(&one, 1, MPI_INT, 0, at(w, 0, 0), 1, MPI_INT, MPI_REPLACE, w->win);
            else
                MPI_Accumulate(&one, 1, MPI_INT, size - 1, at(w, size - 1, 8), 1, MPI_INT, MPI_REPLACE, w->win);
            MPI_Win_unlock_all(w->win);
        }
        MPI_Barrier(W);
    }
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
        without_flush(&w);
        free_window(&before);
        free_window(&w);
    }
    return check_end();
}
