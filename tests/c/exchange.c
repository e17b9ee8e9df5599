/* ranks: 2 3 4
 * Both sides send at once: MPI_Sendrecv around a ring, in place too, and
 * nonblocking with many messages in flight in both directions. */
#include "check.h"

static const size_t sizes[] = {0, 1, 40, 41, 4096, 16385, 65536, 1 << 20, (9 << 20) + 3};
enum { SIZES = sizeof sizes / sizeof *sizes, FLIGHT = 16 };

static void ring(unsigned char *out, unsigned char *in, size_t bytes)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, count;
    MPI_Status status;
    fill(out, bytes, rank);
    memset(in, 0, bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQUAL(count, bytes);
    CHECK_FILLED(in, bytes, left);

    MPI_Sendrecv_replace(out, bytes, MPI_BYTE, right, 2, left, 2, MPI_COMM_WORLD, &status);
    CHECK_EQUAL(status.MPI_SOURCE, left);
    CHECK_FILLED(out, bytes, left);
}

static void flight(unsigned char *out, unsigned char *in, size_t bytes)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request requests[2 * FLIGHT];
    size_t part = bytes / FLIGHT;
    for (int index = 0; index < FLIGHT; index++) {
        fill(out + index * part, part, rank * FLIGHT + index);
        MPI_Isend(out + index * part, part, MPI_BYTE, right, index, MPI_COMM_WORLD, &requests[index]);
    }
    /* received in another order than sent */
    for (int index = FLIGHT; index-- > 0;)
        MPI_Irecv(in + index * part, part, MPI_BYTE, left, index, MPI_COMM_WORLD,
                  &requests[FLIGHT + index]);
    MPI_Waitall(2 * FLIGHT, requests, MPI_STATUSES_IGNORE);
    for (int index = 0; index < FLIGHT; index++)
        CHECK_FILLED(in + index * part, part, left * FLIGHT + index);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    unsigned char *out = malloc(sizes[SIZES - 1]), *in = malloc(sizes[SIZES - 1]);
    for (int index = 0; index < SIZES; index++) {
        ring(out, in, sizes[index]);
        flight(out, in, sizes[index]);
    }
    free(out);
    free(in);
    return check_end();
}
