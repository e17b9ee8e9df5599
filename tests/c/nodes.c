/* ranks: 1 4 */
/* Ranks that pretend to be on several nodes (SERRIED_NODES, as `2` or `2:cyclic`): MPI_Comm_split_type finds the nodes,
 * and collectives of communicators within them, over them, and of one rank of each give what they should; prefixes have the bits of one node. */
#include "check.h"

/* The node of a rank of the job, as the setting says. */
static int node_of(int who)
{
    const char *setting = getenv("SERRIED_NODES");
    int nodes = setting ? atoi(setting) : 1;
    if (nodes < 2)
        return 0;
    return strstr(setting, ":cyclic") ? who % nodes : who * (nodes < size ? nodes : size) / size;
}

static void sums(MPI_Comm comm, int of_the_job)
{
    int count = 100000, me, members;
    long *mine = malloc(count * sizeof *mine), *sum = malloc(count * sizeof *sum);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    for (int length = 1; length <= count; length *= 10) {
        for (int turn = 0; turn < 5; turn++) {
            long total = 0, where = 0;
            MPI_Allreduce(&(long){of_the_job + turn}, &where, 1, MPI_LONG, MPI_SUM, comm);
            for (int at = 0; at < length; at++)
                mine[at] = of_the_job + turn + at;
            MPI_Allreduce(mine, sum, length, MPI_LONG, MPI_SUM, comm);
            for (int at = 0; at < length; at++)
                CHECK_EQUAL(sum[at], where + (long)members * at);
            total = me == 0 ? where : 0;
            MPI_Bcast(&total, 1, MPI_LONG, 0, comm);
            CHECK_EQUAL(total, where);
        }
    }
    free(mine);
    free(sum);
}

static double number(int who, int at) { return 1.0 / (who * 7 + at % 1000 + 3) * (at % 2 ? 1e9 : 1e-3); }

/* The numbers of `ranks` ranks up to `last`, as every form of a scan adds them on one node. */
static double prefix(int last, int ranks, int at)
{
    int half = 1;
    if (ranks == 1)
        return number(last, at);
    while (2 * half < ranks)
        half *= 2;
    return prefix(last - half, ranks - half, at) + prefix(last, half, at);
}

/* Scan and exscan in all forms: the bits of one node, short and long, of reals and of integers. */
static void prefixes(void)
{
    enum { FORMS = 6, LONGEST = 30000 };
    double *mine = malloc(LONGEST * sizeof *mine), *got = malloc(LONGEST * sizeof *got);
    long *whole = malloc(LONGEST * sizeof *whole), *sums = malloc(LONGEST * sizeof *sums);
    for (int length = 1; length <= LONGEST; length *= 30) {
        for (int turn = 0; turn < 4 * FORMS; turn++) {
            int form = turn % FORMS, ranks = rank + (form % 2 == 0);
            MPI_Request requests[2];
            for (int at = 0; at < length; at++) {
                mine[at] = number(rank, at);
                whole[at] = rank * 3 + at;
            }
            switch (form) {
            case 0:
                MPI_Scan(mine, got, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
                MPI_Scan(whole, sums, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
                break;
            case 1:
                MPI_Exscan(mine, got, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
                MPI_Exscan(whole, sums, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
                break;
            case 2:
                MPI_Iscan(mine, got, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
                MPI_Iscan(whole, sums, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
                break;
            case 3:
                MPI_Iexscan(mine, got, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
                MPI_Iexscan(whole, sums, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
                break;
            case 4:
                MPI_Scan_init(mine, got, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
                MPI_Scan_init(whole, sums, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
                break;
            case 5:
                MPI_Exscan_init(mine, got, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
                MPI_Exscan_init(whole, sums, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
                break;
            }
            for (int again = 0; form > 3 && again < 3; again++) {
                MPI_Startall(2, requests);
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            }
            if (form == 2 || form == 3)
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            for (int one = 0; form > 3 && one < 2; one++)
                MPI_Request_free(&requests[one]);
            for (int at = 0; at < length && ranks > 0; at++) {
                double expected = prefix(ranks - 1, ranks, at);
                CHECK(memcmp(&got[at], &expected, sizeof expected) == 0);
                CHECK_EQUAL(sums[at], 3L * ranks * (ranks - 1) / 2 + (long)ranks * at);
            }
        }
    }
    free(mine);
    free(got);
    free(whole);
    free(sums);
}

/* Big messages between nodes: all rungs of the ladder but the last are closed. */
static void around(void)
{
    int count = 1 << 20;
    char *out, *in;
    MPI_Alloc_mem(count, MPI_INFO_NULL, &out);
    MPI_Alloc_mem(count, MPI_INFO_NULL, &in);
    for (int turn = 0; turn < 20; turn++) {
        int bytes = count >> turn % 12;
        fill(out, bytes, rank + turn);
        MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, turn, in, bytes, MPI_CHAR, (rank + size - 1) % size, turn,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_FILLED(in, bytes, (rank + size - 1) % size + turn);
    }
    MPI_Free_mem(out);
    MPI_Free_mem(in);
}

/* A member that wants more than its node's speaker has is told both ranks, as the program calls them. */
static void wrong(int speaker)
{
    int numbers[2] = {0, 0}, length, code;
    char text[MPI_MAX_ERROR_STRING], named[64];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Bcast(numbers, rank == speaker ? 1 : 2, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK_EQUAL(class_of(code), rank == speaker ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    if (rank != speaker) {
        MPI_Error_string(code, text, &length);
        snprintf(named, sizeof named, "rank %d takes part with 4 bytes and this rank (%d)", speaker, rank);
        if (!strstr(text, named))
            check_failed(__FILE__, __LINE__, "not `%s`: %s", named, text);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm node, leaders;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int here = 0, place, number;
    for (int who = 0; who < size; who++)
        here += node_of(who) == node_of(rank);
    MPI_Comm_size(node, &number);
    MPI_Comm_rank(node, &place);
    CHECK_EQUAL(number, here);
    MPI_Comm_split(MPI_COMM_WORLD, place == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
    sums(MPI_COMM_WORLD, rank);
    sums(node, rank);
    prefixes();
    int speaker = 0;
    while (node_of(speaker) != node_of(rank))
        speaker++;
    wrong(speaker);
    sums(MPI_COMM_WORLD, rank);
    around();
    if (leaders != MPI_COMM_NULL) {
        sums(leaders, rank);
        MPI_Comm_free(&leaders);
    }
    MPI_Comm_free(&node);
    return check_end();
}
