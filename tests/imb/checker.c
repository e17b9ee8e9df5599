/* Checks the data of an MPI benchmark that does not check it itself.
 *
 * Preloaded into an unmodified program, it stands between the program and the library by MPI's profiling
 * interface (MPI-5.0 section 15.2). Before each call it fills what is sent with a pattern that follows from the
 * sender's rank, and what is received with another value; after the call it looks whether the right bytes came.
 * Only MPI_BYTE, and MPI_FLOAT with MPI_SUM, are touched: the benchmark uses them for its payload and nothing
 * else. At MPI_Finalize each rank prints one line that the runner reads. With IMB_CHECK_PLANT set, one byte of
 * the first message is spoilt on arrival: so the runner knows that a defect would be seen.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char byte;

static long checked_calls, checked_bytes, defects;

static int rank_in(MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

static int size_of(MPI_Comm comm)
{
    int size;
    PMPI_Comm_size(comm, &size);
    return size;
}

/* ---- patterns ---- */

/* The byte at `offset` of what `source` sends to `target` (0 where the target plays no part). */
static byte pattern(int source, int target, long offset)
{
    return (byte)(1 + (source * 31 + target * 17 + offset * 7 + (offset >> 8)) % 251);
}

static void fill(void *buffer, long bytes, int source, int target)
{
    for (long i = 0; i < bytes; i++)
        ((byte *)buffer)[i] = pattern(source, target, i);
}

/* 0 is in no pattern, so a byte that never came is seen. */
static void poison(void *buffer, long bytes)
{
    memset(buffer, 0, bytes);
}

static void report(const char *call, long offset, int expected, int found)
{
    if (defects++ == 0)
        fprintf(stderr, "imb-check: DEFECT in %s: at offset %ld, expected %d, found %d\n", call, offset, expected,
                found);
}

static void check(const char *call, const void *buffer, long bytes, int source, int target)
{
    for (long i = 0; i < bytes; i++)
        if (((const byte *)buffer)[i] != pattern(source, target, i)) {
            report(call, i, pattern(source, target, i), ((const byte *)buffer)[i]);
            break;
        }
    checked_calls++;
    checked_bytes += bytes;
}

/* Reductions: small whole numbers, so that the sum is exact whatever the order. */
static float term(int rank, long index)
{
    return (float)(rank + index % 13 + 1);
}

static void fill_terms(void *buffer, long count, int rank)
{
    for (long i = 0; i < count; i++)
        ((float *)buffer)[i] = term(rank, i);
}

/* `first` is the index of the buffer's first element in the whole vector. */
static void check_sum(const char *call, const void *buffer, long count, int ranks, long first)
{
    for (long i = 0; i < count; i++) {
        float expected = 0;
        for (int rank = 0; rank < ranks; rank++)
            expected += term(rank, first + i);
        if (((const float *)buffer)[i] != expected) {
            report(call, first + i, (int)expected, (int)((const float *)buffer)[i]);
            break;
        }
    }
    checked_calls++;
    checked_bytes += count * (long)sizeof(float);
}

static int is_sum(MPI_Datatype type, MPI_Op op)
{
    return type == MPI_FLOAT && op == MPI_SUM;
}

/* ---- point to point ---- */

static void before_send(const void *buffer, int count, MPI_Datatype type, MPI_Comm comm)
{
    if (type == MPI_BYTE)
        fill((void *)buffer, count, rank_in(comm), 0);
}

static void before_receive(void *buffer, int count, MPI_Datatype type)
{
    if (type == MPI_BYTE)
        poison(buffer, count);
}

static void after_receive(const char *call, const void *buffer, MPI_Datatype type, const MPI_Status *status)
{
    int received;
    if (type != MPI_BYTE || status->MPI_SOURCE < 0)
        return;
    PMPI_Get_count(status, MPI_BYTE, &received);
    if (received > 0 && checked_bytes == 0 && getenv("IMB_CHECK_PLANT"))
        *(byte *)buffer ^= 1;
    check(call, buffer, received, status->MPI_SOURCE, 0);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm)
{
    before_send(buffer, count, type, comm);
    return PMPI_Send(buffer, count, type, target, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    before_receive(buffer, count, type);
    int code = PMPI_Recv(buffer, count, type, source, tag, comm, used);
    after_receive("MPI_Recv", buffer, type, used);
    return code;
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int target, int out_tag, void *in,
                 int in_count, MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    before_send(out, out_count, out_type, comm);
    before_receive(in, in_count, in_type);
    int code = PMPI_Sendrecv(out, out_count, out_type, target, out_tag, in, in_count, in_type, source, in_tag, comm,
                             used);
    after_receive("MPI_Sendrecv", in, in_type, used);
    return code;
}

/* Receives under way, so that MPI_Wait knows what to check. */
static struct pending {
    MPI_Request request;
    const void *buffer;
    MPI_Datatype type;
} pending[4096];
static int pendings;

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    before_send(buffer, count, type, comm);
    return PMPI_Isend(buffer, count, type, target, tag, comm, request);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    before_receive(buffer, count, type);
    int code = PMPI_Irecv(buffer, count, type, source, tag, comm, request);
    if (pendings < 4096)
        pending[pendings++] = (struct pending){*request, buffer, type};
    return code;
}

