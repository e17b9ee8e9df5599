/* ranks: 1 2 4 8
 * Accumulates of every type and shape, with factors and without, the same destination twice in one vector; atomic against
 * each other, against read-modify-writes and against MPI's operations on a window over the same memory. */
#include "armci_check.h"
#include <complex.h>

#define ELEMENTS 3000

static char **base;

/* Each rank adds factor * (element + rank) to all elements of the last rank, in one way. */
#define TYPE(NAME, NUMBER, KIND, FACTOR)                                                                    \
    static void NAME(void)                                                                                  \
    {                                                                                                       \
        static NUMBER data[ELEMENTS];                                                                       \
        NUMBER factor = FACTOR;                                                                             \
        int last = size - 1, bytes = sizeof data, count[2] = {sizeof(NUMBER) * 10, ELEMENTS / 10};          \
        int by = sizeof(NUMBER) * 10;                                                                       \
        void *here[ELEMENTS], *there[ELEMENTS];                                                             \
        for (int i = 0; i < ELEMENTS; i++) {                                                                \
            data[i] = (NUMBER)(i + rank);                                                                   \
            here[i] = data + i;                                                                             \
            there[i] = (NUMBER *)base[last] + i;                                                            \
        }                                                                                                   \
        armci_giov_t vector = {here, there, sizeof(NUMBER), ELEMENTS};                                      \
        memset(base[rank], 0, 16 * ELEMENTS);                                                               \
        ARMCI_Barrier();                                                                                    \
        CHECK_EQUAL(ARMCI_Acc(KIND, &factor, data, base[last], bytes, last), 0);                            \
        CHECK_EQUAL(ARMCI_AccS(KIND, &factor, data, &by, base[last], &by, count, 1, last), 0);              \
        CHECK_EQUAL(ARMCI_AccV(KIND, &factor, &vector, 1, last), 0);                                        \
        CHECK_EQUAL(ARMCI_NbAcc(KIND, &factor, data, base[last], bytes / 2, last, NULL), 0);                \
        CHECK_EQUAL(ARMCI_NbAccS(KIND, &factor, data, &by, base[last], &by, count, 1, last, NULL), 0);      \
        CHECK_EQUAL(ARMCI_NbAccV(KIND, &factor, &vector, 1, last, NULL), 0);                                \
        CHECK_EQUAL(ARMCI_WaitAll(), 0);                                                                    \
        ARMCI_Barrier();                                                                                    \
        NUMBER *mine = (NUMBER *)base[rank];                                                                \
        for (int i = 0; rank == last && i < ELEMENTS; i++) {                                                \
            int ranks = size * (size - 1) / 2, times = i < ELEMENTS / 2 ? 6 : 5;                            \
            NUMBER expected = (NUMBER)(factor * (NUMBER)(times * (i * size + ranks)));                      \
            if (mine[i] != expected) {                                                                      \
                check_failed(__FILE__, __LINE__, #NAME ": element %d is wrong", i);                         \
                break;                                                                                      \
            }                                                                                               \
        }                                                                                                   \
        ARMCI_Barrier();                                                                                    \
    }
TYPE(ints, int, ARMCI_ACC_INT, -3)
TYPE(longs, long, ARMCI_ACC_LNG, 1L << 33)
TYPE(floats, float, ARMCI_ACC_FLT, 0.5f)
TYPE(doubles, double, ARMCI_ACC_DBL, 1)
TYPE(scaled_doubles, double, ARMCI_ACC_DBL, -0.25)
TYPE(complex_floats, float complex, ARMCI_ACC_CPL, 2 * I)
TYPE(complex_doubles, double complex, ARMCI_ACC_DCP, 1 - 2 * I)

/* One destination occurs often in a vector: all is added. */
static void same_destination(void)
{
    enum { OFTEN = 2000 };
    static double data[OFTEN];
    static void *here[OFTEN], *there[OFTEN];
    double one = 1;
    int target = size - 1;
    memset(base[rank], 0, 64);
    ARMCI_Barrier();
    for (int number = 2; number <= OFTEN; number *= 10) {
        for (int i = 0; i < number; i++) {
            data[i] = 1 + i % 2;
            here[i] = data + i;
            there[i] = (double *)base[target] + i % 2;
        }
        armci_giov_t vector = {here, there, 8, number};
        CHECK_EQUAL(ARMCI_AccV(ARMCI_ACC_DBL, &one, &vector, 1, target), 0);
    }
    ARMCI_Barrier();
    if (rank == target) {
        CHECK(((double *)base[rank])[0] == size * 1111.0 * 1);
        CHECK(((double *)base[rank])[1] == size * 1111.0 * 2);
    }
    ARMCI_Barrier();
}

static void read_modify_write(void)
{
    memset(base[rank], 0, 64);
    ARMCI_Barrier();
    int counter = -1, target = size - 1;
    long wide = -1;
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &counter, base[target], 2, target), 0);
        CHECK(counter >= 0 && counter < 200 * size && counter % 2 == 0);
        CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &wide, base[target] + 8, -1, target), 0);
        CHECK(wide <= 0 && wide > -100 * size);
    }
    ARMCI_Barrier();
    CHECK_EQUAL(ARMCI_GetValueInt(base[target], target), 200 * size);
    CHECK_EQUAL(long_at(base[target] + 8, target), -100 * size);
    ARMCI_Barrier();
    /* Swaps hand a ring of values round: in the end all of them are somewhere. */
    int mine = rank + 1;
    long wide_one = 1L << (rank + 32);
    for (int i = 0; i < 50; i++) {
        CHECK_EQUAL(ARMCI_Rmw(ARMCI_SWAP, &mine, base[0] + 16, 0, 0), 0);
        CHECK_EQUAL(ARMCI_Rmw(ARMCI_SWAP_LONG, &wide_one, base[0] + 24, 0, 0), 0);
    }
    int sum = mine;
    long all = wide_one;
    armci_msg_igop(&sum, 1, "+");
    armci_msg_lgop(&all, 1, "+");
    CHECK_EQUAL(sum + ARMCI_GetValueInt(base[0] + 16, 0), size * (size + 1) / 2);
    CHECK_EQUAL(all + long_at(base[0] + 24, 0), ((1L << size) - 1) << 32);
    ARMCI_Barrier();
}

