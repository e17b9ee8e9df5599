/* ranks: 1 2
 * Wrong calls of collectives, told on every rank alike and before any message,
 * so that nobody hangs. */
#include "bad_input.h"
#include <stdint.h>

#define W MPI_COMM_WORLD
static int in[16], out[16], ones[] = {1, 1}, bad_counts[] = {-1, -1}, places[] = {0, 1};
static MPI_Datatype uncommitted, pair;
static MPI_Request r = MPI_REQUEST_NULL;

static void rooted(void)
{
    BAD(MPI_ERR_ROOT, "root|1000", MPI_Bcast(in, 1, MPI_INT, 1000, W));
    BAD(MPI_ERR_ROOT, "root|-7", MPI_Bcast(in, 1, MPI_INT, -7, W));
    BAD(MPI_ERR_ROOT, "root|MPI_ROOT", MPI_Bcast(in, 1, MPI_INT, MPI_ROOT, W));
    BAD(MPI_ERR_ROOT, "root|MPI_PROC_NULL", MPI_Bcast(in, 1, MPI_INT, MPI_PROC_NULL, W));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Bcast(in, -1, MPI_INT, 0, W));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Bcast_c(in, -1, MPI_INT, 0, W));
    BAD(MPI_ERR_BUFFER, "buffer|null", MPI_Bcast(NULL, 1, MPI_INT, 0, W));
    BAD(MPI_ERR_BUFFER, "buffer|MPI_IN_PLACE", MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, W));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, W));
    BAD(MPI_ERR_TYPE, "datatype|committed", MPI_Bcast(in, 1, uncommitted, 0, W));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_NULL));
    BAD(MPI_ERR_ROOT, "root|1000", MPI_Ibcast(in, 1, MPI_INT, 1000, W, &r));
    BAD(MPI_ERR_ROOT, "root|1000", MPI_Bcast_init(in, 1, MPI_INT, 1000, W, MPI_INFO_NULL, &r));
    BAD(MPI_ERR_ROOT, "root|-999", MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, -999, W));
    BAD(MPI_ERR_ROOT, "root|1000", MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 1000, W));
    BAD(MPI_ERR_ROOT, "root|-9", MPI_Gatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, -9, W));
    BAD(MPI_ERR_ROOT, "root|-9", MPI_Scatterv(in, ones, places, MPI_INT, out, 1, MPI_INT, -9, W));
    BAD(MPI_ERR_ROOT, "root|1000", MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 1000, W));
    BAD(MPI_ERR_ROOT, "root|1000", MPI_Ireduce(in, out, 1, MPI_INT, MPI_SUM, 1000, W, &r));
    if (rank == 0) {
        /* only the root has these arguments; it is not in the call for the others */
        MPI_Comm c = MPI_COMM_SELF;
        BAD(MPI_ERR_COUNT, "recvcount|-1", MPI_Gather(in, 1, MPI_INT, out, -1, MPI_INT, 0, c));
        BAD(MPI_ERR_TYPE, "recvtype|null datatype", MPI_Gather(in, 1, MPI_INT, out, 1, MPI_DATATYPE_NULL, 0, c));
        BAD(MPI_ERR_BUFFER, "overlap", MPI_Gather(in, 1, MPI_INT, in, 1, MPI_INT, 0, c));
        BAD(MPI_ERR_TRUNCATE, "8 bytes|4 bytes", MPI_Gather(in, 2, MPI_INT, out, 1, MPI_INT, 0, c));
        BAD(MPI_ERR_TRUNCATE, "8 bytes|4 bytes", MPI_Scatter(in, 2, MPI_INT, out, 1, MPI_INT, 0, c));
        BAD(MPI_ERR_COUNT, "recvcounts[0]|-1", MPI_Gatherv(in, 1, MPI_INT, out, bad_counts, places, MPI_INT, 0, c));
        BAD(MPI_ERR_ARG, "null", MPI_Gatherv(in, 1, MPI_INT, out, NULL, places, MPI_INT, 0, c));
        BAD(MPI_ERR_COUNT, "sendcounts[0]|-1", MPI_Scatterv(in, bad_counts, places, MPI_INT, out, 1, MPI_INT, 0, c));
        BAD(MPI_ERR_BUFFER, "sendbuf|MPI_IN_PLACE", MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, 0, c));
    }
}

