/* All collective operations, each in its forms. */
#ifndef COLLECTIVE_OPERATIONS_H
#define COLLECTIVE_OPERATIONS_H

#include "twice.h"

enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* The three forms of an operation; the persistent one is started twice where that changes nothing. */
#define DO(NAME, INIT, ...)                                     \
    do {                                                        \
        MPI_Request request;                                    \
        if (o->form == BLOCKING)                                \
            WORKS(MPI_##NAME(__VA_ARGS__, o->comm));            \
        if (o->form == NONBLOCKING) {                           \
            WORKS(MPI_I##INIT(__VA_ARGS__, o->comm, &request)); \
            WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));       \
        }                                                       \
        if (o->form == PERSISTENT) {                            \
            WORKS(MPI_##NAME##_init(__VA_ARGS__, o->comm, MPI_INFO_NULL, &request)); \
            for (int round = 0; round < 2; round++) {           \
                WORKS(MPI_Start(&request));                     \
                WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));   \
            }                                                   \
            WORKS(MPI_Request_free(&request));                  \
        }                                                       \
    } while (0)

static int counts[16], places[16], bytes_places[16];
static MPI_Datatype types[16];

/* Unlike blocks: rank r has count - r elements, if there are so many, with a gap behind. */
static void divide(struct operation *o)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(o->type, &lower, &extent);
    for (int r = 0; r < size; r++) {
        counts[r] = o->count > r ? o->count - r : 0;
        places[r] = r * (o->count + 1);
        bytes_places[r] = places[r] * (int)extent;
        types[r] = o->type;
    }
}

static void bcast(struct operation *o) { DO(Bcast, bcast, o->receive, o->count, o->type, size - 1); }
static void gather(struct operation *o)
{
    DO(Gather, gather, o->send, o->count, o->type, o->receive, o->count, o->type, 0);
}
static void scatter(struct operation *o)
{
    DO(Scatter, scatter, o->send, o->count, o->type, o->receive, o->count, o->type, size - 1);
}
static void allgather(struct operation *o)
{
    DO(Allgather, allgather, o->send, o->count, o->type, o->receive, o->count, o->type);
}
static void allgather_in_place(struct operation *o)
{
    DO(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, o->receive, o->count, o->type);
}
static void alltoall(struct operation *o)
{
    DO(Alltoall, alltoall, o->send, o->count, o->type, o->receive, o->count, o->type);
}
static void gatherv(struct operation *o)
{
    divide(o);
    DO(Gatherv, gatherv, o->send, counts[rank], o->type, o->receive, counts, places, o->type, 0);
}
static void scatterv(struct operation *o)
{
    divide(o);
    DO(Scatterv, scatterv, o->send, counts, places, o->type, o->receive, counts[rank], o->type, 0);
}
static void allgatherv(struct operation *o)
{
    divide(o);
    DO(Allgatherv, allgatherv, o->send, counts[rank], o->type, o->receive, counts, places, o->type);
}
static void alltoallv(struct operation *o)
{
    divide(o);
    for (int r = 0; r < size; r++)
        counts[r] = o->count;
    DO(Alltoallv, alltoallv, o->send, counts, places, o->type, o->receive, counts, places, o->type);
}
static void alltoallw(struct operation *o)
{
    divide(o);
    for (int r = 0; r < size; r++)
        counts[r] = o->count;
    DO(Alltoallw, alltoallw, o->send, counts, bytes_places, types, o->receive, counts, bytes_places, types);
}

static MPI_Datatype NUMBER;
static void reduce(struct operation *o)
{
    DO(Reduce, reduce, o->send, o->receive, o->count, MPI_LONG, MPI_SUM, 0);
}
static void allreduce(struct operation *o)
{
    DO(Allreduce, allreduce, o->send, o->receive, o->count, MPI_LONG, MPI_MAX);
}
static void allreduce_in_place(struct operation *o)
{
    DO(Allreduce, allreduce, MPI_IN_PLACE, o->receive, o->count, MPI_LONG, MPI_BOR);
}
static void reduce_scatter(struct operation *o)
{
    divide(o);
    DO(Reduce_scatter, reduce_scatter, o->send, o->receive, counts, MPI_LONG, MPI_SUM);
}
static void reduce_scatter_block(struct operation *o)
{
    DO(Reduce_scatter_block, reduce_scatter_block, o->send, o->receive, o->count, MPI_LONG, MPI_SUM);
}
static void reduce_scatter_in_place(struct operation *o)
{
    if (o->form != PERSISTENT) /* what a second start reads is not defined */
        DO(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, o->receive, o->count, MPI_LONG, MPI_MAX);
}
static void scan(struct operation *o) { DO(Scan, scan, o->send, o->receive, o->count, MPI_LONG, MPI_SUM); }
static void exscan(struct operation *o) { DO(Exscan, exscan, o->send, o->receive, o->count, MPI_LONG, MPI_SUM); }

/* A function of the program, which may call MPI: such calls have buffers of their own. */
static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    long *a = in, *b = inout;
    int bytes;
    (void)type;
    MPI_Type_size(MPI_LONG, &bytes);
    for (int item = 0; item < *length; item++)
        b[item] += a[item] * (bytes / 8);
}
static MPI_Op ADD;
static void user_sum(struct operation *o) { DO(Allreduce, allreduce, o->send, o->receive, o->count, MPI_LONG, ADD); }

static void neighbor_allgather(struct operation *o)
{
    DO(Neighbor_allgather, neighbor_allgather, o->send, o->count, o->type, o->receive, o->count, o->type);
}
static void neighbor_alltoall(struct operation *o)
{
    DO(Neighbor_alltoall, neighbor_alltoall, o->send, o->count, o->type, o->receive, o->count, o->type);
}

static struct listed collective_operations[] = {
    {"bcast", bcast, FORMS, 0, 0}, {"gather", gather, FORMS, 0, 0}, {"scatter", scatter, FORMS, 0, 0}, {"allgather", allgather, FORMS, 0, 0},
    {"allgather in place", allgather_in_place, FORMS, 0, 0}, {"alltoall", alltoall, FORMS, 0, 0}, {"gatherv", gatherv, FORMS, 0, 0},
    {"scatterv", scatterv, FORMS, 0, 0}, {"allgatherv", allgatherv, FORMS, 0, 0}, {"alltoallv", alltoallv, FORMS, 0, 0},
    {"alltoallw", alltoallw, FORMS, 0, 0}, {"reduce", reduce, FORMS, 1, 0}, {"allreduce", allreduce, FORMS, 1, 0},
    {"allreduce in place", allreduce_in_place, FORMS, 1, 0}, {"reduce_scatter", reduce_scatter, FORMS, 1, 0},
    {"reduce_scatter_block", reduce_scatter_block, FORMS, 1, 0}, {"reduce_scatter in place", reduce_scatter_in_place, FORMS, 1, 0},
    {"scan", scan, FORMS, 1, 0}, {"exscan", exscan, FORMS, 1, 0}, {"user sum", user_sum, FORMS, 1, 0},
    {"neighbor_allgather", neighbor_allgather, FORMS, 0, 1}, {"neighbor_alltoall", neighbor_alltoall, FORMS, 0, 1},
};

#endif
