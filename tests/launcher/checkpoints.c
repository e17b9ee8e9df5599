/* checkpoints FILE HOW: ten turns of a sum over all ranks; after each, rank 0 writes turn and sum to FILE, with MPI-IO and in
 * one step. A job that is started again goes on where FILE says. In the first two attempts, HOW
 *   dies    has the last rank kill itself in its second turn
 *   waits   has all ranks stop after one turn, until somebody ends the job (in the first attempt only)
 * Rank 0 prints the attempt (SERRIED_RESTART), the turn it begins with, and in the end the sum. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 10 };

static void save(const char *name, long state[2])
{
    MPI_File file;
    MPI_Info hints;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "serried_atomic_replace", "true");
    int code = MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, hints, &file);
    if (code == MPI_SUCCESS)
        code = MPI_File_write(file, state, 2, MPI_LONG, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS)
        code = MPI_File_close(&file);
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Info_free(&hints);
}

int main(int argc, char **argv)
{
    int rank, size;
    long state[2] = {0, 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *told = getenv("SERRIED_RESTART"), *name = argv[1], *how = argc > 2 ? argv[2] : "";
    int attempt = told ? atoi(told) : -1;
    FILE *saved = rank == 0 ? fopen(name, "r") : NULL;
    if (saved && fread(state, sizeof(long), 2, saved) != 2)
        MPI_Abort(MPI_COMM_WORLD, 8);
    if (saved)
        fclose(saved);
    MPI_Bcast(state, 2, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("attempt %d begins with turn %ld\n", attempt, state[0]);
        fflush(stdout);
    }
    for (int done = 0; state[0] < TURNS; done++) {
        long mine = state[0] * size + rank, sum;
        if (!strcmp(how, "dies") && attempt < 2 && done == 1 && rank == size - 1)
            raise(SIGKILL);
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        state[0]++;
        state[1] += sum;
        if (rank == 0)
            save(name, state);
        MPI_Barrier(MPI_COMM_WORLD);
        if (!strcmp(how, "waits") && attempt == 0) {
            if (rank == 0)
                puts("all wait");
            fflush(stdout);
            MPI_Recv(&mine, 1, MPI_LONG, (rank + 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0)
        printf("attempt %d: sum %ld of %d ranks\n", attempt, state[1], size);
    MPI_Finalize();
    return 0;
}
