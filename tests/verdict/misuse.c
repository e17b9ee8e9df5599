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

static int counts[8], places[8];

// case gatherv 3: MPI_Gatherv ; rank 0 expects 8 bytes of rank 2, which sends 12 bytes | rank 2 sends 12 bytes to rank 0, which expects 8 bytes ; number 1 on MPI_COMM_WORLD
static void gatherv(void) {
    for (int i = 0; i < size; i++)
        counts[i] = places[i] = 2;
    MPI_Gatherv(many, me == 2 ? 3 : 2, MPI_INT, many + 128, counts, places, MPI_INT, 0, WORLD);
}

// case scatterv 3: MPI_Scatterv ; rank 1 expects 4 bytes of rank 2, which sends 8 bytes to it | rank 2 sends 8 bytes to rank 1, which expects 4 bytes
static void scatterv(void) {
    for (int i = 0; i < size; i++)
        counts[i] = places[i] = 2;
    MPI_Scatterv(many, counts, places, MPI_INT, many + 128, me == 1 ? 1 : 2, MPI_INT, 2, WORLD);
}

// case allgatherv 2: MPI_Allgatherv ; rank 0 ; 4 bytes ; rank 1 ; 8 bytes
static void allgatherv(void) {
    for (int i = 0; i < size; i++)
        counts[i] = places[i] = i == 0 && me == 1 ? 2 : 1;
    MPI_Allgatherv(many, 1, MPI_INT, many + 128, counts, places, MPI_INT, WORLD);
}

// case alltoallv 3: MPI_Alltoallv ; rank 1 sends 12 bytes to rank 2, which expects 4 bytes | rank 2 expects 4 bytes of rank 1, which sends 12
static void alltoallv(void) {
    int sent[3] = {1, 1, me == 1 ? 3 : 1};
    for (int i = 0; i < size; i++)
        counts[i] = 1;
    MPI_Alltoallv(many, sent, places, MPI_INT, many + 128, counts, places, MPI_INT, WORLD);
}

