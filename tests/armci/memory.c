/* ranks: 1 2 3 5
 * Memory that ranks allocate together: sizes that differ, none at all, groups, freeing in any order, what is left at the
 * end; puts, gets and fences there. */
#include "armci_check.h"

static void sizes_differ(void)
{
    void *base[RANKS];
    long bytes = rank % 2 ? 0 : 1000 + 100 * rank;
    CHECK_EQUAL(ARMCI_Malloc(base, bytes), 0);
    for (int other = 0; other < size; other++) {
        CHECK(other % 2 ? base[other] == NULL : base[other] != NULL);
        CHECK_EQUAL((long)base[other] % 64, 0);
    }
    for (int other = 0; other < size; other += 2) {
        char given[20], got[20];
        fill(given, sizeof given, rank);
        CHECK_EQUAL(ARMCI_Put(given, (char *)base[other] + 20 * rank, 20, other), 0);
        ARMCI_Fence(other);
        CHECK_EQUAL(ARMCI_Get((char *)base[other] + 20 * rank, got, 20, other), 0);
        CHECK_FILLED(got, 20, rank);
        /* The last byte belongs to it. */
        CHECK_EQUAL(ARMCI_Get((char *)base[other] + 999 + 100 * other, got, 1, other), 0);
        CHECK_EQUAL(got[0], 0);
    }
    ARMCI_Barrier();
    for (int other = 0; bytes > 0 && other < size; other++)
        CHECK_FILLED((char *)base[rank] + 20 * other, 20, other);
    ARMCI_Barrier();
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
}

static void nothing_at_all(void)
{
    void *base[RANKS];
    CHECK_EQUAL(ARMCI_Malloc(base, 0), 0);
    for (int other = 0; other < size; other++)
        CHECK(base[other] == NULL);
    CHECK_EQUAL(ARMCI_Free(NULL), 0);
}

/* Many at once, freed in another order, and some never. */
static void many(void)
{
    enum { MANY = 40 };
    static void *base[MANY][RANKS];
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(ARMCI_Malloc(base[i], 8 * (i + 1)), 0);
    int right = (rank + 1) % size;
    for (int i = 0; i < MANY; i++) {
        long value = 1000 * rank + i;
        CHECK_EQUAL(ARMCI_Put(&value, (char *)base[i][right] + 8 * i, 8, right), 0);
    }
    ARMCI_Barrier();
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(((long *)base[i][rank])[i], 1000 * ((rank + size - 1) % size) + i);
    ARMCI_Barrier();
    for (int i = 0; i < MANY; i += 2)
        CHECK_EQUAL(ARMCI_Free(base[(i * 7) % MANY][rank]), 0);
    CHECK_EQUAL(long_at((char *)base[1][right] + 8, right), 1000 * rank + 1);
}

/* More than any machine has: all ranks are told, and nothing is lost. */
static void too_much(void)
{
    void *base[RANKS];
    CHECK(ARMCI_Malloc(base, rank == size - 1 ? 1L << 60 : 8) != 0);
    CHECK(ARMCI_Malloc_local(1L << 60) == NULL);
    CHECK_EQUAL(ARMCI_Malloc(base, 8), 0);
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
}

/* Blocking operations of one rank on one place happen in the order of its calls, without a fence. */
static void in_order(void)
{
    char **base = allocated(64);
    int last = size - 1;
    if (rank == 0)
        for (long i = 0; i < 100; i++) {
            long got, one = 1, by = i;
            CHECK_EQUAL(ARMCI_Put(&by, base[last], 8, last), 0);
            CHECK_EQUAL(ARMCI_Acc(ARMCI_ACC_LNG, &one, &by, base[last], 8, last), 0);
            CHECK_EQUAL(ARMCI_Get(base[last], &got, 8, last), 0);
            CHECK_EQUAL(got, 2 * i);
        }
    ARMCI_Barrier();
    ARMCI_Free(base[rank]);
}

/* The memory of a rank that has the most of it. */
static void large(void)
{
    long bytes = 80L << 20;
    char **base = allocated(rank == 0 ? bytes : 8);
    char *data = malloc(1 << 20);
    if (rank == size - 1) {
        fill(data, 1 << 20, 5);
        CHECK_EQUAL(ARMCI_Put(data, base[0] + bytes - (1 << 20), 1 << 20, 0), 0);
    }
    ARMCI_Barrier();
    if (rank == 0)
        CHECK_FILLED(base[0] + bytes - (1 << 20), 1 << 20, 5);
    free(data);
    ARMCI_Barrier();
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
}

static void own(void)
{
    char *local = ARMCI_Malloc_local(1000), *none = ARMCI_Malloc_local(0);
    CHECK(local != NULL && none != NULL);
    memset(local, 1, 1000);
    long value = 77, got = 0;
    /* On itself a rank may use memory that it has from anywhere. */
    CHECK_EQUAL(ARMCI_Put(&value, local, 8, rank), 0);
    CHECK_EQUAL(ARMCI_Get(local, &got, 8, rank), 0);
    CHECK_EQUAL(got, 77);
    ARMCI_Copy(&got, local + 8, 8);
    CHECK_EQUAL(*(long *)(local + 8), 77);
    CHECK_EQUAL(ARMCI_Free_local(local), 0);
    CHECK_EQUAL(ARMCI_Free_local(none), 0);
    CHECK_EQUAL(ARMCI_Uses_shm(), 1);
}

int main(int argc, char **argv)
{
    ARMCI_Set_shm_limit(1 << 20); /* a hint, at any time */
    armci_begin(&argc, &argv);
    sizes_differ();
    nothing_at_all();
    too_much();
    in_order();
    large();
    own();
    many();
    return armci_end();
}
