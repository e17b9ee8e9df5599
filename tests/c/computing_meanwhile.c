/* ranks: 2 4
 * Long nonblocking collectives of which one rank begins its part and then computes: the others do
 * that part too, and do not wait for it. */
#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH = 512 << 10, WARM = 10, ROUNDS = 14 };

static long *sent, *got;
static int *through; /* how often ranks other than 0 have ended an operation */

enum kind { ALLREDUCE, ALLREDUCE_IN_PLACE, ALLREDUCE_BY_FUNCTION, REDUCE, REDUCE_TO_ANOTHER, ALLGATHER, ALLTOALL,
            BCAST, SCATTER, GATHER, SCATTERV, GATHERV, ALLGATHERV, ALLTOALLV, NEIGHBOURS, REDUCE_SCATTER,
            REDUCE_SCATTER_IN_PLACE, SCAN, SCAN_IN_PLACE, EXSCAN, KINDS };
static const char *const names[] = {"allreduce", "allreduce in place", "allreduce by a function", "reduce",
                                    "reduce to another", "allgather", "alltoall", "bcast", "scatter", "gather",
                                    "scatterv", "gatherv", "allgatherv", "alltoallv", "neighbor_alltoallv",
                                    "reduce_scatter", "reduce_scatter_block in place", "scan", "scan in place",
                                    "exscan"};

static long item(int from, int index, int round)
{
    return from * 1000003L + index * 7L + round;
}

static void prepare(int round)
{
    for (int index = 0; index < LENGTH; index++) {
        sent[index] = got[index] = item(rank, index, round);
    }
}

/* How much of a sum a rank gets, where not all get the same: the last one has the rest. */
static int part_of(int each)
{
    int less = LENGTH / size / 2;
    return each < size - 1 ? less : LENGTH - (size - 1) * less;
}

/* All are neighbours of all. */
static MPI_Comm everybody(void)
{
    static MPI_Comm comm = MPI_COMM_NULL;
    if (comm == MPI_COMM_NULL) {
        int all[64];
        for (int each = 0; each < size; each++)
            all[each] = each;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, all, MPI_UNWEIGHTED, size, all, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &comm);
    }
    return comm;
}

static void add(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int index = 0; index < *length; index++)
        ((long *)inout)[index] += ((long *)in)[index];
}

/* Sums by a function of this program. */
static MPI_Op function(void)
{
    static MPI_Op op = MPI_OP_NULL;
    if (op == MPI_OP_NULL)
        MPI_Op_create(add, 0, &op);
    return op;
}

static void start(enum kind kind, MPI_Request *request)
{
    int block = LENGTH / size;
    static int counts[64], places[64], blocks[64], block_places[64];
    for (int each = 0; each < size; each++) {
        counts[each] = part_of(each);
        places[each] = each * part_of(0);
        blocks[each] = block;
        block_places[each] = each * block;
    }
    switch (kind) {
    case ALLREDUCE:
        MPI_Iallreduce(sent, got, LENGTH, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, request);
        break;
    case ALLREDUCE_IN_PLACE:
        MPI_Iallreduce(MPI_IN_PLACE, got, LENGTH, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, request);
        break;
    case ALLREDUCE_BY_FUNCTION:
        MPI_Iallreduce(sent, got, LENGTH, MPI_LONG, function(), MPI_COMM_WORLD, request);
        break;
    case REDUCE:
    case REDUCE_TO_ANOTHER:
        MPI_Ireduce(sent, got, LENGTH, MPI_LONG, MPI_SUM, kind == REDUCE ? 0 : size - 1, MPI_COMM_WORLD, request);
        break;
    case ALLGATHER:
        MPI_Iallgather(sent, block, MPI_LONG, got, block, MPI_LONG, MPI_COMM_WORLD, request);
        break;
    case BCAST:
        MPI_Ibcast(rank == size - 1 ? sent : got, LENGTH, MPI_LONG, size - 1, MPI_COMM_WORLD, request);
        break;
    case SCATTER:
        MPI_Iscatter(sent, block, MPI_LONG, got, block, MPI_LONG, size - 1, MPI_COMM_WORLD, request);
        break;
    case GATHER:
        MPI_Igather(sent, block, MPI_LONG, got, block, MPI_LONG, size - 1, MPI_COMM_WORLD, request);
        break;
    case SCATTERV:
        MPI_Iscatterv(sent, counts, places, MPI_LONG, got, part_of(rank), MPI_LONG, size - 1, MPI_COMM_WORLD, request);
        break;
    case GATHERV:
        MPI_Igatherv(sent, part_of(rank), MPI_LONG, got, counts, places, MPI_LONG, size - 1, MPI_COMM_WORLD, request);
        break;
    case ALLGATHERV:
        MPI_Iallgatherv(sent, part_of(rank), MPI_LONG, got, counts, places, MPI_LONG, MPI_COMM_WORLD, request);
        break;
    case ALLTOALLV:
        MPI_Ialltoallv(sent, blocks, block_places, MPI_LONG, got, blocks, block_places, MPI_LONG, MPI_COMM_WORLD,
                       request);
        break;
    case NEIGHBOURS:
        MPI_Ineighbor_alltoallv(sent, blocks, block_places, MPI_LONG, got, blocks, block_places, MPI_LONG, everybody(),
                                request);
        break;
    case REDUCE_SCATTER:
        MPI_Ireduce_scatter(sent, got, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, request);
        break;
    case REDUCE_SCATTER_IN_PLACE:
        MPI_Ireduce_scatter_block(MPI_IN_PLACE, got, block, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, request);
        break;
    case SCAN:
        MPI_Iscan(sent, got, LENGTH, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, request);
        break;
    case SCAN_IN_PLACE:
        MPI_Iscan(MPI_IN_PLACE, got, LENGTH, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, request);
        break;
    case EXSCAN:
        MPI_Iexscan(sent, got, LENGTH, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, request);
        break;
    default:
        MPI_Ialltoall(sent, block, MPI_LONG, got, block, MPI_LONG, MPI_COMM_WORLD, request);
    }
}