static void after_wait(MPI_Request request, const MPI_Status *status)
{
    for (int i = 0; i < pendings; i++)
        if (pending[i].request == request) {
            after_receive("MPI_Irecv", pending[i].buffer, pending[i].type, status);
            pending[i] = pending[--pendings];
            return;
        }
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    MPI_Request asked = *request;
    int code = PMPI_Wait(request, used);
    after_wait(asked, used);
    return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? malloc((count + 1) * sizeof *used) : statuses;
    MPI_Request *asked = malloc((count + 1) * sizeof *asked);
    memcpy(asked, requests, count * sizeof *asked);
    int code = PMPI_Waitall(count, requests, used);
    for (int i = 0; i < count; i++)
        after_wait(asked[i], &used[i]);
    free(asked);
    if (used != statuses)
        free(used);
    return code;
}

/* ---- collectives that move ---- */

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (type == MPI_BYTE && rank_in(comm) == root)
        fill(buffer, count, root, 0);
    else if (type == MPI_BYTE)
        poison(buffer, count);
    int code = PMPI_Bcast(buffer, count, type, root, comm);
    if (type == MPI_BYTE)
        check("MPI_Bcast", buffer, count, root, 0);
    return code;
}

int MPI_Gather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count, MPI_Datatype in_type,
               int root, MPI_Comm comm)
{
    int at_root = rank_in(comm) == root && in_type == MPI_BYTE, ranks = size_of(comm);
    before_send(out, out_count, out_type, comm);
    if (at_root)
        poison(in, (long)in_count * ranks);
    int code = PMPI_Gather(out, out_count, out_type, in, in_count, in_type, root, comm);
    for (int rank = 0; at_root && rank < ranks; rank++)
        check("MPI_Gather", (byte *)in + (long)rank * in_count, in_count, rank, 0);
    return code;
}

int MPI_Gatherv(const void *out, int out_count, MPI_Datatype out_type, void *in, const int counts[],
                const int places[], MPI_Datatype in_type, int root, MPI_Comm comm)
{
    int at_root = rank_in(comm) == root && in_type == MPI_BYTE, ranks = size_of(comm);
    before_send(out, out_count, out_type, comm);
    for (int rank = 0; at_root && rank < ranks; rank++)
        poison((byte *)in + places[rank], counts[rank]);
    int code = PMPI_Gatherv(out, out_count, out_type, in, counts, places, in_type, root, comm);
    for (int rank = 0; at_root && rank < ranks; rank++)
        check("MPI_Gatherv", (byte *)in + places[rank], counts[rank], rank, 0);
    return code;
}

int MPI_Scatter(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count, MPI_Datatype in_type,
                int root, MPI_Comm comm)
{
    int me = rank_in(comm), ranks = size_of(comm);
    for (int rank = 0; me == root && out_type == MPI_BYTE && rank < ranks; rank++)
        fill((byte *)out + (long)rank * out_count, out_count, root, rank);
    before_receive(in, in_count, in_type);
    int code = PMPI_Scatter(out, out_count, out_type, in, in_count, in_type, root, comm);
    if (in_type == MPI_BYTE)
        check("MPI_Scatter", in, in_count, root, me);
    return code;
}

int MPI_Scatterv(const void *out, const int counts[], const int places[], MPI_Datatype out_type, void *in,
                 int in_count, MPI_Datatype in_type, int root, MPI_Comm comm)
{
    int me = rank_in(comm), ranks = size_of(comm);
    for (int rank = 0; me == root && out_type == MPI_BYTE && rank < ranks; rank++)
        fill((byte *)out + places[rank], counts[rank], root, rank);
    before_receive(in, in_count, in_type);
    int code = PMPI_Scatterv(out, counts, places, out_type, in, in_count, in_type, root, comm);
    if (in_type == MPI_BYTE)
        check("MPI_Scatterv", in, in_count, root, me);
    return code;
}

int MPI_Allgather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm)
{
    int ours = in_type == MPI_BYTE, ranks = size_of(comm);
    before_send(out, out_count, out_type, comm);
    if (ours)
        poison(in, (long)in_count * ranks);
    int code = PMPI_Allgather(out, out_count, out_type, in, in_count, in_type, comm);
    for (int rank = 0; ours && rank < ranks; rank++)
        check("MPI_Allgather", (byte *)in + (long)rank * in_count, in_count, rank, 0);
    return code;
}

