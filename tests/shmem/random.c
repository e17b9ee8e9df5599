/* pes: 1 2 3 5 */
/* Random operations of OpenSHMEM and MPI on the same memory, against a model: each PE has areas of its own in the memory of
 * all others, between those of the others, and knows every byte there. One word is changed by all; its sum is known.
 * Windows come and go meanwhile, PEs fork, and use the memory beside that of the windows.
 *
 * `random OPERATIONS SEED` does more. */
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

enum { AREA = 4096, SLICE = 203, MOST = 8, BESIDE = 100, TIMES = 12 };

/* Where the areas are: in the heap, among variables with a value, among zeroed ones; in blocks of malloc, which OpenSHMEM
 * does not reach, of a window and attached to one. Slices of PEs alternate. */
enum { HEAP, WITH_VALUE, ZEROED, OF_MALLOC, ATTACHED, PLACES };
static unsigned char with_value[AREA * MOST] __attribute__((aligned(64))) = {1};
static unsigned char zeroed[AREA * MOST] __attribute__((aligned(64)));
static unsigned char *places[PLACES];
static MPI_Win windows[PLACES];
/* From a byte of a place to the displacement in the window of a PE. */
static MPI_Aint begins[PLACES][MOST];
/* The program's own: blocks of malloc before and after the others, and what they have. */
static unsigned char *beside[2], known_beside[2][BESIDE];
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

static int is_symmetric(int place)
{
    return place < OF_MALLOC;
}

#define FAILED_AT(what) CHECK_FAILED("%s: place %d, PE %d, byte %zu", what, place, pe, at)

