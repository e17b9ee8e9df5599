/* ranks: 2 3 4 8
 * Collectives in which ranks give each other blocks of unlike lengths: some short, some long, some empty; with gaps,
 * in place, and on neighbourhoods, many in a row so that ranks run ahead, and by turns with other operations. */
#include "check.h"
#include <unistd.h>

enum { LONGEST = 3000, ROUNDS = 60 };

static const int lengths[] = {1, 0, 5, 40, 3, 700, 2, LONGEST};
static int sent[8 * LONGEST * 2], got[8 * LONGEST * 2];
static int counts_out[8], counts_in[8], places_out[8], places_in[8];

/* Items of the block from one rank to another; in some rounds all are short. */
static int length_of(int from, int to, int round)
{
    return lengths[(from * 5 + to * 3 + round) % (round % 3 ? 8 : 5)];
}

static int item(int from, int to, int round, int index)
{
    return from * 10000019 + to * 100003 + round * 4001 + index;
}

static void put_block(int *at, int from, int to, int round, int step)
{
    for (int index = 0; index < length_of(from, to, round); index++)
        at[index * step] = item(from, to, round, index);
}

static void check_block(const char *what, const int *at, int from, int to, int round, int step)
{
    for (int index = 0; index < length_of(from, to, round); index++)
        if (at[index * step] != item(from, to, round, index)) {
            check_failed(__FILE__, __LINE__, "%s, round %d: item %d from %d to %d is %d", what, round, index, from,
                         to, at[index * step]);
            return;
        }
}

/* Blocks for all and from all, one after the other, with a hole of an item between them. */
static void lay_out(int round)
{
    int out = 0, in = 0;
    memset(got, 0xff, sizeof got);
    for (int who = 0; who < size; who++) {
        places_out[who] = out, places_in[who] = in;
        counts_out[who] = length_of(rank, who, round), counts_in[who] = length_of(who, rank, round);
        put_block(sent + out, rank, who, round, 1);
        out += counts_out[who] + 1, in += counts_in[who] + 1;
    }
}

static void check_all(const char *what, const int *from, const int *places, int round)
{
    for (int who = 0; who < size; who++) {
        check_block(what, from + places[who], who, rank, round, 1);
        CHECK_EQUAL(from[places[who] + counts_in[who]], -1);
    }
}

static void alltoalls(int round)
{
    lay_out(round);
    MPI_Alltoallv(sent, counts_out, places_out, MPI_INT, got, counts_in, places_in, MPI_INT, MPI_COMM_WORLD);
    check_all("alltoallv", got, places_in, round);
    /* By bytes, into every other int. */
    MPI_Datatype spread, out[8], in[8];
    int bytes_out[8], bytes_in[8];
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    for (int who = 0; who < size; who++) {
        out[who] = MPI_INT, in[who] = who % 2 ? spread : MPI_INT;
        bytes_out[who] = places_out[who] * sizeof(int), bytes_in[who] = places_in[who] * 2 * sizeof(int);
    }
    memset(got, 0xff, sizeof got);
    MPI_Alltoallw(sent, counts_out, bytes_out, out, got, counts_in, bytes_in, in, MPI_COMM_WORLD);
    for (int who = 0; who < size; who++) {
        check_block("alltoallw", got + 2 * places_in[who], who, rank, round, who % 2 ? 2 : 1);
        CHECK(!(who % 2) || counts_in[who] == 0 || got[2 * places_in[who] + 1] == -1);
    }
    MPI_Type_free(&spread);
    /* In place, what two ranks give each other is of one length. */
    int place = 0;
    for (int who = 0; who < size; who++) {
        int lower = who < rank ? who : rank, higher = who < rank ? rank : who;
        places_in[who] = place, counts_in[who] = length_of(lower, higher, round);
        for (int index = 0; index < counts_in[who]; index++)
            got[place + index] = item(rank, who, round, index);
        place += counts_in[who];
    }
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, got, counts_in, places_in, MPI_INT, MPI_COMM_WORLD);
    for (int who = 0; who < size; who++)
        for (int index = 0; index < counts_in[who]; index++)
            if (got[places_in[who] + index] != item(who, rank, round, index))
                CHECK_EQUAL(index, -1);
}

