/* One rank among several that does not behave; its argument says how. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what, const char *name)
{
    return strcmp(what, name) == 0;
}

static void misbehave(const char *what)
{
    if (is(what, "abort")) {
        printf("before the abort\n");
        MPI_Abort(MPI_COMM_WORLD, 42);
    }
    if (is(what, "crash")) {
        MPI_Barrier(MPI_COMM_SELF);
        *(volatile int *)16 = 1;
    }
    if (is(what, "error"))
        MPI_Send(what, 1, MPI_BYTE, 1000, 0, MPI_COMM_WORLD);
    if (is(what, "leave") || is(what, "overwrite"))
        _exit(0);
    if (is(what, "leave3"))
        _exit(3);
}

/* Rank 1 begins two collectives in another order than the others. */
static void collectives_in_another_order(int rank)
{
    enum { BYTES = 1 << 20 };
    char *data = calloc(BYTES, 1);
    MPI_Request requests[2];
    if (rank == 1)
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[rank == 1]);
    if (rank != 1)
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    free(data);
}

/* Every rank waits for a message that nobody sends. */
static void wait_for_ever(int rank, int size)
{
    char name[32];
    int nothing;
    snprintf(name, sizeof name, "ready.%d", rank);
    FILE *file = fopen(name, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    MPI_Recv(&nothing, 1, MPI_INT, (rank + 1) % size, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Writes zeros where this rank tells others how far it has come; that begins with its number and its process. */
static void overwrite(int rank)
{
    char line[512];
    unsigned long from = 0, to = 0;
    uint32_t begin[2] = {(uint32_t)rank, (uint32_t)getpid()};
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "serried-node") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            break;
    fclose(maps);
    while (from < to && memcmp((void *)from, begin, sizeof begin) != 0)
        from += 4096;
    memset((void *)from, 0, 4096);
}

int main(int argc, char **argv)
{
    int rank, size, failed = 0;
    const char *what = argc > 1 ? argv[1] : "nothing";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        printf("%d ranks\n", size);
    fflush(stdout);
    if (is(what, "wait"))
        wait_for_ever(rank, size);
    if (is(what, "order"))
        collectives_in_another_order(rank);
    if (is(what, "overwrite")) {
        MPI_Barrier(MPI_COMM_WORLD);
        overwrite(rank);
    }
    if (rank == 1)
        misbehave(what);
    if (is(what, "again") && rank == size - 1) {
        char command[4096];
        snprintf(command, sizeof command, "'%s' nothing", argv[0]);
        failed = system(command) != 0;
    }
    if (!is(what, "late") || rank != 1)
        MPI_Barrier(is(what, "late") ? MPI_COMM_SELF : MPI_COMM_WORLD);
    MPI_Finalize();
    if (is(what, "late") && rank == 1)
        return 4;
    if (is(what, "late"))
        usleep(200000);
    return failed;
}
