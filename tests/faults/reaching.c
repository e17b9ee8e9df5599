/* All ranks change a word of a rank of another node for ever, each under its lock. Every rank writes its process id into
 * ready.RANK after the first round. */
#include "../c/check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    long one = 1, *memory;
    MPI_Win win;
    check_begin(&argc, &argv);
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (long round = 0;; round++) {
        int target = (rank + size / 2) % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_unlock(target, win);
        if (round == 0) {
            char name[32];
            snprintf(name, sizeof name, "ready.%d", rank);
            FILE *file = fopen(name, "w");
            fprintf(file, "%d\n", getpid());
            fclose(file);
        }
    }
}
