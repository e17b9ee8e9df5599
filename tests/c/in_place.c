/* ranks: 1 3 4
 * Collective operations in which arguments do not count: with MPI_IN_PLACE what is said of the send buffer (at the
 * root of a scatter, of the receive buffer), and elsewhere than at the root what counts there only (MPI-5.0 §6.2).
 * Nobody looks at them. Where MPI_IN_PLACE is not allowed it is an error. */
#include "check.h"
#include <stdint.h>

#define W MPI_COMM_WORLD
#define IN MPI_IN_PLACE
#define BAD (-7) /* a count */

static MPI_Datatype junk; /* the handle of nothing */
static MPI_Count *no_counts;
static MPI_Aint *no_places;
static int out[64], counts[8], places[8];
static MPI_Count wide[8];
static MPI_Aint far[8];

/* Mine is the element at my rank of `out`; afterwards each has those of all. */
static void prepare(void)
{
    for (int i = 0; i < size; i++) {
        out[i] = i == rank ? 10 + rank : -1;
        counts[i] = 1, places[i] = i, wide[i] = 1, far[i] = i;
    }
}

static void check_all(const char *call, int line)
{
    for (int i = 0; i < size; i++)
        if (out[i] != 10 + i)
            check_failed(__FILE__, line, "%s: element %d is %d", call, i, out[i]);
}

/* To be exchanged: the element for i is 100 rank + i; afterwards that of i is 100 i + rank. */
static void prepare_exchange(void)
{
    prepare();
    for (int i = 0; i < size; i++)
        out[i] = 100 * rank + i;
}

static void check_exchanged(const char *call, int line)
{
    for (int i = 0; i < size; i++)
        if (out[i] != 100 * i + rank)
            check_failed(__FILE__, line, "%s: element %d is %d", call, i, out[i]);
}

