/* ranks: 2 4
 * A hundred thousand messages that nobody has asked for yet arrive in order
 * and whole, from one sender and from all at once; then as many large ones as
 * would fill a gigabyte, were they all held by the receiver. */
#include "check.h"

enum { SMALL = 100000, LARGE = 1000, LARGE_BYTES = 1 << 20 };

static void send_small(int count)
{
    for (int number = 0; number < count; number++) {
        int message[2] = {number, rank};
        MPI_Send(message, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Send(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD);
}

/* Tag 2 was sent last and is received first: all the others are unexpected. */
static void receive_small(int count)
{
    for (int source = 1; source < size; source++)
        MPI_Recv(NULL, 0, MPI_INT, source, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int *next = calloc(size, sizeof *next);
    for (int index = 0; index < count * (size - 1); index++) {
        int message[2];
        MPI_Status status;
        MPI_Recv(message, 2, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        CHECK_EQUAL(message[0], next[status.MPI_SOURCE]++);
        CHECK_EQUAL(message[1], status.MPI_SOURCE);
    }
    free(next);
}

static void large(int count)
{
    unsigned char *buffer = malloc(LARGE_BYTES);
    for (int number = 0; number < count; number++) {
        if (rank != 0) {
            buffer[0] = number % 251;
            buffer[LARGE_BYTES - 1] = rank;
            MPI_Send(buffer, LARGE_BYTES, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
        }
        for (int source = 1; rank == 0 && source < size; source++) {
            MPI_Recv(buffer, LARGE_BYTES, MPI_BYTE, source, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_EQUAL(buffer[0], number % 251);
            CHECK_EQUAL(buffer[LARGE_BYTES - 1], source);
        }
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (rank == 0)
        receive_small(SMALL / (size - 1));
    else
        send_small(SMALL / (size - 1));
    large(LARGE / (size - 1));
    return check_end();
}