static void to_all(void)
{
    MPI_Datatype types[] = {MPI_INT, MPI_INT}, nulls[] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Info info, stale;
    MPI_Info_create(&info);
    stale = info;
    MPI_Info_free(&info);
    BAD(MPI_ERR_COMM, "comm|null", MPI_Barrier(MPI_COMM_NULL));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Ibarrier(MPI_COMM_NULL, &r));
    BAD(MPI_ERR_ARG, "request|null", MPI_Ibarrier(W, NULL));
    BAD(MPI_ERR_INFO, "info", MPI_Barrier_init(W, stale, &r));
    BAD(MPI_ERR_COUNT, "count", MPI_Bcast_c(in, INT64_MAX, MPI_INT, 0, W));
    BAD(MPI_ERR_COUNT, "recvcount|-1", MPI_Allgather(in, 1, MPI_INT, out, -1, MPI_INT, W));
    BAD(MPI_ERR_TYPE, "sendtype", MPI_Allgather(in, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, W));
    BAD(MPI_ERR_TRUNCATE, "8 bytes|4 bytes", MPI_Allgather(in, 2, MPI_INT, out, 1, MPI_INT, W));
    BAD(MPI_ERR_BUFFER, "recvbuf|MPI_IN_PLACE", MPI_Allgather(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, W));
    BAD(MPI_ERR_BUFFER, "sendbuf|null", MPI_Allgather(NULL, 1, MPI_INT, out, 1, MPI_INT, W));
    BAD(MPI_ERR_COUNT, "recvcounts[0]|-1", MPI_Allgatherv(in, 1, MPI_INT, out, bad_counts, places, MPI_INT, W));
    BAD(MPI_ERR_ARG, "null", MPI_Allgatherv(in, 1, MPI_INT, out, ones, NULL, MPI_INT, W));
    BAD(MPI_ERR_BUFFER, "overlap", MPI_Alltoall(in, 1, MPI_INT, in, 1, MPI_INT, W));
    BAD(MPI_ERR_COUNT, "sendcount|-1", MPI_Alltoall(in, -1, MPI_INT, out, 1, MPI_INT, W));
    BAD(MPI_ERR_COUNT, "sendcounts[0]|-1", MPI_Alltoallv(in, bad_counts, places, MPI_INT, out, ones, places, MPI_INT, W));
    BAD(MPI_ERR_ARG, "null", MPI_Alltoallv(in, ones, NULL, MPI_INT, out, ones, places, MPI_INT, W));
    BAD(MPI_ERR_TYPE, "recvtype", MPI_Alltoallw(in, ones, places, types, out, ones, places, nulls, W));
    BAD(MPI_ERR_ARG, "sendtypes|null", MPI_Alltoallw(in, ones, places, NULL, out, ones, places, types, W));
    BAD(MPI_ERR_TOPOLOGY, "topology", MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, W));
    BAD(MPI_ERR_TOPOLOGY, "topology", MPI_Ineighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, W, &r));
}

