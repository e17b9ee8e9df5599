/* ranks: 2 3
 * Short messages in memory that peers read directly: the receiver reads them where they are, and yet a send does not
 * wait for its receive as long as they are few. */
#include "check.h"

#define LARGEST 32768
#define ROUNDS 200

static unsigned char *out, *in;

/* All send to the right before they receive from the left, so often that pages are shared and ways are measured. */
static void everybody_sends_first(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int round = 0; round < ROUNDS; round++)
        for (int bytes = 1; bytes <= LARGEST; bytes = bytes * 3 + round % 7) {
            fill(out, bytes, rank + round);
            MPI_Send(out, bytes, MPI_BYTE, right, round, MPI_COMM_WORLD);
            fill(out, bytes, 99); /* the message has gone */
            MPI_Recv(in, bytes, MPI_BYTE, left, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_FILLED(in, bytes, left + round);
        }
}

/* More than the receiver keeps for later arrive before it asks for the first; it takes the last first. */
static void many_wait(void)
{
    enum { MANY = 100, BYTES = 30000 };
    static unsigned char *blocks;
    MPI_Request requests[MANY];
    MPI_Alloc_mem((MPI_Aint)MANY * BYTES, MPI_INFO_NULL, &blocks);
    for (int round = 0; round < 5; round++) {
        if (rank == 0) {
            for (int i = 0; i < MANY; i++) {
                memset(blocks + i * BYTES, i + round, BYTES);
                MPI_Isend(blocks + i * BYTES, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
            }
            MPI_Send(NULL, 0, MPI_BYTE, 1, MANY, MPI_COMM_WORLD);
            MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = MANY - 1; i >= 0; i--) {
                MPI_Recv(in, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(in[0] == i + round && memcmp(in, in + 1, BYTES - 1) == 0);
            }
        }
    }
    MPI_Free_mem(blocks);
}

/* A synchronous send still waits for its receive. */
static void synchronous_waits(void)
{
    if (rank == 0) {
        MPI_Request request;
        int complete = 0;
        fill(out, 5000, 5);
        MPI_Issend(out, 5000, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 1000; i++) {
            MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
            CHECK(!complete);
        }
        MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, 5000, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_FILLED(in, 5000, 5);
    }
}

/* Receives that match only in part: too short, another tag first, from anybody. */
static void odd_receives(void)
{
    MPI_Status status;
    int bytes;
    for (int round = 0; round < 50; round++) {
        if (rank == 0) {
            fill(out, 9000, round);
            MPI_Send(out, 9000, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Send(out, 3000, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
            MPI_Send(out, 2000, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Recv(in, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            CHECK(bytes == 3000 && status.MPI_SOURCE == 0);
            CHECK_FILLED(in, 3000, round);
            in[100] = 7;
            CHECK(MPI_Recv(in, 100, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status) != MPI_SUCCESS);
            CHECK_FILLED(in, 100, round);
            CHECK(in[100] == 7);
            MPI_Recv(in, 2000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            CHECK(status.MPI_TAG == 3);
            CHECK_FILLED(in, 2000, round);
        }
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Alloc_mem(LARGEST, MPI_INFO_NULL, &out);
    MPI_Alloc_mem(LARGEST, MPI_INFO_NULL, &in);
    everybody_sends_first();
    many_wait();
    synchronous_waits();
    odd_receives();
    MPI_Free_mem(out);
    MPI_Free_mem(in);
    return check_end();
}
