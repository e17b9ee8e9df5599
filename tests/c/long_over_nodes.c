/* ranks: 2 4 5 8
 * Collectives of lengths around those from which on all ranks of a node carry a share: what every rank gets is to the bit
 * what the tree of all ranks gives, in each form, whichever ranks share a node. */
#include "check.h"

enum { LONGEST = 70001 };

static double sent[8 * LONGEST], got[8 * LONGEST], before[8 * LONGEST], expected[LONGEST];
static const int lengths[] = {1, 100, 4095, 8191, 8192, 8200, 33333, LONGEST};

/* Numbers of very different size, so that the order of additions shows. */
static double number(int who, int at)
{
    static const double scales[] = {1, 1e-9, 1e17, -1e17, 3e-3};
    return ((who * 7919 + at * 31) % 1009 + 0.1) * scales[(who + at) % 5];
}

/* The sum of item `at` of the ranks from `first` on: neighbours, then pairs of them. */
static double of_seats(int first, int count, int pairs, int at)
{
    if (count > 1) {
        double left = of_seats(first, count / 2, pairs, at);
        return left + of_seats(first + count / 2, count / 2, pairs, at);
    }
    if (first < pairs)
        return number(2 * first, at) + number(2 * first + 1, at);
    return number(first + pairs, at);
}

static double sum(int at)
{
    int seats = 1;
    while (2 * seats <= size)
        seats *= 2;
    return of_seats(0, seats, size - seats, at);
}

static int wrong(const double *have, const double *want, int length)
{
    for (int at = 0; at < length; at++)
        if (memcmp(&have[at], &want[at], sizeof *have))
            return at + 1;
    return 0;
}

static int wrong_numbers(const double *have, int who, int first, int length)
{
    for (int at = 0; at < length; at++)
        if (have[at] != number(who, first + at))
            return at + 1;
    return 0;
}

static void fill_in(double *to, int first, int length)
{
    for (int at = 0; at < length; at++)
        to[at] = number(rank, first + at);
}

/* Runs a call three times: as it is, nonblocking, persistent. What has been got must be the same bits. */
#define EACH_FORM(length, Call, call, ...)                                             \
    do {                                                                               \
        MPI_Request request;                                                           \
        memcpy(before, got, (length) * sizeof *got);                                   \
        MPI_##Call(__VA_ARGS__, MPI_COMM_WORLD);                                       \
        double *first = malloc((length) * sizeof *first + 1);                          \
        memcpy(first, got, (length) * sizeof *got);                                    \
        memcpy(got, before, (length) * sizeof *got);                                   \
        MPI_I##call(__VA_ARGS__, MPI_COMM_WORLD, &request);                            \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                         \
        CHECK_EQUAL(wrong(got, first, length), 0);                                     \
        memcpy(got, before, (length) * sizeof *got);                                   \
        MPI_##Call##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request);       \
        for (int turn = 0; turn < 2; turn++) {                                         \
            memcpy(got, before, (length) * sizeof *got);                               \
            MPI_Start(&request);                                                       \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                     \
            CHECK_EQUAL(wrong(got, first, length), 0);                                 \
        }                                                                              \
        MPI_Request_free(&request);                                                    \
        free(first);                                                                   \
    } while (0)

