/* ranks: 2 3 5
 * A word goes round the ranks. Each hop is waited for in another way, of MPI or of ARMCI, and all pairs of ways follow each
 * other: whatever a rank waits in, the others go on. */
#include "armci_check.h"

enum { MPI_MESSAGE, MUTEX, FLAG, ARMCI_MESSAGE, WINDOW_LOCK, NONBLOCKING, COUNTER, GOT, COLLECTIVE, WAYS };

static char **base;
static MPI_Win win;
static MPI_Comm pairs[RANKS]; /* of a rank and the next one */

/* Rank `to` may go on, which waits in a way. */
static void signal_to(int to, int way, int round)
{
    int word = round;
    long old, one = 1;
    switch (way) {
    case MPI_MESSAGE:
    case NONBLOCKING:
        MPI_Send(&word, 1, MPI_INT, to, way, MPI_COMM_WORLD);
        break;
    case MUTEX:
        ARMCI_Unlock(0, rank);
        break;
    case FLAG:
        ARMCI_Put_flag(&word, base[to], sizeof word, (int *)(base[to] + 8), round, to);
        break;
    case ARMCI_MESSAGE:
        armci_msg_snd(way, &word, sizeof word, to);
        break;
    case WINDOW_LOCK:
        MPI_Win_unlock(rank, win);
        break;
    case COUNTER:
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, base[to] + 16, 1, to);
        break;
    case GOT:
        ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, base[rank] + 24, sizeof one, rank);
        break;
    default:
        MPI_Barrier(pairs[rank]);
    }
}

static long counted, seen[RANKS];

static void wait_for(int from, int way, int round)
{
    int word = -1, done = 0;
    MPI_Request request;
    switch (way) {
    case MPI_MESSAGE:
        MPI_Recv(&word, 1, MPI_INT, from, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQUAL(word, round);
        break;
    case NONBLOCKING:
        MPI_Irecv(&word, 1, MPI_INT, from, way, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        CHECK_EQUAL(word, round);
        break;
    case MUTEX:
        ARMCI_Lock(0, from);
        ARMCI_Unlock(0, from);
        break;
    case FLAG:
        while (__atomic_load_n((int *)(base[rank] + 8), __ATOMIC_ACQUIRE) != round)
            ARMCIX_Progress();
        CHECK_EQUAL(*(int *)base[rank], round);
        break;
    case ARMCI_MESSAGE:
        armci_msg_rcv(way, &word, sizeof word, NULL, from);
        CHECK_EQUAL(word, round);
        break;
    case WINDOW_LOCK:
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, from, 0, win);
        MPI_Win_unlock(from, win);
        break;
    case COUNTER:
        counted++;
        while (long_at(base[rank] + 16, rank) != counted)
            ARMCIX_Progress();
        break;
    case GOT: {
        long value;
        seen[from]++;
        do {
            armci_hdl_t handle;
            ARMCI_INIT_HANDLE(&handle);
            ARMCI_NbGet(base[from] + 24, &value, sizeof value, from, &handle);
            ARMCI_Wait(&handle);
        } while (value != seen[from]);
        break;
    }
    default:
        MPI_Barrier(pairs[from]);
    }
}

int main(int argc, char **argv)
{
    armci_begin(&argc, &argv);
    base = allocated(64);
    CHECK_EQUAL(ARMCI_Create_mutexes(1), 0);
    long nothing;
    MPI_Win_create(&nothing, sizeof nothing, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < size; i++) {
        int color = rank == i || rank == (i + 1) % size ? 0 : MPI_UNDEFINED;
        MPI_Comm_split(MPI_COMM_WORLD, color, rank, &pairs[i]);
    }
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int round = 1; round <= WAYS * WAYS; round++) {
        /* The way in which each rank waits in this round. */
        int mine = (round * (rank + 1) + round / WAYS) % WAYS, next = (round * (right + 1) + round / WAYS) % WAYS;
        if (next == MUTEX)
            ARMCI_Lock(0, rank);
        if (next == WINDOW_LOCK)
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        ARMCI_Barrier();
        if (rank > 0)
            wait_for(left, mine, round);
        signal_to(right, next, round);
        if (rank == 0)
            wait_for(left, mine, round);
        ARMCI_Barrier();
    }
    for (int i = 0; i < size; i++)
        if (pairs[i] != MPI_COMM_NULL)
            MPI_Comm_free(&pairs[i]);
    MPI_Win_free(&win);
    CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
    return armci_end();
}
