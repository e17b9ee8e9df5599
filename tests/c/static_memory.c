/* ranks: 2 3
 * Messages from and to the program's own zeroed variables (.bss): sent often, they are read by plain loads as blocks
 * of malloc are. Neighbours in the same pages, variables with values, and children of forks keep what they have. */
#include "counter.h"
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (4 << 20)

static unsigned char variable[BYTES];
static unsigned char received[BYTES];
static unsigned char with_values[300000] = {1, 2, 3};
static struct {
    long before;
    unsigned char middle[100000];
    long after;
} between;

/* Bytes that this rank has moved by plain loads. */
static unsigned long long moved_directly(void)
{
    return counter("bytes_direct", MPI_T_PVAR_CLASS_AGGREGATE);
}

/* Everybody sends to the right, other data each time. */
static void ring(unsigned char *out, unsigned char *in, int bytes, int seed)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fill(out, bytes, seed + rank);
    memset(in, 0xee, bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long wrong = 0;
    for (int i = 0; i < bytes; i++)
        wrong += in[i] != pattern(i, seed + left);
    CHECK_EQUAL(wrong, 0);
}

/* The same while no sender waits: then the receiver has to fetch the data by itself. Else their sender may copy them, where they
 * have just been written by a core that is far. */
static void ring_of_the_absent(unsigned char *out, unsigned char *in, int bytes, int seed)
{
    for (int sender = 0; sender < size; sender++) {
        MPI_Request request;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == sender) {
            fill(out, bytes, seed + sender);
            MPI_Isend(out, bytes, MPI_BYTE, (sender + 1) % size, 1, MPI_COMM_WORLD, &request);
            usleep(20000);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank == (sender + 1) % size) {
            MPI_Recv(in, bytes, MPI_BYTE, sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_FILLED(in, bytes, seed + sender);
        }
    }
}

/* Bytes that all ranks moved directly in two rounds after they had sent often. */
static long long sent_often_once(unsigned char *out, unsigned char *in, int bytes)
{
    for (int round = 0; round < 9; round++)
        ring(out, in, bytes, round);
    long long moved = moved_directly(), all = 0;
    for (int round = 0; round < 2; round++)
        ring_of_the_absent(out, in, bytes, round + 20);
    moved = moved_directly() - moved;
    MPI_Allreduce(&moved, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* Whether most bytes are moved directly once they are sent often. A buffer that is received into counts as lent only
 * when its sender writes there, which depends on who of them waits for whom: so it may take a few dozens of messages. */
static int becomes_direct(unsigned char *out, unsigned char *in, int bytes, int is_expected)
{
    int is_direct = 0;
    for (int times = 0; times < (is_expected ? 5 : 1) && !is_direct; times++)
        is_direct = sent_often_once(out, in, bytes) > 1LL * bytes * size;
    return is_direct;
}

/* A child sees what was there at the fork, and may write there, while we go on. */
static void fork_and_go_on(void)
{
    int ends[2], status = 0;
    fill(variable, BYTES, 77);
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ends[1]);
        if (read(ends[0], &byte, 1) != 1)
            _exit(9);
        for (int i = 0; i < BYTES; i++)
            if (variable[i] != pattern(i, 77))
                _exit(8);
        memset(variable, 1, BYTES);
        memset(received, 1, BYTES);
        _exit(between.before == 11 && between.after == 12 ? 0 : 7);
    }
    for (int round = 0; round < 2; round++)
        ring(variable, received, BYTES, round);
    CHECK(write(ends[1], "x", 1) == 1);
    for (int round = 2; round < 4; round++)
        ring(variable, received, BYTES, round);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), 0);
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    between.before = 11;
    between.after = 12;
    unsigned char *block = malloc(BYTES), *other = malloc(BYTES);
    /* Not where the setting asks for other means, nor under a sanitizer; for blocks and variables alike. */
#ifdef __SANITIZE_ADDRESS__
    int direct = 0;
#else
    int direct = getenv("SERRIED_COPY") == NULL;
#endif
    CHECK(direct || sent_often_once(block, other, BYTES) == 0);
    CHECK_EQUAL(becomes_direct(block, other, BYTES, direct), direct);
    CHECK_EQUAL(becomes_direct(variable, received, BYTES, direct), direct);
    for (int round = 0; round < 2; round++) {
        fork_and_go_on();
        CHECK_EQUAL(becomes_direct(variable, received, BYTES, direct), direct);
    }
    /* Less than a page at each end belongs to others. */
    for (int round = 0; round < 12; round++)
        ring(between.middle, received + 5, sizeof between.middle, round);
    CHECK_EQUAL(between.before, 11);
    CHECK_EQUAL(between.after, 12);
    for (int round = 0; round < 12; round++) {
        with_values[sizeof with_values - 1] = 9;
        ring(with_values, received, sizeof with_values - 10, round);
        CHECK_EQUAL(with_values[sizeof with_values - 1], 9);
    }
    free(block);
    free(other);
    return check_end();
}
