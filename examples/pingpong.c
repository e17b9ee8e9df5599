/* A message goes back and forth between two ranks: how long one way takes, and how many bytes that is in a second.
 *
 *     stage/bin/mpicc -O2 examples/pingpong.c -o pingpong && stage/bin/mpiexec -n 2 ./pingpong
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 4 << 20 };
static const double LONG_ENOUGH = 0.1; /* seconds for a size */

/* Microseconds from one rank to the other; `turns` there and back. */
static double one_way(char *buffer, int bytes, int turns, int rank)
{
    int other = 1 - rank;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int turn = 0; turn < turns; turn++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    }
    return 1e6 * (MPI_Wtime() - began) / turns / 2;
}

/* The best of as many rounds as there is time for; rank 0 looks at the clock. */
static double best_way(char *buffer, int bytes, int rank)
{
    double began = MPI_Wtime(), best = 1e9;
    int turns = 5 + (1 << 16) / (bytes + 256), more = 1;
    while (more) {
        double took = one_way(buffer, bytes, turns, rank);
        best = took < best ? took : best;
        more = MPI_Wtime() - began < LONG_ENOUGH;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return best;
}

int main(int argc, char **argv)
{
    static const struct { int bytes; const char *name; } sizes[] = {
        {8, "8 B"}, {1 << 10, "1 KiB"}, {16 << 10, "16 KiB"}, {128 << 10, "128 KiB"}, {1 << 20, "1 MiB"}, {LARGEST, "4 MiB"},
    };
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        if (rank == 0)
            fprintf(stderr, "this program wants 2 ranks and has %d: mpiexec -n 2 %s\n", ranks, argv[0]);
        MPI_Finalize();
        return 1;
    }
    char *buffer = calloc(1, LARGEST);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double best = best_way(buffer, sizes[i].bytes, rank);
        if (rank == 0)
            printf("  %8s %10.2f us %8.2f GB/s\n", sizes[i].name, best, sizes[i].bytes / best / 1e3);
    }
    free(buffer);
    return MPI_Finalize();
}
