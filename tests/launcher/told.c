/* Prints a line before MPI starts and one after, flushes nothing, and then does what its argument says: sleeps, or has rank 1
 * killed. `own`: it has chosen a buffer of its own before. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char own[1 << 16];
    int rank;
    if (argc > 2)
        setvbuf(stdout, own, _IOFBF, sizeof own);
    printf("early\n");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d\n", rank);
    if (strcmp(argv[1], "sleep") == 0)
        sleep(300);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
