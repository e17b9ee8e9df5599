/* Says what memory each rank has, and the segment of the node: after MPI_Init, and after every rank has spoken to
 * every other; a line of `name KiB` pairs each time. */
#include <mpi.h>
#include "footprint.h"

static void say(int rank, const char *when)
{
    printf("rank %d %s private %ld part %ld files %ld rss %ld segment %ld\n", rank, when, private_memory(),
           proportional_memory(), proportional_files(), resident_now(), segment_memory());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rank, size, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    say(rank, "begun");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 1; step < size; step++)
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + step) % size, 0, &got, 1, MPI_INT, (rank + size - step) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    say(rank, "spoken");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
