/* ranks: 3
 * A rank is killed while others have its device memory mapped: their operations are done, or an error says that it has
 * failed; nobody ends with it, and what they have of each other stays. With --on-failure=continue. */
#include "twice.h"
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define LONGS 512

static int is_of_failure(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Error_class(code, &class);
    MPI_Error_string(class, text, &length);
    return strncmp(text, "MPIX_ERR_PROC_FAILED", 20) == 0;
}

int main(int argc, char **argv)
{
    long out[LONGS], in[LONGS];
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    struct buffer memory = buffer_of(DEVICE, LONGS * 8);
    MPI_Win window;
    WORKS(MPI_Win_create(memory.at, LONGS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    WORKS(MPI_Win_lock_all(0, window));
    for (int item = 0; item < LONGS; item++)
        out[item] = item + rank;
    if (rank > 0)
        WORKS(MPI_Put(out, LONGS / 2, MPI_LONG, 0, (rank - 1) * (LONGS / 2), LONGS / 2, MPI_LONG, window));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        raise(SIGKILL);
    int done = 0, failed = 0, other = 3 - rank;
    time_t begun = time(NULL);
    while (time(NULL) - begun < 3) {
        int code = MPI_Put(out, LONGS / 2, MPI_LONG, 0, (rank - 1) * (LONGS / 2), LONGS / 2, MPI_LONG, window);
        if (!code)
            code = MPI_Get(in, LONGS / 2, MPI_LONG, 0, (rank - 1) * (LONGS / 2), LONGS / 2, MPI_LONG, window);
        CHECK(!code || is_of_failure(code));
        CHECK(code || memcmp(in, out, LONGS * 4) == 0);
        code ? failed++ : done++;
        /* What is not of the dead one. */
        WORKS(MPI_Put(out, LONGS, MPI_LONG, other, 0, LONGS, MPI_LONG, window));
        WORKS(MPI_Get(in, LONGS, MPI_LONG, other, 0, LONGS, MPI_LONG, window));
        CHECK(memcmp(in, out, sizeof in) == 0);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    CHECK(done + failed > 10);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    return check_end();
}
