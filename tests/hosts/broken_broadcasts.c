/* Broadcasts to all hosts at once, and the last rank dies in the midst of them: the others hear of it, shrink, go on. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int MPIX_Comm_revoke(MPI_Comm);
int MPIX_Comm_shrink(MPI_Comm, MPI_Comm *);

enum { BYTES = 1 << 20, BEFORE = 12 };

static char buffer[BYTES];

int main(int argc, char **argv) {
    int rank, size, failures = 0;
    MPI_Comm comm = MPI_COMM_WORLD, left;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int victim = atoi(argv[1]);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int round = 0; round < BEFORE; round++) {
        memset(buffer, rank == 0 ? round : 99, BYTES);
        if (MPI_Bcast(buffer, BYTES, MPI_BYTE, 0, comm) || buffer[BYTES - 1] != round) return 3;
    }
    if (rank == victim) {
        usleep(300000);
        raise(SIGKILL);
    }
    for (int round = 0; round < 2; round++) failures += MPI_Bcast(buffer, BYTES, MPI_BYTE, 0, comm) != MPI_SUCCESS;
    if (failures == 0) return 4;
    MPIX_Comm_revoke(comm);
    if (MPIX_Comm_shrink(comm, &left)) return 5;
    MPI_Comm_rank(left, &rank);
    MPI_Comm_size(left, &size);
    for (int round = 0; round < BEFORE; round++) {
        memset(buffer, rank == 0 ? round : 99, BYTES);
        if (MPI_Bcast(buffer, BYTES, MPI_BYTE, 0, left) || buffer[BYTES - 1] != round) return 6;
    }
    printf("well\n");
    MPI_Comm_free(&left);
    MPI_Finalize();
    return 0;
}
