/* ranks: 1 2 4
 * Puts, gets and accumulates of all shapes: one piece, strides in up to eight levels, vectors; blocking, nonblocking with
 * handles and without, values, flags. What comes is compared with a plain loop. */
#include "armci_check.h"

#define BYTES 20000

static char **base;
static int right;

static void settle(void)
{
    ARMCI_Barrier();
}

/* An array of so many dimensions of doubles; pieces of it go to an array of another shape. */
struct layout {
    int levels;
    int count[9], here_by[8], there_by[8];
};

/* The address of piece number `index` on one side. */
static char *piece(char *first, const struct layout *l, const int by[], long index)
{
    for (int level = 1; level <= l->levels; level++) {
        first += (long)by[level - 1] * (index % l->count[level]);
        index /= l->count[level];
    }
    return first;
}

static long pieces_of(const struct layout *l)
{
    long pieces = 1;
    for (int level = 1; level <= l->levels; level++)
        pieces *= l->count[level];
    return pieces;
}

static const struct layout LAYOUTS[] = {
    {0, {40}, {0}, {0}},
    {1, {16, 5}, {16}, {16}},                              /* without gaps */
    {1, {8, 30}, {24}, {40}},
    {2, {24, 4, 3}, {32, 200}, {24, 96}},
    {2, {8, 1, 7}, {-5, 16}, {12345, 80}},                 /* a stride that is not used */
    {3, {16, 2, 3, 4}, {16, 64, 256}, {48, 16, 400}},      /* dimensions change their places */
    {2, {8, 0, 3}, {8, 8}, {8, 8}},                        /* nothing */
    {8, {8, 2, 1, 2, 1, 2, 1, 2, 2}, {16, 9, 32, 9, 64, 9, 128, 256}, {8, 7, 24, 7, 56, 7, 120, 300}},
};
#define NUMBER_OF_LAYOUTS (int)(sizeof LAYOUTS / sizeof LAYOUTS[0])

static void strided(const struct layout *given, int way)
{
    struct layout l = *given;
    static char here[BYTES], back[BYTES], expected[BYTES];
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    fill(here, sizeof here, rank);
    memset(base[rank], 0, BYTES);
    memset(back, 0, sizeof back);
    settle();
    char *there = base[right];
    switch (way) {
    case 0:
        CHECK_EQUAL(ARMCI_PutS(here, l.here_by, there, l.there_by, l.count, l.levels, right), 0);
        break;
    case 1:
        CHECK_EQUAL(ARMCI_NbPutS(here, l.here_by, there, l.there_by, l.count, l.levels, right, &handle), 0);
        CHECK_EQUAL(ARMCI_Wait(&handle), 0);
        CHECK_EQUAL(ARMCI_Test(&handle), 0);
        break;
    default:
        CHECK_EQUAL(ARMCI_NbPutS(here, l.here_by, there, l.there_by, l.count, l.levels, right, NULL), 0);
        CHECK_EQUAL(ARMCI_WaitAll(), 0);
    }
    settle();
    int left = (rank + size - 1) % size;
    memset(expected, 0, sizeof expected);
    static char theirs[BYTES];
    fill(theirs, sizeof theirs, left);
    for (long i = 0; i < pieces_of(&l); i++)
        memcpy(piece(expected, &l, l.there_by, i), piece(theirs, &l, l.here_by, i), l.count[0]);
    CHECK(memcmp(base[rank], expected, BYTES) == 0);
    settle();
    /* And back again: strides of the remote side come first in a get. */
    if (way == 0)
        CHECK_EQUAL(ARMCI_GetS(there, l.there_by, back, l.here_by, l.count, l.levels, right), 0);
    else
        CHECK_EQUAL(ARMCI_NbGetS(there, l.there_by, back, l.here_by, l.count, l.levels, right, way == 1 ? &handle : NULL), 0);
    CHECK_EQUAL(ARMCI_WaitProc(right), 0);
    memset(expected, 0, sizeof expected);
    for (long i = 0; i < pieces_of(&l); i++)
        memcpy(piece(expected, &l, l.here_by, i), piece(here, &l, l.here_by, i), l.count[0]);
    CHECK(memcmp(back, expected, BYTES) == 0);
    /* Packed and unpacked locally. */
    static char packed[BYTES], unpacked[BYTES];
    memset(unpacked, 0, sizeof unpacked);
    armci_write_strided(here, l.levels, l.here_by, l.count, packed);
    for (long i = 0; i < pieces_of(&l); i++)
        CHECK(memcmp(packed + i * l.count[0], piece(here, &l, l.here_by, i), l.count[0]) == 0);
    armci_read_strided(unpacked, l.levels, l.here_by, l.count, packed);
    CHECK(memcmp(unpacked, expected, BYTES) == 0);
    settle();
}

