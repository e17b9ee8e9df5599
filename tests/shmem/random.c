/* pes: 1 2 3 5 */
/* Random operations of OpenSHMEM and MPI on the same memory, against a model: each PE has areas of its own in the memory of
 * all others, between those of the others, and knows every byte there. One word is changed by all; its sum is known.
 *
 * `random OPERATIONS SEED` does more. */
#include <mpi.h>
#include "check.h"

enum { AREA = 4096, SLICE = 203, PLACES = 3, MOST = 8 };

/* Where the areas are: in the heap, among variables with a value, among zeroed ones. Slices of PEs alternate. */
static unsigned char with_value[AREA * MOST] __attribute__((aligned(64))) = {1};
static unsigned char zeroed[AREA * MOST] __attribute__((aligned(64)));
static unsigned char *places[PLACES];
static MPI_Win windows[PLACES];
/* Of each place and each target: all bytes as this PE knows them, of its slices. */
static unsigned char *model[PLACES][MOST];
static long *sums[PLACES], added[PLACES];
static uint64_t state;

static uint64_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

static size_t below(size_t limit)
{
    return next_random() % limit;
}

/* A stretch of this PE's own bytes: where it begins, and at most how long it is. */
static size_t stretch(size_t *most)
{
    size_t slices = AREA * npes / SLICE / npes, slice = below(slices) * npes + me, offset = below(SLICE);
    *most = SLICE - offset;
    return slice * SLICE + offset;
}

/* An aligned word of it. */
static size_t word_at(size_t size)
{
    for (;;) {
        size_t most, at = stretch(&most);
        size_t up = (size - at % size) % size;
        if (up + size <= most)
            return at + up;
    }
}

#define FAILED_AT(what) CHECK_FAILED("%s: place %d, PE %d, byte %zu", what, place, pe, at)

static void bytes(int place, int pe)
{
    size_t most, at = stretch(&most), length = 1 + below(most);
    unsigned char *known = model[place][pe] + at, buffer[SLICE];
    switch (below(6)) {
    case 0:
    case 1:
        for (size_t i = 0; i < length; i++)
            buffer[i] = (unsigned char)next_random();
        memcpy(known, buffer, length);
        if (below(2))
            shmem_putmem(places[place] + at, buffer, length, pe);
        else
            MPI_Put(buffer, (int)length, MPI_BYTE, pe, (MPI_Aint)at, (int)length, MPI_BYTE, windows[place]);
        break;
    case 2:
        shmem_getmem(buffer, places[place] + at, length, pe);
        if (memcmp(buffer, known, length))
            FAILED_AT("get");
        break;
    case 3:
        MPI_Get(buffer, (int)length, MPI_BYTE, pe, (MPI_Aint)at, (int)length, MPI_BYTE, windows[place]);
        MPI_Win_flush(pe, windows[place]);
        if (memcmp(buffer, known, length))
            FAILED_AT("MPI_Get");
        break;
    case 4: {
        /* with gaps */
        ptrdiff_t there = 1 + (ptrdiff_t)below(4), here = 1 + (ptrdiff_t)below(3);
        size_t count = (most - 1) / there + 1;
        if (count * here > SLICE)
            count = SLICE / here;
        for (size_t i = 0; i < count; i++) {
            buffer[i * here] = (unsigned char)next_random();
            known[i * there] = buffer[i * here];
        }
        shmem_schar_iput((signed char *)places[place] + at, (signed char *)buffer, there, here, count, pe);
        break;
    }
    default: {
        ptrdiff_t there = 3 + (ptrdiff_t)below(4);
        size_t blocks = most < 3 ? 0 : (most - 3) / there + 1;
        shmem_ibget8(buffer, places[place] + at, 3, there, 3, blocks, pe);
        for (size_t i = 0; i < 3 * blocks; i++)
            if (buffer[i] != known[i / 3 * there + i % 3]) {
                FAILED_AT("ibget");
                break;
            }
    }
    }
}

