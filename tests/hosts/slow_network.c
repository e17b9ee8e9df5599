/* slow_network WAY: moves 8 MiB. Over a slow network that takes seconds, but all ranks are in the call that it takes. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 8 << 20, WORDS = BYTES / 8 };

static int me;
static double *block, *other;

static void message(MPI_Datatype type, int count) {
    if (me == 0)
        MPI_Send(block, count, type, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(block, count, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void strided(void) {
    MPI_Datatype pairs;
    MPI_Type_vector(WORDS / 4, 2, 4, MPI_DOUBLE, &pairs);
    MPI_Type_commit(&pairs);
    message(pairs, 2);
    MPI_Type_free(&pairs);
}

static void get(void) {
    MPI_Win window;
    MPI_Win_create(block, BYTES, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Get(other, WORDS, MPI_DOUBLE, 1 - me, 0, WORDS, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    block = calloc(2, BYTES);
    other = calloc(1, BYTES);
    if (strcmp(how, "message") == 0)
        message(MPI_DOUBLE, WORDS);
    else if (strcmp(how, "strided") == 0)
        strided();
    else if (strcmp(how, "broadcast") == 0)
        MPI_Bcast(block, WORDS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else if (strcmp(how, "allreduce") == 0)
        MPI_Allreduce(other, block, WORDS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else
        get();
    MPI_Finalize();
    return 0;
}