int MPI_Allgatherv(const void *out, int out_count, MPI_Datatype out_type, void *in, const int counts[],
                   const int places[], MPI_Datatype in_type, MPI_Comm comm)
{
    int ours = in_type == MPI_BYTE, ranks = size_of(comm);
    before_send(out, out_count, out_type, comm);
    for (int rank = 0; ours && rank < ranks; rank++)
        poison((byte *)in + places[rank], counts[rank]);
    int code = PMPI_Allgatherv(out, out_count, out_type, in, counts, places, in_type, comm);
    for (int rank = 0; ours && rank < ranks; rank++)
        check("MPI_Allgatherv", (byte *)in + places[rank], counts[rank], rank, 0);
    return code;
}

int MPI_Alltoall(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm)
{
    int ours = in_type == MPI_BYTE, me = rank_in(comm), ranks = size_of(comm);
    for (int rank = 0; ours && rank < ranks; rank++) {
        fill((byte *)out + (long)rank * out_count, out_count, me, rank);
        poison((byte *)in + (long)rank * in_count, in_count);
    }
    int code = PMPI_Alltoall(out, out_count, out_type, in, in_count, in_type, comm);
    for (int rank = 0; ours && rank < ranks; rank++)
        check("MPI_Alltoall", (byte *)in + (long)rank * in_count, in_count, rank, me);
    return code;
}

int MPI_Alltoallv(const void *out, const int out_counts[], const int out_places[], MPI_Datatype out_type, void *in,
                  const int in_counts[], const int in_places[], MPI_Datatype in_type, MPI_Comm comm)
{
    int ours = in_type == MPI_BYTE, me = rank_in(comm), ranks = size_of(comm);
    for (int rank = 0; ours && rank < ranks; rank++) {
        fill((byte *)out + out_places[rank], out_counts[rank], me, rank);
        poison((byte *)in + in_places[rank], in_counts[rank]);
    }
    int code = PMPI_Alltoallv(out, out_counts, out_places, out_type, in, in_counts, in_places, in_type, comm);
    for (int rank = 0; ours && rank < ranks; rank++)
        check("MPI_Alltoallv", (byte *)in + in_places[rank], in_counts[rank], rank, me);
    return code;
}

/* ---- collectives that reduce ---- */

int MPI_Reduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    int ours = is_sum(type, op), me = rank_in(comm);
    if (ours)
        fill_terms((void *)out, count, me);
    if (ours && me == root)
        poison(in, count * (long)sizeof(float));
    int code = PMPI_Reduce(out, in, count, type, op, root, comm);
    if (ours && me == root)
        check_sum("MPI_Reduce", in, count, size_of(comm), 0);
    return code;
}

int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int ours = is_sum(type, op);
    if (ours) {
        fill_terms((void *)out, count, rank_in(comm));
        poison(in, count * (long)sizeof(float));
    }
    int code = PMPI_Allreduce(out, in, count, type, op, comm);
    if (ours)
        check_sum("MPI_Allreduce", in, count, size_of(comm), 0);
    return code;
}

int MPI_Reduce_scatter(const void *out, void *in, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int ours = is_sum(type, op), me = rank_in(comm), ranks = size_of(comm);
    long total = 0, first = 0;
    for (int rank = 0; rank < ranks; rank++) {
        total += counts[rank];
        first += rank < me ? counts[rank] : 0;
    }
    if (ours)
        fill_terms((void *)out, total, me);
    int code = PMPI_Reduce_scatter(out, in, counts, type, op, comm);
    if (ours)
        check_sum("MPI_Reduce_scatter", in, counts[me], ranks, first);
    return code;
}

int MPI_Reduce_scatter_block(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int ours = is_sum(type, op), me = rank_in(comm), ranks = size_of(comm);
    if (ours)
        fill_terms((void *)out, (long)count * ranks, me);
    int code = PMPI_Reduce_scatter_block(out, in, count, type, op, comm);
    if (ours)
        check_sum("MPI_Reduce_scatter_block", in, count, ranks, (long)count * me);
    return code;
}

int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op)
{
    int ours = is_sum(type, op);
    if (ours) {
        fill_terms((void *)in, count, 0);
        fill_terms(inout, count, 1);
    }
    int code = PMPI_Reduce_local(in, inout, count, type, op);
    if (ours)
        check_sum("MPI_Reduce_local", inout, count, 2, 0);
    return code;
}

int MPI_Finalize(void)
{
    int rank = rank_in(MPI_COMM_WORLD);
    fprintf(stderr, "imb-check: rank %d: %ld calls, %ld bytes, %ld defects\n", rank, checked_calls, checked_bytes,
            defects);
    return PMPI_Finalize();
}
