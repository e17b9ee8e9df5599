/* pes: 1 2 3 */
/* One name for all types, as C++ has it: the same functions by overloading. */
#include "check.h"

static long longs[8];
static double doubles[8];
static std::complex<double> number, sum;
__extension__ static double _Complex number_of_c, sum_of_c;

int main()
{
    check_begin();
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    double source[4] = {me + 0.5, 1.5, 2.5, 3.5}, back[4];
    shmem_put(doubles, source, 4, next);
    shmem_barrier_all();
    CHECK(doubles[0] == before + 0.5);
    shmem_get(SHMEM_CTX_DEFAULT, back, doubles, 4, next);
    CHECK(back[0] == me + 0.5);
    shmem_p(&longs[1], 7L, next);
    shmem_atomic_add(SHMEM_CTX_DEFAULT, &longs[0], 5L, next);
    shmem_wait_until(&longs[0], SHMEM_CMP_EQ, 5L);
    shmem_barrier_all();
    CHECK_EQUAL(shmem_g(&longs[1], next), 7);
    number = std::complex<double>(me, 1);
    CHECK_EQUAL(shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &number, 1), 0);
    CHECK(sum == std::complex<double>(npes * (npes - 1) / 2, npes));
    __real__ number_of_c = me;
    CHECK_EQUAL(shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, &sum_of_c, &number_of_c, 1), 0);
    CHECK(__real__ sum_of_c == npes * (npes - 1) / 2);
    CHECK_EQUAL(shmem_sync(SHMEM_TEAM_WORLD), 0);
    long *one = static_cast<long *>(shmem_calloc(1, sizeof(long)));
    long *all = static_cast<long *>(shmem_calloc(2 * npes, sizeof(long)));
    long *mine = static_cast<long *>(shmem_calloc(2 * npes, sizeof(long)));
    *one = me + 1;
    CHECK_EQUAL(shmem_collect(SHMEM_TEAM_WORLD, all, one, 1), 0);
    CHECK_EQUAL(all[npes - 1], npes);
    CHECK_EQUAL(shmem_fcollect(SHMEM_TEAM_WORLD, all, one, 1), 0);
    CHECK_EQUAL(all[before], before + 1);
    for (int pe = 0; pe < npes; pe++)
        mine[pe] = 100 * me + pe;
    CHECK_EQUAL(shmem_alltoall(SHMEM_TEAM_WORLD, all, mine, 1), 0);
    CHECK_EQUAL(all[before], 100 * before + me);
    shmem_sync(SHMEM_TEAM_WORLD);
    CHECK_EQUAL(shmem_alltoalls(SHMEM_TEAM_WORLD, all, mine, 2, 1, 1), 0);
    CHECK_EQUAL(all[2 * before], 100 * before + me);
    CHECK_EQUAL(shmem_broadcast(SHMEM_TEAM_WORLD, all, one, 1, npes - 1), 0);
    CHECK_EQUAL(all[0], npes);
    shmem_sync(SHMEM_TEAM_WORLD);
    shmem_free(mine);
    shmem_free(all);
    shmem_free(one);
    unsigned *heap = static_cast<unsigned *>(shmem_calloc(4, sizeof(unsigned)));
    shmem_atomic_fetch_or(heap, 3u, next);
    shmem_barrier_all();
    CHECK_EQUAL(heap[0], 3);
    shmem_free(heap);
    return check_end();
}
