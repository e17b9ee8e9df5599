/* ranks: 1 2 4
 * Random operations of all kinds against a model that does them one after the other: each rank has a part of the memory of
 * every rank for itself, and all have another part in which they only add. An argument is the number of operations
 * of each rank (3000), a second one the seed. */
#include "armci_check.h"

#define PART 2048  /* bytes of each rank in the memory of each rank */
#define COMMON 64  /* longs that all add to */

static char **base;
static char model[RANKS][PART]; /* what is in my part at each rank */
static long added[RANKS][COMMON];
static unsigned long state;

static int below(int limit)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (int)((state >> 33) % (unsigned long)limit);
}

static char *part(int proc)
{
    return base[proc] + 8 * COMMON + PART * rank;
}

/* Pieces in up to three levels, that lie within a part on both sides and do not overlap there. */
struct shape {
    int levels, count[4], here_by[3], there_by[3], here, there, step;
};

static struct shape some_shape(int unit)
{
    struct shape s = {.step = unit};
    int here = unit * (1 + below(8)), there;
    s.levels = below(4);
    s.count[0] = there = here;
    for (int level = 1; level <= s.levels; level++) {
        s.count[level] = 1 + below(4);
        s.here_by[level - 1] = here + unit * below(3);
        s.there_by[level - 1] = there + unit * below(3);
        here = s.here_by[level - 1] * s.count[level];
        there = s.there_by[level - 1] * s.count[level];
    }
    if (here > PART || there > PART)
        return some_shape(unit);
    s.here = unit * below((PART - here) / unit + 1);
    s.there = unit * below((PART - there) / unit + 1);
    return s;
}

static int pieces_of(const struct shape *s)
{
    int pieces = 1;
    for (int level = 1; level <= s->levels; level++)
        pieces *= s->count[level];
    return pieces;
}

static int offset(const struct shape *s, const int by[], int first, int index)
{
    for (int level = 1; level <= s->levels; level++) {
        first += by[level - 1] * (index % s->count[level]);
        index /= s->count[level];
    }
    return first;
}

static char here[PART], expected[PART];

static void put_or_get(int proc, int get)
{
    struct shape s = some_shape(1 + below(9));
    char *near = here + s.here, *far = part(proc) + s.there;
    int pieces = pieces_of(&s);
    void *nears[64], *fars[64];
    for (int i = 0; i < pieces; i++) {
        nears[i] = here + offset(&s, s.here_by, s.here, i);
        fars[i] = part(proc) + offset(&s, s.there_by, s.there, i);
    }
    armci_giov_t vector = get ? (armci_giov_t){fars, nears, s.count[0], pieces} : (armci_giov_t){nears, fars, s.count[0], pieces};
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    for (int i = 0; i < PART; i++)
        here[i] = (char)below(256);
    memcpy(expected, here, PART);
    for (int i = 0; i < pieces; i++) {
        char *m = model[proc] + offset(&s, s.there_by, s.there, i), *h = offset(&s, s.here_by, s.here, i) + (get ? expected : here);
        get ? memcpy(h, m, s.count[0]) : memcpy(m, h, s.count[0]);
    }
    int way = below(s.levels == 0 ? 6 : 4), failed;
    if (get)
        failed = way == 0   ? ARMCI_GetS(far, s.there_by, near, s.here_by, s.count, s.levels, proc)
                 : way == 1 ? ARMCI_NbGetS(far, s.there_by, near, s.here_by, s.count, s.levels, proc, &handle)
                 : way == 2 ? ARMCI_GetV(&vector, 1, proc)
                 : way == 3 ? ARMCI_NbGetV(&vector, 1, proc, &handle)
                 : way == 4 ? ARMCI_Get(far, near, s.count[0], proc)
                            : ARMCI_NbGet(far, near, s.count[0], proc, &handle);
    else
        failed = way == 0   ? ARMCI_PutS(near, s.here_by, far, s.there_by, s.count, s.levels, proc)
                 : way == 1 ? ARMCI_NbPutS(near, s.here_by, far, s.there_by, s.count, s.levels, proc, &handle)
                 : way == 2 ? ARMCI_PutV(&vector, 1, proc)
                 : way == 3 ? ARMCI_NbPutV(&vector, 1, proc, &handle)
                 : way == 4 ? ARMCI_Put(near, far, s.count[0], proc)
                            : ARMCI_NbPut(near, far, s.count[0], proc, &handle);
    CHECK_EQUAL(failed, 0);
    if (below(2))
        CHECK_EQUAL(ARMCI_Wait(&handle), 0);
    else
        CHECK_EQUAL(ARMCI_WaitProc(proc) + ARMCI_Wait(&handle), 0);
    CHECK(memcmp(here, expected, PART) == 0);
}

