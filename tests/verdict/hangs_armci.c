/* Programs that hang around ARMCI. Comments as in hangs.c. */

#include <armci.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static int me, size, x;

// case mutex_that_is_kept 2: ranks 0 and 1 wait for each other
static void mutex_that_is_kept(void) {
    if (me == 0)
        ARMCI_Lock(3, 1);
    MPI_Barrier(WORLD);
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1
    else
        ARMCI_Lock(3, 1); // stuck 1: ARMCI_Lock ; for mutex 3 of rank 1, which is held by rank 0
}

// case crossed_mutexes 2: ranks 0 and 1 wait for each other
static void crossed_mutexes(void) {
    ARMCI_Lock(me, 0);
    MPI_Barrier(WORLD);
    ARMCI_Lock(1 - me, 0); // stuck 0 1: ARMCI_Lock ; for mutex
}

// case mutex_of_one_that_finalizes 3: rank 2 has not come to MPI_Finalize
static void mutex_of_one_that_finalizes(void) {
    if (me == 0)
        ARMCI_Lock(0, 1);
    MPI_Barrier(WORLD);
    if (me == 2)
        ARMCI_Lock(0, 1); // stuck 2: ARMCI_Lock ; for mutex 0 of rank 1, which is held by rank 0
}

// case missing_in_malloc 3: rank 2 has not come to ARMCI_Malloc
static void missing_in_malloc(void) {
    void *base[3];
    if (me == 2)
        armci_msg_rcv(4, &x, sizeof x, NULL, 0); // stuck 2: armci_msg_rcv ; for a message of rank 0
    else
        ARMCI_Malloc(base, 8); // stuck 0 1: ARMCI_Malloc
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &me);
    MPI_Comm_size(WORLD, &size);
    ARMCI_Init();
    ARMCI_Create_mutexes(4);
    const struct { const char *name; void (*run)(void); } cases[] = {
        {"mutex_that_is_kept", mutex_that_is_kept},
        {"crossed_mutexes", crossed_mutexes},
        {"mutex_of_one_that_finalizes", mutex_of_one_that_finalizes},
        {"missing_in_malloc", missing_in_malloc},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    MPI_Finalize();
    return 0;
}
