/* ranks: 1 2 4 8
 * Mutexes: who holds one keeps all others out, whoever they belong to; numbers that differ by rank; several held at a
 * time; sets of groups, and trying. */
#include "armci_check.h"

#define ROUNDS (is_asked_for() ? 20 : 100)

static char **base;

/* Read, change, write under a mutex of another rank: no round may be lost, and both numbers go together. */
static void counted(void)
{
    memset(base[rank], 0, 64);
    CHECK_EQUAL(ARMCI_Create_mutexes(rank == 0 ? 3 : 1), 0);
    ARMCI_Barrier();
    for (int round = 0; round < ROUNDS; round++) {
        int owner = round % size, mutex = owner == 0 ? 2 : 0;
        long two[2];
        ARMCI_Lock(mutex, owner);
        CHECK_EQUAL(ARMCI_Get(base[owner], two, sizeof two, owner), 0);
        CHECK_EQUAL(two[0], 2 * two[1]);
        two[0] += 2, two[1] += 1;
        CHECK_EQUAL(ARMCI_Put(&two[0], base[owner], 8, owner), 0);
        CHECK_EQUAL(ARMCI_Put(&two[1], base[owner] + 8, 8, owner), 0);
        ARMCI_Fence(owner);
        ARMCI_Unlock(mutex, owner);
    }
    ARMCI_Barrier();
    long all = ((long *)base[rank])[1];
    armci_msg_lgop(&all, 1, "+");
    CHECK_EQUAL(all, (long)ROUNDS * size);
    /* Mutexes of one rank know nothing of each other. */
    if (rank == 0) {
        ARMCI_Lock(0, 0);
        ARMCI_Lock(1, 0);
        ARMCI_Lock(2, 0);
        ARMCI_Unlock(1, 0);
        ARMCI_Unlock(0, 0);
        ARMCI_Unlock(2, 0);
    }
    CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
}

/* One of the ranks has none; they are made anew after they are gone. */
static void made_anew(void)
{
    for (int round = 0; round < 5; round++) {
        CHECK_EQUAL(ARMCI_Create_mutexes(rank == size - 1 ? 1000 : 0), 0);
        ARMCI_Lock(999, size - 1);
        ARMCI_Unlock(999, size - 1);
        CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
    }
}

/* Ranks that take two in one order. */
static void in_pairs(void)
{
    long inside = 0;
    memset(base[rank], 0, 64);
    CHECK_EQUAL(ARMCI_Create_mutexes(2), 0);
    ARMCI_Barrier();
    for (int round = 0; round < ROUNDS; round++) {
        ARMCI_Lock(0, 0);
        ARMCI_Lock(1, size - 1);
        CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &inside, base[0], 1, 0), 0);
        CHECK_EQUAL(inside, 0);
        CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &inside, base[0], -1, 0), 0);
        CHECK_EQUAL(inside, 1);
        ARMCI_Unlock(1, size - 1);
        ARMCI_Unlock(0, 0);
    }
    CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
}

static void sets(void)
{
    ARMCI_Group world, half;
    ARMCI_Group_get_world(&world);
    CHECK_EQUAL(ARMCIX_Group_split(&world, rank % 2, rank, &half), 0);
    armcix_mutex_hdl_t all = ARMCIX_Create_mutexes_hdl(2, &world), some = ARMCIX_Create_mutexes_hdl(1, &half);
    CHECK(all != NULL && some != NULL && all != some);
    CHECK_EQUAL(ARMCI_Create_mutexes(1), 0); /* beside them */
    int tried = ARMCIX_Trylock_hdl(some, 0, half.size - 1);
    if (tried == 0) {
        if (size == 1 || half.size == 1)
            CHECK(ARMCIX_Trylock_hdl(some, 0, half.size - 1) != 0);
        ARMCIX_Unlock_hdl(some, 0, half.size - 1);
    }
    static long counter;
    memset(base[rank], 0, 64);
    ARMCI_Barrier();
    for (int round = 0; round < ROUNDS; round++) {
        long was = 0;
        if (round % 2)
            while (ARMCIX_Trylock_hdl(all, 1, 0))
                ARMCIX_Progress();
        else
            ARMCIX_Lock_hdl(all, 1, 0);
        CHECK_EQUAL(ARMCI_Get(base[0], &was, 8, 0), 0);
        was++;
        CHECK_EQUAL(ARMCI_Put(&was, base[0], 8, 0), 0);
        ARMCI_Fence(0);
        ARMCIX_Unlock_hdl(all, 1, 0);
        ARMCIX_Lock_hdl(some, 0, 0);
        counter++;
        ARMCIX_Unlock_hdl(some, 0, 0);
    }
    ARMCI_Barrier();
    CHECK_EQUAL(long_at(base[0], 0), (long)ROUNDS * size);
    CHECK_EQUAL(counter, ROUNDS);
    CHECK_EQUAL(ARMCIX_Destroy_mutexes_hdl(some), 0);
    ARMCI_Group_free(&half);
    /* The set of all, and that of the world, are left to the end. */
}

int main(int argc, char **argv)
{
    armci_begin(&argc, &argv);
    base = allocated(64);
    counted();
    made_anew();
    in_pairs();
    sets();
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
    return armci_end();
}
