/* ranks: 1 2 3 4 8
 * Single elements: scattered, gathered, added where a destination occurs often; counters; fences; distributions that are
 * irregular or cyclic; fields of structures. */
#include "ga_check.h"

#define MANY 1000

static void scatter_and_gather(void)
{
    int dims[2] = {53, 47};
    static double values[MANY], got[MANY];
    static int at[MANY][2], *pointers[MANY];
    int array = new_array(C_DBL, 2, dims, "scattered");
    /* Each rank has elements of its own, in an order that jumps about. */
    int number = 0;
    for (int i = 0; i < 53 * 47; i++) {
        int place = (int)((i * 1009L) % (53 * 47));
        if (place % size == rank && number < MANY) {
            at[number][0] = place / 47, at[number][1] = place % 47;
            pointers[number] = at[number];
            values[number++] = place + 0.5;
        }
    }
    if (rank % 2)
        NGA_Scatter(array, values, pointers, number);
    else
        NGA_Scatter_flat(array, values, &at[0][0], number);
    GA_Sync();
    NGA_Gather(array, got, pointers, number);
    CHECK(memcmp(values, got, number * sizeof *got) == 0);
    memset(got, 0, sizeof got);
    NGA_Gather_flat(array, got, &at[0][0], number);
    CHECK(memcmp(values, got, number * sizeof *got) == 0);
    GA_Sync();
    GA_Destroy(array);
}

/* One destination occurs many times, in one call and in those of all ranks: all is added. */
static void scatter_with_repeats(int type)
{
    int dims = 100, ld = 1, lo = 0, hi = 99;
    static int at[MANY];
    static double doubles[MANY], sums[100];
    static long longs[MANY], long_sums[100];
    double alpha = 0.5;
    long long_alpha = 3;
    int array = new_array(type, 1, &dims, "repeated");
    for (int i = 0; i < MANY; i++) {
        at[i] = (i * i) % 7 * 14;
        doubles[i] = i % 10;
        longs[i] = i % 10;
    }
    NGA_Scatter_acc_flat(array, type == C_DBL ? (void *)doubles : longs, at, MANY,
                         type == C_DBL ? (void *)&alpha : &long_alpha);
    GA_Sync();
    NGA_Get(array, &lo, &hi, type == C_DBL ? (void *)sums : long_sums, &ld);
    for (int place = 0; place < 100; place++) {
        double expected = 0;
        for (int i = 0; i < MANY; i++)
            if (at[i] == place)
                expected += size * (i % 10) * (type == C_DBL ? 0.5 : 3);
        CHECK(type == C_DBL ? sums[place] == expected : long_sums[place] == (long)expected);
    }
    GA_Sync();
    GA_Destroy(array);
}

/* Every ticket is drawn once. */
static void counters(int type)
{
    int dims = 3 * size, at = 3 * size - 1, lo = 0, ld = 1;
    int array = new_array(type, 1, &dims, "tickets");
    enum { DRAWN = 300 };
    static int drawn[DRAWN * RANKS];
    memset(drawn, 0, sizeof drawn);
    GA_Sync();
    long last = -1;
    for (int i = 0; i < DRAWN; i++) {
        long ticket = NGA_Read_inc(array, &at, 1);
        CHECK(ticket > last && ticket < DRAWN * size);
        if (ticket >= 0 && ticket < DRAWN * size)
            drawn[ticket]++;
        last = ticket;
    }
    GA_Igop(drawn, DRAWN * size, "+");
    for (int i = 0; i < DRAWN * size; i++)
        if (drawn[i] != 1)
            check_failed(__FILE__, __LINE__, "ticket %d was drawn %d times", i, drawn[i]);
    if (rank == 0) {
        long hi[RANKS * 3] = {0};
        int end = 3 * size - 1;
        int narrow[RANKS * 3] = {0};
        NGA_Get(array, &lo, &end, type == C_LONG ? (void *)hi : narrow, &ld);
        CHECK_EQUAL(type == C_LONG ? hi[end] : narrow[end], DRAWN * size);
        CHECK_EQUAL(type == C_LONG ? hi[0] : narrow[0], 0);
    }
    GA_Sync();
    GA_Destroy(array);
}

