/* ranks: 1 2 3 4
 * Notifications, in a program that begins and ends MPI by ARMCI's names. */
#include "armci_check.h"

/* What was put before a notification is there after the wait for it; each is counted. */
static void notifications(void)
{
    char **base = allocated(size * sizeof(long));
    for (int round = 1; round <= 3; round++) {
        for (int to = 0; to < size; to++) {
            long value = 100 * round + rank;
            CHECK_EQUAL(ARMCI_Put(&value, base[to] + rank * sizeof value, sizeof value, to), 0);
            CHECK_EQUAL(armci_notify(to), round);
        }
        for (int from = 0; from < size; from++) {
            int count = -1;
            CHECK_EQUAL(armci_notify_wait(from, &count), round);
            CHECK_EQUAL(count, round);
            CHECK_EQUAL(long_at(base[rank] + from * sizeof(long), rank), 100 * round + from);
        }
        ARMCI_Barrier();
    }
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
}

int main(int argc, char **argv)
{
    armci_msg_init(&argc, &argv);
    armci_msg_init(&argc, &argv); /* it has begun */
    CHECK_EQUAL(ARMCI_Init(), 0);
    rank = armci_msg_me();
    size = armci_msg_nproc();
    notifications();
    CHECK_EQUAL(ARMCI_Finalize(), 0);
    armci_msg_finalize();
    armci_msg_finalize();
    return check_failures != 0;
}