static void vectors(int bytes, int pieces)
{
    void *here[300], *there[300], *back[300];
    static char data[BYTES], got[BYTES];
    fill(data, sizeof data, 3 * rank);
    memset(base[rank], 0, BYTES);
    settle();
    for (int i = 0; i < pieces; i++) {
        here[i] = data + i * (bytes + 3);
        there[i] = base[right] + (pieces - 1 - i) * (bytes + 5);
        back[i] = got + i * (bytes + 3);
    }
    armci_giov_t put[2] = {{here, there, bytes, pieces}, {NULL, NULL, 8, 0}}, get = {there, back, bytes, pieces};
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    ARMCI_SET_AGGREGATE_HANDLE(&handle);
    CHECK_EQUAL(pieces % 2 ? ARMCI_PutV(put, 2, right) : ARMCI_NbPutV(put, 2, right, &handle), 0);
    CHECK_EQUAL(ARMCI_Wait(&handle), 0);
    ARMCI_UNSET_AGGREGATE_HANDLE(&handle);
    CHECK_EQUAL(pieces % 2 ? ARMCI_GetV(&get, 1, right) : ARMCI_NbGetV(&get, 1, right, NULL), 0);
    CHECK_EQUAL(ARMCI_WaitAll(), 0);
    for (int i = 0; i < pieces; i++)
        CHECK(memcmp(back[i], here[i], bytes) == 0);
    settle();
    static char theirs[BYTES];
    fill(theirs, sizeof theirs, 3 * ((rank + size - 1) % size));
    for (int i = 0; i < pieces; i++)
        CHECK(memcmp(base[rank] + (pieces - 1 - i) * (bytes + 5), theirs + i * (bytes + 3), bytes) == 0);
    settle();
}

/* A vector whose pieces lie in several allocations. */
static void scattered_wide(void)
{
    void *other[RANKS];
    CHECK_EQUAL(ARMCI_Malloc(other, 800), 0);
    long values[20];
    void *here[20], *there[20];
    for (int i = 0; i < 20; i++) {
        values[i] = 100 * rank + i;
        here[i] = values + i;
        there[i] = (i % 2 ? (char *)other[right] : base[right]) + 8 * i;
    }
    armci_giov_t vector = {here, there, 8, 20};
    CHECK_EQUAL(ARMCI_PutV(&vector, 1, right), 0);
    for (int i = 0; i < 20; i++)
        CHECK_EQUAL(long_at(there[i], right), 100 * rank + i);
    settle();
    CHECK_EQUAL(ARMCI_Free(other[rank]), 0);
}

static void values_and_flags(void)
{
    memset(base[rank], 0, BYTES);
    settle();
    char *there = base[right];
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    CHECK_EQUAL(ARMCI_PutValueInt(-5 - rank, there, right), 0);
    CHECK_EQUAL(ARMCI_PutValueLong(1L << 40, there + 8, right), 0);
    CHECK_EQUAL(ARMCI_PutValueFloat(1.5f, there + 16, right), 0);
    CHECK_EQUAL(ARMCI_PutValueDouble(-2.25, there + 24, right), 0);
    CHECK_EQUAL(ARMCI_NbPutValueInt(6, there + 32, right, &handle), 0);
    CHECK_EQUAL(ARMCI_NbPutValueLong(7, there + 40, right, NULL), 0);
    CHECK_EQUAL(ARMCI_NbPutValueFloat(8, there + 48, right, &handle), 0);
    CHECK_EQUAL(ARMCI_NbPutValueDouble(9, there + 56, right, &handle), 0);
    CHECK_EQUAL(ARMCI_Wait(&handle), 0);
    CHECK_EQUAL(ARMCI_GetValueInt(there, right), -5 - rank);
    CHECK_EQUAL(ARMCI_GetValueLong(there + 8, right), 1L << 40);
    CHECK(ARMCI_GetValueFloat(there + 16, right) == 1.5f);
    CHECK(ARMCI_GetValueDouble(there + 24, right) == -2.25);
    CHECK_EQUAL(ARMCI_GetValueInt(there + 32, right), 6);
    CHECK_EQUAL(ARMCI_GetValueLong(there + 40, right), 7);
    CHECK(ARMCI_GetValueFloat(there + 48, right) == 8);
    CHECK(ARMCI_GetValueDouble(there + 56, right) == 9);
    settle();
    /* Whoever sees the flag sees what was put before. */
    int *flag = (int *)(base[rank] + 16000), *flag_there = (int *)(base[right] + 16000);
    char data[4000];
    for (int round = 1; round <= 20; round++) {
        fill(data, sizeof data, round);
        if (round % 2)
            CHECK_EQUAL(ARMCI_Put_flag(data, there, sizeof data, flag_there, round, right), 0);
        else {
            int count[2] = {40, 100}, by = 40;
            CHECK_EQUAL(ARMCI_PutS_flag(data, &by, there, &by, count, 1, flag_there, round, right), 0);
        }
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != round)
            ARMCIX_Progress();
        CHECK_FILLED(base[rank], sizeof data, round);
        settle();
    }
}

int main(int argc, char **argv)
{
    armci_begin(&argc, &argv);
    base = allocated(BYTES);
    right = (rank + 1) % size;
    for (int layout = 0; layout < NUMBER_OF_LAYOUTS; layout++)
        for (int way = 0; way < 3; way++)
            strided(&LAYOUTS[layout], way);
    for (int pieces = 1; pieces <= 300; pieces = pieces * 3 + 1)
        for (int bytes = 1; bytes <= 16; bytes *= 2)
            vectors(bytes, pieces);
    scattered_wide();
    values_and_flags();
    /* Nothing to do is nothing wrong. */
    CHECK_EQUAL(ARMCI_Put(NULL, NULL, 0, right), 0);
    CHECK_EQUAL(ARMCI_PutV(NULL, 0, right), 0);
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
    return armci_end();
}
