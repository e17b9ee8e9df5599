/* Collective calls that do not match: misuse CASE. With SERRIED_CHECK=1 each is named.
 *
 * A comment `case NAME RANKS: words` above a function says with how many ranks it runs, and what the error has to say. */

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
static int me, size, x, y, many[256];

// case root 2: MPI_Bcast with root ; the root differs ; number 1 on MPI_COMM_WORLD
static void root(void) { MPI_Bcast(many, 4, MPI_INT, me, WORLD); }

// case bytes 3: MPI_Allreduce with MPI_SUM, 4 bytes ; MPI_Allreduce with MPI_SUM, 8 bytes ; the number of bytes differs
static void bytes(void) { MPI_Allreduce(many, many + 128, me == 2 ? 2 : 1, MPI_INT, MPI_SUM, WORLD); }

// case operator 2: MPI_SUM, 4 bytes ; MPI_MAX, 4 bytes ; the operator differs
static void operator(void) { MPI_Reduce(&x, &y, 1, MPI_INT, me ? MPI_SUM : MPI_MAX, 0, WORLD); }

// case function 2: calls MPI_Barrier ; calls MPI_Bcast with root 0 ; the function differs
static void function(void) {
    if (me == 0)
        MPI_Barrier(WORLD);
    else
        MPI_Bcast(many, 1, MPI_INT, 0, WORLD);
}

// case order 3: number 7 on pair ; calls MPI_Allgather ; calls MPI_Alltoall
static void order(void) {
    MPI_Comm pair;
    MPI_Comm_dup(WORLD, &pair);
    MPI_Comm_set_name(pair, "pair");
    for (int i = 0; i < 6; i++)
        MPI_Allgather(&x, 1, MPI_INT, many, 1, MPI_INT, pair);
    if (me != 1)
        MPI_Allgather(&x, 1, MPI_INT, many, 1, MPI_INT, pair);
    MPI_Alltoall(many, 1, MPI_INT, many + 128, 1, MPI_INT, pair);
}

// case nonblocking 2: calls MPI_Ibarrier ; calls MPI_Iallreduce with MPI_SUM, 4 bytes ; the function differs
static void nonblocking(void) {
    MPI_Request request;
    if (me == 0)
        MPI_Ibarrier(WORLD, &request);
    else
        MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void sum(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

// case right 3:
static void right(void) {
    MPI_Comm half, across;
    MPI_Op own;
    MPI_Op_create(sum, 1, &own);
    MPI_Comm_split(WORLD, me == 0, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, me == 0 ? 1 : 0, 1, &across);
    for (int i = 0; i < 5; i++) {
        MPI_Barrier(across);
        MPI_Allreduce(&x, &y, 1, MPI_INT, own, half);
        MPI_Gather(me ? many : MPI_IN_PLACE, 1, MPI_INT, many, 1, MPI_INT, 0, WORLD);
        MPI_Scatter(many, 1, MPI_INT, me ? many : MPI_IN_PLACE, 1, MPI_INT, 0, WORLD);
        MPI_Reduce(me == 1 ? MPI_IN_PLACE : many, many + 128, 2, MPI_INT, MPI_MAX, 1, WORLD);
        MPI_Bcast(many, me ? 8 : 2, me ? MPI_CHAR : MPI_INT, 0, WORLD);
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, many, 1, MPI_INT, WORLD);
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, many, 1, MPI_INT, WORLD);
        MPI_Bcast(many, 1, MPI_INT, me == 0 ? MPI_ROOT : 0, across);
        MPI_Exscan(&x, &y, 1, MPI_INT, MPI_SUM, WORLD);
    }
    MPI_Op_free(&own);
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {CASE(root), CASE(bytes), CASE(operator), CASE(function), CASE(order), CASE(nonblocking), CASE(right)};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &me);
    MPI_Comm_size(WORLD, &size);
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    MPI_Finalize();
    return 0;
}