/* Long accumulates, short ones, read-modify-writes and operations of MPI on the same words: nothing is lost. */
static void hammered(void)
{
    MPI_Win win;
    MPI_Win_create(base[rank], 16 * ELEMENTS, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    static long ones[ELEMENTS];
    long one = 1, old;
    memset(base[rank], 0, 16 * ELEMENTS);
    for (int i = 0; i < ELEMENTS; i++)
        ones[i] = 1;
    MPI_Win_lock_all(0, win);
    ARMCI_Barrier();
    int step = is_asked_for() ? 500 : 1;
    for (int round = 0; round < 200; round++)
        switch ((round + rank) % 5) {
        case 0:
            ARMCI_Acc(ARMCI_ACC_LNG, &one, ones, base[0], sizeof ones, 0);
            break;
        case 1:
            for (int i = 0; i < ELEMENTS; i += step)
                ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, base[0] + 8 * i, 1, 0);
            break;
        case 2:
            for (int i = 0; i < ELEMENTS; i += step)
                MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, i, MPI_SUM, win);
            break;
        case 3:
            MPI_Accumulate(ones, ELEMENTS, MPI_LONG, 0, 0, ELEMENTS, MPI_LONG, MPI_SUM, win);
            break;
        default:
            for (int i = 0; i < ELEMENTS; i += 100)
                ARMCI_Acc(ARMCI_ACC_LNG, &one, ones, base[0] + 8 * i, 800, 0);
        }
    MPI_Win_unlock_all(win);
    ARMCI_Barrier();
    for (int i = 0; rank == 0 && i < ELEMENTS; i += step)
        CHECK_EQUAL(((long *)base[0])[i], 200 * size);
    ARMCI_Barrier();
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    armci_begin(&argc, &argv);
    base = allocated(16 * ELEMENTS);
    ints();
    longs();
    floats();
    doubles();
    scaled_doubles();
    complex_floats();
    complex_doubles();
    same_destination();
    read_modify_write();
    hammered();
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
    return armci_end();
}