/* What a rank shall find at some place of its result. */
static long expected(enum kind kind, int index, int round)
{
    int block = LENGTH / size, from = index / block, at = index % block;
    long sum = 0;
    int summed = kind < SCAN ? size : kind == EXSCAN ? rank : rank + 1;
    switch (kind) {
    case ALLGATHER:
    case GATHER:
        return item(from, at, round);
    case SCATTERV:
        return item(size - 1, rank * part_of(0) + index, round);
    case ALLGATHERV:
    case GATHERV:
        from = index / part_of(0) < size ? index / part_of(0) : size - 1;
        return item(from, index - from * part_of(0), round);
    case ALLTOALL:
    case ALLTOALLV:
    case NEIGHBOURS:
        return item(from, rank * block + at, round);
    case BCAST:
        return item(size - 1, index, round);
    case SCATTER:
        return item(size - 1, rank * block + index, round);
    default:
        if (kind == REDUCE_SCATTER)
            index += rank * part_of(0);
        else if (kind == REDUCE_SCATTER_IN_PLACE)
            index += rank * block;
        for (int each = 0; each < summed; each++)
            sum += item(each, index, round);
        return sum;
    }
}

static void check(enum kind kind, int round)
{
    int wrong = 0, is_to_last = kind == REDUCE_TO_ANOTHER || kind == GATHER || kind == GATHERV;
    int root = kind == REDUCE ? 0 : is_to_last ? size - 1 : rank;
    if (rank != root || (kind == BCAST && rank == size - 1) || (kind == EXSCAN && rank == 0))
        return;
    int is_block = kind == SCATTER || kind == REDUCE_SCATTER_IN_PLACE;
    int is_part = kind == REDUCE_SCATTER || kind == SCATTERV;
    int length = is_block ? LENGTH / size : is_part ? part_of(rank) : LENGTH;
    for (int index = 0; index < length; index++)
        wrong += got[index] != expected(kind, index, round);
    if (wrong > 0)
        check_failed(__FILE__, __LINE__, "%s, round %d: %d items are wrong", names[kind], round, wrong);
}

/* Whether all others are through, waiting for it as long as rank 0 shall compute, which calls nothing of MPI. */
static int others_through(int round, double patience)
{
    double begin = MPI_Wtime();
    while (__atomic_load_n(through, __ATOMIC_ACQUIRE) < (round + 1) * (size - 1)) {
        if (MPI_Wtime() - begin > patience)
            return 0;
        usleep(200);
    }
    return 1;
}

/* Rank 0 begins first and computes until the others are through, or for as long as it shall; whether they were. */
static int once(enum kind kind, int round, double patience)
{
    MPI_Request request;
    char begun = 1;
    int meanwhile = 0;
    prepare(round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0)
        MPI_Recv(&begun, 1, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    start(kind, &request);
    for (int other = 1; rank == 0 && other < size; other++)
        MPI_Send(&begun, 1, MPI_CHAR, other, 7, MPI_COMM_WORLD);
    if (rank == 0)
        meanwhile = others_through(kind * ROUNDS + round, patience);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank > 0)
        __atomic_add_fetch(through, 1, __ATOMIC_RELEASE);
    check(kind, round);
    MPI_Bcast(&meanwhile, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return meanwhile;
}

/* The first rounds find the place and let the ways of copying settle; any of the others may show it. */
static void others_do_it(enum kind kind, double patience)
{
    int meanwhile = 0;
    everybody(); /* all make it together */
    for (int round = 0; round < ROUNDS; round++)
        meanwhile += once(kind, round, round < WARM || meanwhile > 0 ? 0 : patience);
    if (patience > 0 && meanwhile == 0)
        check_failed(__FILE__, __LINE__, "%s: the others did not end before rank 0 went on", names[kind]);
}

/* A counter that all ranks see, in memory of rank 0 that has no name. */
static int *shared_counter(void)
{
    int where[2] = {getpid(), 0};
    if (rank == 0) {
        where[1] = memfd_create("through", MFD_CLOEXEC);
        CHECK(where[1] >= 0 && ftruncate(where[1], sizeof(int)) == 0);
    }
    MPI_Bcast(where, 2, MPI_INT, 0, MPI_COMM_WORLD);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", where[0], where[1]);
    int file = open(path, O_RDWR);
    void *counter = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counter == MAP_FAILED) {
        fprintf(stderr, "rank %d cannot map %s\n", rank, path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    close(file);
    return counter;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Alloc_mem(LENGTH * sizeof *sent, MPI_INFO_NULL, &sent);
    MPI_Alloc_mem(LENGTH * sizeof *got, MPI_INFO_NULL, &got);
    through = shared_counter();
    /* Where memory of others cannot be written, everybody does its own part. */
    for (int kind = 0; kind < KINDS; kind++)
        others_do_it(kind, getenv("SERRIED_COPY") == NULL ? 5 : 0);
    MPI_Free_mem(sent);
    MPI_Free_mem(got);
    return check_end();
}
