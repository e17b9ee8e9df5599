/* ranks: 2
 * Memory of a window stays the window's when its process forks: what others put there afterwards is seen, and atomic
 * operations of both sides meet, while the child lives and after it. */
#include "windows.h"
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 32768 };

static void check_kind(enum kind kind)
{
    struct window w = make_window(kind, WORDS * sizeof(long));
    long one = 1, *mine = (long *)w.memory;
    int ends[2], status;
    char word = 0;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) { /* it lives until it is told, and does nothing */
        ssize_t got = read(ends[0], &word, 1);
        _exit(got == 1 ? 0 : 1);
    }
    MPI_Barrier(W);
    MPI_Win_lock_all(0, w.win);
    for (int place = 0; place < WORDS; place += 500)
        for (int to = 0; to < size; to++)
            MPI_Accumulate(&one, 1, MPI_LONG, to, at(&w, to, place * sizeof(long)), 1, MPI_LONG, MPI_SUM, w.win);
    MPI_Win_flush_all(w.win);
    MPI_Barrier(W);
    MPI_Win_sync(w.win);
    for (int place = 0; place < WORDS; place += 500)
        CHECK_EQUAL(mine[place], size);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    MPI_Put(&one, 1, MPI_LONG, 1 - rank, at(&w, 1 - rank, 8), 1, MPI_LONG, w.win);
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(W);
    CHECK_EQUAL(mine[1], 1);
    close(ends[0]), close(ends[1]);
    free_window(&w);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    const enum kind kinds[] = {OF_HEAP, ALLOCATED, SHARED, DYNAMIC};
    for (int which = 0; which < 4; which++)
        check_kind(kinds[which]);
    return check_end();
}
