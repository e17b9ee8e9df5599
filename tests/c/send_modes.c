/* ranks: 2
 * A synchronous send is done only once its receive has begun; a buffered one
 * is done at once, and detaching waits for delivery; a ready one finds its
 * receive; buffers that are too small are an error. */
#include "check.h"

static const int sizes[] = {0, 1, 8, 32, 33, 41, 1016, 1017, 3552, 3553, 5000, 20000, 32704, 32705, 70001,
                            200000, 262144, 262145};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 262145 };
static unsigned char buffer[LARGEST];

static void synchronous(int bytes)
{
    MPI_Request request;
    int flag = 1;
    if (rank == 0) {
        fill(buffer, bytes, bytes);
        MPI_Issend(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        for (int turn = 0; turn < 100; turn++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK_EQUAL(flag, 0);
        }
        MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD); /* now it may begin */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Ssend(buffer, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_FILLED(buffer, bytes, bytes);
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_FILLED(buffer, bytes, bytes);
    }
}

/* A synchronous send is done when its message is taken, also after a probe, in part, or with gaps. */
static void synchronous_otherwise(int bytes)
{
    MPI_Datatype gaps;
    MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    memset(buffer, 0, LARGEST);
    if (rank == 0) {
        MPI_Request request;
        int flag;
        fill(buffer, bytes, 1);
        MPI_Issend(buffer, bytes, MPI_BYTE, 1, 8, MPI_COMM_WORLD, &request);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* probed, not taken */
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK_EQUAL(flag, 0);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 10, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Ssend(buffer, bytes, MPI_BYTE, 1, 11, MPI_COMM_WORLD);
        MPI_Ssend(buffer, 1, gaps, 1, 12, MPI_COMM_WORLD);
    } else {
        MPI_Message message;
        MPI_Status status;
        int count;
        MPI_Mprobe(0, 8, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQUAL(count, bytes);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Mrecv(buffer, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        CHECK_FILLED(buffer, bytes, 1);
        memset(buffer, 0, bytes);
        CHECK_CLASS(MPI_Recv(buffer, bytes - 1, MPI_BYTE, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        CHECK_FILLED(buffer, bytes - 1, 1);
        CHECK_EQUAL(buffer[bytes - 1], 0);
        memset(buffer, 0, bytes);
        MPI_Recv(buffer, 1, gaps, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int index = 0; index < bytes; index++)
            CHECK_EQUAL(buffer[2 * index], 2 * index < bytes ? pattern(2 * index, 1) : 0);
    }
    MPI_Type_free(&gaps);
}

/* More synchronous sends than a receiver has room for in packets, all before the first receive. */
static void many_synchronous(int bytes)
{
    enum { MESSAGES = 3000 };
    static MPI_Request requests[MESSAGES];
    if (rank == 0)
        for (int number = 0; number < MESSAGES; number++)
            MPI_Issend(buffer, bytes, MPI_BYTE, 1, number, MPI_COMM_WORLD, &requests[number]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    else
        for (int number = MESSAGES - 1; number >= 0; number--)
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void buffered(int bytes)
{
    enum { MESSAGES = 10 };
    if (rank == 0) {
        int length = MESSAGES * (bytes + MPI_BSEND_OVERHEAD);
        void *room = malloc(length), *detached;
        MPI_Buffer_attach(room, length);
        for (int number = 0; number < MESSAGES; number++) {
            fill(buffer, bytes, number);
            MPI_Bsend(buffer, bytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
        }
        memset(buffer, 0, bytes);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
        MPI_Buffer_detach(&detached, &length);
        CHECK(detached == room);
        CHECK_EQUAL(length, MESSAGES * (bytes + MPI_BSEND_OVERHEAD));
        free(room);
    } else {
        /* all were sent before any was received */
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int number = 0; number < MESSAGES; number++) {
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_FILLED(buffer, bytes, number);
        }
    }
}

static void ready(int bytes)
{
    MPI_Request request;
    if (rank == 1)
        MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        fill(buffer, bytes, 3);
        MPI_Rsend(buffer, bytes, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_FILLED(buffer, bytes, 3);
    }
}

static void no_room(void)
{
    static char room[100 + MPI_BSEND_OVERHEAD];
    void *detached;
    int length;
    CHECK_CLASS(MPI_Bsend(buffer, 100, MPI_BYTE, 1 - rank, 7, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    MPI_Buffer_attach(room, sizeof room);
    CHECK_CLASS(MPI_Bsend(buffer, 5000, MPI_BYTE, 1 - rank, 7, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    MPI_Buffer_detach(&detached, &length);
    CHECK_EQUAL(length, sizeof room);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int index = 0; index < SIZES; index++) {
        synchronous(sizes[index]);
        if (sizes[index] > 0 && sizes[index] < 100000)
            synchronous_otherwise(sizes[index]);
        buffered(sizes[index]);
        ready(sizes[index]);
    }
    many_synchronous(8);
    many_synchronous(1000);
    no_room();
    return check_end();
}
