/* ranks: 2 3
 * Probes say what comes; a matched probe takes the message, so that nobody
 * else can have it; a probe of MPI_PROC_NULL answers at once. */
#include "check.h"

static const int sizes[] = {0, 1, 40, 41, 4096, 16385, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void receive_probed(int index, int tag)
{
    MPI_Status status;
    int count, flag = 0;
    if (index % 2)
        MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    else
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQUAL(status.MPI_TAG, tag);
    CHECK_EQUAL(count, sizes[index]);
    unsigned char *buffer = malloc(count + 1);
    MPI_Recv(buffer, count, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_FILLED(buffer, count, status.MPI_SOURCE);
    free(buffer);
}

static void receive_matched(int index, int tag)
{
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    int count, flag = 0;
    if (index % 2)
        MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
    else
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message, &status);
    CHECK(message != MPI_MESSAGE_NULL);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQUAL(count, sizes[index]);
    /* the message is ours: nobody sees it any more, and a later one may overtake it */
    MPI_Iprobe(status.MPI_SOURCE, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQUAL(flag, 0);
    unsigned char *buffer = malloc(count + 1);
    if (index % 3) {
        MPI_Mrecv(buffer, count, MPI_BYTE, &message, &status);
    } else {
        MPI_Imrecv(buffer, count, MPI_BYTE, &message, &request);
        MPI_Wait(&request, &status);
    }
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK_EQUAL(status.MPI_TAG, tag);
    CHECK_FILLED(buffer, count, status.MPI_SOURCE);
    free(buffer);
}

static void nothing_there(void)
{
    MPI_Status status;
    MPI_Message message;
    int flag = 1, count = -1;
    MPI_Iprobe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, &status);
    CHECK_EQUAL(flag, 0);
    MPI_Improbe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, &message, &status);
    CHECK_EQUAL(flag, 0);
    MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    CHECK_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQUAL(count, 0);
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(NULL, 0, MPI_BYTE, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    nothing_there();
    for (int index = 0; index < SIZES; index++) {
        int tag = 100 + index;
        if (rank == 0) {
            for (int message = 0; message < size - 1; message++)
                receive_probed(index, tag);
            for (int source = 1; source < size; source++)
                receive_matched(index, tag + 1000 * source);
        } else {
            unsigned char *buffer = malloc(sizes[index] + 1);
            fill(buffer, sizes[index], rank);
            MPI_Send(buffer, sizes[index], MPI_BYTE, 0, tag, MPI_COMM_WORLD);
            MPI_Ssend(buffer, sizes[index], MPI_BYTE, 0, tag + 1000 * rank, MPI_COMM_WORLD);
            free(buffer);
        }
    }
    return check_end();
}
