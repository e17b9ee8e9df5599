/* Collectives, blocking and nonblocking. Each has one `before`, which fills and poisons, and one `after`, which
 * checks; the nonblocking form runs the latter when its request is complete. */
#include "checker.h"

static int out_count(const struct call *c, int rank) { return c->out_counts ? c->out_counts[rank] : c->out_count; }
static int in_count(const struct call *c, int rank) { return c->in_counts ? c->in_counts[rank] : c->in_count; }

static byte *out_place(const struct call *c, int rank)
{
    return c->out + (c->out_places ? c->out_places[rank] : (long)rank * c->out_count);
}

static byte *in_place(const struct call *c, int rank)
{
    return c->in + (c->in_places ? c->in_places[rank] : (long)rank * c->in_count);
}

static int at_root(const struct call *c) { return rank_in(c->comm) == c->root; }

/* ---- data that moves: who sends, who receives ---- */

static void before_bcast(const struct call *c)
{
    if (at_root(c))
        fill(c->in, c->in_count, c->root, 0);
    else
        poison(c->in, c->in_count);
}

static void after_bcast(const struct call *c, const MPI_Status *status)
{
    (void)status;
    check(c->name, c->in, c->in_count, c->root, 0);
}

/* The same part of every rank arrives: at the root (gather) or everywhere (allgather). */
static void before_gathering(const struct call *c, int receives)
{
    fill(c->out, c->out_count, rank_in(c->comm), 0);
    for (int rank = 0; receives && rank < size_of(c->comm); rank++)
        poison(in_place(c, rank), in_count(c, rank));
}

static void before_gather(const struct call *c) { before_gathering(c, at_root(c)); }
static void before_allgather(const struct call *c) { before_gathering(c, 1); }

static void after_allgather(const struct call *c, const MPI_Status *status)
{
    (void)status;
    for (int rank = 0; rank < size_of(c->comm); rank++)
        check(c->name, in_place(c, rank), in_count(c, rank), rank, 0);
}

static void after_gather(const struct call *c, const MPI_Status *status)
{
    if (at_root(c))
        after_allgather(c, status);
}

static void before_scatter(const struct call *c)
{
    for (int rank = 0; at_root(c) && rank < size_of(c->comm); rank++)
        fill(out_place(c, rank), out_count(c, rank), c->root, rank);
    poison(c->in, c->in_count);
}

static void after_scatter(const struct call *c, const MPI_Status *status)
{
    (void)status;
    check(c->name, c->in, c->in_count, c->root, rank_in(c->comm));
}

static void before_alltoall(const struct call *c)
{
    for (int rank = 0; rank < size_of(c->comm); rank++) {
        fill(out_place(c, rank), out_count(c, rank), rank_in(c->comm), rank);
        poison(in_place(c, rank), in_count(c, rank));
    }
}

static void after_alltoall(const struct call *c, const MPI_Status *status)
{
    (void)status;
    for (int rank = 0; rank < size_of(c->comm); rank++)
        check(c->name, in_place(c, rank), in_count(c, rank), rank, rank_in(c->comm));
}

/* ---- data that is added up ---- */

static void before_reduce(const struct call *c)
{
    fill_terms(c->out, c->out_count, rank_in(c->comm));
    if (at_root(c))
        poison(c->in, c->out_count * (long)sizeof(float));
}

static void after_reduce(const struct call *c, const MPI_Status *status)
{
    (void)status;
    if (at_root(c))
        check_sum(c->name, c->in, c->out_count, size_of(c->comm), 0);
}

static void before_allreduce(const struct call *c)
{
    fill_terms(c->out, c->out_count, rank_in(c->comm));
    poison(c->in, c->out_count * (long)sizeof(float));
}

static void after_allreduce(const struct call *c, const MPI_Status *status)
{
    (void)status;
    check_sum(c->name, c->in, c->out_count, size_of(c->comm), 0);
}

static long before_rank(const struct call *c, int rank)
{
    long sum = 0;
    for (int i = 0; i < rank; i++)
        sum += in_count(c, i);
    return sum;
}

static void before_reduce_scatter(const struct call *c)
{
    int me = rank_in(c->comm);
    fill_terms(c->out, before_rank(c, size_of(c->comm)), me);
    poison(c->in, in_count(c, me) * (long)sizeof(float));
}

static void after_reduce_scatter(const struct call *c, const MPI_Status *status)
{
    int me = rank_in(c->comm);
    (void)status;
    check_sum(c->name, c->in, in_count(c, me), size_of(c->comm), before_rank(c, me));
}

/* ---- the calls ---- */

/* Defines MPI_NAME and MPI_INAME. PARAMETERS and ARGUMENTS are MPI's, in parentheses; OURS says whether the call is
 * payload; the rest fills in struct call. */
