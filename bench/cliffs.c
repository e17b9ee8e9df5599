/* Any number of ranks: whether a collective takes much longer for one item more, where it changes how it is done.
 *
 * For each operation, the longest payload of one way and the shortest of the next take turns; told are the times and
 * the median of their ratios. More than LIMIT is a cliff: the program says so and ends with status 1.
 *
 *     bin/mpicc -O2 bench/cliffs.c -o cliffs && bin/serried run -n 4 ./cliffs
 */
#include "operations.h"

#define LIMIT 1.5
#define ROUNDS 31
#define TIME 300e-6 /* seconds of calls for each number */
#define MOST (8 << 20)

/* Compares two neighbouring lengths; says whether there is a cliff between them. */
static int compare(int which, int items)
{
    double before[ROUNDS], after[ROUNDS], ratios[ROUNDS];
    void (*run)(int) = operations[which].run;
    int calls = TIME / seconds_of(run, items + 1, 20) + 5;
    MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        before[round] = seconds_of(run, items, calls);
        after[round] = seconds_of(run, items + 1, calls);
        ratios[round] = after[round] / before[round];
    }
    double ratio = median(ratios, ROUNDS);
    if (rank == 0)
        printf("%-22s %8d and 8 bytes more: %9.2f us, %9.2f us  %.2f%s\n", operations[which].name, items * 8,
               median(before, ROUNDS) * 1e6, median(after, ROUNDS) * 1e6, ratio, ratio > LIMIT ? "  CLIFF" : "");
    return ratio > LIMIT;
}

int main(int argc, char **argv)
{
    /* Bytes in a line, in a slot, in a wide half, in shares; what several ranks read together. */
    static const int payloads[] = {48, 2048, 4096, 8192, 16384, 32768, 65536, 131072};
    int cliffs = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    out = malloc(MOST), in = malloc(MOST);
    memset(out, 0, MOST), memset(in, 0, MOST);
    for (size_t which = 0; which < sizeof operations / sizeof *operations && operations[which].run != ping_pong; which++)
        for (size_t index = 0; index < sizeof payloads / sizeof *payloads; index++) {
            int items = payloads[index] / 8 / (operations[which].for_each ? ranks : 1);
            if (items > 0 && (long)(items + 1) * 8 * ranks <= MOST)
                cliffs += compare(which, items);
        }
    if (ranks > 2)
        cliffs += compare(2, 65536 / 8 / (ranks - 1)); /* an allreduce goes over to shares */
    MPI_Bcast(&cliffs, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return cliffs > 0;
}
