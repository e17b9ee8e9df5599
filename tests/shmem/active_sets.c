/* pes: 1 2 4 5 */
/* Collectives of active sets: of all PEs, of every second one, of some that follow each other. */
#include "check.h"

enum { COUNT = 6, MOST = 5 };

static long work[SHMEM_SYNC_SIZE];
static uint64_t source[MOST * COUNT], dest[MOST * COUNT];
static double reals[COUNT], results[COUNT], scratch[COUNT + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static int ints[COUNT], int_results[COUNT], int_scratch[COUNT + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static double _Complex number, sum, complex_scratch[2];

static void set(int start, int log, int size)
{
    int stride = 1 << log, mine = (me - start) / stride;
    if (me < start || (me - start) % stride || mine >= size)
        return;
    for (int i = 0; i < MOST * COUNT; i++)
        source[i] = 100 * mine + i;
    memset(dest, 0, sizeof dest);
    shmem_barrier(start, log, size, work);
    for (int root = 0; root < size; root++) {
        shmem_broadcast64(dest, source, COUNT, root, start, log, size, work);
        CHECK_EQUAL(dest[1], mine == root ? (root ? 100 * (root - 1) + 1 : 0) : 100 * root + 1);
        shmem_barrier(start, log, size, work);
    }
    shmem_fcollect64(dest, source, COUNT, start, log, size, work);
    for (int i = 0; i < size * COUNT; i++)
        CHECK_EQUAL(dest[i], 100 * (i / COUNT) + i % COUNT);
    shmem_barrier(start, log, size, work);
    shmem_collect32(dest, source, 2 * (mine + 1), start, log, size, work);
    uint64_t *next = dest;
    for (int pe = 0; pe < size; pe++)
        for (int i = 0; i <= pe; i++)
            CHECK_EQUAL(*next++, 100 * pe + i);
    shmem_sync(start, log, size, work);
    shmem_alltoall64(dest, source, 2, start, log, size, work);
    for (int i = 0; i < 2 * size; i++)
        CHECK_EQUAL(dest[i], 100 * (i / 2) + 2 * mine + i % 2);
    shmem_barrier(start, log, size, work);
    shmem_alltoalls64(dest, source, 2, 3, 1, start, log, size, work);
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(dest[2 * i], 100 * i + 3 * mine);
    for (int i = 0; i < COUNT; i++) {
        reals[i] = mine + i + 0.5;
        ints[i] = 1 << mine | 64;
    }
    number = mine;
    shmem_barrier(start, log, size, work);
    shmem_double_sum_to_all(results, reals, COUNT, start, log, size, scratch, work);
    CHECK(results[2] == size * (size - 1) / 2 + 2.5 * size);
    shmem_double_max_to_all(results, reals, COUNT, start, log, size, scratch, work);
    CHECK(results[3] == size - 1 + 3.5);
    shmem_double_min_to_all(results, reals, COUNT, start, log, size, scratch, work);
    CHECK(results[3] == 3.5);
    shmem_int_or_to_all(int_results, ints, COUNT, start, log, size, int_scratch, work);
    CHECK_EQUAL(int_results[5], ((1 << size) - 1) | 64);
    shmem_int_and_to_all(int_results, ints, COUNT, start, log, size, int_scratch, work);
    CHECK_EQUAL(int_results[5], size == 1 ? 65 : 64);
    shmem_int_xor_to_all(int_results, ints, COUNT, start, log, size, int_scratch, work);
    CHECK_EQUAL(int_results[5], ((1 << size) - 1) | (size % 2 ? 64 : 0));
    shmem_int_prod_to_all(int_results, ints, 0, start, log, size, int_scratch, work);
    shmem_complexd_sum_to_all(&sum, &number, 1, start, log, size, complex_scratch, work);
    CHECK(sum == size * (size - 1) / 2);
    shmem_barrier(start, log, size, work);
}

int main(void)
{
    check_begin();
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
        work[i] = SHMEM_SYNC_VALUE;
    for (int round = 0; round < 3; round++) {
        shmem_barrier_all();
        set(0, 0, npes);
        shmem_barrier_all();
        set(0, 1, (npes + 1) / 2);
        set(npes - 1, 0, 1);
        if (npes > 2)
            set(1, 0, npes - 1);
        if (npes > 3)
            set(1, 1, 2);
    }
    return check_end();
}
