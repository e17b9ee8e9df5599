/* Rank 1 ends by kill -9 in the middle of its work, while rank 0 waits for it; or with an argument before it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether a process sleeps on a word in memory. */
static int is_asleep(int process) {
    char name[64];
    long call = -1;
    snprintf(name, sizeof name, "/proc/%d/syscall", process);
    FILE *file = fopen(name, "r");
    if (file && fscanf(file, "%ld", &call) != 1)
        call = -1; /* it is running */
    if (file)
        fclose(file);
    return call == SYS_futex;
}

int main(int argc, char **argv) {
    int me, x = 0, first = getpid();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc > 1 && me == 1)
        kill(getpid(), SIGKILL);
    MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 40; i++) {
        if (me == 0)
            MPI_Send(&x, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        else
            MPI_Recv(&x, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* The rank that leaves the last barrier first has woken the other. */
    for (int looks = 0; me == 1 && looks < 60000 && !is_asleep(first); looks++)
        usleep(1000);
    if (me == 1)
        kill(getpid(), SIGKILL);
    MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
