/* Collectives without end, of which one rank is killed: storm KIND VICTIM MICROSECONDS
 *
 * KIND is barrier, bcast, short (allreduce of 8 bytes), slot (of 4 KiB), long (of 1 MiB), mixed, or user: a reduction by
 * a function of the program, in which the victim kills itself, so that the others wait for an operation that it has begun.
 * For all other kinds an alarm kills it with signal 9, the microseconds after all have their control block. */
#include "../c/check.h"
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { MOST = 1 << 17 };

static double mine[MOST], sum[MOST];
static int armed;

static void die(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

static void add_or_die(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    if (armed)
        die(0);
    for (int at = 0; at < *count; at++)
        ((double *)inout)[at] += ((double *)in)[at];
}

static void one(const char *kind, MPI_Op user)
{
    int mixed = strcmp(kind, "mixed") == 0;
    if (mixed || strcmp(kind, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (mixed || strcmp(kind, "bcast") == 0)
        for (int root = 0; root < size; root++)
            MPI_Bcast(mine, 100 << root, MPI_DOUBLE, root, MPI_COMM_WORLD);
    if (mixed || strcmp(kind, "short") == 0)
        MPI_Allreduce(mine, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (mixed || strcmp(kind, "slot") == 0)
        MPI_Allreduce(mine, sum, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (mixed || strcmp(kind, "long") == 0)
        MPI_Allreduce(mine, sum, MOST, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (mixed || strcmp(kind, "user") == 0)
        MPI_Allreduce(mine, sum, 100, MPI_DOUBLE, user, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const char *kind = argv[1];
    int victim = atoi(argv[2]), microseconds = atoi(argv[3]);
    MPI_Op user;
    MPI_Op_create(add_or_die, 1, &user);
    signal(SIGALRM, die);
    for (int turn = 0; turn < 10; turn++)
        one(kind, user);
    if (rank == victim) {
        struct itimerval once = {.it_value = {.tv_usec = microseconds}};
        armed = strcmp(kind, "user") == 0;
        if (!armed)
            setitimer(ITIMER_REAL, &once, NULL);
    }
    for (;;)
        one(kind, user);
}
