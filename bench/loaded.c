/* What an operation takes while other programs load the cores: median, 99th percentile and mean of single calls.
 *
 * A point lasts a fixed time, not a number of calls: with other load a call takes a microsecond or a time slice. Rank 0
 * says after each block of calls whether another comes, so ranks need no clock in common. Ranks are left where the
 * library or the system puts them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (64 << 10)
#define MOST_CALLS (1 << 20)
#define BLOCK 16

static int rank, ranks;
static char out[LARGEST], in[2 * LARGEST];
static double took[MOST_CALLS];

static void ping_pong(int bytes)
{
    if (rank > 1)
        return;
    if (rank == 0)
        MPI_Send(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

/* With both neighbours on a ring, as a program does that divides a domain. */
static void exchange(int bytes)
{
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Request requests[4];
    MPI_Irecv(in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in + bytes, bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, bytes, MPI_BYTE, left, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void barrier(int bytes)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int bytes)
{
    MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct point {
    const char *name;
    void (*run)(int bytes);
    int bytes;
} points[] = {{"ping-pong", ping_pong, 8}, {"ping-pong", ping_pong, 4096}, {"ping-pong", ping_pong, 65536},
              {"exchange", exchange, 8},   {"exchange", exchange, 4096},   {"exchange", exchange, 65536},
              {"barrier", barrier, 0},     {"allreduce", allreduce, 8},    {"allreduce", allreduce, 4096},
              {"allreduce", allreduce, 65536}};

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

/* Calls for so many seconds; how many of them were timed. */
static int measure(const struct point *point, double seconds)
{
    int calls = 0, goes_on = 1;
    double began = MPI_Wtime();
    while (goes_on) {
        for (int i = 0; i < BLOCK; i++) {
            double before = MPI_Wtime();
            point->run(point->bytes);
            took[calls++] = MPI_Wtime() - before;
        }
        goes_on = calls + BLOCK <= MOST_CALLS && MPI_Wtime() - began < seconds;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return calls;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    memset(out, 0, sizeof out);
    for (unsigned i = 0; i < sizeof points / sizeof *points; i++) {
        double began = MPI_Wtime();
        int calls = measure(&points[i], seconds);
        double whole = MPI_Wtime() - began;
        qsort(took, calls, sizeof *took, compare);
        if (rank == 0)
            printf("figure %s %d %.6g %.6g %.6g\n", points[i].name, points[i].bytes, 1e6 * took[calls / 2],
                   1e6 * took[calls - 1 - calls / 100], 1e6 * whole / calls);
    }
    MPI_Finalize();
    return 0;
}