/* What was put before a fence is there when a message says so. */
static void fences(void)
{
    int dims = 100 * size, ld = 1;
    int array = new_array(C_INT, 1, &dims, "fenced");
    static int values[100];
    for (int round = 1; round <= 10; round++) {
        int right = (rank + 1) % size, left = (rank + size - 1) % size, token = round;
        int lo = 100 * right, hi = lo + 99;
        for (int i = 0; i < 100; i++)
            values[i] = 1000 * round + rank;
        GA_Init_fence();
        NGA_Put(array, &lo, &hi, values, &ld);
        GA_Fence();
        MPI_Sendrecv_replace(&token, 1, MPI_INT, right, 5, left, 5, GA_MPI_Comm(), MPI_STATUS_IGNORE);
        lo = 100 * rank, hi = lo + 99;
        NGA_Get(array, &lo, &hi, values, &ld);
        for (int i = 0; i < 100; i++)
            CHECK_EQUAL(values[i], 1000 * round + left);
        GA_Sync();
    }
    GA_Destroy(array);
}

static void distributions(void)
{
    int dims[2] = {60, 40}, block[2] = {size, 1}, map[RANKS + 1];
    for (int i = 0; i < size; i++)
        map[i] = i == 0 ? 0 : 60 - (size - i); /* the first has most rows */
    map[size] = 0;
    int irregular = NGA_Create_irreg(C_DBL, 2, dims, "irregular", block, map);
    int cyclic = GA_Create_handle(), blocks[2] = {7, 9};
    GA_Set_data(cyclic, 2, dims, C_DBL);
    GA_Set_block_cyclic(cyclic, blocks);
    CHECK(GA_Allocate(cyclic));
    int lo[2], hi[2], ld[2], found = 0;
    NGA_Distribution(irregular, 0, lo, hi);
    CHECK_EQUAL(hi[0] - lo[0] + 1, size == 1 ? 60 : 60 - (size - 1));
    for (int i = 0; i < 60; i += 7)
        for (int j = 0; j < 40; j += 9) {
            int at[2] = {i, j};
            found += NGA_Locate(irregular, at) == rank;
        }
    GA_Igop(&found, 1, "+");
    CHECK_EQUAL(found, 9 * 5);
    /* One is filled in place, the other by blocks, and both are copied to each other. */
    double *mine;
    NGA_Distribution(irregular, rank, lo, hi);
    NGA_Access(irregular, lo, hi, &mine, ld);
    for (int i = lo[0]; i <= hi[0]; i++)
        for (int j = lo[1]; j <= hi[1]; j++)
            mine[(i - lo[0]) * ld[0] + j - lo[1]] = 40 * i + j;
    NGA_Release_update(irregular, lo, hi);
    GA_Sync();
    GA_Copy(irregular, cyclic);
    CHECK_EQUAL(GA_Total_blocks(cyclic), 9 * 5);
    static double all[60][40];
    int zero[2] = {0, 0}, last[2] = {59, 39}, all_ld = 40, wrong = 0;
    NGA_Get(cyclic, zero, last, all, &all_ld);
    for (int i = 0; i < 60; i++)
        for (int j = 0; j < 40; j++)
            wrong += all[i][j] != 40 * i + j;
    CHECK_EQUAL(wrong, 0);
    GA_Sync();
    GA_Destroy(cyclic);
    GA_Destroy(irregular);
}

/* Memory of others in the same domain, by a plain load. */
static void clusters(void)
{
    int ranks = 0;
    for (int node = 0; node < GA_Cluster_nnodes(); node++)
        for (int i = 0; i < GA_Cluster_nprocs(node); i++)
            CHECK_EQUAL(GA_Cluster_procid(node, i), ranks++);
    CHECK_EQUAL(ranks, size);
    int at = 0, index, found;
    int dims = 10 * size, array = new_array(C_INT, 1, &dims, "chosen");
    int lo = 0, hi = dims - 1, ld = 1;
    if (rank == 0) {
        int values[10 * RANKS];
        for (int i = 0; i < dims; i++)
            values[i] = (i * 7) % dims;
        NGA_Put(array, &lo, &hi, values, &ld);
    }
    GA_Sync();
    NGA_Select_elem(array, "max", &found, &index);
    CHECK_EQUAL(found, dims - 1 - (dims % 7 == 0 ? 6 : 0));
    NGA_Select_elem(array, "min", &found, &index);
    CHECK_EQUAL(found, 0);
    CHECK_EQUAL(index, at);
    GA_Sync();
    GA_Destroy(array);
}

int main(int argc, char **argv)
{
    ga_begin(&argc, &argv);
    scatter_and_gather();
    scatter_with_repeats(C_DBL);
    scatter_with_repeats(C_LONG);
    counters(C_LONG);
    counters(C_INT);
    fences();
    distributions();
    clusters();
    return ga_end();
}