// case alltoallw 2: MPI_Ialltoallw ; rank 0 sends 8 bytes to rank 1, which expects 4 bytes | rank 1 expects 4 bytes of rank 0, which sends 8
static void alltoallw(void) {
    MPI_Datatype sent[2] = {MPI_INT, me == 0 ? MPI_DOUBLE : MPI_INT}, received[2] = {MPI_INT, MPI_INT};
    MPI_Request request;
    counts[0] = counts[1] = 1;
    MPI_Ialltoallw(many, counts, places, sent, many + 128, counts, places, received, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// case scan 2: MPI_Scan ; 4 bytes ; 8 bytes
static void scan(void) { MPI_Scan(many, many + 128, me ? 1 : 2, MPI_INT, MPI_SUM, WORLD); }

// case reduce_scatter 2: MPI_Reduce_scatter ; rank 0 ; rank 1 ; bytes
static void reduce_scatter(void) {
    counts[0] = 1;
    counts[1] = me ? 1 : 2;
    MPI_Reduce_scatter(many, many + 128, counts, MPI_INT, MPI_SUM, WORLD);
}

// case neighbours 2: MPI_Neighbor_alltoallv ; 4 bytes ; 8 bytes
static void neighbours(void) {
    MPI_Comm line;
    int length = 2, round = 0;
    MPI_Cart_create(WORLD, 1, &length, &round, 0, &line);
    counts[0] = counts[1] = me ? 1 : 2;
    MPI_Neighbor_alltoallv(many, counts, places, MPI_INT, many + 128, counts, places, MPI_INT, line);
}

// case makers 2: calls MPI_Comm_dup ; calls MPI_Comm_split ; the function differs ; number 1 on MPI_COMM_WORLD
static void makers(void) {
    MPI_Comm made;
    if (me == 0)
        MPI_Comm_dup(WORLD, &made);
    else
        MPI_Comm_split(WORLD, 0, 0, &made);
}

// case maker_and_collective 3: calls MPI_Comm_idup ; calls MPI_Allreduce with MPI_SUM, 4 bytes ; number 2 on MPI_COMM_WORLD
static void maker_and_collective(void) {
    MPI_Comm made;
    MPI_Request request;
    MPI_Barrier(WORLD);
    if (me == 1)
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, WORLD);
    MPI_Comm_idup(WORLD, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// case maker_between_groups 4: calls MPI_Intercomm_merge ; calls MPI_Comm_dup ; the function differs
static void maker_between_groups(void) {
    MPI_Comm half, across, made;
    MPI_Comm_split(WORLD, me / 2, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, me < 2 ? 2 : 0, 1, &across);
    if (me < 2)
        MPI_Comm_dup(across, &made);
    else
        MPI_Intercomm_merge(across, 0, &made);
}

// case groups 3: both ranks call MPI_Comm_create ; gives group of ranks [0, 1, 2] ; gives group of ranks [0, 2, 1] ; number 1 on MPI_COMM_WORLD
static void groups(void) {
    MPI_Group all, other;
    MPI_Comm made;
    int turned[3] = {0, 2, 1};
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 3, turned, &other);
    MPI_Comm_create(WORLD, me == 1 ? other : all, &made);
}

// case split_types 2: both ranks call MPI_Comm_split_type ; gives split_type MPI_COMM_TYPE_SHARED ; gives split_type MPI_COMM_TYPE_HW_UNGUIDED
static void split_types(void) {
    MPI_Comm made;
    MPI_Comm_split_type(WORLD, me ? MPI_COMM_TYPE_SHARED : MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &made);
}

// case leaders 4: both ranks call MPI_Intercomm_create ; gives local_leader 0 ; gives local_leader 1
static void leaders(void) {
    MPI_Comm half, across;
    MPI_Comm_split(WORLD, me / 2, 0, &half);
    MPI_Intercomm_create(half, me == 3 ? 1 : 0, WORLD, me < 2 ? 2 : 0, 1, &across);
}

// case high 3: both ranks call MPI_Intercomm_merge ; gives high true ; gives high false
static void high(void) {
    MPI_Comm part, across, made;
    MPI_Comm_split(WORLD, me == 0, 0, &part);
    MPI_Intercomm_create(part, 0, WORLD, me == 0 ? 1 : 0, 1, &across);
    MPI_Intercomm_merge(across, me == 1, &made);
}

// case dims 4: both ranks call MPI_Cart_create ; gives dims [2, 2] ; gives dims [4, 1] ; rank 2
static void dims(void) {
    int extents[2] = {me == 2 ? 4 : 2, me == 2 ? 1 : 2}, periods[2] = {0, 0};
    MPI_Comm made;
    MPI_Cart_create(WORLD, 2, extents, periods, 0, &made);
}

// case periods 2: gives periods [true, false] ; gives periods [false, false]
static void periods(void) {
    int extents[2] = {2, 1}, rings[2] = {me, 0};
    MPI_Comm made;
    MPI_Cart_create(WORLD, 2, extents, rings, 0, &made);
}

// case remaining 2: both ranks call MPI_Cart_sub ; gives remain_dims [true, false] ; gives remain_dims [false, true]
static void remaining(void) {
    int extents[2] = {2, 1}, rings[2] = {0, 0}, kept[2] = {me, !me};
    MPI_Comm made, part;
    MPI_Cart_create(WORLD, 2, extents, rings, 0, &made);
    MPI_Cart_sub(made, kept, &part);
}

// case whole_graph 2: both ranks call MPI_Graph_create ; gives edges [1, 0] ; gives edges [1, 1]
static void whole_graph(void) {
    int index[2] = {1, 2}, edges[2] = {1, me};
    MPI_Comm made;
    MPI_Graph_create(WORLD, 2, index, edges, 0, &made);
}

// case reordered 2: both ranks call MPI_Dist_graph_create_adjacent ; gives reorder true ; gives reorder false
static void reordered(void) {
    MPI_Comm made;
    int other = 1 - me;
    MPI_Dist_graph_create_adjacent(WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, me, &made);
}

// case weighted 2: both ranks call MPI_Dist_graph_create ; gives weights as MPI_UNWEIGHTED ; gives weights as an array
static void weighted(void) {
    MPI_Comm made;
    int other = 1 - me, one = 1;
    MPI_Dist_graph_create(WORLD, 1, &me, &one, &other, me ? MPI_UNWEIGHTED : &one, MPI_INFO_NULL, 0, &made);
}

static void sum(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* What may differ between members, and differs: groups that have nothing in common, a rank that is in no part. */
static void right_makers(void) {
    MPI_Comm made, grid;
    MPI_Group all, mine;
    int pair[2] = {0, 2}, extents[2] = {2, 1}, rings[2] = {1, 0}, kept[2] = {1, 0}, other = (me + 1) % size;
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, me == 1 ? 1 : 2, me == 1 ? &me : pair, &mine);
    MPI_Comm_create(WORLD, mine, &made);
    MPI_Comm_free(&made);
    MPI_Comm_create(WORLD, me == 1 ? MPI_GROUP_EMPTY : mine, &made);
    if (me != 1)
        MPI_Comm_free(&made);
    MPI_Comm_split_type(WORLD, me == 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &made);
    if (me != 1)
        MPI_Comm_free(&made);
    MPI_Cart_create(WORLD, 2, extents, rings, 1, &grid);
    if (grid != MPI_COMM_NULL) {
        MPI_Cart_sub(grid, kept, &made);
        MPI_Comm_free(&made);
        MPI_Comm_free(&grid);
    }
    MPI_Dist_graph_create_adjacent(WORLD, me == 0, &other, MPI_UNWEIGHTED, me == 1, pair, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &made);
    MPI_Comm_free(&made);
    MPI_Group_free(&mine);
    MPI_Group_free(&all);
}

/* Counts that differ from rank to rank, and agree: rank i sends 1 + i + 2 j items to rank j. */
static void right_counts(MPI_Comm across) {
    int sent[3], received[3], one[3] = {1, 1, 1}, bytes[3];
    MPI_Comm made;
    for (int i = 0; i < size; i++) {
        sent[i] = 1 + me + 2 * i;
        received[i] = 1 + i + 2 * me;
        places[i] = 10 * i;
        bytes[i] = 4 * received[i];
    }
    MPI_Alltoallv(many, sent, places, MPI_INT, many + 128, received, places, MPI_INT, WORLD);
    MPI_Alltoallv(many, sent, places, MPI_INT, many + 128, bytes, places, MPI_BYTE, WORLD);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, many, one, places, MPI_INT, WORLD);
    for (int i = 0; i < size; i++)
        received[i] = i + 1;
    MPI_Gatherv(many, me + 1, MPI_INT, many + 128, received, places, MPI_INT, 1, WORLD);
    MPI_Scatterv(many, received, places, MPI_INT, me == 1 ? MPI_IN_PLACE : many + 128, me + 1, MPI_INT, 1, WORLD);
    MPI_Allgatherv(many, me + 1, MPI_INT, many + 128, received, places, MPI_INT, WORLD);
    MPI_Reduce_scatter(many, many + 128, received, MPI_INT, MPI_SUM, WORLD);
    MPI_Reduce_scatter_block(many, many + 128, 3, MPI_INT, MPI_SUM, WORLD);
    MPI_Allgatherv(many, me + 1, MPI_INT, many + 128, me == 0 ? received + 1 : received, places, MPI_INT, across);
    MPI_Comm_dup(across, &made);
    MPI_Comm_free(&made);
    MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    MPI_Comm_free(&made);
    right_makers();
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
        right_counts(across);
    }
    MPI_Op_free(&own);
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {CASE(root), CASE(bytes), CASE(operator), CASE(function), CASE(order), CASE(nonblocking),
           CASE(gatherv), CASE(scatterv), CASE(allgatherv), CASE(alltoallv), CASE(alltoallw), CASE(scan), CASE(reduce_scatter),
           CASE(neighbours), CASE(makers), CASE(maker_and_collective), CASE(maker_between_groups), CASE(groups),
           CASE(split_types), CASE(leaders), CASE(high), CASE(dims), CASE(periods), CASE(remaining), CASE(whole_graph),
           CASE(reordered), CASE(weighted), CASE(right)};

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