/* Integers that fit doubles, so that sums are exact in any order. */
static void add(int proc)
{
    int wide = below(2);
    struct shape s = some_shape(8);
    char *near = here + s.here, *far = part(proc) + s.there;
    double factor = 1 + below(3);
    long long_factor = 1 + below(3);
    void *scale = wide ? (void *)&long_factor : &factor;
    int kind = wide ? ARMCI_ACC_LNG : ARMCI_ACC_DBL, pieces = pieces_of(&s);
    void *nears[64], *fars[64];
    /* Numbers of the type in question first: what lies there are random bytes. */
    double fresh[PART / 8];
    for (int i = 0; i < PART / 8; i++)
        wide ? (void)(((long *)fresh)[i] = below(1000)) : (void)(fresh[i] = below(1000));
    CHECK_EQUAL(ARMCI_Put(fresh, part(proc), PART, proc), 0);
    memcpy(model[proc], fresh, PART);
    for (int i = 0; i < PART / 8; i++)
        wide ? (void)(((long *)here)[i] = below(1000)) : (void)(((double *)here)[i] = below(1000));
    for (int i = 0; i < pieces; i++) {
        int m = offset(&s, s.there_by, s.there, i), h = offset(&s, s.here_by, s.here, i);
        nears[i] = here + h;
        fars[i] = part(proc) + m;
        for (int j = 0; j < s.count[0]; j += 8)
            if (wide)
                *(long *)(model[proc] + m + j) += long_factor * *(long *)(here + h + j);
            else
                *(double *)(model[proc] + m + j) += factor * *(double *)(here + h + j);
    }
    armci_giov_t vector = {nears, fars, s.count[0], pieces};
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    switch (below(4)) {
    case 0: ARMCI_AccS(kind, scale, near, s.here_by, far, s.there_by, s.count, s.levels, proc); break;
    case 1: ARMCI_NbAccS(kind, scale, near, s.here_by, far, s.there_by, s.count, s.levels, proc, &handle); break;
    case 2: ARMCI_AccV(kind, scale, &vector, 1, proc); break;
    default: ARMCI_NbAccV(kind, scale, &vector, 1, proc, &handle);
    }
    ARMCI_Wait(&handle);
}

/* A word of my own, and words of all. */
static void atomic(int proc)
{
    int word = below(PART / 8), value = below(1000) - 500;
    long was = below(1000), *mine = (long *)(model[proc] + 8 * word);
    char *there = part(proc) + 8 * word;
    if (below(2)) {
        long before = *mine, given = was;
        if (below(2)) {
            CHECK_EQUAL(ARMCI_Rmw(ARMCI_SWAP_LONG, &was, there, 0, proc), 0);
            *mine = given;
        } else {
            CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &was, there, value, proc), 0);
            *mine = (long)((unsigned long)before + (long)value);
        }
        CHECK_EQUAL(was, before);
        return;
    }
    word = below(COMMON);
    long one = value, many[COMMON];
    if (below(2)) {
        CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &was, base[proc] + 8 * word, value, proc), 0);
        added[proc][word] += value;
    } else {
        int number = 1 + below(COMMON - word);
        for (int i = 0; i < number; i++)
            added[proc][word + i] += one * (many[i] = below(100));
        CHECK_EQUAL(ARMCI_Acc(ARMCI_ACC_LNG, &one, many, base[proc] + 8 * word, 8 * number, proc), 0);
    }
}

int main(int argc, char **argv)
{
    armci_begin(&argc, &argv);
    int operations = argc > 1 ? atoi(argv[1]) : is_asked_for() ? 200 : 3000;
    state = (argc > 2 ? atoi(argv[2]) : 1) * 1000 + rank;
    base = allocated(8 * COMMON + PART * size);
    for (int done = 0; done < operations; done++) {
        int proc = below(size), kind = below(10);
        if (kind < 3)
            put_or_get(proc, 0);
        else if (kind < 6)
            put_or_get(proc, 1);
        else if (kind < 8)
            add(proc);
        else
            atomic(proc);
        if (check_failures) {
            fprintf(stderr, "operation %d of rank %d is the first that is wrong\n", done, rank);
            break;
        }
    }
    ARMCI_Barrier();
    for (int proc = 0; proc < size; proc++) {
        CHECK_EQUAL(ARMCI_Get(part(proc), here, PART, proc), 0);
        CHECK(memcmp(here, model[proc], PART) == 0);
        armci_msg_lgop(added[proc], COMMON, "+");
    }
    for (int word = 0; word < COMMON; word++)
        CHECK_EQUAL(long_at(base[rank] + 8 * word, rank), added[rank][word]);
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
    return armci_end();
}
