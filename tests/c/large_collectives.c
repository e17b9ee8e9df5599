/* ranks: 2 3 4 8
 * Collectives of long data, which go straight between the buffers of the ranks: memory that the ranks map from each
 * other and memory that they do not, at edges of pages and beside them, in place or not, with gaps or without, in a
 * row and by turns with short ones, after forks; and sums of long vectors have the bits of sums of short ones. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST = 40000 }; /* longs for each rank */

static long static_sent[8 * LONGEST + 600], static_got[8 * LONGEST + 600];
static const int lengths[] = {513, 1024, 2500, 8192, 12345, LONGEST};

static long item(int who, int round, int index)
{
    return who * 1000003L + round * 101 + index;
}

static void put_items(long *to, int who, int round, int length)
{
    for (int index = 0; index < length; index++)
        to[index] = item(who, round, index);
}

static int wrong(const long *have, int who, int round, int length)
{
    for (int index = 0; index < length; index++)
        if (have[index] != item(who, round, index))
            return index + 1;
    return 0;
}

/* Whether it is not the sum of the items of the ranks below `ranks` from item `first` on. */
static int wrong_part(const long *have, int ranks, int round, int first, int length)
{
    for (int index = 0; index < length; index++) {
        long sum = 0;
        for (int who = 0; who < ranks; who++)
            sum += item(who, round, first + index);
        if (have[index] != sum)
            return index + 1;
    }
    return 0;
}

static int wrong_sum(const long *have, int round, int length)
{
    return wrong_part(have, size, round, 0, length);
}

