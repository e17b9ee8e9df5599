/* ranks: 2 4
 * A rank that waits sleeps: in a receive, in a barrier, in a collective of long data it uses less than a hundredth
 * of the time that it waits, and it wakes when what it waits for has come. */
#include "check.h"
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LONG = 100000 };

static double processor_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void receive(void)
{
    int word = rank;
    if (rank == 0)
        for (int to = 1; to < size; to++)
            MPI_Send(&word, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(word, 0);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void long_sum(void)
{
    static double mine[LONG], sum[LONG];
    mine[LONG - 1] = rank;
    MPI_Allreduce(mine, sum, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL((int)sum[LONG - 1], size * (size - 1) / 2);
}

/* Rank 0 comes two seconds after all others have begun to wait. */
static void waits_asleep(const char *what, void (*operation)(void))
{
    for (int time = 0; time < 5; time++)
        operation(); /* so that all is set up */
    double used = processor_seconds(), began = MPI_Wtime();
    if (rank != 0)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    for (int other = 1; rank == 0 && other < size; other++)
        MPI_Recv(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        sleep(2);
    operation();
    used = processor_seconds() - used;
    double waited = MPI_Wtime() - began;
    if (rank != 0) {
        CHECK(waited > 1.5);
        if (used > 0.01 * waited)
            check_failed(__FILE__, __LINE__, "%s: %.4f s of processor time in %.2f s", what, used, waited);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    waits_asleep("receive", receive);
    waits_asleep("barrier", barrier);
    waits_asleep("allreduce", long_sum);
    return check_end();
}
