/* How a call is timed: in batches that grow until they fill the time asked for. All ranks do the same number. */
#ifndef MEASURE_H
#define MEASURE_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_PER_POINT 0.12

static int rank, ranks;

typedef void (*operation)(char *out, char *in, int bytes);

static double time_batch(operation run, char *out, char *in, int bytes, int count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int i = 0; i < count; i++)
        run(out, in, bytes);
    double took = MPI_Wtime() - began;
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return took;
}

/* Seconds for one call, by rank 0's clock; the same on all ranks. */
static double seconds_for(operation run, char *out, char *in, int bytes)
{
    int count = 1;
    time_batch(run, out, in, bytes, 2);
    double took = time_batch(run, out, in, bytes, count);
    while (took < SECONDS_PER_POINT && count < 1 << 24) {
        int wanted = took > 0 ? (int)(1.2 * count * SECONDS_PER_POINT / took) + 1 : 4 * count;
        count = wanted < 8 * count ? wanted : 8 * count;
        took = time_batch(run, out, in, bytes, count);
    }
    return took / count;
}

/* One line for one figure; the runner reads these. */
static void show(const char *name, int bytes, double value, const char *unit)
{
    if (rank == 0) {
        printf("%s %d %.6g %s\n", name, bytes, value, unit);
        fflush(stdout);
    }
}

static char *buffer_of(long bytes)
{
    char *buffer = malloc(bytes);
    if (!buffer)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(buffer, rank + 1, bytes);
    return buffer;
}

static void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

#endif
