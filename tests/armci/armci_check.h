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

/* Ranks cannot reach each other's memory, so they ask each other for everything: that is slow. */
static inline int is_asked_for(void)
{
    const char *means = getenv("SERRIED_COPY");
    return means && (strcmp(means, "memory-file") == 0 || strcmp(means, "cells") == 0);
}

static inline long long_at(void *address, int proc)
{
    long value = 0;
    CHECK_EQUAL(ARMCI_Get(address, &value, sizeof value, proc), 0);
    return value;
}

#endif
