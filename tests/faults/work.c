/* Messages and collectives of all kinds and sizes, checked: work [SECONDS [MEGABYTES]]
 *
 * Every rank writes its process id into ready.RANK after the first round. Rounds go on until the time is up (0: one
 * round). With MEGABYTES, each rank takes that much memory, bit by bit, between the rounds. */
#include "../c/check.h"
#include <unistd.h>

enum { MOST = 3 << 20 };

static const int lengths[] = {0, 8, 40, 1000, 5000, 16384, 16385, 100000, MOST};

static void to_the_next(unsigned char *out, unsigned char *in)
{
    for (unsigned at = 0; at < sizeof lengths / sizeof *lengths; at++) {
        int bytes = lengths[at];
        fill(out, bytes, rank + at);
        MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, at, in, bytes, MPI_BYTE, (rank + size - 1) % size, at,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_FILLED(in, bytes, (rank + size - 1) % size + at);
    }
}

/* Every other element, so that nothing is in one block. */
static void with_gaps(unsigned char *out, unsigned char *in)
{
    MPI_Datatype half;
    MPI_Type_vector(MOST / 8, 1, 2, MPI_INT, &half);
    MPI_Type_commit(&half);
    for (int at = 0; at < MOST / 4; at++)
        ((int *)out)[at] = rank * 7 + at;
    memset(in, 0, MOST);
    MPI_Sendrecv(out, 1, half, (rank + 1) % size, 20, in, 1, half, (rank + size - 1) % size, 20, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int at = 0; at < MOST / 4; at += 1001)
        CHECK_EQUAL(((int *)in)[at], at % 2 ? 0 : (rank + size - 1) % size * 7 + at);
    MPI_Type_free(&half);
}

static void collectives(void)
{
    for (int count = 1; count <= 1 << 16; count *= 256) {
        long *mine = malloc(count * sizeof *mine), *sum = malloc(count * sizeof *sum);
        for (int at = 0; at < count; at++)
            mine[at] = rank + at;
        MPI_Allreduce(mine, sum, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int at = 0; at < count; at++)
            CHECK_EQUAL(sum[at], size * (size - 1) / 2 + (long)size * at);
        free(mine);
        free(sum);
    }
}

static void say_ready(void)
{
    char name[32];
    snprintf(name, sizeof name, "ready.%d", rank);
    FILE *file = fopen(name, "w");
    if (file) {
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    double seconds = argc > 1 ? atof(argv[1]) : 0, now = 0, began = MPI_Wtime();
    long megabytes = argc > 2 ? atol(argv[2]) : 0;
    unsigned char *out = malloc(MOST), *in = malloc(MOST);
    for (int round = 0; round == 0 || now - began < seconds; round++) {
        to_the_next(out, in);
        with_gaps(out, in);
        collectives();
        if (round == 0)
            say_ready();
        if (round < megabytes)
            memset(malloc(1 << 20), round + 1, 1 << 20);
        now = MPI_Wtime();
        MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d ranks worked\n", size);
    free(out);
    free(in);
    return check_end();
}
