/* ranks: 1 2 3 4 8
 * Groups, arrays of groups, mirrored arrays, mutexes, operations of all ranks, memory. */
#include "ga_check.h"

static void sums(void)
{
    int ints[3] = {rank, -rank, 1};
    long longs[2] = {1L << rank, rank};
    double doubles[2] = {0.5 * rank, rank - 3.0};
    float floats[2] = {rank + 1, 2};
    GA_Igop(ints, 3, "+");
    CHECK_EQUAL(ints[0], size * (size - 1) / 2);
    CHECK_EQUAL(ints[1], -size * (size - 1) / 2);
    CHECK_EQUAL(ints[2], size);
    GA_Lgop(longs, 2, "max");
    CHECK_EQUAL(longs[0], 1L << (size - 1));
    GA_Dgop(doubles, 1, "+");
    CHECK(doubles[0] == 0.25 * size * (size - 1));
    GA_Dgop(doubles + 1, 1, "absmax");
    CHECK(doubles[1] == (size - 4 > 3 ? size - 4 : 3));
    GA_Fgop(floats, 2, "*");
    CHECK(floats[1] == (float)(1 << size));
    DoubleComplex z[1] = {{rank, 1}};
    GA_Zgop(z, 1, "+");
    CHECK(z[0].real == size * (size - 1) / 2 && z[0].imag == size);
    for (int root = 0; root < size; root++) {
        int word = rank == root ? 1000 + root : 0;
        GA_Brdcst(&word, sizeof word, root);
        CHECK_EQUAL(word, 1000 + root);
    }
}

/* What a group does with an array of its own, while other groups do the same. */
static void inside(int group)
{
    int me = GA_Pgroup_nodeid(group), members = GA_Pgroup_nnodes(group);
    int dims[2] = {10 * members, 8}, ld = 8;
    int array = NGA_Create_config(C_DBL, 2, dims, "of a group", NULL, group);
    CHECK(array != 0);
    GA_Zero(array);
    double row[8], sum = rank;
    for (int i = 0; i < 10; i++) {
        int lo[2] = {10 * ((me + 1) % members) + i, 0}, hi[2] = {lo[0], 7};
        for (int j = 0; j < 8; j++)
            row[j] = 100 * me + 10 * i + j;
        NGA_Put(array, lo, hi, row, &ld);
    }
    GA_Pgroup_sync(group);
    for (int i = 0; i < 10; i++) {
        int lo[2] = {10 * me + i, 0}, hi[2] = {lo[0], 7}, wrong = 0;
        NGA_Get(array, lo, hi, row, &ld);
        for (int j = 0; j < 8; j++)
            wrong += row[j] != 100 * ((me + members - 1) % members) + 10 * i + j;
        CHECK_EQUAL(wrong, 0);
    }
    GA_Pgroup_dgop(group, &sum, 1, "+");
    double expected = 0;
    for (int i = 0; i < members; i++)
        expected += GA_Pgroup_absolute_id(group, i);
    CHECK(sum == expected);
    int word = rank;
    GA_Pgroup_brdcst(group, &word, sizeof word, members - 1);
    CHECK_EQUAL(word, GA_Pgroup_absolute_id(group, members - 1));
    GA_Pgroup_sync(group);
    GA_Destroy(array);
}

static void groups(void)
{
    int list[RANKS], number = 0;
    for (int i = rank % 2; i < size; i += 2)
        list[number++] = i;
    int half = GA_Pgroup_create(list, number);
    CHECK_EQUAL(GA_Pgroup_nnodes(half), number);
    inside(half);
    int before = GA_Pgroup_get_default();
    GA_Pgroup_set_default(half);
    CHECK_EQUAL(GA_Nnodes(), number);
    CHECK_EQUAL(GA_Nodeid(), rank / 2);
    double one = 1;
    GA_Dgop(&one, 1, "+");
    CHECK(one == number);
    int of_mpi;
    MPI_Comm_size(GA_MPI_Comm_pgroup_default(), &of_mpi);
    CHECK_EQUAL(of_mpi, number);
    GA_Sync();
    GA_Pgroup_set_default(before);
    CHECK_EQUAL(GA_Nnodes(), size);
    int self = GA_Pgroup_self();
    CHECK_EQUAL(GA_Pgroup_nnodes(self), 1);
    inside(self);
    GA_Sync();
    CHECK(GA_Pgroup_destroy(half));
    if (size > 1) {
        int part = GA_Pgroup_split(GA_Pgroup_get_world(), 2);
        inside(part);
        GA_Sync();
    }
}

static void mirrored(void)
{
    int dims[2] = {16, 16}, ld = 16;
    int array = NGA_Create_config(C_DBL, 2, dims, "mirrored", NULL, GA_Pgroup_get_mirror());
    CHECK(array != 0);
    GA_Zero(array);
    GA_Sync();
    double ones[16], got[16], alpha = 1;
    for (int i = 0; i < 16; i++)
        ones[i] = rank + 1;
    for (int i = 0; i < 16; i++) {
        int lo[2] = {i, 0}, hi[2] = {i, 15};
        NGA_Acc(array, lo, hi, ones, &ld, &alpha);
    }
    GA_Sync();
    GA_Merge_mirrored(array);
    int lo[2] = {rank % 16, 0}, hi[2] = {rank % 16, 15};
    NGA_Get(array, lo, hi, got, &ld);
    CHECK(got[0] == size * (size + 1) / 2 && got[15] == got[0]);
    GA_Sync();
    GA_Destroy(array);
}

static void mutexes(void)
{
    int dims = size, at = 0, ld = 1;
    int array = new_array(C_LONG, 1, &dims, "guarded");
    CHECK(GA_Create_mutexes(4));
    for (int round = 0; round < 100; round++) {
        long value;
        GA_Lock(1);
        NGA_Get(array, &at, &at, &value, &ld);
        value++;
        GA_Init_fence();
        NGA_Put(array, &at, &at, &value, &ld);
        GA_Fence();
        GA_Unlock(1);
    }
    GA_Sync();
    long value;
    NGA_Get(array, &at, &at, &value, &ld);
    CHECK_EQUAL(value, 100L * size);
    CHECK(GA_Destroy_mutexes());
    GA_Sync();
    GA_Destroy(array);
}

static void memory(void)
{
    long *data = GA_Getmem(C_LONG, 1000, GA_Pgroup_get_world());
    CHECK(data != NULL);
    for (int i = 0; i < 1000; i++)
        data[i] = i;
    GA_Sync();
    CHECK_EQUAL(data[999], 999);
    GA_Freemem(data);
    CHECK(GA_Memory_limited() == 0 || GA_Memory_limited() == 1);
}

int main(int argc, char **argv)
{
    ga_begin(&argc, &argv);
    sums();
    groups();
    mirrored();
    mutexes();
    memory();
    return ga_end();
}
