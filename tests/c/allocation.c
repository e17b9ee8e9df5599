/* ranks: 1 2
 * malloc and its relatives, of small and big blocks, before MPI begins, while it runs and after its end, in several
 * threads at once: sizes, alignments, contents, zeros, refusals. Blocks are sent in between, so that some are shared. */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>

#define BIG (1 << 20)
#define THREADS 4

static int in_mpi;

/* Blocks of 64 KiB and more of a rank lie in its window, where there are windows. */
static void lies_where_it_should(void *block, size_t bytes)
{
    int windows = dlsym(RTLD_DEFAULT, "serried_window") && size > 1 && !getenv("SERRIED_COPY");
    if (in_mpi && windows)
        CHECK_EQUAL((uintptr_t)block >> 44 == 2, bytes >= 65536);
}

static void send_often(void *block, size_t bytes)
{
    static unsigned char in[3 * BIG];
    for (int round = 0; in_mpi && size == 2 && round < 12; round++)
        MPI_Sendrecv(block, bytes, MPI_BYTE, 1 - rank, 5, in, bytes, MPI_BYTE, 1 - rank, 5, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

/* A block grows and shrinks over the border between small and big, and keeps what is in it. */
static void reallocations(void)
{
    static const size_t lengths[] = {100, 65535, 65536, 70000, BIG, 3 * BIG - 1, BIG, 40000, 32768, 10, 2 * BIG, 90000, 1};
    unsigned char *block = realloc(NULL, 50), *after = NULL;
    size_t bytes = 50;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        fill(block, bytes, i);
        block = realloc(block, lengths[i]);
        CHECK(block != NULL);
        CHECK(malloc_usable_size(block) >= lengths[i]);
        CHECK_FILLED(block, bytes < lengths[i] ? bytes : lengths[i], i);
        bytes = lengths[i];
        if (i % 3 == 0)
            send_often(block, bytes);
        if (i % 4 == 0) {
            free(after); /* something behind it, so that it sometimes cannot grow in place */
            after = malloc(65536);
        }
    }
    free(after);
    CHECK(realloc(block, 0) == NULL);
}

static void zeros(void)
{
    static const size_t lengths[] = {10, 65536, 100000, BIG + 5, 3 * BIG};
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 5; i++) {
            unsigned char *block = calloc(lengths[i], 1);
            size_t wrong = 0;
            for (size_t j = 0; j < lengths[i]; j++)
                wrong += block[j] != 0;
            CHECK_EQUAL(wrong, 0);
            memset(block, 0xff, lengths[i]);
            if (round == 1)
                send_often(block, lengths[i]);
            lies_where_it_should(block, lengths[i]);
            free(block);
        }
}

static void alignments(void)
{
    static const size_t lengths[] = {1, 5000, 65536, BIG, 2 * BIG + 3};
    for (size_t alignment = 16; alignment <= 4 << 20; alignment *= 4)
        for (int i = 0; i < 5; i++) {
            void *blocks[4] = {aligned_alloc(alignment, lengths[i]), memalign(alignment, lengths[i])};
            CHECK_EQUAL(posix_memalign(&blocks[2], alignment, lengths[i]), 0);
            blocks[3] = valloc(lengths[i]);
            for (int j = 0; j < 4; j++) {
                CHECK_EQUAL((uintptr_t)blocks[j] % (j < 3 ? alignment : 4096), 0);
                memset(blocks[j], j, lengths[i]);
            }
            for (int j = 0; j < 4; j++) {
                CHECK_EQUAL(((unsigned char *)blocks[j])[lengths[i] - 1], j);
                free(blocks[j]);
            }
        }
    void *none = &none;
    CHECK_EQUAL(posix_memalign(&none, 24, BIG), EINVAL);
    CHECK_EQUAL(posix_memalign(&none, 4, BIG), EINVAL);
    CHECK(none == &none);
}

/* What no machine has is refused, with the right word; errno of others is left alone. */
static void refusals(void)
{
    volatile size_t all = SIZE_MAX;
    void *block = malloc(BIG), *other;
    errno = 0;
    CHECK(malloc(all - 5000) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(malloc(all / 2 + 1) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc(all / 2, 5) == NULL && errno == ENOMEM);
    errno = 0;
    other = realloc(block, all / 2); /* leaves the block alone */
    CHECK(other == NULL && errno == ENOMEM);
    CHECK(malloc((size_t)1 << 45) == NULL);
    CHECK(memalign((size_t)1 << 62, BIG) == NULL);
    errno = 77;
    free(other ? other : block);
    free(NULL);
    CHECK_EQUAL(errno, 77);
}

/* Threads take blocks of all sizes and free those of others. */
static void *_Atomic places[64];

static void *take_and_free(void *argument)
{
    unsigned state = 12345 + (unsigned)(long)argument;
    for (int round = 0; round < 4000; round++) {
        state = state * 1103515245 + 12345;
        size_t bytes = ((size_t)1 << (8 + (state >> 16) % 13)) + (state >> 8) % 1000;
        size_t *block = malloc(bytes);
        block[0] = bytes;
        block[bytes / 8 - 1] = ~bytes;
        block = __atomic_exchange_n(&places[(state >> 10) % 64], block, __ATOMIC_ACQ_REL);
        if (block) {
            CHECK(block[0] / 8 == 1 || block[block[0] / 8 - 1] == ~block[0]);
            free(block);
        }
    }
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, take_and_free, (void *)number);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    for (int i = 0; i < 64; i++)
        free(__atomic_exchange_n(&places[i], NULL, __ATOMIC_ACQ_REL));
}

static void everything(void)
{
    reallocations();
    zeros();
    alignments();
    refusals();
    in_threads();
}

int main(int argc, char **argv)
{
    unsigned char *early = malloc(BIG), *kept;
    fill(early, BIG, 9);
    everything();
    check_begin(&argc, &argv);
    in_mpi = 1;
    everything();
    CHECK_FILLED(early, BIG, 9);
    send_often(early, BIG);
    kept = malloc(2 * BIG);
    fill(kept, 2 * BIG, 10);
    send_often(kept, 2 * BIG);
    in_mpi = 0;
    int result = check_end();
    CHECK_FILLED(early, BIG, 9);
    CHECK_FILLED(kept, 2 * BIG, 10);
    free(early);
    everything();
    kept = realloc(kept, 4 * BIG);
    CHECK_FILLED(kept, 2 * BIG, 10);
    free(kept);
    return result;
}
