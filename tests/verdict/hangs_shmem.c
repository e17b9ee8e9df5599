/* Programs of OpenSHMEM that hang, some with MPI. Comments as in hangs.c. */

#include <mpi.h>
#include <shmem.h>
#include <string.h>

static int me, x;
static long word, other, lock, locks[2];

// case words_that_nobody_changes 3: ranks 0, 1 and 2 wait for one another
static void words_that_nobody_changes(void) {
    shmem_long_wait_until(&word, SHMEM_CMP_NE, 0); // stuck 0 1 2: shmem_wait_until ; changes memory that it watches
}

// case word_of_one_that_has_gone_on 2: rank 0 has not come to shmem_barrier_all
static void word_of_one_that_has_gone_on(void) {
    if (me == 0)
        shmem_signal_wait_until((uint64_t *)&word, SHMEM_CMP_EQ, 3); // stuck 0: shmem_signal_wait_until ; rank 1
    shmem_barrier_all(); // stuck 1: shmem_barrier_all ; rank 0
}

// case word_and_message 2: ranks 0 and 1 wait for each other
static void word_and_message(void) {
    MPI_Init(NULL, NULL);
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // stuck 0: for a message of rank 1
    else
        shmem_long_wait_until_any(&word, 1, NULL, SHMEM_CMP_NE, 0); // stuck 1: shmem_wait_until_any ; rank 0
    MPI_Finalize();
}

// case lock_that_is_kept 3: ranks 0, 1 and 2 wait for one another
static void lock_that_is_kept(void) {
    if (me == 0)
        shmem_set_lock(&lock);
    shmem_sync_all();
    if (me == 0)
        shmem_long_wait_until(&word, SHMEM_CMP_NE, 0); // stuck 0: shmem_wait_until
    else
        shmem_set_lock(&lock); // stuck 1 2: shmem_set_lock ; for a lock that rank
}

// case crossed_locks 2: ranks 0 and 1 wait for each other
static void crossed_locks(void) {
    shmem_set_lock(&locks[me]);
    shmem_sync_all();
    shmem_set_lock(&locks[1 - me]); // stuck 0 1: shmem_set_lock ; holds, or asked for before it
}

// case missing_in_reduction 3: rank 2 has not come to shmem_sum_reduce
static void missing_in_reduction(void) {
    if (me == 2)
        shmem_long_wait_until(&word, SHMEM_CMP_NE, 0); // stuck 2: shmem_wait_until
    else
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &word, &other, 1); // stuck 0 1: shmem_sum_reduce ; rank 2
}

// case loop_around_test 2: ranks 0 and 1 wait for each other
static void loop_around_test(void) {
    if (me == 0)
        while (!shmem_long_test(&word, SHMEM_CMP_EQ, 5)) // stuck 0: shmem_test ; changes memory that it watches
            ;
    else
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 5); // stuck 1: shmem_wait_until
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(words_that_nobody_changes), CASE(word_of_one_that_has_gone_on), CASE(word_and_message), CASE(lock_that_is_kept),
    CASE(crossed_locks), CASE(missing_in_reduction), CASE(loop_around_test),
};

int main(int argc, char **argv) {
    shmem_init();
    me = shmem_my_pe();
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    shmem_finalize();
    return 0;
}