static void rooted(int round, int root)
{
    lay_out(round);
    MPI_Gatherv(sent + places_out[root], counts_out[root], MPI_INT, got, counts_in, places_in, MPI_INT, root,
                MPI_COMM_WORLD);
    if (rank == root)
        check_all("gatherv", got, places_in, round);
    memset(got, 0xff, sizeof got);
    MPI_Scatterv(sent, counts_out, places_out, MPI_INT, got, counts_in[root], MPI_INT, root, MPI_COMM_WORLD);
    check_block("scatterv", got, root, rank, round, 1);
    if (rank == root)
        MPI_Scatterv(sent, counts_out, places_out, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root, MPI_COMM_WORLD);
    else
        MPI_Scatterv(NULL, NULL, NULL, MPI_INT, got, counts_in[root], MPI_INT, root, MPI_COMM_WORLD);
    check_block("scatterv in place", got, root, rank, round, 1);
}

static void allgather(int round)
{
    int place = 0;
    memset(got, 0xff, sizeof got);
    for (int who = 0; who < size; who++) {
        places_in[who] = place, counts_in[who] = length_of(who, 0, round);
        place += counts_in[who] + 1;
    }
    put_block(sent, rank, 0, round, 1);
    MPI_Allgatherv(sent, counts_in[rank], MPI_INT, got, counts_in, places_in, MPI_INT, MPI_COMM_WORLD);
    for (int time = 0; time < 2; time++) {
        for (int who = 0; who < size; who++) {
            check_block("allgatherv", got + places_in[who], who, 0, round, 1);
            CHECK_EQUAL(got[places_in[who] + counts_in[who]], -1);
        }
        memset(got, 0xff, sizeof got);
        put_block(got + places_in[rank], rank, 0, round, 1);
        if (time == 0)
            MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, got, counts_in, places_in, MPI_INT, MPI_COMM_WORLD);
    }
}

/* Everybody's neighbours are the ranks before and behind it on a ring, also when these are one rank. */
static void neighbours(MPI_Comm ring, MPI_Comm graph, int round)
{
    int before = (rank + size - 1) % size, next = (rank + 1) % size, length = length_of(0, 0, round);
    int around[2] = {before, next}, out[2], in[2], places[2] = {0, LONGEST};
    for (int side = 0; side < 2; side++)
        for (int index = 0; index < length; index++)
            sent[side * length + index] = item(rank, side, round, index);
    memset(got, 0xff, sizeof got);
    MPI_Neighbor_alltoall(sent, length, MPI_INT, got, length, MPI_INT, ring);
    for (int side = 0; side < 2; side++) /* what goes down arrives from above */
        for (int index = 0; index < length; index++)
            if (got[side * length + index] != item(around[side], 1 - side, round, index))
                CHECK_EQUAL(index, -2);
    MPI_Neighbor_allgather(sent, length, MPI_INT, got, length, MPI_INT, ring);
    for (int side = 0; side < 2; side++)
        for (int index = 0; index < length; index++)
            if (got[side * length + index] != item(around[side], 0, round, index))
                CHECK_EQUAL(index, -3);
    for (int side = 0; side < 2; side++) {
        out[side] = length_of(rank, around[side], round), in[side] = length_of(around[side], rank, round);
        put_block(sent + places[side], rank, around[side], round, 1);
    }
    MPI_Neighbor_alltoallv(sent, out, places, MPI_INT, got, in, places, MPI_INT, graph);
    for (int side = 0; side < 2; side++)
        check_block("neighbor_alltoallv", got + places[side], around[side], rank, round, 1);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm ring, graph;
    int always = 1, around[2] = {(rank + size - 1) % size, (rank + 1) % size};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &always, 0, &ring);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, around, MPI_UNWEIGHTED, 2, around, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 7 == rank)
            usleep(300);
        alltoalls(round);
        rooted(round, round % size);
        allgather(round);
        neighbours(ring, graph, round);
        int one = rank, sum;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK_EQUAL(sum, size * (size - 1) / 2);
    }
    MPI_Comm_free(&ring);
    MPI_Comm_free(&graph);
    return check_end();
}
