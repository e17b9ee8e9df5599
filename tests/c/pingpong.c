/* ranks: 2
 * Messages of every size around the limits of the protocols arrive whole,
 * there and back, with nothing written behind them. */
#include "check.h"

static const size_t sizes[] = {0,     1,     7,     8,     39,        40,        41,
                               63,    64,    65,    4095,  4096,      4097,      16383,
                               16384, 16385, 65535, 65536, 65537,     1 << 20,   (9 << 20) + 3};
enum { SIZES = sizeof sizes / sizeof *sizes, GUARD = 64 };

static void exchange(unsigned char *buffer, size_t bytes, unsigned turn)
{
    int peer = 1 - rank, count;
    MPI_Status status;
    if (rank == 0) {
        fill(buffer, bytes, turn);
        MPI_Send(buffer, bytes, MPI_BYTE, peer, turn, MPI_COMM_WORLD);
        turn++;
    }
    memset(buffer, 0xee, bytes + GUARD);
    MPI_Recv(buffer, bytes, MPI_BYTE, peer, turn, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQUAL(count, bytes);
    CHECK_EQUAL(status.MPI_SOURCE, peer);
    CHECK_EQUAL(status.MPI_TAG, turn);
    CHECK_FILLED(buffer, bytes, turn);
    for (int index = 0; index < GUARD; index++)
        CHECK_EQUAL(buffer[bytes + index], 0xee);
    if (rank == 1) {
        fill(buffer, bytes, turn + 1);
        MPI_Send(buffer, bytes, MPI_BYTE, peer, turn + 1, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    unsigned char *buffer = malloc(sizes[SIZES - 1] + GUARD + 1);
    for (int index = 0; index < SIZES; index++)
        for (unsigned turn = 0; turn < 3; turn++) {
            exchange(buffer, sizes[index], 2 * turn);
            exchange(buffer + 1, sizes[index], 2 * turn);
        }
    free(buffer);
    return check_end();
}
