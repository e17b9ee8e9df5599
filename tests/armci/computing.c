/* ranks: 2 4
 * Nobody waits for a target that computes and calls nothing, wherever it is: all operations and mutexes of its own are
 * done meanwhile by all others, who wait for each other alone. */
#include "armci_check.h"
#include <time.h>

#define ROUNDS 30

static char **base;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Each kind of operation with a rank: in a part of its memory that is this rank's, and a counter under its mutex. */
static void operations(int target)
{
    double data[100], got[100], two = 2;
    char *mine = base[target] + 64 + 1600 * rank;
    int by = 80, count[2] = {40, 5}, before;
    for (int index = 0; index < 100; index++)
        data[index] = rank + index;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_EQUAL(ARMCI_Put(data, mine, sizeof data, target), 0);
        CHECK_EQUAL(ARMCI_Acc(ARMCI_ACC_DBL, &two, data, mine, sizeof data, target), 0);
        CHECK_EQUAL(ARMCI_Get(mine, got, sizeof got, target), 0);
        for (int index = 0; index < 100; index++)
            CHECK(got[index] == 3 * data[index]);
        CHECK_EQUAL(ARMCI_PutS(data, &by, mine, &by, count, 1, target), 0);
        CHECK_EQUAL(ARMCI_AccS(ARMCI_ACC_DBL, &two, data, &by, mine, &by, count, 1, target), 0);
        CHECK_EQUAL(ARMCI_GetS(mine, &by, got, &by, count, 1, target), 0);
        for (int index = 0; index < 50; index++)
            CHECK(got[index] == 3 * data[index]);
        CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &before, base[target] + 8, 1, target), 0);
        CHECK(before >= 0 && before < ROUNDS * (size - 1));
        ARMCI_Lock(0, target);
        long counter = long_at(base[target] + 16, target) + 1;
        CHECK_EQUAL(ARMCI_Put(&counter, base[target] + 16, sizeof counter, target), 0);
        ARMCI_Fence(target);
        ARMCI_Unlock(0, target);
    }
}

static void while_it_computes(int target)
{
    volatile int *ready = (volatile int *)base[rank];
    int before;
    memset(base[rank], 0, 64 + 1600 * size);
    ARMCI_Barrier();
    if (rank == target) {
        double until = now() + 20;
        while (*ready < size - 1 && now() < until)
            ;
        CHECK_EQUAL(*ready, size - 1);
        CHECK_EQUAL(*(volatile int *)(base[rank] + 8), ROUNDS * (size - 1));
        CHECK_EQUAL(*(volatile long *)(base[rank] + 16), ROUNDS * (size - 1));
    } else {
        operations(target);
        CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &before, base[target], 1, target), 0);
    }
    ARMCI_Barrier();
}

int main(int argc, char **argv)
{
    armci_begin(&argc, &argv);
    base = allocated(64 + 1600 * size);
    CHECK_EQUAL(ARMCI_Create_mutexes(1), 0);
    if (!is_asked_for()) {
        while_it_computes(size - 1);
        while_it_computes(0);
    }
    CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
    return armci_end();
}