#define LIST(...) __VA_ARGS__
#define BLOCKING(NAME, RULE, PARAMETERS, ARGUMENTS, OURS, ...)                                                       \
    int MPI_##NAME(LIST PARAMETERS)                                                                                  \
    {                                                                                                                \
        struct call c = {.name = "MPI_" #NAME, .comm = comm, __VA_ARGS__};                                           \
        if (OURS)                                                                                                    \
            before_##RULE(&c);                                                                                       \
        int code = PMPI_##NAME(LIST ARGUMENTS);                                                                      \
        if (OURS)                                                                                                    \
            after_##RULE(&c, MPI_STATUS_IGNORE);                                                                     \
        return code;                                                                                                 \
    }
#define NONBLOCKING(NAME, RULE, PARAMETERS, ARGUMENTS, OURS, ...)                                                    \
    int MPI_I##NAME(LIST PARAMETERS, MPI_Request *request)                                                           \
    {                                                                                                                \
        struct call c = {.name = "MPI_I" #NAME, .comm = comm, .check = after_##RULE, __VA_ARGS__};                   \
        if (OURS)                                                                                                    \
            before_##RULE(&c);                                                                                       \
        int code = PMPI_I##NAME(LIST ARGUMENTS, request);                                                            \
        if (OURS)                                                                                                    \
            check_later(*request, &c);                                                                               \
        return code;                                                                                                 \
    }
#define SUM (type == MPI_FLOAT && op == MPI_SUM)
#define BOTH(NAME, LOWER, RULE, PARAMETERS, ARGUMENTS, OURS, ...)                                                    \
    BLOCKING(NAME, RULE, PARAMETERS, ARGUMENTS, OURS, __VA_ARGS__)                                                   \
    NONBLOCKING(LOWER, RULE, PARAMETERS, ARGUMENTS, OURS, __VA_ARGS__)

BOTH(Bcast, bcast, bcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (buffer, count, type, root, comm), type == MPI_BYTE, .root = root, .in = buffer, .in_count = count)

BOTH(Gather, gather, gather,
     (const void *out, int n, MPI_Datatype type, void *in, int m, MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, n, type, in, m, in_type, root, comm), type == MPI_BYTE, .root = root, .out = (byte *)out, .out_count = n,
     .in = in, .in_count = m)

BOTH(Gatherv, gatherv, gather,
     (const void *out, int n, MPI_Datatype type, void *in, const int counts[], const int places[],
      MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, n, type, in, counts, places, in_type, root, comm), type == MPI_BYTE, .root = root, .out = (byte *)out,
     .out_count = n, .in = in, .in_counts = counts, .in_places = places)

BOTH(Scatter, scatter, scatter,
     (const void *out, int n, MPI_Datatype out_type, void *in, int m, MPI_Datatype type, int root, MPI_Comm comm),
     (out, n, out_type, in, m, type, root, comm), type == MPI_BYTE, .root = root, .out = (byte *)out, .out_count = n,
     .in = in, .in_count = m)

BOTH(Scatterv, scatterv, scatter,
     (const void *out, const int counts[], const int places[], MPI_Datatype out_type, void *in, int m,
      MPI_Datatype type, int root, MPI_Comm comm),
     (out, counts, places, out_type, in, m, type, root, comm), type == MPI_BYTE, .root = root, .out = (byte *)out,
     .out_counts = counts, .out_places = places, .in = in, .in_count = m)

BOTH(Allgather, allgather, allgather,
     (const void *out, int n, MPI_Datatype type, void *in, int m, MPI_Datatype in_type, MPI_Comm comm),
     (out, n, type, in, m, in_type, comm), type == MPI_BYTE, .out = (byte *)out, .out_count = n, .in = in,
     .in_count = m)

BOTH(Allgatherv, allgatherv, allgather,
     (const void *out, int n, MPI_Datatype type, void *in, const int counts[], const int places[],
      MPI_Datatype in_type, MPI_Comm comm),
     (out, n, type, in, counts, places, in_type, comm), type == MPI_BYTE, .out = (byte *)out, .out_count = n,
     .in = in, .in_counts = counts, .in_places = places)

BOTH(Alltoall, alltoall, alltoall,
     (const void *out, int n, MPI_Datatype type, void *in, int m, MPI_Datatype in_type, MPI_Comm comm),
     (out, n, type, in, m, in_type, comm), type == MPI_BYTE, .out = (byte *)out, .out_count = n, .in = in,
     .in_count = m)

BOTH(Alltoallv, alltoallv, alltoall,
     (const void *out, const int n[], const int places[], MPI_Datatype type, void *in, const int m[],
      const int in_places[], MPI_Datatype in_type, MPI_Comm comm),
     (out, n, places, type, in, m, in_places, in_type, comm), type == MPI_BYTE, .out = (byte *)out, .out_counts = n,
     .out_places = places, .in = in, .in_counts = m, .in_places = in_places)

BOTH(Reduce, reduce, reduce,
     (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (out, in, count, type, op, root, comm), SUM, .root = root, .out = (byte *)out, .out_count = count, .in = in)

BOTH(Allreduce, allreduce, allreduce,
     (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, count, type, op, comm), SUM, .out = (byte *)out, .out_count = count, .in = in)

BOTH(Reduce_scatter, reduce_scatter, reduce_scatter,
     (const void *out, void *in, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, counts, type, op, comm), SUM, .out = (byte *)out, .in_counts = counts, .in = in)

BOTH(Reduce_scatter_block, reduce_scatter_block, reduce_scatter,
     (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, count, type, op, comm), SUM, .out = (byte *)out, .in_count = count, .in = in)

int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op)
{
    if (SUM) {
        fill_terms((void *)in, count, 0);
        fill_terms(inout, count, 1);
    }
    int code = PMPI_Reduce_local(in, inout, count, type, op);
    if (SUM)
        check_sum("MPI_Reduce_local", inout, count, 2, 0);
    return code;
}
