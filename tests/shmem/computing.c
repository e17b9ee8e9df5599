/* pes: 2 4 */
/* A PE that computes and calls nothing: all that others do with its memory is done meanwhile, wherever it is, in the heap
 * and in variables. It is told so by its memory alone. */
#include "check.h"
#include <time.h>

#define ROUNDS 30

static long variable[64], counter, ready;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void operations(long *words, int pe)
{
    long source[16], back[16];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 16; i++)
            source[i] = 1000 * round + 16 * me + i;
        shmem_long_put(words + 16 * me, source, 16, pe);
        shmem_long_get(back, words + 16 * me, 16, pe);
        CHECK(memcmp(source, back, sizeof back) == 0);
        shmem_long_p(words + 16 * me, round, pe);
        CHECK_EQUAL(shmem_long_atomic_compare_swap(words + 16 * me, round, -5, pe), round);
        CHECK_EQUAL(shmem_long_g(words + 16 * me, pe), -5);
        shmem_long_iput(words + 16 * me, source, 2, 1, 8, pe);
        shmem_long_iget(back, words + 16 * me, 1, 2, 8, pe);
        CHECK(memcmp(source, back, 8 * sizeof *back) == 0);
        long before = shmem_long_atomic_fetch_inc(&counter, pe);
        CHECK(before >= 0 && before < 2 * ROUNDS * (npes - 1));
        shmem_long_put_signal(words + 16 * me, source, 16, (uint64_t *)&words[16 * npes], 1, SHMEM_SIGNAL_ADD, pe);
        shmem_quiet();
    }
}

int main(void)
{
    check_begin();
    long *heap = shmem_calloc(16 * npes + 1, sizeof *heap);
    for (int pe = 0; pe < npes; pe++) {
        counter = ready = variable[0] = heap[16 * npes] = 0;
        shmem_barrier_all();
        if (me == pe) {
            double until = now() + 20;
            while (*(volatile long *)&ready < npes - 1 && now() < until)
                ;
            CHECK_EQUAL(*(volatile long *)&ready, npes - 1);
            CHECK_EQUAL(*(volatile long *)&counter, ROUNDS * (npes - 1));
            CHECK_EQUAL(*(volatile long *)&heap[16 * npes], ROUNDS * (npes - 1));
        } else {
            operations(heap, pe);
            shmem_long_put(variable + 8 * me, &heap[0], 1, pe);
            shmem_quiet();
            shmem_long_atomic_inc(&ready, pe);
        }
        shmem_barrier_all();
    }
    shmem_free(heap);
    return check_end();
}
