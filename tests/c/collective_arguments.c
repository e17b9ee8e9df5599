/* ranks: 1 2
 * Wrong arguments of collective operations are told by the right class, on
 * every rank alike and before any message, so that nobody hangs. */
#include "check.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* answers for a null communicator */
    int in[16] = {0}, out[16], ones[] = {1, 1}, bad[] = {-1, -1}, places[] = {0, 1};
    MPI_Request request;
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);

    CHECK_CLASS(MPI_Bcast(in, 1, MPI_INT, size, comm), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(in, 1, MPI_INT, -7, comm), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(in, 1, MPI_INT, MPI_ROOT, comm), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(in, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Bcast(NULL, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Bcast(in, 1, pair, 0, comm), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Ibcast(in, 1, MPI_INT, size, comm, &request), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast_init(in, 1, MPI_INT, size, comm, MPI_INFO_NULL, &request), MPI_ERR_ROOT);

    CHECK_CLASS(MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(in, in + 1, 2, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(in, in, 0, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    CHECK_CLASS(MPI_Allreduce(in, NULL, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, comm), MPI_ERR_OP);
    CHECK_CLASS(MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_BAND, 0, comm), MPI_ERR_OP);
    CHECK_CLASS(MPI_Iscan(in, out, 1, MPI_DOUBLE, MPI_BAND, comm, &request), MPI_ERR_OP);
    CHECK_CLASS(MPI_Reduce_scatter(in, out, bad, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Reduce_scatter(in, out, NULL, MPI_INT, MPI_SUM, comm), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Reduce_scatter_block(in, out, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);

    CHECK_CLASS(MPI_Allgather(in, 1, MPI_INT, out, -1, MPI_INT, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgather(in, 2, MPI_INT, out, 1, MPI_INT, comm), MPI_ERR_TRUNCATE);
    CHECK_CLASS(MPI_Allgatherv(in, 1, MPI_INT, out, bad, places, MPI_INT, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Alltoall(in, 1, MPI_INT, in, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Alltoallv(in, bad, places, MPI_INT, out, ones, places, MPI_INT, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Alltoallv(in, ones, NULL, MPI_INT, out, ones, places, MPI_INT, comm), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm), MPI_ERR_TOPOLOGY);

    MPI_Type_free(&pair);
    return check_end();
}