static void bytes(int place, int pe)
{
    size_t most, at = stretch(&most), length = 1 + below(most);
    unsigned char *known = model[place][pe] + at, buffer[SLICE];
    MPI_Aint there = begins[place][pe] + (MPI_Aint)at;
    switch (below(is_symmetric(place) ? 6 : 3)) {
    case 0:
    case 1:
        for (size_t i = 0; i < length; i++)
            buffer[i] = (unsigned char)next_random();
        memcpy(known, buffer, length);
        if (is_symmetric(place) && below(2))
            shmem_putmem(places[place] + at, buffer, length, pe);
        else
            MPI_Put(buffer, (int)length, MPI_BYTE, pe, there, (int)length, MPI_BYTE, windows[place]);
        break;
    case 3:
        shmem_getmem(buffer, places[place] + at, length, pe);
        if (memcmp(buffer, known, length))
            FAILED_AT("get");
        break;
    case 2:
        MPI_Get(buffer, (int)length, MPI_BYTE, pe, there, (int)length, MPI_BYTE, windows[place]);
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
        MPI_Aint there = begins[place][pe] + (MPI_Aint)at;                                                      \
        TYPE compare = below(2) ? known : (TYPE)(known + 1);                                                    \
        switch (is_symmetric(place) ? below(9) : 5 + below(3)) {                                                                                    \
        case 0: new = known + by; old = shmem_##NAME##_atomic_fetch_add(word, by, pe); break;                   \
        case 1: new = known ^ by; old = shmem_##NAME##_atomic_fetch_xor(word, by, pe); break;                   \
        case 2: new = by; old = shmem_##NAME##_atomic_swap(word, by, pe); break;                                \
        case 3: new = known == compare ? by : known;                                                            \
            old = shmem_##NAME##_atomic_compare_swap(word, compare, by, pe); break;                             \
        case 4: new = known; old = shmem_##NAME##_g(word, pe); break;                                           \
        case 5: new = known + by;                                                                               \
            MPI_Fetch_and_op(&by, &old, MPI_TYPE, pe, there, MPI_SUM, window);                          \
            MPI_Win_flush(pe, window); break;                                                                   \
        case 6: new = known == compare ? by : known;                                                            \
            MPI_Compare_and_swap(&by, &compare, &old, MPI_TYPE, pe, there, window);                      \
            MPI_Win_flush(pe, window); break;                                                                   \
        case 7: new = known | by; old = known;                                                                  \
            MPI_Accumulate(&by, 1, MPI_TYPE, pe, there, 1, MPI_TYPE, MPI_BOR, window); break;            \
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
    if (is_symmetric(place) && below(2))
        shmem_long_atomic_add(sums[place], by, 0);
    else
        MPI_Accumulate(&by, 1, MPI_LONG, 0, begins[place][0] + ((unsigned char *)sums[place] - places[place]), 1, MPI_LONG,
                       MPI_SUM, windows[place]);
}

/* Some words of a stretch, in a row or with gaps between them. */
static void words(int place, int pe)
{
    size_t most, at = stretch(&most), up = (8 - at % 8) % 8, stride = 1 + below(3);
    if (up + 8 > most)
        return;
    at += up;
    int count = 1 + (int)below(((most - up) / 8 - 1) / stride + 1), fetches = below(2);
    uint64_t by[SLICE / 8], old[SLICE / 8];
    MPI_Aint there = begins[place][pe] + (MPI_Aint)at;
    MPI_Datatype type;
    MPI_Type_vector(count, 1, (int)stride, MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < count; i++)
        by[i] = next_random();
    if (fetches) {
        MPI_Get_accumulate(by, count, MPI_UINT64_T, old, count, MPI_UINT64_T, pe, there, 1, type, MPI_SUM, windows[place]);
        MPI_Win_flush(pe, windows[place]);
    } else {
        MPI_Accumulate(by, count, MPI_UINT64_T, pe, there, 1, type, MPI_SUM, windows[place]);
    }
    MPI_Type_free(&type);
    for (int i = 0; i < count; i++) {
        unsigned char *known = model[place][pe] + at + 8 * stride * i;
        uint64_t word;
        memcpy(&word, known, 8);
        if (fetches && word != old[i])
            FAILED_AT("MPI_Get_accumulate of words");
        word += by[i];
        memcpy(known, &word, 8);
    }
}

/* The program uses its own memory, beside that of the windows. */
static void use_beside(void)
{
    int which = (int)below(2);
    size_t at = below(BESIDE);
    if (beside[which][at] != known_beside[which][at])
        CHECK_FAILED("byte %zu beside a window has changed", at);
    beside[which][at] = known_beside[which][at] = (unsigned char)next_random();
    free(malloc(below(1000)));
}

/* A child has memory of its own where windows have what is not theirs alone. */
static void fork_child(void)
{
    unsigned char was = known_beside[0][7];
    pid_t child = fork();
    if (child == 0) {
        int same = memcmp(beside[0], known_beside[0], BESIDE) == 0;
        memset(beside[0], was + 1, BESIDE);
        for (int place = WITH_VALUE; place < PLACES; place++)
            memset(places[place], 77, (size_t)AREA * npes);
        _exit(same ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(memcmp(beside[0], known_beside[0], BESIDE) == 0);
}

static void open_window(int place)
{
    MPI_Aint all = (MPI_Aint)AREA * npes, mine = 0;
    if (place == ATTACHED) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &windows[place]);
        MPI_Win_attach(windows[place], places[place], all);
        MPI_Get_address(places[place], &mine);
    } else {
        MPI_Win_create(places[place], all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[place]);
    }
    MPI_Allgather(&mine, 1, MPI_AINT, begins[place], 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, windows[place]);
}

static void close_window(int place)
{
    MPI_Win_unlock_all(windows[place]);
    if (place == ATTACHED && below(2))
        MPI_Win_detach(windows[place], places[place]);
    MPI_Win_free(&windows[place]);
}

static uint64_t sum_of(const unsigned char *bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < (size_t)AREA * npes; i++)
        sum = sum * 31 + bytes[i];
    return sum;
}

/* The windows go, and others come in their place. `all` says the same in all PEs. */
static void renew(uint64_t all)
{
    for (int place = 0; place < PLACES; place++)
        MPI_Win_flush_all(windows[place]);
    shmem_barrier_all();
    for (int turn = 0; turn < PLACES; turn++) {
        int place = (int)((turn + all) % PLACES);
        uint64_t sum = sum_of(places[place]);
        shmem_barrier_all();
        close_window(place);
        CHECK(sum_of(places[place]) == sum);
        use_beside();
        open_window(place);
        CHECK(sum_of(places[place]) == sum);
        shmem_barrier_all();
    }
}

static void check_all(void)
{
    unsigned char back[SLICE];
    for (int place = 0; place < PLACES; place++)
        for (int pe = 0; pe < npes; pe++)
            for (size_t at = me * SLICE; at + SLICE <= (size_t)(AREA / SLICE) * SLICE * npes; at += SLICE * npes) {
                MPI_Get(back, SLICE, MPI_BYTE, pe, begins[place][pe] + (MPI_Aint)at, SLICE, MPI_BYTE, windows[place]);
                MPI_Win_flush(pe, windows[place]);
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
    places[HEAP] = shmem_align(64, all);
    places[WITH_VALUE] = with_value;
    places[ZEROED] = zeroed;
    beside[0] = calloc(1, BESIDE);
    places[OF_MALLOC] = malloc(all);
    places[ATTACHED] = malloc(all);
    beside[1] = calloc(1, BESIDE);
    for (int place = 0; place < PLACES; place++) {
        memset(places[place], 0, all);
        open_window(place);
        for (int pe = 0; pe < npes; pe++)
            model[place][pe] = calloc(1, all);
        /* the last bytes are nobody's */
        sums[place] = (long *)(places[place] + all - sizeof(long));
    }
    shmem_barrier_all();
    long between = operations / TIMES + 1;
    for (long i = 0; i < operations; i++) {
        int place = (int)below(PLACES), pe = (int)below(npes);
        if (i % between == between - 1)
            renew((uint64_t)(i / between));
        if (check_failures >= 5)
            continue;
        if (below(between) == 0)
            fork_child();
        switch (below(10)) {
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
        case 4:
            words(place, pe);
            break;
        case 5:
            use_beside();
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
        close_window(place);
    }
    MPI_Finalize();
    return check_end();
}
