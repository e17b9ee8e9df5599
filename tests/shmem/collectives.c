/* pes: 1 2 3 4 5 */
/* Collectives of teams in all types, of few and of many elements, in the heap, in variables, in place, on teams of some
 * PEs. */
#include "check.h"

enum { MOST = 5, COUNT = 20 };

static char in_variable[MOST * COUNT * 16] __attribute__((aligned(16)));
static char out_variable[MOST * COUNT * 16] __attribute__((aligned(16)));

/* What a member gives as element i. */
#define VALUE(TYPE, pe, i) ((TYPE)((i) % 11 + 3 * (pe) + 1))

#define EXCHANGES(NAME, TYPE)                                                                             \
    static void exchanges_##NAME(shmem_team_t team, void *out, void *in)                                  \
    {                                                                                                     \
        TYPE *dest = out, *source = in;                                                                   \
        int mine = shmem_team_my_pe(team), size = shmem_team_n_pes(team);                                 \
        for (int root = 0; root < size; root++) {                                                         \
            for (int i = 0; i < COUNT; i++) {                                                             \
                source[i] = VALUE(TYPE, mine, i);                                                         \
                dest[i] = 0;                                                                              \
            }                                                                                             \
            shmem_team_sync(team);                                                                        \
            CHECK_EQUAL(shmem_##NAME##_broadcast(team, dest, source, COUNT, root), 0);                    \
            for (int i = 0; i < COUNT; i++)                                                               \
                CHECK(dest[i] == VALUE(TYPE, root, i));                                                   \
        }                                                                                                 \
        shmem_team_sync(team);                                                                            \
        CHECK_EQUAL(shmem_##NAME##_fcollect(team, dest, source, COUNT), 0);                               \
        for (int i = 0; i < size * COUNT; i++)                                                            \
            CHECK(dest[i] == VALUE(TYPE, i / COUNT, i % COUNT));                                          \
        shmem_team_sync(team);                                                                            \
        CHECK_EQUAL(shmem_##NAME##_collect(team, dest, source, mine + 1), 0);                             \
        TYPE *next = dest;                                                                                \
        for (int pe = 0; pe < size; pe++)                                                                 \
            for (int i = 0; i <= pe; i++)                                                                 \
                CHECK(*next++ == VALUE(TYPE, pe, i));                                                     \
        for (int i = 0; i < size * COUNT; i++)                                                            \
            source[i] = VALUE(TYPE, mine, i);                                                             \
        shmem_team_sync(team);                                                                            \
        CHECK_EQUAL(shmem_##NAME##_alltoall(team, dest, source, 4), 0);                                   \
        for (int i = 0; i < size * 4; i++)                                                                \
            CHECK(dest[i] == VALUE(TYPE, i / 4, mine * 4 + i % 4));                                       \
        memset(out, 0, size * COUNT * sizeof(TYPE));                                                      \
        shmem_team_sync(team);                                                                            \
        CHECK_EQUAL(shmem_##NAME##_alltoalls(team, dest, source, 3, 2, 4), 0);                            \
        for (int i = 0; i < size * 4; i++)                                                                \
            CHECK(dest[3 * i] == VALUE(TYPE, i / 4, 2 * (mine * 4 + i % 4)));                             \
        CHECK(dest[1] == 0 && dest[2] == 0);                                                              \
        shmem_team_sync(team);                                                                            \
    }
RMA_TYPES(EXCHANGES)

#define REDUCE(NAME, TYPE, OPERATION, FIRST, COMBINE)                                                     \
    for (int i = 0; i < COUNT; i++)                                                                       \
        source[i] = VALUE(TYPE, mine, i);                                                                 \
    shmem_team_sync(team);                                                                                \
    CHECK_EQUAL(shmem_##NAME##_##OPERATION##_reduce(team, dest, source, COUNT), 0);                       \
    for (int i = 0; i < COUNT; i++) {                                                                     \
        TYPE result = FIRST;                                                                              \
        for (int pe = 0; pe < size; pe++) {                                                               \
            TYPE value = VALUE(TYPE, pe, i);                                                              \
            COMBINE;                                                                                      \
        }                                                                                                 \
        CHECK(dest[i] == result);                                                                         \
    }                                                                                                     \
    shmem_team_sync(team);                                                                                \
    CHECK_EQUAL(shmem_##NAME##_##OPERATION##_reduce(team, source, source, COUNT), 0);                     \
    CHECK(memcmp(source, dest, COUNT * sizeof *source) == 0 || sizeof(TYPE) == 16);                       \
    shmem_team_sync(team);

#define SUMS(NAME, TYPE)                                                                                  \
    static void sums_##NAME(shmem_team_t team, void *out, void *in)                                       \
    {                                                                                                     \
        TYPE *dest = out, *source = in;                                                                   \
        int mine = shmem_team_my_pe(team), size = shmem_team_n_pes(team);                                 \
        REDUCE(NAME, TYPE, sum, 0, result = (TYPE)(result + value))                                       \
        REDUCE(NAME, TYPE, prod, 1, result = (TYPE)(result * value))                                      \
        for (int form = 0; form < 4; form++) {                                                            \
            for (int i = 0; i < COUNT; i++)                                                               \
                source[i] = VALUE(TYPE, mine, i);                                                         \
            TYPE *to = form < 2 ? dest : source;                                                          \
            shmem_team_sync(team);                                                                        \
            if (form % 2)                                                                                 \
                CHECK_EQUAL(shmem_##NAME##_sum_exscan(team, to, source, COUNT), 0);                       \
            else                                                                                          \
                CHECK_EQUAL(shmem_##NAME##_sum_inscan(team, to, source, COUNT), 0);                       \
            for (int i = 0; i < COUNT; i++) {                                                             \
                TYPE sum = 0;                                                                             \
                for (int pe = 0; pe < mine + 1 - form % 2; pe++)                                          \
                    sum = (TYPE)(sum + VALUE(TYPE, pe, i));                                               \
                CHECK(to[i] == sum);                                                                      \
            }                                                                                             \
        }                                                                                                 \
        shmem_team_sync(team);                                                                            \
    }
RMA_TYPES(SUMS)
SUMS(complexd, double _Complex)
SUMS(complexf, float _Complex)

#define ORDERS(NAME, TYPE)                                                                                \
    static void orders_##NAME(shmem_team_t team, void *out, void *in)                                     \
    {                                                                                                     \
        TYPE *dest = out, *source = in;                                                                   \
        int mine = shmem_team_my_pe(team), size = shmem_team_n_pes(team);                                 \
        REDUCE(NAME, TYPE, max, 0, result = value > result ? value : result)                              \
        REDUCE(NAME, TYPE, min, 100, result = value < result ? value : result)                            \
    }
RMA_TYPES(ORDERS)

#define BITS_TYPES(X)                                                                                     \
    BITWISE_TYPES(X) X(uchar, unsigned char) X(ushort, unsigned short) X(int8, int8_t) X(int16, int16_t)  \
    X(uint8, uint8_t) X(uint16, uint16_t) X(size, size_t)
#define BITS(NAME, TYPE)                                                                                  \
    static void bits_##NAME(shmem_team_t team, void *out, void *in)                                       \
    {                                                                                                     \
        TYPE *dest = out, *source = in;                                                                   \
        int mine = shmem_team_my_pe(team), size = shmem_team_n_pes(team);                                 \
        REDUCE(NAME, TYPE, and, (TYPE)-1, result = (TYPE)(result & value))                                \
        REDUCE(NAME, TYPE, or, 0, result = (TYPE)(result | value))                                        \
        REDUCE(NAME, TYPE, xor, 0, result = (TYPE)(result ^ value))                                       \
    }
BITS_TYPES(BITS)

static void all_types(shmem_team_t team, void *out, void *in)
{
#define CALL_EXCHANGES(NAME, TYPE) exchanges_##NAME(team, out, in);
#define CALL_SUMS(NAME, TYPE) sums_##NAME(team, out, in);
#define CALL_ORDERS(NAME, TYPE) orders_##NAME(team, out, in);
#define CALL_BITS(NAME, TYPE) bits_##NAME(team, out, in);
    RMA_TYPES(CALL_EXCHANGES)
    RMA_TYPES(CALL_SUMS)
    sums_complexd(team, out, in);
    sums_complexf(team, out, in);
    RMA_TYPES(CALL_ORDERS)
    BITS_TYPES(CALL_BITS)
}

/* Bytes, and many of them. */
static void bytes(shmem_team_t team, size_t count)
{
    int size = shmem_team_n_pes(team), mine = shmem_team_my_pe(team);
    unsigned char *source = shmem_malloc(count * npes), *dest = shmem_malloc(count * npes);
    for (size_t i = 0; i < count * size; i++)
        source[i] = (unsigned char)(i * 31 + mine);
    shmem_barrier_all();
    CHECK_EQUAL(shmem_alltoallmem(team, dest, source, count), 0);
    for (size_t i = 0; i < count * size; i += 97)
        CHECK_EQUAL(dest[i], (unsigned char)((mine * count + i % count) * 31 + i / count));
    shmem_team_sync(team);
    CHECK_EQUAL(shmem_fcollectmem(team, dest, source, count), 0);
    for (size_t i = 0; i < count * size; i += 97)
        CHECK_EQUAL(dest[i], (unsigned char)(i % count * 31 + i / count));
    shmem_team_sync(team);
    CHECK_EQUAL(shmem_broadcastmem(team, dest, source, count, size - 1), 0);
    CHECK_EQUAL(dest[count - 1], (unsigned char)((count - 1) * 31 + size - 1));
    shmem_team_sync(team);
    CHECK_EQUAL(shmem_collectmem(team, dest, source, mine % 2 ? 0 : count), 0);
    CHECK_EQUAL(dest[0], 0);
    if (size > 2)
        CHECK_EQUAL(dest[count + 1], 33);
    CHECK_EQUAL(shmem_alltoallsmem(team, dest, source, 1, 1, 2), 0);
    CHECK_EQUAL(dest[1], (unsigned char)((mine * 2 + 1) * 31));
    CHECK_EQUAL(shmem_collectmem(team, dest, source, 0), 0);
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}

int main(void)
{
    check_begin();
    void *in = shmem_align(16, sizeof in_variable), *out = shmem_align(16, sizeof out_variable);
    all_types(SHMEM_TEAM_WORLD, out, in);
    exchanges_long(SHMEM_TEAM_WORLD, out_variable, in_variable);
    sums_double(SHMEM_TEAM_WORLD, out_variable, in_variable);
    orders_int(SHMEM_TEAM_WORLD, out_variable, in_variable);
    shmem_team_t odd;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -2, (npes + 1) / 2, NULL, 0, &odd);
    if (odd != SHMEM_TEAM_INVALID) {
        exchanges_double(odd, out, in);
        sums_short(odd, out, in);
        orders_float(odd, out, in);
        bits_uint(odd, out, in);
    }
    shmem_team_destroy(odd);
    bytes(SHMEM_TEAM_WORLD, 100);
    bytes(SHMEM_TEAM_WORLD, 300000);
    for (int i = 0; i < 1000; i++) {
        shmem_sync_all();
        shmem_barrier_all();
    }
    return check_end();
}
