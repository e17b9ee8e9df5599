/* Operations on `out` and `in` by name, and how long one takes. The root of those that have one changes with the call.
 */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, call;
static char *out, *in;

static void bcast(int items)
{
    MPI_Bcast(out, items, MPI_DOUBLE, call % ranks, MPI_COMM_WORLD);
}

static void reduce(int items)
{
    MPI_Reduce(out, in, items, MPI_DOUBLE, MPI_SUM, call % ranks, MPI_COMM_WORLD);
}

static void allreduce(int items)
{
    MPI_Allreduce(out, in, items, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(int items)
{
    MPI_Scan(out, in, items, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(int items)
{
    MPI_Gather(out, items, MPI_DOUBLE, in, items, MPI_DOUBLE, call % ranks, MPI_COMM_WORLD);
}

static void allgather(int items)
{
    MPI_Allgather(out, items, MPI_DOUBLE, in, items, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void scatter(int items)
{
    MPI_Scatter(out, items, MPI_DOUBLE, in, items, MPI_DOUBLE, call % ranks, MPI_COMM_WORLD);
}

static void alltoall(int items)
{
    MPI_Alltoall(out, items, MPI_DOUBLE, in, items, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void reduce_scatter(int items)
{
    MPI_Reduce_scatter_block(out, in, items, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoallv(int items)
{
    static int counts[1024], places[1024];
    for (int who = 0; who < ranks; who++)
        counts[who] = items, places[who] = who * items;
    MPI_Alltoallv(out, counts, places, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
}

/* There and back. */
static void ping_pong(int items)
{
    if (rank == 0) {
        MPI_Send(out, items, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, items, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(in, items, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, items, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
}

/* The payload of a rank counts; where it has a block for each, it is all of them. */
static const struct {
    const char *name;
    void (*run)(int items);
    int for_each;
} operations[] = {
    {"bcast", bcast, 0},         {"reduce", reduce, 0},       {"allreduce", allreduce, 0},
    {"scan", scan, 0},           {"gather", gather, 0},       {"allgather", allgather, 0},
    {"scatter", scatter, 1},     {"alltoall", alltoall, 1},   {"reduce_scatter_block", reduce_scatter, 1},
    {"alltoallv", alltoallv, 1}, {"ping_pong", ping_pong, 0},
};

static double seconds_of(void (*run)(int), int items, int calls)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int index = 0; index < calls; index++, call++)
        run(items);
    double mine = (MPI_Wtime() - begin) / calls, all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static int ascending(const void *one, const void *other)
{
    double left = *(const double *)one, right = *(const double *)other;
    return (left > right) - (left < right);
}

static double median(double *numbers, int count)
{
    qsort(numbers, count, sizeof *numbers, ascending);
    return numbers[count / 2];
}

#endif