static void reductions(int length)
{
    for (int at = 0; at < length; at++)
        expected[at] = sum(at);
    fill_in(sent, 0, length);
    memset(got, 0, length * sizeof *got);
    MPI_Allreduce(sent, got, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(wrong(got, expected, length), 0);
    fill_in(got, 0, length);
    EACH_FORM(length, Allreduce, allreduce, MPI_IN_PLACE, got, length, MPI_DOUBLE, MPI_SUM);
    CHECK_EQUAL(wrong(got, expected, length), 0);
    for (int root = 0; root < size; root++) {
        memset(got, 0, length * sizeof *got);
        MPI_Reduce(sent, got, length, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        if (rank == root)
            CHECK_EQUAL(wrong(got, expected, length), 0);
        fill_in(got, 0, length);
        EACH_FORM(length, Reduce, reduce, rank == root ? MPI_IN_PLACE : sent, got, length, MPI_DOUBLE, MPI_SUM, root);
        if (rank == root)
            CHECK_EQUAL(wrong(got, expected, length), 0);
    }
    CHECK_EQUAL(wrong_numbers(sent, rank, 0, length), 0);
}

static void parts(int length)
{
    int each = length / size, counts[8], first = 0;
    for (int who = 0; who < size; who++)
        counts[who] = who == 1 ? 0 : each + who;
    for (int who = 0; who < rank; who++)
        first += counts[who];
    fill_in(sent, 0, size * each);
    memset(got, 0, (length + 64) * sizeof *got);
    EACH_FORM(each, Reduce_scatter_block, reduce_scatter_block, sent, got, each, MPI_DOUBLE, MPI_SUM);
    for (int at = 0; at < each; at++)
        expected[at] = sum(rank * each + at);
    CHECK_EQUAL(wrong(got, expected, each), 0);
    fill_in(got, 0, length + 8 * size);
    MPI_Reduce_scatter(MPI_IN_PLACE, got, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int at = 0; at < counts[rank]; at++)
        expected[at] = sum(first + at);
    CHECK_EQUAL(wrong(got, expected, counts[rank]), 0);
}

static void movements(int length)
{
    int counts[8], places[8], total = 0;
    for (int root = 0; root < size; root++) {
        fill_in(got, root, length);
        EACH_FORM(length, Bcast, bcast, got, length, MPI_DOUBLE, root);
        CHECK_EQUAL(wrong_numbers(got, root, root, length), 0);
        memset(got, 0, size * length * sizeof *got);
        fill_in(sent, 0, length);
        EACH_FORM(size * length, Gather, gather, sent, length, MPI_DOUBLE, got, length, MPI_DOUBLE, root);
        for (int who = 0; rank == root && who < size; who++)
            CHECK_EQUAL(wrong_numbers(got + who * length, who, 0, length), 0);
        fill_in(sent, 0, size * length);
        EACH_FORM(length, Scatter, scatter, sent, length, MPI_DOUBLE, got, length, MPI_DOUBLE, root);
        CHECK_EQUAL(wrong_numbers(got, root, rank * length, length), 0);
    }
    memset(got, 0, size * length * sizeof *got);
    fill_in(got + rank * length, 0, length);
    EACH_FORM(size * length, Allgather, allgather, MPI_IN_PLACE, length, MPI_DOUBLE, got, length, MPI_DOUBLE);
    for (int who = 0; who < size; who++)
        CHECK_EQUAL(wrong_numbers(got + who * length, who, 0, length), 0);
    for (int who = size - 1; who >= 0; who--) {
        counts[who] = who == 1 ? 0 : length - who % 2 * (length / 3);
        places[who] = total;
        total += counts[who];
    }
    memset(got, 0, size * length * sizeof *got);
    fill_in(sent, 0, length);
    EACH_FORM(size * length, Allgatherv, allgatherv, sent, counts[rank], MPI_DOUBLE, got, counts, places, MPI_DOUBLE);
    for (int who = 0; who < size; who++)
        CHECK_EQUAL(wrong_numbers(got + places[who], who, 0, counts[who]), 0);
}

/* Blocks of some length for each rank. */
static void everybody(int length)
{
    fill_in(sent, 0, size * length);
    memset(got, 0, size * length * sizeof *got);
    EACH_FORM(size * length, Alltoall, alltoall, sent, length, MPI_DOUBLE, got, length, MPI_DOUBLE);
    for (int who = 0; who < size; who++)
        CHECK_EQUAL(wrong_numbers(got + who * length, who, rank * length, length), 0);
    fill_in(got, 0, size * length);
    MPI_Alltoall(MPI_IN_PLACE, length, MPI_DOUBLE, got, length, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int who = 0; who < size; who++)
        CHECK_EQUAL(wrong_numbers(got + who * length, who, rank * length, length), 0);
}

/* So long that it goes in segments; of a type with gaps at some ranks. */
static void segments(void)
{
    enum { RUN = 64, RUNS = 65600, LENGTH = RUN * RUNS }; /* a little more than 32 MiB */
    double *much = malloc((long)(RUN + 1) * RUNS * sizeof *much);
    MPI_Datatype gaps;
    MPI_Type_vector(RUNS, RUN, RUN + 1, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);
    for (int turn = 0; turn < 3; turn++) {
        int root = turn % 2 ? size - 1 : 0, has_gaps = turn > 0 && (rank + root) % 2, bad = 0;
        int stride = RUN + has_gaps;
        memset(much, 0, stride * RUNS * sizeof *much);
        for (int run = 0; rank == root && run < RUNS; run++)
            fill_in(much + run * stride, run * RUN, RUN);
        MPI_Bcast(much, has_gaps ? 1 : LENGTH, has_gaps ? gaps : MPI_DOUBLE, root, MPI_COMM_WORLD);
        for (int run = 0; run < RUNS && !bad; run++)
            if (wrong_numbers(much + run * stride, root, run * RUN, RUN) || (has_gaps && much[run * stride + RUN] != 0))
                bad = run + 1;
        CHECK_EQUAL(bad, 0);
    }
    MPI_Type_free(&gaps);
    free(much);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (unsigned which = 0; which < sizeof lengths / sizeof *lengths; which++) {
        reductions(lengths[which]);
        parts(lengths[which]);
        movements(lengths[which]);
    }
    for (int length = 1; length < 5000; length = 3 * length + 1)
        everybody(length);
    segments();
    return check_end();
}