static void reductions(void)
{
    MPI_Op null = MPI_OP_NULL;
    BAD(MPI_ERR_OP, "op|null", MPI_Allreduce(in, out, 1, MPI_INT, null, W));
    BAD(MPI_ERR_OP, "MPI_BAND|MPI_DOUBLE", MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, W));
    BAD(MPI_ERR_OP, "MPI_MINLOC|MPI_INT", MPI_Allreduce(in, out, 1, MPI_INT, MPI_MINLOC, W));
    BAD(MPI_ERR_OP, "MPI_SUM|MPI_2INT", MPI_Allreduce(in, out, 1, MPI_2INT, MPI_SUM, W));
    BAD(MPI_ERR_OP, "MPI_MAX|MPI_C_BOOL", MPI_Allreduce(in, out, 1, MPI_C_BOOL, MPI_MAX, W));
    BAD(MPI_ERR_OP, "MPI_SUM|MPI_BYTE", MPI_Allreduce(in, out, 1, MPI_BYTE, MPI_SUM, W));
    BAD(MPI_ERR_OP, "MPI_MAX|COMPLEX", MPI_Allreduce(in, out, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, W));
    BAD(MPI_ERR_OP, "MPI_LAND|MPI_FLOAT", MPI_Allreduce(in, out, 1, MPI_FLOAT, MPI_LAND, W));
    BAD(MPI_ERR_OP, "MPI_SUM", MPI_Allreduce(in, out, 1, pair, MPI_SUM, W));
    BAD(MPI_ERR_OP, "MPI_REPLACE", MPI_Allreduce(in, out, 1, MPI_INT, MPI_REPLACE, W));
    BAD(MPI_ERR_TYPE, "committed", MPI_Allreduce(in, out, 1, uncommitted, MPI_SUM, W));
    BAD(MPI_ERR_BUFFER, "overlap|MPI_IN_PLACE", MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, W));
    BAD(MPI_ERR_BUFFER, "overlap", MPI_Allreduce(in, in + 1, 2, MPI_INT, MPI_SUM, W));
    BAD(MPI_ERR_BUFFER, "recvbuf|null", MPI_Allreduce(in, NULL, 1, MPI_INT, MPI_SUM, W));
    BAD(MPI_ERR_BUFFER, "recvbuf|MPI_IN_PLACE", MPI_Allreduce(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, W));
    BAD(MPI_ERR_OP, "MPI_BAND", MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_BAND, 0, W));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Scan(in, out, -1, MPI_INT, MPI_SUM, W));
    BAD(MPI_ERR_OP, "op|null", MPI_Exscan(in, out, 1, MPI_INT, null, W));
    BAD(MPI_ERR_OP, "MPI_BAND", MPI_Iscan(in, out, 1, MPI_DOUBLE, MPI_BAND, W, &r));
    BAD(MPI_ERR_COUNT, "counts[0]|-1", MPI_Reduce_scatter(in, out, bad_counts, MPI_INT, MPI_SUM, W));
    BAD(MPI_ERR_ARG, "null", MPI_Reduce_scatter(in, out, NULL, MPI_INT, MPI_SUM, W));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Reduce_scatter_block(in, out, -1, MPI_INT, MPI_SUM, W));
    BAD(MPI_ERR_OP, "MPI_BXOR|MPI_FLOAT", MPI_Reduce_local(in, out, 1, MPI_FLOAT, MPI_BXOR));
    BAD(MPI_ERR_BUFFER, "inbuf|inoutbuf", MPI_Reduce_local(in, in, 1, MPI_INT, MPI_SUM));
    BAD(MPI_ERR_BUFFER, "inbuf|null", MPI_Reduce_local(NULL, out, 1, MPI_INT, MPI_SUM));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Reduce_local(in, out, -1, MPI_INT, MPI_SUM));
    CHECK_CLASS(MPI_Allreduce(in, in, 0, MPI_INT, MPI_SUM, W), MPI_SUCCESS);
}

/* What only one side of an intercommunicator may do. */
static void between_groups(void)
{
    MPI_Comm half, inter, null;
    if (size < 2)
        return;
    MPI_Comm_split(W, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, W, 1 - rank % 2, 1, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    BAD(MPI_ERR_COMM, "intercommunicator", MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, inter));
    BAD(MPI_ERR_COMM, "intercommunicator", MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, inter));
    BAD(MPI_ERR_ROOT, "root|1000", MPI_Bcast(in, 1, MPI_INT, 1000, inter));
    BAD(MPI_ERR_BUFFER, "sendbuf|MPI_IN_PLACE", MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, inter));
    BAD(MPI_ERR_COMM, "intercommunicator", MPI_Cart_create(inter, 1, ones, ones, 0, &null));
    BAD(MPI_ERR_COMM, "intercommunicator", MPI_Intercomm_create(inter, 0, W, 0, 1, &null));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    bad_begin(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    rooted();
    to_all();
    reductions();
    between_groups();
    MPI_Type_free(&pair);
    MPI_Type_free(&uncommitted);
    CHECK(r == MPI_REQUEST_NULL);
    return bad_end(60);
}
