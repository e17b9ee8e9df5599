/* ranks: 2 3 5 8
 * Small collectives, many in a row, so that ranks run ahead of each other:
 * sizes that cross from shared memory to messages and back, all kinds mixed
 * (also nonblocking ones under way meanwhile), communicators of some of the
 * ranks, and more communicators than there are blocks of shared memory. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { LARGEST = 3000, ROUNDS = 300, DUPLICATES = 80 };

static long sent[LARGEST * 8], got[LARGEST * 8];

static const int lengths[] = {1, 6, 7, 64, 511, 512, 513, 2999};

static int length_of(int round)
{
    return lengths[round * 7 % (int)(sizeof lengths / sizeof *lengths)];
}

static long item(int who, int round, int index)
{
    return who * 1000003L + round * 101 + index;
}

static void put_items(long *to, int who, int round, int length)
{
    for (int index = 0; index < length; index++)
        to[index] = item(who, round, index);
}

static void check_items(const char *what, const long *have, int who, int round, int length)
{
    for (int index = 0; index < length; index++)
        if (have[index] != item(who, round, index)) {
            check_failed(__FILE__, __LINE__, "%s, round %d: item %d of rank %d is %ld", what, round, index,
                         who, have[index]);
            return;
        }
}

static void check_sum(const char *what, int ranks, int round, int length)
{
    for (int index = 0; index < length; index++) {
        long sum = 0;
        for (int who = 0; who < ranks; who++)
            sum += item(who, round, index);
        if (got[index] != sum) {
            check_failed(__FILE__, __LINE__, "%s, round %d: item %d is %ld, not %ld", what, round, index,
                         got[index], sum);
            return;
        }
    }
}

/* A block for each rank but one, one after the other. */
static void put_blocks(int me, int ranks, int round, int length, int without)
{
    long *to = sent;
    for (int who = 0; who < ranks; who++)
        if (who != without) {
            put_items(to, me * ranks + who, round, length);
            to += length;
        }
}

static void check_block_sum(const char *what, int ranks, int me, int round, int length)
{
    for (int index = 0; index < length; index++) {
        long sum = 0;
        for (int who = 0; who < ranks; who++)
            sum += item(who * ranks + me, round, index);
        if (got[index] != sum) {
            check_failed(__FILE__, __LINE__, "%s, round %d: item %d is %ld, not %ld", what, round, index,
                         got[index], sum);
            return;
        }
    }
}

/* One operation; which one, and its root, follow from the round. */
static void one(MPI_Comm comm, int me, int ranks, int round)
{
    int length = length_of(round), root = round / 3 % ranks, short_one = length < 512 ? length : 512;
    put_items(sent, me, round, length);
    memset(got, 0xFF, sizeof got);
    switch (round % 11) {
    case 0:
        MPI_Barrier(comm);
        break;
    case 1:
        if (me == root)
            put_items(got, root, round, length);
        MPI_Bcast(got, length, MPI_LONG, root, comm);
        check_items("bcast", got, root, round, length);
        break;
    case 2:
        MPI_Reduce(sent, got, length, MPI_LONG, MPI_SUM, root, comm);
        if (me == root)
            check_sum("reduce", ranks, round, length);
        break;
    case 3:
        MPI_Allreduce(sent, got, length, MPI_LONG, MPI_SUM, comm);
        check_sum("allreduce", ranks, round, length);
        break;
    case 4:
        MPI_Allgather(sent, short_one, MPI_LONG, got, short_one, MPI_LONG, comm);
        for (int who = 0; who < ranks; who++)
            check_items("allgather", got + who * short_one, who, round, short_one);
        break;
    case 5:
        for (int to = 0; to < ranks; to++)
            put_items(sent + to * short_one, me * ranks + to, round, short_one);
        MPI_Alltoall(sent, short_one, MPI_LONG, got, short_one, MPI_LONG, comm);
        for (int who = 0; who < ranks; who++)
            check_items("alltoall", got + who * short_one, who * ranks + me, round, short_one);
        break;
    case 6:
        put_blocks(me, ranks, round, short_one, -1);
        MPI_Reduce_scatter_block(sent, got, short_one, MPI_LONG, MPI_SUM, comm);
        check_block_sum("reduce_scatter_block", ranks, me, round, short_one);
        break;
    case 7: {
        int counts[8];
        for (int who = 0; who < ranks; who++)
            counts[who] = who == root ? 0 : short_one;
        put_blocks(me, ranks, round, short_one, root);
        MPI_Reduce_scatter(sent, got, counts, MPI_LONG, MPI_SUM, comm);
        check_block_sum("reduce_scatter", ranks, me, round, counts[me]);
        break;
    }
    case 8:
        MPI_Scan(sent, got, length, MPI_LONG, MPI_SUM, comm);
        check_sum("scan", me + 1, round, length);
        break;
    case 9:
        MPI_Exscan(sent, got, length, MPI_LONG, MPI_SUM, comm);
        if (me > 0)
            check_sum("exscan", me, round, length);
        break;
    default:
        MPI_Gather(sent, short_one, MPI_LONG, got, short_one, MPI_LONG, root, comm);
        if (me == root)
            for (int who = 0; who < ranks; who++)
                check_items("gather", got + who * short_one, who, round, short_one);
        for (int to = 0; to < ranks; to++)
            put_items(sent + to * short_one, to, round, short_one);
        MPI_Scatter(sent, short_one, MPI_LONG, got, short_one, MPI_LONG, root, comm);
        check_items("scatter", got, me, round, short_one);
    }
}

