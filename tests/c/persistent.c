/* ranks: 2
 * Persistent requests start again and again, alone and all at once, in every
 * mode of sending; an inactive one is done at once with an empty status. */
#include "check.h"

enum { ROUNDS = 50, LARGEST = 100000 };
static const int sizes[] = {4, 41, 20000, LARGEST};
static unsigned char buffers[4][LARGEST];

static void inactive(MPI_Request *request)
{
    MPI_Status status;
    int flag = 0, count = -1;
    MPI_Test(request, &flag, &status);
    CHECK_EQUAL(flag, 1);
    CHECK_EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQUAL(count, 0);
    CHECK(*request != MPI_REQUEST_NULL);
}

static void make(MPI_Request *requests)
{
    if (rank == 1) {
        for (int index = 0; index < 4; index++)
            MPI_Recv_init(buffers[index], LARGEST, MPI_BYTE, 0, index, MPI_COMM_WORLD, &requests[index]);
        return;
    }
    MPI_Send_init(buffers[0], sizes[0], MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Bsend_init(buffers[1], sizes[1], MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Ssend_init(buffers[2], sizes[2], MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Rsend_init(buffers[3], sizes[3], MPI_BYTE, 1, 3, MPI_COMM_WORLD, &requests[3]);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Request requests[4];
    MPI_Status statuses[4];
    static unsigned char attached[ROUNDS * (64 + MPI_BSEND_OVERHEAD)];
    void *detached;
    int length, count;
    MPI_Buffer_attach(attached, sizeof attached);
    make(requests);
    inactive(&requests[0]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int index = 0; index < 4; index++) {
            if (rank == 0)
                fill(buffers[index], sizes[index], round + index);
            else
                memset(buffers[index], 0, sizes[index]);
        }
        if (rank == 1)
            MPI_Startall(4, requests);
        MPI_Barrier(MPI_COMM_WORLD); /* the ready send needs its receive */
        for (int index = 0; rank == 0 && index < 4; index++)
            MPI_Start(&requests[index]);
        MPI_Waitall(4, requests, statuses);
        for (int index = 0; rank == 1 && index < 4; index++) {
            MPI_Get_count(&statuses[index], MPI_BYTE, &count);
            CHECK_EQUAL(count, sizes[index]);
            CHECK_FILLED(buffers[index], sizes[index], round + index);
        }
    }
    inactive(&requests[1]);
    for (int index = 0; index < 4; index++) {
        MPI_Request_free(&requests[index]);
        CHECK(requests[index] == MPI_REQUEST_NULL);
    }
    MPI_Buffer_detach(&detached, &length);
    CHECK(detached == attached);
    return check_end();
}
