/* pes: 1 2 4 5 */
/* Atomic operations in all types, fetching, not fetching and nonblocking, on the heap and on variables; and that none is
 * lost when all PEs work on one word. */
#include "check.h"

static uint64_t variable[4];
static double real_variable;

#define STANDARD(NAME, TYPE)                                                                            \
    static void standard_##NAME(void *place)                                                            \
    {                                                                                                   \
        TYPE *word = place, old = 0;                                                                    \
        int next = (me + 1) % npes;                                                                     \
        shmem_##NAME##_atomic_set(word, 5, next);                                                       \
        CHECK(shmem_##NAME##_atomic_fetch(word, next) == 5);                                            \
        CHECK(shmem_##NAME##_atomic_swap(word, 6, next) == 5);                                          \
        CHECK(shmem_##NAME##_atomic_compare_swap(word, 5, 9, next) == 6);                               \
        CHECK(shmem_##NAME##_atomic_compare_swap(word, 6, 10, next) == 6);                              \
        CHECK(shmem_##NAME##_atomic_fetch_inc(word, next) == 10);                                       \
        shmem_##NAME##_atomic_inc(word, next);                                                          \
        CHECK(shmem_##NAME##_atomic_fetch_add(word, 30, next) == 12);                                   \
        shmem_##NAME##_atomic_add(word, (TYPE)-2, next);                                                \
        shmem_ctx_##NAME##_atomic_fetch_nbi(SHMEM_CTX_DEFAULT, &old, word, next);                       \
        shmem_quiet();                                                                                  \
        CHECK(old == 40);                                                                               \
        shmem_##NAME##_atomic_compare_swap_nbi(&old, word, 40, 41, next);                               \
        shmem_quiet();                                                                                  \
        CHECK(old == 40);                                                                               \
        shmem_##NAME##_atomic_swap_nbi(&old, word, 50, next);                                           \
        shmem_quiet();                                                                                  \
        CHECK(old == 41);                                                                               \
        shmem_##NAME##_atomic_fetch_inc_nbi(&old, word, next);                                          \
        shmem_quiet();                                                                                  \
        CHECK(old == 50);                                                                               \
        shmem_##NAME##_atomic_fetch_add_nbi(&old, word, 9, next);                                       \
        shmem_quiet();                                                                                  \
        CHECK(old == 51);                                                                               \
        CHECK(shmem_ctx_##NAME##_atomic_fetch(SHMEM_CTX_DEFAULT, word, next) == 60);                    \
    }
AMO_TYPES(STANDARD)

#define BITWISE(NAME, TYPE)                                                                             \
    static void bitwise_##NAME(void *place)                                                             \
    {                                                                                                   \
        TYPE *word = place, old = 0;                                                                    \
        int next = (me + 1) % npes;                                                                     \
        shmem_##NAME##_atomic_set(word, 0x0f, next);                                                    \
        CHECK(shmem_##NAME##_atomic_fetch_or(word, 0x30, next) == 0x0f);                                \
        CHECK(shmem_##NAME##_atomic_fetch_and(word, 0x3c, next) == 0x3f);                               \
        CHECK(shmem_##NAME##_atomic_fetch_xor(word, 0xff, next) == 0x3c);                               \
        shmem_##NAME##_atomic_or(word, 0x100, next);                                                    \
        shmem_##NAME##_atomic_and(word, 0x1f0, next);                                                   \
        shmem_##NAME##_atomic_xor(word, 1, next);                                                       \
        shmem_##NAME##_atomic_fetch_or_nbi(&old, word, 2, next);                                        \
        shmem_quiet();                                                                                  \
        CHECK(old == 0x1c1);                                                                            \
        shmem_##NAME##_atomic_fetch_and_nbi(&old, word, 0xff, next);                                    \
        shmem_quiet();                                                                                  \
        CHECK(old == 0x1c3);                                                                            \
        shmem_##NAME##_atomic_fetch_xor_nbi(&old, word, 3, next);                                       \
        shmem_quiet();                                                                                  \
        CHECK(old == 0xc3);                                                                             \
        CHECK(shmem_##NAME##_atomic_fetch(word, next) == 0xc0);                                         \
    }
BITWISE_TYPES(BITWISE)

static void reals(float *single, double *word)
{
    int next = (me + 1) % npes;
    shmem_float_atomic_set(single, 1.5f, next);
    CHECK(shmem_float_atomic_swap(single, -2.5f, next) == 1.5f);
    CHECK(shmem_float_atomic_fetch(single, next) == -2.5f);
    shmem_double_atomic_set(word, 0.1, next);
    CHECK(shmem_double_atomic_swap(word, 1e300, next) == 0.1);
    double old = 0;
    shmem_double_atomic_fetch_nbi(&old, word, next);
    shmem_quiet();
    CHECK(old == 1e300);
}

static void deprecated(long *word)
{
    int next = (me + 1) % npes;
    shmem_long_set(word, 3, next);
    CHECK_EQUAL(shmem_long_fetch(word, next), 3);
    CHECK_EQUAL(shmem_long_fadd(word, 4, next), 3);
    CHECK_EQUAL(shmem_long_finc(word, next), 7);
    shmem_long_add(word, 2, next);
    shmem_long_inc(word, next);
    CHECK_EQUAL(shmem_long_swap(word, 20, next), 11);
    CHECK_EQUAL(shmem_long_cswap(word, 20, 21, next), 20);
    CHECK_EQUAL(shmem_long_fetch(word, next), 21);
}

/* All PEs count in one word of PE 0; who got which number is noted, and none may be missing. */
static void none_is_lost(uint64_t *counter, unsigned *narrow, uint64_t times)
{
    uint64_t last = 0;
    shmem_barrier_all();
    for (uint64_t i = 0; i < times; i++) {
        uint64_t got = shmem_uint64_atomic_fetch_inc(counter, 0);
        CHECK(i == 0 || got > last);
        last = got;
        shmem_uint_atomic_add(narrow, 3, 0);
        shmem_uint64_atomic_xor(counter + 1, 1ull << (me % 60), 0);
    }
    shmem_barrier_all();
    CHECK_EQUAL(shmem_uint64_g(counter, 0), times * npes);
    CHECK_EQUAL(shmem_uint_g(narrow, 0), (unsigned)(3 * times * npes));
    CHECK_EQUAL(shmem_uint64_g(counter + 1, 0), times % 2 ? (1ull << npes) - 1 : 0);
    shmem_barrier_all();
    if (me == 0)
        counter[0] = counter[1] = *narrow = 0;
    shmem_barrier_all();
}

int main(void)
{
    check_begin();
    uint64_t *heap = shmem_calloc(8, sizeof *heap);
    void *places[] = {heap, variable};
    /* where a servant has to help, each takes far longer */
    int is_slow = getenv("SERRIED_COPY") || getenv("SERRIED_NODES");
    for (int place = 0; place < 2; place++) {
#define CALL_STANDARD(NAME, TYPE) standard_##NAME(places[place]);
#define CALL_BITWISE(NAME, TYPE) bitwise_##NAME(places[place]);
        shmem_barrier_all();
        AMO_TYPES(CALL_STANDARD)
        BITWISE_TYPES(CALL_BITWISE)
        deprecated(places[place]);
        shmem_barrier_all();
        memset(places[place], 0, 4 * sizeof *heap);
        none_is_lost(places[place], (unsigned *)places[place] + 6, is_slow ? 201 : place == 0 ? 20001 : 1001);
    }
    reals((float *)(heap + 6), (double *)(heap + 7));
    reals((float *)variable, &real_variable);
    shmem_free(heap);
    return check_end();
}
