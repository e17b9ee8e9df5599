/* ranks: 2 3
 * Nobody waits for the target: while it is stopped, every operation is done, each in less than a millisecond. */
#define _GNU_SOURCE
#include "armci_check.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **base;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Each kind of operation, with rank 1. */
static void operation(int kind)
{
    static double data[100], got[100], one = 1;
    int by = 80, count[2] = {40, 5}, counter;
    void *here[2] = {data, data + 5}, *there[2] = {base[1], base[1] + 400};
    armci_giov_t vector = {here, there, 8, 2};
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    switch (kind) {
    case 0: ARMCI_Put(data, base[1], sizeof data, 1); break;
    case 1: ARMCI_Get(base[1], got, sizeof got, 1); break;
    case 2: ARMCI_Acc(ARMCI_ACC_DBL, &one, data, base[1], sizeof data, 1); break;
    case 3: ARMCI_PutS(data, &by, base[1], &by, count, 1, 1); break;
    case 4: ARMCI_GetS(base[1], &by, got, &by, count, 1, 1); break;
    case 5: ARMCI_AccS(ARMCI_ACC_DBL, &one, data, &by, base[1], &by, count, 1, 1); break;
    case 6: ARMCI_PutV(&vector, 1, 1); break;
    case 7: ARMCI_AccV(ARMCI_ACC_DBL, &one, &vector, 1, 1); break;
    case 8: ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &counter, base[1] + 800, 1, 1); break;
    case 9: ARMCI_Rmw(ARMCI_SWAP, &counter, base[1] + 808, 0, 1); break;
    case 10: ARMCI_NbPut(data, base[1], sizeof data, 1, &handle); ARMCI_Wait(&handle); break;
    case 11: ARMCI_PutS_flag(data, &by, base[1], &by, count, 1, (int *)(base[1] + 816), 1, 1); break;
    case 12: ARMCI_Lock(0, 1); ARMCI_Unlock(0, 1); break;
    default: ARMCI_Fence(1);
    }
}

int main(int argc, char **argv)
{
    armci_begin(&argc, &argv);
    base = allocated(1000);
    CHECK_EQUAL(ARMCI_Create_mutexes(1), 0);
    if (is_asked_for() || getenv("SERRIED_TRANSPORT")) /* with a node of its own the target has that node's server */
        return armci_end();
    int pid = getpid();
    if (rank == 1)
        armci_msg_snd(1, &pid, sizeof pid, 0);
    if (rank == 0) {
        armci_msg_rcv(1, &pid, sizeof pid, NULL, 1);
        for (int kind = 0; kind <= 13; kind++)
            operation(kind); /* where memory is, is found out at first use */
        CHECK_EQUAL(kill(pid, SIGSTOP), 0);
        usleep(20000);
        for (int kind = 0; kind <= 13; kind++) {
            double shortest = 1e9;
            for (int round = 0; round < 100 && shortest > 1e-3; round++) {
                double began = now();
                operation(kind);
                double took = now() - began;
                shortest = took < shortest ? took : shortest;
            }
            if (shortest > 1e-3)
                check_failed(__FILE__, __LINE__, "operation %d takes %g s at least", kind, shortest);
        }
        kill(pid, SIGCONT);
    }
    ARMCI_Barrier();
    CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
    return armci_end();
}
