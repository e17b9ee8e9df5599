/* ranks: 2 4
 * Messages from and to memory that ranks map from each other: memory of MPI_Alloc_mem, and blocks of malloc that
 * have been sent often. Every length, at edges of pages and beside them, also after forks and after memory was freed
 * and taken again. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

#define LARGEST ((2 << 20) + 5)

static long first_wrong(const unsigned char *memory, long bytes, int seed)
{
    for (long i = 0; i < bytes; i++)
        if (memory[i] != pattern(i, seed))
            return i;
    return -1;
}

/* Everybody sends to the right. */
static void ring(unsigned char *out, unsigned char *in, long bytes, int seed)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fill(out, bytes, seed + rank);
    memset(in, 0xee, bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(first_wrong(in, bytes, seed + left) == -1);
}

static void every_length(unsigned char *out, unsigned char *in)
{
    static const long lengths[] = {4096, 16385, 65536, 131072 - 1, 524288, 1000003, LARGEST - 5000};
    static const long edges[] = {0, 100, 4095};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 3; j++)
            ring(out + edges[j], in + edges[2 - j], lengths[i], i + j);
}

/* Often enough that malloc's blocks become shared, and each time with other data. */
static void often(unsigned char *out, unsigned char *in, long bytes)
{
    for (int round = 0; round < 12; round++)
        ring(out, in, bytes, round);
}

/* A child of a fork sees what was there, while we write and send. */
static void fork_and_go_on(unsigned char *out, unsigned char *in, long bytes)
{
    int pipe_ends[2];
    fill(out, bytes, 77);
    CHECK(pipe(pipe_ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(pipe_ends[1]);
        if (read(pipe_ends[0], &byte, 1) != 1)
            _exit(9);
        _exit(first_wrong(out, bytes, 77) == -1 ? 0 : 8);
    }
    for (int round = 0; round < 6; round++)
        ring(out, in, bytes, round);
    CHECK(write(pipe_ends[1], "x", 1) == 1);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    often(out, in, bytes);
}

/* Into data with gaps. */
static void into_a_vector(unsigned char *out, unsigned char *in)
{
    MPI_Datatype vector;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Type_vector(1000, 300, 700, MPI_BYTE, &vector);
    MPI_Type_commit(&vector);
    fill(out, 300000, rank);
    memset(in, 0xee, 700000);
    MPI_Sendrecv(out, 300000, MPI_BYTE, right, 2, in, 1, vector, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long wrong = 0;
    for (long i = 0; i < 300000; i++)
        wrong += in[i / 300 * 700 + i % 300] != pattern(i, left);
    for (long i = 0; i < 999; i++)
        wrong += in[i * 700 + 300] != 0xee;
    CHECK(wrong == 0);
    MPI_Type_free(&vector);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    unsigned char *out, *in;
    for (int round = 0; round < 2; round++) {
        MPI_Alloc_mem(LARGEST, MPI_INFO_NULL, &out);
        MPI_Alloc_mem(LARGEST, MPI_INFO_NULL, &in);
        every_length(out, in);
        into_a_vector(out, in);
        fork_and_go_on(out, in, 700001);
        MPI_Free_mem(out);
        MPI_Free_mem(in);
    }
    for (int round = 0; round < 2; round++) {
        out = malloc(LARGEST);
        in = calloc(LARGEST, 1);
        often(out, in, 65536);
        often(out + 70001, in + 70001, 300000);
        every_length(out, in);
        fork_and_go_on(out, in, 700001);
        out = realloc(out, 2 * LARGEST);
        CHECK(first_wrong(out, 65536, 11 + rank) == -1);
        often(out + LARGEST, in, LARGEST);
        free(out);
        free(in);
    }
    return check_end();
}
