/* ranks: 1 2 3
 * A receive that nothing matches can be cancelled and takes no message
 * afterwards; a completed one says that it was not cancelled. */
#include "check.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Request request;
    MPI_Status status;
    int value = 0, flag = 0, peer = (rank + 1) % size, from = (rank + size - 1) % size;

    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK_EQUAL(flag, 1);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);

    /* the message goes to the second receive, not to the cancelled one */
    int out = 40 + rank, in = 0;
    MPI_Irecv(&in, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &request);
    MPI_Send(&out, 1, MPI_INT, peer, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK_EQUAL(flag, 0);
    CHECK_EQUAL(in, 40 + from);
    CHECK_EQUAL(value, 0);

    /* cancelled after it has been matched: it completes as a receive */
    MPI_Irecv(&in, 1, MPI_INT, from, 8, MPI_COMM_WORLD, &request);
    MPI_Send(&out, 1, MPI_INT, peer, 8, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Status probed;
    int test = 0;
    MPI_Request_get_status(request, &test, &probed);
    while (!test)
        MPI_Request_get_status(request, &test, &probed);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK_EQUAL(flag, 0);
    return check_end();
}