static int done(int code, MPI_Request *request, int starts)
{
    if (code == MPI_SUCCESS && starts)
        code = MPI_Start(request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(request, MPI_STATUS_IGNORE);
    if (starts && *request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
    return code;
}

/* The six forms of a call: blocking, nonblocking and persistent, with `int` and with MPI_Count. */
#define FORM(before, call, name, after)                          \
    do {                                                         \
        before();                                                \
        CHECK_CLASS(call, MPI_SUCCESS);                          \
        after(name, __LINE__);                                   \
    } while (0)
#define LIST(...) __VA_ARGS__
#define FORMS(before, after, n, N, arguments, arguments_c)                                                     \
    do {                                                                                                       \
        MPI_Request r;                                                                                         \
        FORM(before, MPI_##N(LIST arguments), #N, after);                                                      \
        FORM(before, MPI_##N##_c(LIST arguments_c), #N "_c", after);                                           \
        FORM(before, done(MPI_I##n(LIST arguments, &r), &r, 0), "I" #n, after);                                \
        FORM(before, done(MPI_I##n##_c(LIST arguments_c, &r), &r, 0), "I" #n "_c", after);                     \
        FORM(before, done(MPI_##N##_init(LIST arguments, MPI_INFO_NULL, &r), &r, 1), #N "_init", after);       \
        FORM(before, done(MPI_##N##_init_c(LIST arguments_c, MPI_INFO_NULL, &r), &r, 1), #N "_init_c", after); \
    } while (0)

static void all_to_all(void)
{
    MPI_Datatype ints[8];
    int at[8];
    MPI_Aint at_c[8];
    for (int i = 0; i < 8; i++)
        ints[i] = MPI_INT, at[i] = at_c[i] = (int)sizeof(int) * i;
    FORMS(prepare, check_all, allgather, Allgather, (IN, BAD, junk, out, 1, MPI_INT, W), (IN, BAD, junk, out, 1, MPI_INT, W));
    FORMS(prepare, check_all, allgatherv, Allgatherv, (IN, BAD, junk, out, counts, places, MPI_INT, W),
          (IN, BAD, junk, out, wide, far, MPI_INT, W));
    FORMS(prepare_exchange, check_exchanged, alltoall, Alltoall, (IN, BAD, junk, out, 1, MPI_INT, W),
          (IN, BAD, junk, out, 1, MPI_INT, W));
    FORMS(prepare_exchange, check_exchanged, alltoallv, Alltoallv,
          (IN, NULL, NULL, junk, out, counts, places, MPI_INT, W),
          (IN, no_counts, no_places, junk, out, wide, far, MPI_INT, W));
    FORMS(prepare_exchange, check_exchanged, alltoallw, Alltoallw, (IN, NULL, NULL, NULL, out, counts, at, ints, W),
          (IN, no_counts, no_places, NULL, out, wide, at_c, ints, W));
}

static void check_at_root(const char *call, int line)
{
    if (rank == 0)
        check_all(call, line);
}

static void check_mine(const char *call, int line)
{
    if (out[rank] != 10 + rank)
        check_failed(__FILE__, line, "%s: mine is %d", call, out[rank]);
}

static void prepare_at_root(void)
{
    prepare();
    if (rank == 0)
        for (int i = 0; i < size; i++)
            out[i] = 10 + i;
    else
        out[rank] = -1;
}

/* At the root in place; the others know nothing of what counts at the root. */
static void with_a_root(void)
{
    int *mine = &out[rank];
    if (rank == 0) {
        FORMS(prepare, check_at_root, gather, Gather, (IN, BAD, junk, out, 1, MPI_INT, 0, W),
              (IN, BAD, junk, out, 1, MPI_INT, 0, W));
        FORMS(prepare, check_at_root, gatherv, Gatherv, (IN, BAD, junk, out, counts, places, MPI_INT, 0, W),
              (IN, BAD, junk, out, wide, far, MPI_INT, 0, W));
        FORMS(prepare_at_root, check_mine, scatter, Scatter, (out, 1, MPI_INT, IN, BAD, junk, 0, W),
              (out, 1, MPI_INT, IN, BAD, junk, 0, W));
        FORMS(prepare_at_root, check_mine, scatterv, Scatterv, (out, counts, places, MPI_INT, IN, BAD, junk, 0, W),
              (out, wide, far, MPI_INT, IN, BAD, junk, 0, W));
    } else {
        FORMS(prepare, check_at_root, gather, Gather, (mine, 1, MPI_INT, NULL, BAD, junk, 0, W),
              (mine, 1, MPI_INT, NULL, BAD, junk, 0, W));
        FORMS(prepare, check_at_root, gatherv, Gatherv, (mine, 1, MPI_INT, NULL, NULL, NULL, junk, 0, W),
              (mine, 1, MPI_INT, NULL, no_counts, no_places, junk, 0, W));
        FORMS(prepare_at_root, check_mine, scatter, Scatter, (NULL, BAD, junk, mine, 1, MPI_INT, 0, W),
              (NULL, BAD, junk, mine, 1, MPI_INT, 0, W));
        FORMS(prepare_at_root, check_mine, scatterv, Scatterv, (NULL, NULL, NULL, junk, mine, 1, MPI_INT, 0, W),
              (NULL, no_counts, no_places, junk, mine, 1, MPI_INT, 0, W));
    }
}

/* What counts is looked at all the same, and in neighbourhoods nothing can be in place. */
static void errors(void)
{
    int in[8] = {0}, one = 1;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Comm ring;
    MPI_Datatype type = junk;
    MPI_Aint none = 0;
    MPI_Cart_create(W, 1, &size, &one, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Allgather(in, 1, junk, out, 1, MPI_INT, W), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Allgather(IN, 1, MPI_INT, out, 1, junk, W), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Allgather(in, 1, MPI_INT, IN, 1, junk, W), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Alltoallv(IN, NULL, NULL, junk, out, counts, places, junk, W), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Ialltoall(in, 1, junk, out, 1, MPI_INT, W, &r), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Neighbor_allgather(IN, 0, junk, out, 1, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Neighbor_allgatherv(IN, 0, junk, out, counts, places, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Neighbor_alltoall(IN, 0, junk, out, 1, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Neighbor_alltoallv(IN, NULL, NULL, junk, out, counts, places, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Neighbor_alltoallw(IN, NULL, NULL, NULL, out, &one, &none, &type, ring), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Ineighbor_allgather(IN, 0, junk, out, 1, MPI_INT, ring, &r), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Neighbor_alltoall_init(IN, 0, junk, out, 1, MPI_INT, ring, MPI_INFO_NULL, &r), MPI_ERR_BUFFER);
    CHECK(r == MPI_REQUEST_NULL);
    MPI_Comm_free(&ring);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    junk = (MPI_Datatype)(intptr_t)0;
    all_to_all();
    with_a_root();
    errors();
    return check_end();
}
