/* pes: 1 2 3 */
/* Every form of put and get, in every type: contiguous, strided, blocks, single elements, nonblocking, with a context;
 * to the heap and to variables. */
#include "check.h"

enum { COUNT = 12 };

static int8_t variable[64 * COUNT] __attribute__((aligned(16)));
static int8_t *heap;

/* What PE `pe` sends as element `i` of a transfer. */
#define VALUE(TYPE, pe, i) ((TYPE)(3 * (i) + 7 * (pe) + 1))

#define CLEAR(place)                     \
    do {                                 \
        shmem_barrier_all();             \
        memset(place, 0, 64 * COUNT);    \
        shmem_barrier_all();             \
    } while (0)

/* All forms of one type, with a context or without, at a place. */
#define FORMS(NAME, TYPE, CTX, ...)                                                                       \
    static void forms_##CTX##_##NAME(void *place, shmem_ctx_t ctx)                                        \
    {                                                                                                     \
        (void)ctx;                                                                                        \
        TYPE *there = place, source[2 * COUNT], back[2 * COUNT];                                          \
        int next = (me + 1) % npes, before = (me + npes - 1) % npes;                                      \
        for (int i = 0; i < 2 * COUNT; i++)                                                               \
            source[i] = VALUE(TYPE, me, i);                                                               \
        CLEAR(place);                                                                                     \
        shmem_##CTX##NAME##_put(__VA_ARGS__ there, source, COUNT, next);                                  \
        shmem_##CTX##NAME##_p(__VA_ARGS__ &there[COUNT], source[COUNT], next);                            \
        shmem_barrier_all();                                                                              \
        for (int i = 0; i <= COUNT; i++)                                                                  \
            CHECK(there[i] == VALUE(TYPE, before, i));                                                    \
        CHECK(there[COUNT + 1] == 0);                                                                     \
        memset(back, 0, sizeof back);                                                                     \
        shmem_##CTX##NAME##_get(__VA_ARGS__ back, there, COUNT, next);                                    \
        for (int i = 0; i < COUNT; i++)                                                                   \
            CHECK(back[i] == source[i]);                                                                  \
        CHECK(shmem_##CTX##NAME##_g(__VA_ARGS__ &there[COUNT], next) == source[COUNT]);                   \
        CLEAR(place);                                                                                     \
        shmem_##CTX##NAME##_put_nbi(__VA_ARGS__ there, source, COUNT, next);                              \
        shmem_quiet();                                                                                    \
        shmem_barrier_all();                                                                              \
        memset(back, 0, sizeof back);                                                                     \
        shmem_##CTX##NAME##_get_nbi(__VA_ARGS__ back, there, COUNT, next);                                \
        shmem_quiet();                                                                                    \
        for (int i = 0; i < COUNT; i++)                                                                   \
            CHECK(back[i] == source[i]);                                                                  \
        CLEAR(place);                                                                                     \
        shmem_##CTX##NAME##_iput(__VA_ARGS__ there, source, 3, 2, 4, next);                               \
        shmem_barrier_all();                                                                              \
        for (int i = 0; i < COUNT; i++)                                                                   \
            CHECK(there[i] == (i % 3 == 0 ? VALUE(TYPE, before, i / 3 * 2) : 0));                         \
        memset(back, 0, sizeof back);                                                                     \
        shmem_##CTX##NAME##_iget(__VA_ARGS__ back, there, 2, 3, 4, next);                                 \
        for (int i = 0; i < 8; i++)                                                                       \
            CHECK(back[i] == (i % 2 == 0 ? source[i] : 0));                                               \
        CLEAR(place);                                                                                     \
        shmem_##CTX##NAME##_ibput(__VA_ARGS__ there, source, 4, 3, 2, 3, next);                           \
        shmem_barrier_all();                                                                              \
        for (int i = 0; i < COUNT; i++)                                                                   \
            CHECK(there[i] == (i % 4 < 2 ? VALUE(TYPE, before, i / 4 * 3 + i % 4) : 0));                  \
        memset(back, 0, sizeof back);                                                                     \
        shmem_##CTX##NAME##_ibget(__VA_ARGS__ back, there, 3, 4, 2, 3, next);                             \
        for (int i = 0; i < 9; i++)                                                                       \
            CHECK(back[i] == (i % 3 < 2 ? source[i] : 0));                                                \
    }

#define PLAIN(NAME, TYPE) FORMS(NAME, TYPE, , )
#define WITH_CONTEXT(NAME, TYPE) FORMS(NAME, TYPE, ctx_, ctx, )
RMA_TYPES(PLAIN)
RMA_TYPES(WITH_CONTEXT)

/* The forms for any type of a size, and for bytes. */
#define SIZED(BITS)                                                                                       \
    static void sized_##BITS(void *place)                                                                 \
    {                                                                                                     \
        enum { BYTES = BITS / 8 };                                                                        \
        int8_t *there = place, source[2 * COUNT * BYTES], back[2 * COUNT * BYTES];                        \
        int next = (me + 1) % npes, before = (me + npes - 1) % npes;                                      \
        for (int i = 0; i < 2 * COUNT * BYTES; i++)                                                       \
            source[i] = VALUE(int8_t, me, i);                                                             \
        CLEAR(place);                                                                                     \
        shmem_put##BITS(there, source, COUNT, next);                                                      \
        shmem_barrier_all();                                                                              \
        for (int i = 0; i < COUNT * BYTES; i++)                                                           \
            CHECK_EQUAL(there[i], VALUE(int8_t, before, i));                                              \
        shmem_get##BITS(back, there, COUNT, next);                                                        \
        CHECK(memcmp(back, source, COUNT * BYTES) == 0);                                                  \
        CLEAR(place);                                                                                     \
        shmem_ctx_put##BITS##_nbi(SHMEM_CTX_DEFAULT, there, source, COUNT, next);                         \
        shmem_ctx_quiet(SHMEM_CTX_DEFAULT);                                                               \
        shmem_barrier_all();                                                                              \
        memset(back, 0, sizeof back);                                                                     \
        shmem_get##BITS##_nbi(back, there, COUNT, next);                                                  \
        shmem_quiet();                                                                                    \
        CHECK(memcmp(back, source, COUNT * BYTES) == 0);                                                  \
        CLEAR(place);                                                                                     \
        shmem_iput##BITS(there, source, 2, 1, 4, next);                                                   \
        shmem_barrier_all();                                                                              \
        for (int i = 0; i < 8 * BYTES; i++) {                                                             \
            int element = i / BYTES;                                                                      \
            int expected = element % 2 ? 0 : VALUE(int8_t, before, element / 2 * BYTES + i % BYTES);      \
            CHECK_EQUAL(there[i], expected);                                                              \
        }                                                                                                 \
        shmem_iget##BITS(back, there, 1, 2, 4, next);                                                     \
        CHECK(memcmp(back, source, 4 * BYTES) == 0);                                                      \
        CLEAR(place);                                                                                     \
        shmem_ctx_ibput##BITS(SHMEM_CTX_DEFAULT, there, source, 3, 2, 2, 3, next);                        \
        shmem_barrier_all();                                                                              \
        shmem_ibget##BITS(back, there, 2, 3, 2, 3, next);                                                 \
        CHECK(memcmp(back, source, 6 * BYTES) == 0);                                                      \
    }
SIZED(8)
SIZED(16)
SIZED(32)
SIZED(64)
SIZED(128)

static void bytes_and_nothing(void *place)
{
    int8_t *there = place;
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    char word[] = "symmetric 0", back[sizeof word];
    word[10] = (char)('0' + me);
    CLEAR(place);
    shmem_putmem(there + 1, word, sizeof word, next);
    shmem_barrier_all();
    CHECK_EQUAL(there[11], '0' + before);
    shmem_getmem(back, there + 1, sizeof back, next);
    CHECK(strcmp(back, word) == 0);
    /* nothing is nothing, wherever it is */
    shmem_putmem(there, NULL, 0, next);
    shmem_getmem(NULL, there, 0, next);
    shmem_long_put(NULL, NULL, 0, next);
    shmem_int_iput((int *)place, NULL, 1, 1, 0, next);
    shmem_int_ibget(NULL, (int *)place, 1, 1, 1, 0, next);
    CHECK_EQUAL(there[1], 's');
    /* to oneself, also where they overlap */
    shmem_barrier_all();
    for (int i = 0; i < 20; i++)
        there[i] = (int8_t)i;
    shmem_putmem(there + 1, there, 10, me);
    for (int i = 1; i < 11; i++)
        CHECK_EQUAL(there[i], i - 1);
}

int main(void)
{
    check_begin();
    heap = shmem_align(64, 64 * COUNT);
    shmem_ctx_t ctx;
    CHECK_EQUAL(shmem_ctx_create(0, &ctx), 0);
    void *places[] = {heap, variable};
    for (int place = 0; place < 2; place++) {
#define CALL_PLAIN(NAME, TYPE) forms__##NAME(places[place], ctx);
#define CALL_WITH_CONTEXT(NAME, TYPE) forms_ctx__##NAME(places[place], ctx);
        RMA_TYPES(CALL_PLAIN)
        RMA_TYPES(CALL_WITH_CONTEXT)
        sized_8(places[place]);
        sized_16(places[place]);
        sized_32(places[place]);
        sized_64(places[place]);
        sized_128(places[place]);
        bytes_and_nothing(places[place]);
    }
    shmem_ctx_destroy(ctx);
    shmem_free(heap);
    return check_end();
}
