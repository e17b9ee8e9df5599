/* ranks: 1 2 3 4 8
 * Patches of arrays of one to four dimensions and every type: put, get, accumulate; blocking, with up to 200 handles at a
 * time, with strides, beyond the edges of a periodic array. */
#include "ga_check.h"

#define MOST 4
#define ROOM 20000

static const int SHAPES[MOST][MOST] = {{997}, {61, 37}, {19, 13, 11}, {11, 7, 9, 5}};

static long place_of(int n, const int dims[], const int at[])
{
    long place = 0;
    for (int i = 0; i < n; i++)
        place = place * dims[i] + at[i];
    return place;
}

/* Steps to the next place of a patch, the last dimension first; 0 after the last one. */
static int next(int n, const int lo[], const int hi[], int at[])
{
    for (int i = n - 1; i >= 0; i--) {
        if (at[i]++ < hi[i])
            return 1;
        at[i] = lo[i];
    }
    return 0;
}

static void some_patch(int n, const int dims[], int lo[], int hi[], int ld[])
{
    for (int i = 0; i < n; i++) {
        lo[i] = below(dims[i]);
        hi[i] = lo[i] + below(dims[i] - lo[i]);
        if (i > 0)
            ld[i - 1] = hi[i] - lo[i] + 1 + below(3);
    }
}

/* Where an element of a patch lies in a buffer with leading dimensions. */
static long in_buffer(int n, const int lo[], const int ld[], const int at[])
{
    long place = at[0] - lo[0];
    for (int i = 1; i < n; i++)
        place = place * ld[i - 1] + at[i] - lo[i];
    return place;
}