static void many_in_a_row(MPI_Comm comm, int rounds)
{
    int me, ranks;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    for (int round = 0; round < rounds; round++) {
        if (round % 97 == me)
            usleep(500); /* now this one is late, now that one */
        one(comm, me, ranks, round);
    }
}

/* Nonblocking collectives go on while blocking ones come and go. */
static void mixed_with_nonblocking(MPI_Comm comm)
{
    int me, ranks;
    long mine[4], sums[4][4];
    MPI_Request requests[4];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    for (int round = 0; round < 50; round++) {
        for (int index = 0; index < 4; index++)
            mine[index] = me + index;
        for (int which = 0; which < 4; which++) {
            MPI_Iallreduce(mine, sums[which], 4, MPI_LONG, MPI_SUM, comm, &requests[which]);
            one(comm, me, ranks, 4 * round + which);
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int which = 0; which < 4; which++)
            for (int index = 0; index < 4; index++)
                CHECK_EQUAL(sums[which][index], (long)ranks * (ranks - 1) / 2 + (long)ranks * index);
    }
}

/* Messages and a collective at once: a rank that waits in a barrier still serves others. */
static void messages_behind_a_barrier(void)
{
    static char large[1 << 20], into[1 << 20];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < 5; round++) {
        MPI_Request requests[2];
        fill(large, sizeof large, rank + round);
        MPI_Irecv(into, sizeof into, MPI_BYTE, before, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(large, sizeof large, MPI_BYTE, next, 5, MPI_COMM_WORLD, &requests[1]);
        if (rank % 2 == 0)
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank % 2 == 1)
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_FILLED(into, sizeof into, before + round);
    }
}

static void parts_of_the_ranks(void)
{
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part); /* and in another order */
    many_in_a_row(part, ROUNDS / 3);
    MPI_Comm_free(&part);
}

/* Blocks are few: those made last go without, and freed ones come back. */
static void many_communicators(void)
{
    static MPI_Comm duplicates[DUPLICATES];
    for (int time = 0; time < 3; time++) {
        for (int which = 0; which < DUPLICATES; which++) {
            MPI_Comm_dup(MPI_COMM_WORLD, &duplicates[which]);
            many_in_a_row(duplicates[which], 11);
        }
        for (int which = 0; which < DUPLICATES; which++) {
            many_in_a_row(duplicates[which], 11);
            MPI_Comm_free(&duplicates[which]);
        }
    }
    for (int time = 0; time < 200; time++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &duplicates[0]);
        many_in_a_row(duplicates[0], 5);
        MPI_Comm_free(&duplicates[0]);
    }
}

/* Threads, each with a communicator of its own. */
static void *in_a_thread(void *comm)
{
    int me, ranks;
    MPI_Comm_rank(*(MPI_Comm *)comm, &me);
    MPI_Comm_size(*(MPI_Comm *)comm, &ranks);
    for (long round = 0; round < ROUNDS; round++) {
        long mine = me + round, sum = -1;
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, *(MPI_Comm *)comm);
        CHECK_EQUAL(sum, ranks * (ranks - 1) / 2 + ranks * round);
    }
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 3 };
    MPI_Comm comms[THREADS];
    pthread_t ids[THREADS];
    for (int which = 0; which < THREADS; which++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[which]);
    for (int which = 0; which < THREADS; which++)
        pthread_create(&ids[which], NULL, in_a_thread, &comms[which]);
    for (int which = 0; which < THREADS; which++)
        pthread_join(ids[which], NULL);
    for (int which = 0; which < THREADS; which++)
        MPI_Comm_free(&comms[which]);
}

/* A wrong call of one rank alone is told and does no harm. */
static void wrong_call_of_one_rank(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1) {
        double number = 1, result;
        CHECK_CLASS(MPI_Allreduce(&number, &result, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
        CHECK_CLASS(MPI_Bcast(&number, 1, MPI_DOUBLE, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong_call_of_one_rank();
    many_in_a_row(MPI_COMM_WORLD, ROUNDS);
    mixed_with_nonblocking(MPI_COMM_WORLD);
    messages_behind_a_barrier();
    parts_of_the_ranks();
    many_communicators();
    threads();
    many_in_a_row(MPI_COMM_WORLD, ROUNDS);
    return check_end();
}
