/* pes: 1 2 3 */
/* Threads of a PE do everything at once: put, atomic operations, waiting, locks. */
#include "check.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, TIMES = 300, STORES = 10 };

static long *words, *turn;
static long counter, lock;

static void *work(void *argument)
{
    long number = (long)argument;
    int next = (me + 1) % npes;
    shmem_ctx_t ctx;
    CHECK_EQUAL(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), 0);
    for (long i = 1; i <= TIMES; i++) {
        shmem_ctx_long_p(ctx, &turn[number], i, next);
        shmem_long_wait_until(&turn[number], SHMEM_CMP_GE, i);
        for (int pe = 0; pe < npes; pe++)
            shmem_ctx_long_atomic_inc(ctx, &words[number % 2], pe);
    }
    for (int i = 0; i < 20; i++) {
        shmem_set_lock(&lock);
        long now = shmem_long_g(&counter, 0);
        shmem_long_p(&counter, now + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

static long given, taken;

static void *answer(void *unused)
{
    for (long i = 1; i <= STORES; i++) {
        shmem_long_wait_until(&given, SHMEM_CMP_GE, i);
        usleep(3000);
        __atomic_store_n(&taken, i, __ATOMIC_RELEASE);
    }
    return unused;
}

/* Threads of a PE wait for what the other one stores without any call: each sleeps by then. It takes a twentieth of a second,
 * or twenty seconds if nobody looks before a sleep is over. */
static void plain_stores(void)
{
    struct timespec began, ended;
    pthread_t thread;
    clock_gettime(CLOCK_MONOTONIC, &began);
    pthread_create(&thread, NULL, answer, NULL);
    for (long i = 1; i <= STORES; i++) {
        usleep(3000);
        __atomic_store_n(&given, i, __ATOMIC_RELEASE);
        shmem_long_wait_until(&taken, SHMEM_CMP_GE, i);
    }
    pthread_join(thread, NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    CHECK(ended.tv_sec - began.tv_sec < 5);
}

int main(void)
{
    int provided;
    CHECK_EQUAL(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    CHECK_EQUAL(provided, SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    words = shmem_calloc(2, sizeof *words);
    turn = shmem_calloc(THREADS, sizeof *turn);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    plain_stores();
    shmem_barrier_all();
    CHECK_EQUAL(words[0], (THREADS + 1) / 2 * TIMES * npes);
    CHECK_EQUAL(words[1], THREADS / 2 * TIMES * npes);
    CHECK_EQUAL(shmem_long_g(&counter, 0), 20 * THREADS * npes);
    return check_end();
}
