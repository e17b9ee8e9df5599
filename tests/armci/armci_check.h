/* What our ARMCI programs share: start and end, and reading memory of any rank, near or far. */
#ifndef ARMCI_CHECK_H
#define ARMCI_CHECK_H

#include "../c/check.h"
#include <armci.h>
#include <armcix.h>

#define RANKS 64

static inline void armci_begin(int *argc, char ***argv)
{
    check_begin(argc, argv);
    CHECK_EQUAL(ARMCI_Init(), 0);
    CHECK_EQUAL(armci_msg_me(), rank);
    CHECK_EQUAL(armci_msg_nproc(), size);
}

static inline int armci_end(void)
{
    CHECK_EQUAL(ARMCI_Finalize(), 0);
    return check_end();
}

/* So many bytes of each rank; where they are. */
static inline char **allocated(long bytes)
{
    static void *base[RANKS];
    CHECK_EQUAL(ARMCI_Malloc(base, bytes), 0);
    return (char **)base;
}

static inline long long_at(void *address, int proc)
{
    long value = 0;
    CHECK_EQUAL(ARMCI_Get(address, &value, sizeof value, proc), 0);
    return value;
}

#endif
