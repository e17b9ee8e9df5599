/* ranks: 2
 * A wait takes no more messages in than it needs: those behind stay where they are until they are asked for, and need
 * not be kept. */
#include "counter.h"
#include <unistd.h>

enum { MESSAGES = 10, ROUNDS = 50 };

static unsigned long long kept(void)
{
    return counter("unexpected_messages", MPI_T_PVAR_CLASS_LEVEL);
}

static void sender(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int number = 0; number < MESSAGES; number++)
            MPI_Send(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
}

static void wait_for(MPI_Request *request, int kind)
{
    MPI_Status status;
    if (kind == 0)
        MPI_Wait(request, &status);
    else
        MPI_Waitall(1, request, &status);
}

/* Nonblocking or persistent; the first receive is there before the messages are. */
static void receiver(int persistent)
{
    int number;
    MPI_Request request;
    if (persistent)
        MPI_Recv_init(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
    for (int round = 0; round < ROUNDS; round++) {
        for (int expected = 0; expected < MESSAGES; expected++) {
            if (persistent)
                MPI_Start(&request);
            else
                MPI_Irecv(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
            if (expected == 0) {
                MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                usleep(2000);
            }
            wait_for(&request, round % 2);
            CHECK_EQUAL(number, expected);
            CHECK_EQUAL(kept(), 0);
        }
    }
    if (persistent)
        MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int persistent = 0; persistent < 2; persistent++) {
        if (rank == 0)
            receiver(persistent);
        else if (rank == 1)
            sender();
    }
    return check_end();
}
