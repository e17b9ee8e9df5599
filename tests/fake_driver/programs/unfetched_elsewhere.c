/* ranks: 2 4
 * Ranks that have nothing to do with devices hear, too, that another rank could not fetch its buffer: they get no zeros in silence. */
#include "twice.h"

enum { ITEMS = 100 };

int main(int argc, char **argv)
{
    const char *number = getenv("PMI_RANK");
    if (number && atoi(number) > 0)
        setenv("SERRIED_GPU", "off", 1);
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    long expected[ITEMS], received[ITEMS];
    for (int item = 0; item < ITEMS; item++)
        expected[item] = item * 7L + 1;
    struct buffer buffer = {0};
    if (rank == 0) {
        cuda_begin();
        buffer = buffer_of(DEVICE, sizeof expected);
        buffer_put(&buffer, (char *)expected);
    }
    /* By messages first, and over shared memory later. */
    for (int round = 0; round < 20; round++) {
        int fails = round % 3 == 1;
        memset(received, 0, sizeof received);
        if (rank == 0 && fails)
            fake_cuda_fail(NULL, 0);
        int answer = MPI_Bcast(rank == 0 ? buffer.at : (void *)received, ITEMS, MPI_LONG, 0, MPI_COMM_WORLD);
        if (rank == 0)
            fake_cuda_fail(NULL, -1);
        CHECK_CLASS(answer, fails ? MPI_ERR_OTHER : MPI_SUCCESS);
        CHECK(rank == 0 || fails || memcmp(received, expected, sizeof expected) == 0);
        long sum = 0, mine = rank;
        WORKS(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        CHECK_EQUAL(sum, size * (size - 1L) / 2);
    }
    if (rank == 0)
        buffer_free(&buffer);
    return check_end();
}
