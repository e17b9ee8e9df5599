/* Allreduces of 1 MiB on MPI_COMM_WORLD, in rounds: steady ROUNDS EACH. Before each round and after the last one every
 * rank asks for a file of the name MARK, so that who traces system calls can tell the rounds apart.
 * The buffers are ordinary memory of malloc, sent often enough before the first round to be mapped. */
#include "../c/check.h"
#include <unistd.h>

static const char MARK[] = "a round begins or ends";
enum { ITEMS = (1 << 20) / sizeof(double), WARM = 40 };

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 1, each = argc > 2 ? atoi(argv[2]) : 1;
    double *mine = malloc(ITEMS * sizeof *mine), *sum = malloc(ITEMS * sizeof *sum);
    for (int at = 0; at < ITEMS; at++)
        mine[at] = rank + at;
    for (int round = -1; round < rounds; round++) {
        if (round >= 0)
            access(MARK, F_OK);
        for (int turn = 0; turn < (round < 0 ? WARM : each); turn++)
            MPI_Allreduce(mine, sum, ITEMS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    access(MARK, F_OK);
    for (int at = 0; at < ITEMS; at += 1001)
        CHECK_EQUAL(sum[at], size * (size - 1) / 2.0 + (double)size * at);
    free(mine);
    free(sum);
    return check_end();
}
