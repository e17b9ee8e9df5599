/* ranks: 1 2 3 5
 * Every collective operation in its blocking, nonblocking and persistent form,
 * and in place where that is allowed: each gives what MPI says. */
#include "check.h"

enum { MOST = 8, PLACES = 64 };

/* What rank `from` sends to rank `to` as item `index`. */
#define ITEM(from, to, index) ((from) * 10000 + (to) * 100 + (index))

static int sent[PLACES], got[PLACES], before[PLACES], expected[PLACES];
static int counts[MOST], places[MOST], bytes[MOST];
static MPI_Datatype ints[MOST];
static const int root = 0;

static void clear_all(void)
{
    for (int index = 0; index < PLACES; index++)
        sent[index] = before[index] = expected[index] = -1;
}

static void begin(void)
{
    memcpy(got, before, sizeof got);
}

static void compare(const char *what)
{
    for (int index = 0; index < PLACES; index++)
        if (got[index] != expected[index]) {
            check_failed(__FILE__, __LINE__, "%s: item %d is %d, not %d", what, index, got[index],
                         expected[index]);
            return;
        }
}

static void wait_and_compare(MPI_Request *request, const char *what)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    compare(what);
}

/* Runs an operation in all its forms: NAME(arguments, comm). */
#define ALL_FORMS(name, nonblocking, comm, ...)                                      \
    do {                                                                             \
        MPI_Request request;                                                         \
        begin();                                                                     \
        MPI_##name(__VA_ARGS__, comm);                                               \
        compare("MPI_" #name);                                                       \
        begin();                                                                     \
        MPI_##nonblocking(__VA_ARGS__, comm, &request);                              \
        wait_and_compare(&request, "MPI_" #nonblocking);                             \
        CHECK(request == MPI_REQUEST_NULL);                                          \
        MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request);               \
        for (int time = 0; time < 3; time++) {                                       \
            begin();                                                                 \
            MPI_Start(&request);                                                     \
            wait_and_compare(&request, "MPI_" #name "_init");                        \
        }                                                                            \
        MPI_Request_free(&request);                                                  \
    } while (0)

static void barrier_and_broadcast(void)
{
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);

    clear_all();
    for (int index = 0; index < 7; index++) {
        before[index] = rank == root ? index : -1;
        expected[index] = index;
    }
    ALL_FORMS(Bcast, Ibcast, MPI_COMM_WORLD, got, 7, MPI_INT, root);
}

/* Two items of each rank to the root, and the way back. */
static void gather_and_scatter(void)
{
    clear_all();
    for (int index = 0; index < 2; index++)
        sent[index] = ITEM(rank, root, index);
    for (int who = 0; who < size && rank == root; who++)
        for (int index = 0; index < 2; index++)
            expected[2 * who + index] = ITEM(who, root, index);
    ALL_FORMS(Gather, Igather, MPI_COMM_WORLD, sent, 2, MPI_INT, got, 2, MPI_INT, root);

    for (int who = 0; who < MOST; who++) {
        counts[who] = 2;
        places[who] = 3 * who + 1;
    }
    clear_all();
    for (int index = 0; index < 2; index++)
        sent[index] = ITEM(rank, root, index);
    for (int who = 0; who < size && rank == root; who++)
        for (int index = 0; index < 2; index++)
            expected[3 * who + 1 + index] = ITEM(who, root, index);
    ALL_FORMS(Gatherv, Igatherv, MPI_COMM_WORLD, sent, 2, MPI_INT, got, counts, places, MPI_INT, root);

    clear_all();
    for (int who = 0; who < size; who++)
        for (int index = 0; index < 2; index++)
            sent[2 * who + index] = ITEM(root, who, index);
    for (int index = 0; index < 2; index++)
        expected[index] = ITEM(root, rank, index);
    ALL_FORMS(Scatter, Iscatter, MPI_COMM_WORLD, sent, 2, MPI_INT, got, 2, MPI_INT, root);
    for (int who = 0; who < size; who++)
        for (int index = 0; index < 2; index++)
            sent[3 * who + 1 + index] = ITEM(root, who, index);
    ALL_FORMS(Scatterv, Iscatterv, MPI_COMM_WORLD, sent, counts, places, MPI_INT, got, 2, MPI_INT, root);
}

static void all_to_all(void)
{
    clear_all();
    for (int index = 0; index < 2; index++)
        sent[index] = ITEM(rank, 0, index);
    for (int who = 0; who < size; who++)
        for (int index = 0; index < 2; index++)
            expected[2 * who + index] = ITEM(who, 0, index);
    ALL_FORMS(Allgather, Iallgather, MPI_COMM_WORLD, sent, 2, MPI_INT, got, 2, MPI_INT);
    memcpy(&before[2 * rank], sent, 2 * sizeof(int));
    ALL_FORMS(Allgather, Iallgather, MPI_COMM_WORLD, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 2, MPI_INT);

    clear_all();
    for (int index = 0; index < 2; index++)
        sent[index] = ITEM(rank, 0, index);
    for (int who = 0; who < size; who++)
        for (int index = 0; index < 2; index++)
            expected[3 * who + 1 + index] = ITEM(who, 0, index);
    ALL_FORMS(Allgatherv, Iallgatherv, MPI_COMM_WORLD, sent, 2, MPI_INT, got, counts, places, MPI_INT);

    clear_all();
    for (int who = 0; who < size; who++)
        for (int index = 0; index < 2; index++) {
            sent[2 * who + index] = ITEM(rank, who, index);
            expected[2 * who + index] = ITEM(who, rank, index);
        }
    ALL_FORMS(Alltoall, Ialltoall, MPI_COMM_WORLD, sent, 2, MPI_INT, got, 2, MPI_INT);
    memcpy(before, sent, sizeof before);
    ALL_FORMS(Alltoall, Ialltoall, MPI_COMM_WORLD, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 2, MPI_INT);

    clear_all();
    for (int who = 0; who < size; who++)
        for (int index = 0; index < 2; index++) {
            sent[3 * who + 1 + index] = ITEM(rank, who, index);
            expected[3 * who + 1 + index] = ITEM(who, rank, index);
        }
    ALL_FORMS(Alltoallv, Ialltoallv, MPI_COMM_WORLD, sent, counts, places, MPI_INT, got, counts, places, MPI_INT);
    for (int who = 0; who < MOST; who++) {
        bytes[who] = places[who] * (int)sizeof(int);
        ints[who] = MPI_INT;
    }
    ALL_FORMS(Alltoallw, Ialltoallw, MPI_COMM_WORLD, sent, counts, bytes, ints, got, counts, bytes, ints);
    memcpy(before, sent, sizeof before);
    ALL_FORMS(Alltoallw, Ialltoallw, MPI_COMM_WORLD, MPI_IN_PLACE, NULL, NULL, NULL, got, counts, bytes, ints);
}

/* The sum of what ranks `0` to `last` have at a place. */
static int sum(int last, int index)
{
    int total = 0;
    for (int who = 0; who <= last; who++)
        total += ITEM(who, 0, index);
    return total;
}

static void reductions(void)
{
    enum { LENGTH = 10 };
    int everywhere[PLACES];
    clear_all();
    for (int index = 0; index < LENGTH; index++) {
        sent[index] = ITEM(rank, 0, index);
        expected[index] = sum(size - 1, index);
    }
    ALL_FORMS(Allreduce, Iallreduce, MPI_COMM_WORLD, sent, got, LENGTH, MPI_INT, MPI_SUM);
    memcpy(before, sent, sizeof before);
    ALL_FORMS(Allreduce, Iallreduce, MPI_COMM_WORLD, MPI_IN_PLACE, got, LENGTH, MPI_INT, MPI_SUM);
    if (rank == root) {
        ALL_FORMS(Reduce, Ireduce, MPI_COMM_WORLD, MPI_IN_PLACE, got, LENGTH, MPI_INT, MPI_SUM, root);
    } else {
        memcpy(everywhere, expected, sizeof expected);
        memcpy(expected, before, sizeof expected);
        ALL_FORMS(Reduce, Ireduce, MPI_COMM_WORLD, sent, NULL, LENGTH, MPI_INT, MPI_SUM, root);
    }

    clear_all();
    for (int index = 0; index < LENGTH; index++) {
        sent[index] = ITEM(rank, 0, index);
        expected[index] = sum(rank, index);
    }
    ALL_FORMS(Scan, Iscan, MPI_COMM_WORLD, sent, got, LENGTH, MPI_INT, MPI_SUM);
    for (int index = 0; index < LENGTH; index++)
        expected[index] = rank > 0 ? sum(rank - 1, index) : -1;
    ALL_FORMS(Exscan, Iexscan, MPI_COMM_WORLD, sent, got, LENGTH, MPI_INT, MPI_SUM);

    clear_all();
    int first = 0;
    for (int who = 0; who < size; who++) {
        counts[who] = who % 3;
        first += who < rank ? counts[who] : 0;
    }
    for (int index = 0; index < PLACES; index++)
        sent[index] = ITEM(rank, 0, index);
    for (int index = 0; index < counts[rank]; index++)
        expected[index] = sum(size - 1, first + index);
    ALL_FORMS(Reduce_scatter, Ireduce_scatter, MPI_COMM_WORLD, sent, got, counts, MPI_INT, MPI_SUM);
    clear_all();
    for (int index = 0; index < PLACES; index++)
        sent[index] = ITEM(rank, 0, index);
    for (int index = 0; index < 3; index++)
        expected[index] = sum(size - 1, 3 * rank + index);
    ALL_FORMS(Reduce_scatter_block, Ireduce_scatter_block, MPI_COMM_WORLD, sent, got, 3, MPI_INT, MPI_SUM);
}

/* On a ring: what goes down arrives from above. */
static void neighbours(void)
{
    MPI_Comm ring;
    int down, up, periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &down, &up);
    clear_all();
    for (int index = 0; index < 2; index++) {
        sent[index] = ITEM(rank, 0, index);
        expected[index] = ITEM(down, 0, index);
        expected[2 + index] = ITEM(up, 0, index);
    }
    ALL_FORMS(Neighbor_allgather, Ineighbor_allgather, ring, sent, 2, MPI_INT, got, 2, MPI_INT);
    int two[] = {2, 2}, at[] = {0, 2};
    MPI_Aint byte_places[] = {0, 2 * sizeof(int)};
    ALL_FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, ring, sent, 2, MPI_INT, got, two, at, MPI_INT);
    clear_all();
    for (int index = 0; index < 4; index++)
        sent[index] = ITEM(rank, 0, index);
    for (int index = 0; index < 2; index++) {
        expected[index] = ITEM(down, 0, 2 + index);
        expected[2 + index] = ITEM(up, 0, index);
    }
    ALL_FORMS(Neighbor_alltoall, Ineighbor_alltoall, ring, sent, 2, MPI_INT, got, 2, MPI_INT);
    ALL_FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, ring, sent, two, at, MPI_INT, got, two, at, MPI_INT);
    ALL_FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, ring, sent, two, byte_places, ints, got, two,
              byte_places, ints);
    MPI_Comm_free(&ring);
}

/* Several operations under way at once, completed in another order. */
static void many_at_once(void)
{
    enum { MANY = 20 };
    int in[MANY], out[MANY];
    MPI_Request requests[MANY];
    for (int index = 0; index < MANY; index++) {
        in[index] = rank + index;
        MPI_Iallreduce(&in[index], &out[index], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[index]);
    }
    for (int index = MANY - 1; index >= 0; index--) {
        MPI_Wait(&requests[index], MPI_STATUS_IGNORE);
        CHECK_EQUAL(out[index], size - 1 + index);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    barrier_and_broadcast();
    gather_and_scatter();
    all_to_all();
    reductions();
    neighbours();
    many_at_once();
    return check_end();
}
