/* ranks: 2, arguments: seconds, microseconds. Ranks compute in turn, each for so long or up to half as long again, while the
 * other waits. Each turn begins with a message, so whoever wakes late delays both. */
#include <mpi.h>
#include <stdlib.h>

static void compute(double seconds)
{
    for (double began = MPI_Wtime(); MPI_Wtime() - began < seconds;)
        ;
}

int main(int argc, char **argv)
{
    int rank, go = 1;
    double seconds = argc > 1 ? atof(argv[1]) : 1, turn = 1e-6 * (argc > 2 ? atof(argv[2]) : 100);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double began = MPI_Wtime();
    while (go) {
        if (rank == 0) {
            compute(turn * (1 + 0.5 * rand() / RAND_MAX));
            go = MPI_Wtime() - began < seconds;
            MPI_Send(&go, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        }
        if (go || rank == 1)
            MPI_Recv(&go, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1 && go) {
            compute(turn * (1 + 0.5 * rand() / RAND_MAX));
            MPI_Send(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    }
    return MPI_Finalize();
}