#define TYPE(NAME, NUMBER, GA_TYPE, MAKE, SAME)                                                             \
    static NUMBER NAME##_buffer[ROOM];                                                                      \
    static void NAME##_fill(int array, int n, int dims[])                                                   \
    {                                                                                                       \
        /* Each rank puts some rows. */                                                                     \
        int lo[MOST] = {0}, hi[MOST], ld[MOST], at[MOST];                                                   \
        lo[0] = dims[0] * rank / size;                                                                      \
        hi[0] = dims[0] * (rank + 1) / size - 1;                                                            \
        for (int i = 1; i < n; i++) {                                                                       \
            lo[i] = 0, hi[i] = dims[i] - 1, ld[i - 1] = dims[i];                                            \
        }                                                                                                   \
        if (hi[0] >= lo[0]) {                                                                               \
            memcpy(at, lo, sizeof at);                                                                      \
            do                                                                                              \
                NAME##_buffer[in_buffer(n, lo, ld, at)] = MAKE(place_of(n, dims, at));                      \
            while (next(n, lo, hi, at));                                                                    \
            NGA_Put(array, lo, hi, NAME##_buffer, ld);                                                      \
        }                                                                                                   \
        GA_Sync();                                                                                          \
    }                                                                                                       \
    static void NAME(int n)                                                                                 \
    {                                                                                                       \
        int dims[MOST], lo[MOST], hi[MOST], ld[MOST], at[MOST];                                             \
        memcpy(dims, SHAPES[n - 1], sizeof dims);                                                           \
        int array = new_array(GA_TYPE, n, dims, #NAME);                                                     \
        NAME##_fill(array, n, dims);                                                                        \
        for (int round = 0; round < 30; round++) {                                                          \
            ga_nbhdl_t handle;                                                                              \
            some_patch(n, dims, lo, hi, ld);                                                                \
            memset(NAME##_buffer, 0x55, sizeof NAME##_buffer);                                              \
            if (round % 2) {                                                                                \
                NGA_NbGet(array, lo, hi, NAME##_buffer, ld, &handle);                                       \
                NGA_NbWait(&handle);                                                                        \
            } else                                                                                          \
                NGA_Get(array, lo, hi, NAME##_buffer, ld);                                                  \
            memcpy(at, lo, sizeof at);                                                                      \
            int wrong = 0;                                                                                  \
            do                                                                                              \
                wrong += !SAME(NAME##_buffer[in_buffer(n, lo, ld, at)], MAKE(place_of(n, dims, at)));       \
            while (next(n, lo, hi, at));                                                                    \
            CHECK_EQUAL(wrong, 0);                                                                          \
        }                                                                                                   \
        GA_Sync();                                                                                          \
        GA_Destroy(array);                                                                                  \
    }
#define NUMBER_MAKE(place) (place)
#define NUMBER_SAME(one, other) ((one) == (other))
#define COMPLEX_MAKE(place) ((DoubleComplex){(place), -(place)})
#define COMPLEX_SAME(one, other) ((one).real == (other).real && (one).imag == (other).imag)
#define SINGLE_MAKE(place) ((SingleComplex){(place), -(place)})
TYPE(ints, int, C_INT, NUMBER_MAKE, NUMBER_SAME)
TYPE(longs, long, C_LONG, NUMBER_MAKE, NUMBER_SAME)
TYPE(floats, float, C_FLOAT, NUMBER_MAKE, NUMBER_SAME)
TYPE(doubles, double, C_DBL, NUMBER_MAKE, NUMBER_SAME)
TYPE(complexes, DoubleComplex, C_DCPL, COMPLEX_MAKE, COMPLEX_SAME)
TYPE(singles, SingleComplex, C_SCPL, SINGLE_MAKE, COMPLEX_SAME)

/* All ranks add patches, which they know of each other. */
static void accumulates(int n, int nonblocking)
{
    static double expected[ROOM], all[ROOM];
    int dims[MOST], lo[MOST], hi[MOST], ld[MOST], at[MOST], zero[MOST] = {0}, last[MOST];
    memcpy(dims, SHAPES[n - 1], sizeof dims);
    int array = new_array(C_DBL, n, dims, "accumulated");
    memset(expected, 0, sizeof expected);
    for (int who = 0; who < size; who++)
        for (int round = 0; round < 20; round++) {
            state = 1000 * who + round + 77 * n;
            some_patch(n, dims, lo, hi, ld);
            double alpha = 1 + round % 3;
            memcpy(at, lo, sizeof at);
            do {
                expected[place_of(n, dims, at)] += alpha * (who + 1);
                doubles_buffer[in_buffer(n, lo, ld, at)] = who + 1;
            } while (next(n, lo, hi, at));
            if (who != rank)
                continue;
            ga_nbhdl_t handle;
            if (nonblocking) {
                NGA_NbAcc(array, lo, hi, doubles_buffer, ld, &alpha, &handle);
                NGA_NbWait(&handle);
            } else
                NGA_Acc(array, lo, hi, doubles_buffer, ld, &alpha);
        }
    GA_Sync();
    for (int i = 0; i < n; i++) {
        last[i] = dims[i] - 1;
        ld[i > 0 ? i - 1 : 0] = dims[i];
    }
    NGA_Get(array, zero, last, all, ld);
    int wrong = 0;
    for (long place = place_of(n, dims, last); place >= 0; place--)
        wrong += all[place] != expected[place];
    CHECK_EQUAL(wrong, 0);
    GA_Sync();
    GA_Destroy(array);
}

/* Two hundred operations under way, waited for from the last one. */
static void many_handles(void)
{
    enum { MANY = 200 };
    static ga_nbhdl_t handles[MANY];
    int dims[2] = {MANY, 10 * size};
    static double rows[MANY][10];
    int array = new_array(C_DBL, 2, dims, "many");
    for (int i = 0; i < MANY; i++) {
        int lo[2] = {i, 10 * rank}, hi[2] = {i, 10 * rank + 9}, ld = 10;
        for (int j = 0; j < 10; j++)
            rows[i][j] = 1000 * rank + 10 * i + j;
        NGA_NbPut(array, lo, hi, rows[i], &ld, &handles[i]);
    }
    for (int i = MANY - 1; i >= 0; i--)
        NGA_NbWait(&handles[i]);
    GA_Sync();
    int left = (rank + 1) % size;
    for (int i = 0; i < MANY; i++) {
        int lo[2] = {i, 10 * left}, hi[2] = {i, 10 * left + 9}, ld = 10;
        NGA_NbGet(array, lo, hi, rows[i], &ld, &handles[i]);
    }
    int wrong = 0;
    for (int i = 0; i < MANY; i++) {
        NGA_NbWait(&handles[i]);
        for (int j = 0; j < 10; j++)
            wrong += rows[i][j] != 1000 * left + 10 * i + j;
    }
    CHECK_EQUAL(wrong, 0);
    GA_Sync();
    GA_Destroy(array);
}

static void with_strides(void)
{
    int dims[2] = {40, 50}, lo[2] = {3, 4}, hi[2] = {33, 49}, skip[2] = {3, 5}, ld = 10;
    static double put[11][10], got[11][10], all[40][50];
    int array = new_array(C_DBL, 2, dims, "strides");
    for (int i = 0; i < 11; i++)
        for (int j = 0; j < 10; j++)
            put[i][j] = 100 * i + j + 1;
    if (rank == size - 1)
        NGA_Strided_put(array, lo, hi, skip, put, &ld);
    GA_Sync();
    double two = 2;
    NGA_Strided_acc(array, lo, hi, skip, put, &ld, &two);
    GA_Sync();
    NGA_Strided_get(array, lo, hi, skip, got, &ld);
    int wrong = 0, zero[2] = {0, 0}, last[2] = {39, 49}, all_ld = 50;
    for (int i = 0; i < 11; i++)
        for (int j = 0; j < 10; j++)
            wrong += got[i][j] != (1 + 2 * size) * put[i][j];
    NGA_Get(array, zero, last, all, &all_ld);
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 50; j++) {
            int inside = i >= 3 && i <= 33 && j >= 4 && (i - 3) % 3 == 0 && (j - 4) % 5 == 0;
            wrong += all[i][j] != (inside ? (1 + 2 * size) * put[(i - 3) / 3][(j - 4) / 5] : 0);
        }
    CHECK_EQUAL(wrong, 0);
    GA_Sync();
    GA_Destroy(array);
}

static void periodic(void)
{
    int dims[2] = {30, 20}, lo[2] = {-4, 15}, hi[2] = {5, 24}, ld = 10;
    static double data[10][10], got[10][10];
    int array = new_array(C_DBL, 2, dims, "periodic");
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++)
            data[i][j] = 10 * i + j + 1;
    if (rank == 0)
        NGA_Periodic_put(array, lo, hi, data, &ld);
    GA_Sync();
    double one = 1;
    NGA_Periodic_acc(array, lo, hi, data, &ld, &one);
    GA_Sync();
    NGA_Periodic_get(array, lo, hi, got, &ld);
    int wrong = 0;
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
            int at[2] = {(i - 4 + 30) % 30, (j + 15) % 20}, single = 1;
            double element;
            NGA_Get(array, at, at, &element, &single);
            wrong += got[i][j] != (1 + size) * data[i][j] || element != got[i][j];
        }
    CHECK_EQUAL(wrong, 0);
    GA_Sync();
    GA_Destroy(array);
}

int main(int argc, char **argv)
{
    ga_begin(&argc, &argv);
    state = rank + 1;
    for (int n = 1; n <= MOST; n++) {
        ints(n);
        longs(n);
        floats(n);
        doubles(n);
        complexes(n);
        singles(n);
        accumulates(n, 0);
        accumulates(n, 1);
    }
    many_handles();
    with_strides();
    periodic();
    return ga_end();
}