#define ATOMIC(TYPE, NAME, MPI_TYPE)                                                                            \
    {                                                                                                           \
        size_t at = word_at(sizeof(TYPE));                                                                      \
        TYPE known, by = (TYPE)next_random(), old = 0, *word = (TYPE *)(places[place] + at), new = 0;           \
        memcpy(&known, model[place][pe] + at, sizeof known);                                                    \
        MPI_Win window = windows[place];                                                                        \
        TYPE compare = below(2) ? known : (TYPE)(known + 1);                                                    \
        switch (below(9)) {                                                                                     \
        case 0: new = known + by; old = shmem_##NAME##_atomic_fetch_add(word, by, pe); break;                   \
        case 1: new = known ^ by; old = shmem_##NAME##_atomic_fetch_xor(word, by, pe); break;                   \
        case 2: new = by; old = shmem_##NAME##_atomic_swap(word, by, pe); break;                                \
        case 3: new = known == compare ? by : known;                                                            \
            old = shmem_##NAME##_atomic_compare_swap(word, compare, by, pe); break;                             \
        case 4: new = known; old = shmem_##NAME##_g(word, pe); break;                                           \
        case 5: new = known + by;                                                                               \
            MPI_Fetch_and_op(&by, &old, MPI_TYPE, pe, (MPI_Aint)at, MPI_SUM, window);                           \
            MPI_Win_flush(pe, window); break;                                                                   \
        case 6: new = known == compare ? by : known;                                                            \
            MPI_Compare_and_swap(&by, &compare, &old, MPI_TYPE, pe, (MPI_Aint)at, window);                      \
            MPI_Win_flush(pe, window); break;                                                                   \
        case 7: new = known | by; old = known;                                                                  \
            MPI_Accumulate(&by, 1, MPI_TYPE, pe, (MPI_Aint)at, 1, MPI_TYPE, MPI_BOR, window); break;            \
        default: new = by; old = known; shmem_##NAME##_atomic_set(word, by, pe); break;                         \
        }                                                                                                       \
        if (old != known)                                                                                       \
            FAILED_AT("an atomic operation on " #TYPE);                                                         \
        memcpy(model[place][pe] + at, &new, sizeof new);                                                        \
    }

static void common(int place)
{
    long by = (long)below(1000);
    added[place] += by;
    if (below(2))
        shmem_long_atomic_add(sums[place], by, 0);
    else
        MPI_Accumulate(&by, 1, MPI_LONG, 0, (unsigned char *)sums[place] - places[place], 1, MPI_LONG, MPI_SUM,
                       windows[place]);
}

static void check_all(void)
{
    unsigned char back[SLICE];
    for (int place = 0; place < PLACES; place++)
        for (int pe = 0; pe < npes; pe++)
            for (size_t at = me * SLICE; at + SLICE <= (size_t)(AREA / SLICE) * SLICE * npes; at += SLICE * npes) {
                shmem_getmem(back, places[place] + at, SLICE, pe);
                if (memcmp(back, model[place][pe] + at, SLICE))
                    FAILED_AT("at the end");
            }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_begin();
    if (npes > MOST)
        shmem_global_exit(1);
    int is_slow = getenv("SERRIED_COPY") || getenv("SERRIED_NODES");
    long operations = argc > 1 ? atol(argv[1]) : is_slow ? 600 : 20000;
    state = (argc > 2 ? (uint64_t)atol(argv[2]) : 1) * 1000003u + (uint64_t)me;
    size_t all = (size_t)AREA * npes;
    places[0] = shmem_align(64, all);
    places[1] = with_value;
    places[2] = zeroed;
    for (int place = 0; place < PLACES; place++) {
        memset(places[place], 0, all);
        MPI_Win_create(places[place], (MPI_Aint)all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[place]);
        MPI_Win_lock_all(0, windows[place]);
        for (int pe = 0; pe < npes; pe++)
            model[place][pe] = calloc(1, all);
        /* the last bytes are nobody's */
        sums[place] = (long *)(places[place] + all - sizeof(long));
    }
    shmem_barrier_all();
    for (long i = 0; i < operations && check_failures < 5; i++) {
        int place = (int)below(PLACES), pe = (int)below(npes);
        switch (below(8)) {
        case 0:
            ATOMIC(uint32_t, uint32, MPI_UINT32_T)
            break;
        case 1:
        case 2:
            ATOMIC(uint64_t, uint64, MPI_UINT64_T)
            break;
        case 3:
            common(place);
            break;
        default:
            bytes(place, pe);
        }
    }
    for (int place = 0; place < PLACES; place++)
        MPI_Win_flush_all(windows[place]);
    shmem_barrier_all();
    check_all();
    for (int place = 0; place < PLACES; place++) {
        long total;
        MPI_Allreduce(&added[place], &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (me == 0)
            CHECK_EQUAL(*sums[place], total);
        MPI_Win_unlock_all(windows[place]);
        MPI_Win_free(&windows[place]);
    }
    MPI_Finalize();
    return check_end();
}
