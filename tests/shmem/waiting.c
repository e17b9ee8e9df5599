/* pes: 1 2 4 5 */
/* wait_until and test in all types, with several words, with vectors; signals; that a change by any face of a put is
 * seen, in the heap and in variables. */
#include "check.h"
#include <time.h>

static uint64_t variables[8];

static void a_moment(void)
{
    struct timespec time = {0, 3000000};
    nanosleep(&time, NULL);
}

/* Each PE waits for its own word, which the PE before changes after a moment; odd ones come late. */
#define WAITS(NAME, TYPE)                                                                       \
    static void waits_##NAME(void *place)                                                       \
    {                                                                                           \
        TYPE *word = place;                                                                     \
        int next = (me + 1) % npes;                                                             \
        shmem_barrier_all();                                                                    \
        *word = 5;                                                                              \
        shmem_barrier_all();                                                                    \
        CHECK_EQUAL(shmem_##NAME##_test(word, SHMEM_CMP_EQ, 5), 1);                             \
        CHECK_EQUAL(shmem_##NAME##_test(word, SHMEM_CMP_NE, 5), 0);                             \
        shmem_##NAME##_wait_until(word, SHMEM_CMP_GE, 5);                                       \
        shmem_##NAME##_wait_until(word, SHMEM_CMP_LE, 5);                                       \
        shmem_barrier_all();                                                                    \
        if (me % 2)                                                                             \
            a_moment();                                                                         \
        shmem_##NAME##_p(word, 6, next);                                                        \
        shmem_##NAME##_wait_until(word, SHMEM_CMP_GT, 5);                                       \
        CHECK(*word == 6);                                                                      \
        shmem_barrier_all();                                                                    \
        shmem_##NAME##_p(word, 4, next);                                                        \
        shmem_##NAME##_wait_until(word, SHMEM_CMP_LT, 5);                                       \
        shmem_barrier_all();                                                                    \
        shmem_##NAME##_p(word, 7, next);                                                        \
        while (!shmem_##NAME##_test(word, SHMEM_CMP_EQ, 7))                                     \
            ;                                                                                   \
        shmem_##NAME##_wait_until(word, SHMEM_CMP_NE, 4);                                       \
    }
AMO_TYPES(WAITS)
WAITS(short, short)
WAITS(ushort, unsigned short)

/* Every PE tells all others, by an atomic operation. */
static void many(int *flags, int *status, int *values)
{
    size_t *indices = malloc(npes * sizeof *indices), found, count, all = npes;
    for (int pe = 0; pe < npes; pe++) {
        flags[pe] = status[pe] = 0;
        values[pe] = pe + 1;
    }
    CHECK_EQUAL(shmem_int_test_any(flags, all, NULL, SHMEM_CMP_NE, 0), SIZE_MAX);
    CHECK_EQUAL(shmem_int_test_some(flags, all, indices, NULL, SHMEM_CMP_NE, 0), 0);
    CHECK_EQUAL(shmem_int_test_all(flags, all, NULL, SHMEM_CMP_NE, 0), 0);
    CHECK_EQUAL(shmem_int_test_all(flags, all, NULL, SHMEM_CMP_EQ, 0), 1);
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++)
        shmem_int_atomic_set(&flags[me], me + 1, (me + pe) % npes);
    /* any, each once */
    for (count = 0; count < all; count++) {
        found = shmem_int_wait_until_any(flags, all, status, SHMEM_CMP_NE, 0);
        CHECK(found < all && !status[found] && flags[found] == (int)found + 1);
        status[found] = 1;
    }
    CHECK_EQUAL(shmem_int_wait_until_any(flags, all, status, SHMEM_CMP_NE, 0), SIZE_MAX);
    CHECK_EQUAL(shmem_int_wait_until_some(flags, all, indices, status, SHMEM_CMP_NE, 0), 0);
    shmem_int_wait_until_all(flags, all, status, SHMEM_CMP_EQ, 99);
    CHECK_EQUAL(shmem_int_test_all(flags, all, status, SHMEM_CMP_EQ, 99), 1);
    CHECK_EQUAL(shmem_int_test_any(flags, all, status, SHMEM_CMP_NE, 0), SIZE_MAX);
    CHECK_EQUAL(shmem_int_test_all(flags, 0, NULL, SHMEM_CMP_EQ, 99), 1);
    shmem_int_wait_until_all(NULL, 0, NULL, SHMEM_CMP_EQ, 99);
    /* some, and vectors */
    shmem_int_wait_until_all_vector(flags, all, NULL, SHMEM_CMP_EQ, values);
    CHECK_EQUAL(shmem_int_test_all_vector(flags, all, NULL, SHMEM_CMP_EQ, values), 1);
    CHECK_EQUAL(shmem_int_wait_until_some(flags, all, indices, NULL, SHMEM_CMP_GE, npes), 1);
    CHECK_EQUAL(indices[0], all - 1);
    CHECK_EQUAL(shmem_int_test_some_vector(flags, all, indices, NULL, SHMEM_CMP_EQ, values), all);
    for (count = 0; count < all; count++)
        CHECK_EQUAL(indices[count], count);
    values[0] = 77;
    CHECK_EQUAL(shmem_int_test_all_vector(flags, all, NULL, SHMEM_CMP_EQ, values), 0);
    CHECK_EQUAL(shmem_int_test_any_vector(flags, all, NULL, SHMEM_CMP_NE, values), 0);
    CHECK_EQUAL(shmem_int_wait_until_any_vector(flags, all, NULL, SHMEM_CMP_NE, values), 0);
    CHECK_EQUAL(shmem_int_wait_until_some_vector(flags, all, indices, NULL, SHMEM_CMP_NE, values), 1);
    CHECK_EQUAL(indices[0], 0);
    shmem_barrier_all();
    free(indices);
}

static void signals(uint64_t *signal, long *data)
{
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    long source[100];
    *signal = 0;
    memset(data, 0, sizeof source);
    for (int i = 0; i < 100; i++)
        source[i] = 1000 * me + i;
    shmem_barrier_all();
    for (uint64_t round = 1; round <= 50; round++) {
        source[99] = (long)round;
        shmem_long_put_signal(data, source, 100, signal, round, SHMEM_SIGNAL_SET, next);
        CHECK_EQUAL(shmem_signal_wait_until(signal, SHMEM_CMP_GE, round), round);
        CHECK_EQUAL(data[99], (long)round);
        CHECK_EQUAL(data[5], 1000 * before + 5);
        shmem_barrier_all();
    }
    shmem_putmem_signal_nbi(data, "x", 1, signal, 7, SHMEM_SIGNAL_ADD, next);
    CHECK_EQUAL(shmem_signal_wait_until(signal, SHMEM_CMP_NE, 50), 57);
    CHECK_EQUAL(*(char *)data, 'x');
    CHECK_EQUAL(shmem_signal_fetch(signal), 57);
    shmem_barrier_all();
    shmem_ctx_put32_signal(SHMEM_CTX_DEFAULT, data, source, 2, signal, 60, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 60);
    shmem_barrier_all();
    shmem_signal_add(signal, 5, next);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 65);
    shmem_barrier_all();
    shmem_ctx_signal_set(SHMEM_CTX_DEFAULT, signal, 3, next);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 3);
    shmem_barrier_all();
}

int main(void)
{
    check_begin();
    uint64_t *heap = shmem_calloc(8, sizeof *heap);
    void *places[] = {heap, variables};
    for (int place = 0; place < 2; place++) {
#define CALL_WAITS(NAME, TYPE) waits_##NAME(places[place]);
        AMO_TYPES(CALL_WAITS)
        waits_short(places[place]);
        waits_ushort(places[place]);
    }
    int *flags = shmem_calloc(npes, sizeof *flags), *values = malloc(npes * sizeof *values);
    int *status = malloc(npes * sizeof *status);
    many(flags, status, values);
    long *data = shmem_malloc(100 * sizeof *data);
    signals(heap, data);
    signals(variables, data);
    *heap = 9;
    shmem_barrier_all();
    shmem_long_p((long *)heap, 10, (me + 1) % npes);
    shmem_long_wait((long *)heap, 9);
    shmem_wait((long *)heap, 9);
    CHECK_EQUAL(*heap, 10);
    free(status);
    free(values);
    return check_end();
}
