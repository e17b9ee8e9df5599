/* Sums the ranks; with an argument, rank 1 aborts with that code. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, sum, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Get_library_version(library, &length);
    for (length = 0; library[length] && library[length] != ' '; length++) {
    }
    printf("rank %d of %d: sum %d, %.*s\n", rank, size, sum, length, library);
    fflush(stdout);
    if (argc > 1) {
        if (rank == 1)
            MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
