/* What our programs over Global Arrays share. */
#ifndef GA_CHECK_H
#define GA_CHECK_H

#include "../c/check.h"
#include <ga.h>
#include <ga-mpi.h>
#include <macdecls.h>

#define RANKS 64

static inline void ga_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    GA_Initialize();
    rank = GA_Nodeid();
    size = GA_Nnodes();
    CHECK(MA_init(MT_C_DBL, 400000, 400000));
}

/* Not 0 where a check failed on any rank. */
static inline int ga_end(void)
{
    long failures = check_failures;
    GA_Lgop(&failures, 1, "+");
    if (rank == 0 && failures == 0)
        printf("all is right\n");
    GA_Terminate();
    MPI_Finalize();
    return failures != 0;
}

/* Numbers that look random, the same in every run. */
static unsigned long state;

static inline int below(int limit)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (int)((state >> 33) % (unsigned long)limit);
}

static inline int new_array(int type, int dimensions, int dims[], const char *name)
{
    int array = NGA_Create(type, dimensions, dims, (char *)name, NULL);
    CHECK(array != 0);
    GA_Zero(array);
    return array;
}

#endif