static void partial_reductions(long *sent, long *got, int round, int length, int root)
{
    int counts[8], first = rank * length;
    put_items(sent, rank, round, size * length);
    memset(got, 0xff, length * sizeof *got);
    MPI_Reduce_scatter_block(sent, got, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(wrong_part(got, size, round, first, length), 0);
    for (int who = 0; who < size; who++)
        counts[who] = who == root ? 0 : length;
    first = rank > root ? first - length : first;
    MPI_Reduce_scatter(MPI_IN_PLACE, sent, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(wrong_part(sent, size, round, first, counts[rank]), 0);
    put_items(sent, rank, round, length);
    MPI_Scan(sent, got, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(wrong_part(got, rank + 1, round, 0, length), 0);
    memset(got, 0xff, length * sizeof *got);
    MPI_Exscan(sent, got, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(rank == 0 ? got[length / 2] != -1 : wrong_part(got, rank, round, 0, length), 0);
    MPI_Scan(MPI_IN_PLACE, sent, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(wrong_part(sent, rank + 1, round, 0, length), 0);
}

static void reductions(long *sent, long *got, int round, int length, int root)
{
    put_items(sent, rank, round, length);
    memset(got, 0xff, length * sizeof *got);
    MPI_Allreduce(sent, got, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(wrong_sum(got, round, length), 0);
    CHECK_EQUAL(wrong(sent, rank, round, length), 0);
    MPI_Allreduce(MPI_IN_PLACE, sent, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(wrong_sum(sent, round, length), 0);
    put_items(sent, rank, round + 1, length);
    memset(got, 0xff, length * sizeof *got);
    MPI_Reduce(sent, got, length, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
    CHECK_EQUAL(rank == root ? wrong_sum(got, round + 1, length) : got[length / 2] != -1, 0);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : sent, rank == root ? sent : NULL, length, MPI_LONG, MPI_SUM, root,
               MPI_COMM_WORLD);
    CHECK_EQUAL(rank == root ? wrong_sum(sent, round + 1, length) : wrong(sent, rank, round + 1, length), 0);
}

static void movements(long *sent, long *got, int round, int length, int root)
{
    if (rank == root)
        put_items(got, root, round, length);
    else
        memset(got, 0xff, length * sizeof *got);
    MPI_Bcast(got, length, MPI_LONG, root, MPI_COMM_WORLD);
    CHECK_EQUAL(wrong(got, root, round, length), 0);
    put_items(sent, rank, round, length);
    MPI_Allgather(sent, length, MPI_LONG, got, length, MPI_LONG, MPI_COMM_WORLD);
    for (int who = 0; who < size; who++)
        CHECK_EQUAL(wrong(got + (long)who * length, who, round, length), 0);
    memset(got, 0xff, (long)size * length * sizeof *got);
    put_items(got + (long)rank * length, rank, round, length);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, length, MPI_LONG, MPI_COMM_WORLD);
    for (int who = 0; who < size; who++)
        CHECK_EQUAL(wrong(got + (long)who * length, who, round, length), 0);
    for (int to = 0; to < size; to++)
        put_items(sent + (long)to * length, rank * size + to, round, length);
    MPI_Alltoall(sent, length, MPI_LONG, got, length, MPI_LONG, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sent, length, MPI_LONG, MPI_COMM_WORLD);
    for (int who = 0; who < size; who++) {
        CHECK_EQUAL(wrong(got + (long)who * length, who * size + rank, round, length), 0);
        CHECK_EQUAL(wrong(sent + (long)who * length, who * size + rank, round, length), 0);
    }
}

static void to_and_from_root(long *sent, long *got, int round, int length, int root)
{
    put_items(sent, rank, round, length);
    memset(got, 0xff, (long)size * length * sizeof *got);
    MPI_Gather(sent, length, MPI_LONG, got, length, MPI_LONG, root, MPI_COMM_WORLD);
    for (int who = 0; rank == root && who < size; who++)
        CHECK_EQUAL(wrong(got + (long)who * length, who, round, length), 0);
    memset(got, 0xff, (long)size * length * sizeof *got);
    put_items(got + (long)rank * length, rank, round, length);
    MPI_Gather(rank == root ? MPI_IN_PLACE : sent, length, MPI_LONG, got, length, MPI_LONG, root, MPI_COMM_WORLD);
    for (int who = 0; rank == root && who < size; who++)
        CHECK_EQUAL(wrong(got + (long)who * length, who, round, length), 0);
    for (int to = 0; to < size; to++)
        put_items(sent + (long)to * length, rank * size + to, round, length);
    memset(got, 0xff, length * sizeof *got);
    MPI_Scatter(sent, length, MPI_LONG, got, length, MPI_LONG, root, MPI_COMM_WORLD);
    CHECK_EQUAL(wrong(got, root * size + rank, round, length), 0);
    memset(got, 0xff, length * sizeof *got);
    MPI_Scatter(sent, length, MPI_LONG, rank == root ? MPI_IN_PLACE : got, length, MPI_LONG, root, MPI_COMM_WORLD);
    CHECK_EQUAL(rank == root ? got[length / 2] != -1 : wrong(got, root * size + rank, round, length), 0);
}

/* Every other long of a buffer, sent by one type and received by another. */
static void gaps(long *sent, long *got, int round, int length, int root)
{
    MPI_Datatype spread;
    MPI_Type_vector(length, 1, 2, MPI_LONG, &spread);
    MPI_Type_commit(&spread);
    memset(got, 0xff, 2 * length * sizeof *got);
    if (rank == root)
        put_items(sent, root, round, length);
    if (rank == root)
        MPI_Bcast(sent, length, MPI_LONG, root, MPI_COMM_WORLD);
    else
        MPI_Bcast(got, 1, spread, root, MPI_COMM_WORLD);
    for (int index = 0; rank != root && index < length; index++)
        if (got[2 * index] != item(root, round, index) || (index + 1 < length && got[2 * index + 1] != -1))
            CHECK_EQUAL(index, -1);
    for (int index = 0; index < 2 * length; index++)
        got[index] = index % 2 ? -1 : item(rank, round, index / 2);
    MPI_Allgather(got, 1, spread, sent, length, MPI_LONG, MPI_COMM_WORLD);
    for (int who = 0; who < size; who++)
        CHECK_EQUAL(wrong(sent + (long)who * length, who, round, length), 0);
    MPI_Type_free(&spread);
}

static void all_lengths(long *sent, long *got, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        int length = lengths[round % 6], root = round % size, edge = round % 3 * 7;
        if (round % 5 == rank)
            usleep(300);
        reductions(sent + edge, got + edge, round, length, root);
        partial_reductions(sent + edge, got + edge, round, length, root);
        movements(sent + edge, got + edge, round, length, root);
        to_and_from_root(sent + edge, got + edge, round, length, root);
        gaps(sent + edge, got + edge, round, length, root);
        reductions(sent, got, round, 3, root);
    }
}

/* The same lengths again and again, so that malloc's blocks become shared; then a fork takes that back. */
static void after_forks(long *sent, long *got)
{
    for (int time = 0; time < 3; time++) {
        all_lengths(sent, got, 12);
        pid_t child = fork();
        if (child == 0) {
            sent[0] = got[0] = -7;
            _exit(0);
        }
        all_lengths(sent, got, 6);
        waitpid(child, NULL, 0);
    }
}

static void same_bits_at_every_length(void)
{
    enum { NUMBERS = 20000, PART = 50 };
    double *sent = malloc(NUMBERS * sizeof *sent), *whole = malloc(NUMBERS * sizeof *whole), part[PART];
    for (int index = 0; index < NUMBERS; index++)
        sent[index] = 1.0 / (1 + rank * 31 + index % 977) * (index % 3 ? 1e9 : 1e-9);
    MPI_Allreduce(sent, whole, NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int index = 0; index < NUMBERS; index += PART) {
        MPI_Allreduce(sent + index, part, PART, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        CHECK(memcmp(part, whole + index, sizeof part) == 0);
    }
    free(sent);
    free(whole);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    long bytes = (8L * LONGEST + 600) * sizeof(long), *sent, *got;
    all_lengths(static_sent, static_got, 6);
    sent = malloc(bytes), got = malloc(bytes);
    memset(sent, 0, bytes), memset(got, 0, bytes);
    after_forks(sent, got);
    free(sent), free(got);
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &sent), MPI_Alloc_mem(bytes, MPI_INFO_NULL, &got);
    all_lengths(sent, got, 12);
    all_lengths(sent, static_got, 6);
    MPI_Free_mem(sent), MPI_Free_mem(got);
    same_bits_at_every_length();
    return check_end();
}
