/* ranks: 1 2
 * A rank sends to itself, on MPI_COMM_SELF and on the world: receive first or
 * send first, any size, other layouts, and MPI_Sendrecv. MPI_PROC_NULL takes
 * and gives nothing. */
#include "check.h"

static const int sizes[] = {0, 1, 41, 16385, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void both_ways(MPI_Comm comm, int me, int bytes)
{
    unsigned char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
    MPI_Request requests[2];
    MPI_Status status;
    int count;
    fill(out, bytes, 5);
    for (int receive_first = 0; receive_first < 2; receive_first++) {
        memset(in, 0, bytes);
        if (receive_first)
            MPI_Irecv(in, bytes, MPI_BYTE, me, 3, comm, &requests[0]);
        MPI_Isend(out, bytes, MPI_BYTE, me, 3, comm, &requests[1]);
        if (!receive_first)
            MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]);
        MPI_Wait(&requests[0], &status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQUAL(count, bytes);
        CHECK_EQUAL(status.MPI_SOURCE, me);
        CHECK_EQUAL(status.MPI_TAG, 3);
        CHECK_FILLED(in, bytes, 5);
    }
    memset(in, 0, bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, me, 4, in, bytes, MPI_BYTE, me, 4, comm, MPI_STATUS_IGNORE);
    CHECK_FILLED(in, bytes, 5);
    free(out);
    free(in);
}

/* Synchronous sends, which are complete only when they are received, by all sorts of receives. */
static void synchronously(int me, int bytes)
{
    unsigned char *out = malloc(bytes), *in = malloc(bytes);
    for (int sort = 0; sort < 3; sort++) {
        MPI_Request send, receive;
        MPI_Message message;
        int flag = 0;
        fill(out, bytes, sort);
        memset(in, 0, bytes);
        MPI_Issend(out, bytes, MPI_BYTE, me, 6, MPI_COMM_WORLD, &send);
        if (sort != 0)
            MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
        CHECK_EQUAL(flag, 0);
        if (sort == 0) {
            MPI_Recv(in, bytes, MPI_BYTE, me, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Mprobe(me, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            if (sort == 1) {
                MPI_Mrecv(in, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
            } else {
                MPI_Imrecv(in, bytes, MPI_BYTE, &message, &receive);
                MPI_Wait(&receive, MPI_STATUS_IGNORE);
            }
        }
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        CHECK_FILLED(in, bytes, sort);
    }
    free(out);
    free(in);
}

static void other_layout(void)
{
    enum { COUNT = 50000 };
    static int out[3 * COUNT], in[COUNT];
    MPI_Datatype vector;
    MPI_Type_vector(COUNT, 1, 3, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    for (int index = 0; index < COUNT; index++)
        out[3 * index] = index;
    MPI_Sendrecv(out, 1, vector, 0, 1, in, COUNT, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (int index = 0; index < COUNT; index++)
        CHECK_EQUAL(in[index], index);
    MPI_Type_free(&vector);
}

static void nobody(void)
{
    MPI_Status status;
    MPI_Request request;
    int value = 9, count = -1;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
    CHECK_EQUAL(count, 0);
    CHECK_EQUAL(value, 9);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int index = 0; index < SIZES; index++) {
        both_ways(MPI_COMM_SELF, 0, sizes[index]);
        both_ways(MPI_COMM_WORLD, rank, sizes[index]);
    }
    for (int bytes = 1; bytes <= 40000; bytes = 2 * bytes + 1)
        synchronously(rank, bytes);
    other_layout();
    nobody();
    return check_end();
}
