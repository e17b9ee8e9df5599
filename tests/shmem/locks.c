/* pes: 1 2 4 5 */
/* Locks keep PEs apart, in the heap and in variables; several at a time; test_lock; and what was written under a lock is
 * seen by the next one that has it. */
#include "check.h"

static long lock_variable;
static long counter;

static void apart(long *lock, int times)
{
    shmem_barrier_all();
    counter = 0;
    shmem_barrier_all();
    for (int i = 0; i < times; i++) {
        shmem_set_lock(lock);
        long now = shmem_long_g(&counter, 0);
        shmem_long_p(&counter, now + 1, 0);
        shmem_clear_lock(lock);
    }
    for (int i = 0; i < times; i++) {
        while (shmem_test_lock(lock))
            ;
        long now = shmem_long_g(&counter, 0);
        shmem_long_p(&counter, now + 1, 0);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK_EQUAL(shmem_long_g(&counter, 0), 2L * times * npes);
    shmem_barrier_all();
}

int main(void)
{
    check_begin();
    int is_slow = getenv("SERRIED_COPY") || getenv("SERRIED_NODES");
    long *locks = shmem_calloc(32, sizeof *locks);
    apart(locks, is_slow ? 20 : 500);
    apart(&lock_variable, is_slow ? 20 : 200);
    apart(locks + 11, is_slow ? 10 : 100);
    /* a lock that another holds is not taken */
    if (me == 0)
        shmem_set_lock(locks + 3);
    shmem_barrier_all();
    if (me != 0)
        CHECK_EQUAL(shmem_test_lock(locks + 3), 1);
    shmem_barrier_all();
    if (me == 0)
        shmem_clear_lock(locks + 3);
    shmem_barrier_all();
    if (me == npes - 1) {
        CHECK_EQUAL(shmem_test_lock(locks + 3), 0);
        shmem_clear_lock(locks + 3);
    }
    shmem_barrier_all();
    /* all of them at once, in order */
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 32; i++)
            shmem_set_lock(locks + i);
        for (int i = 31; i >= 0; i--)
            shmem_clear_lock(locks + i);
    }
    shmem_barrier_all();
    for (int i = 0; i < 32; i++)
        CHECK_EQUAL((int)locks[i], 0);
    shmem_barrier_all();
    shmem_free(locks);
    return check_end();
}
