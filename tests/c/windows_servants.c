/* ranks: 2 3
 * Many windows open at once, each with operations. Where another thread of a rank serves them (SERRIED_NODES=2,
 * SERRIED_COPY=cells), it runs nothing of the program, however many there are. */
#include "windows.h"

#include <pthread.h>
#include <unistd.h>

#define MANY 200

static pthread_t first;
static int elsewhere;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    elsewhere += !pthread_equal(pthread_self(), first);
    for (int index = 0; index < *count; index++)
        ((int *)inout)[index] += ((int *)in)[index];
}

static void many_windows(void)
{
    struct window windows[MANY];
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int number = 0; number < MANY; number++)
        windows[number] = make_window(number % 2 ? ALLOCATED : OF_HEAP, 64);
    for (int number = 0; number < MANY; number++) {
        int value = 1000 * rank + number, old = -1;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, windows[number].win);
        MPI_Put(&value, 1, MPI_INT, to, at(&windows[number], to, 0), 1, MPI_INT, windows[number].win);
        MPI_Fetch_and_op(&value, &old, MPI_INT, to, at(&windows[number], to, 8), MPI_SUM, windows[number].win);
        MPI_Win_unlock(to, windows[number].win);
        CHECK_EQUAL(old, 0);
    }
    for (int number = 0; number < MANY; number++) {
        settle(&windows[number]);
        int *values = (int *)windows[number].memory;
        CHECK_EQUAL(values[0], 1000 * from + number);
        CHECK_EQUAL(values[2], 1000 * from + number);
    }
    for (int number = 0; number < MANY; number++)
        free_window(&windows[number]);
}

static void own_operators(void)
{
    struct window w = make_window(OF_HEAP, 64);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    for (int round = 0; round < 300; round++) {
        int one = rank + 1, all = 0, done = 0;
        MPI_Request request;
        MPI_Iallreduce(&one, &all, 1, MPI_INT, op, W, &request);
        while (!done) {
            if (round % 10 == 0)
                usleep(200);
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        CHECK_EQUAL(all, size * (size + 1) / 2);
    }
    CHECK_EQUAL(elsewhere, 0);
    MPI_Op_free(&op);
    free_window(&w);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    first = pthread_self();
    own_operators();
    many_windows();
    return check_end();
}
