/* pes: 1 2 3 */
/* One name for all types, as C11 has it: with a context and without. */
#include "check.h"

static long longs[8];
static double doubles[8];
static int8_t small[8];
static long double wide;
static double _Complex complex_number, complex_sum;
static uint64_t signal_word;

int main(void)
{
    check_begin();
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    double source[4] = {me + 0.5, 1.5, 2.5, 3.5}, back[4];
    shmem_put(doubles, source, 4, next);
    shmem_barrier_all();
    CHECK(doubles[0] == before + 0.5);
    shmem_get(SHMEM_CTX_DEFAULT, back, doubles, 4, next);
    CHECK(back[0] == me + 0.5 && back[3] == 3.5);
    shmem_barrier_all();
    shmem_put_nbi(SHMEM_CTX_DEFAULT, doubles, source + 1, 2, next);
    shmem_iput(doubles + 4, source, 2, 1, 2, next);
    shmem_ibput(SHMEM_CTX_DEFAULT, longs, ((long[]){1, 2, 3, 4}), 4, 2, 2, 2, next);
    shmem_p(&small[2], (int8_t)me, next);
    shmem_p(SHMEM_CTX_DEFAULT, &wide, 2.25L, next);
    shmem_barrier_all();
    CHECK(doubles[0] == 1.5 && doubles[4] == before + 0.5 && doubles[6] == 1.5);
    CHECK_EQUAL(longs[1], 2);
    CHECK_EQUAL(longs[5], 4);
    CHECK_EQUAL(small[2], before);
    CHECK(wide == 2.25L && shmem_g(&wide, next) == 2.25L);
    const int8_t *constant = small;
    CHECK_EQUAL(shmem_g(&constant[2], next), me);
    shmem_barrier_all();

    shmem_atomic_set(&longs[0], 10, next);
    CHECK_EQUAL(shmem_atomic_fetch_add(SHMEM_CTX_DEFAULT, &longs[0], 5, next), 10);
    shmem_atomic_inc(&longs[0], next);
    CHECK_EQUAL(shmem_atomic_compare_swap(&longs[0], 16, 20, next), 16);
    CHECK_EQUAL(shmem_atomic_fetch(&longs[0], next), 20);
    CHECK(shmem_atomic_swap(&doubles[7], 0.25, next) == 0);
    CHECK_EQUAL(shmem_fadd(&longs[0], 1L, next), 20);
    long fetched = 0;
    shmem_atomic_fetch_inc_nbi(&fetched, &longs[0], next);
    shmem_quiet();
    CHECK_EQUAL(fetched, 21);
    shmem_atomic_or(&signal_word, 6, next);
    CHECK_EQUAL(shmem_atomic_fetch_and(&signal_word, 3, next), 6);
    shmem_barrier_all();

    shmem_put_signal(doubles, source, 1, &signal_word, 40, SHMEM_SIGNAL_ADD, next);
    shmem_wait_until(&signal_word, SHMEM_CMP_EQ, 42);
    CHECK_EQUAL(shmem_test(&signal_word, SHMEM_CMP_EQ, 42), 1);
    CHECK_EQUAL(shmem_wait_until_any(&signal_word, 1, NULL, SHMEM_CMP_EQ, 42), 0);
    CHECK_EQUAL(shmem_test_all_vector(&signal_word, 1, NULL, SHMEM_CMP_EQ, &(uint64_t){42}), 1);

    complex_number = me + 2.0 * me * __extension__ 1.0i;
    CHECK_EQUAL(shmem_sum_reduce(SHMEM_TEAM_WORLD, &complex_sum, &complex_number, 1), 0);
    CHECK(__real__ complex_sum == npes * (npes - 1) / 2 && __imag__ complex_sum == npes * (npes - 1));
    longs[6] = me;
    CHECK_EQUAL(shmem_max_reduce(SHMEM_TEAM_WORLD, &longs[7], &longs[6], 1), 0);
    CHECK_EQUAL(longs[7], npes - 1);
    CHECK_EQUAL(shmem_broadcast(SHMEM_TEAM_WORLD, &longs[7], &longs[6], 1, npes - 1), 0);
    CHECK_EQUAL(longs[7], npes - 1);
    CHECK_EQUAL(shmem_sum_inscan(SHMEM_TEAM_WORLD, &longs[7], &longs[6], 1), 0);
    CHECK_EQUAL(longs[7], me * (me + 1) / 2);
    static long work[SHMEM_BARRIER_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
    CHECK_EQUAL(shmem_sync(SHMEM_TEAM_WORLD), 0);
    shmem_sync(0, 0, npes, work);
    return check_end();
}
