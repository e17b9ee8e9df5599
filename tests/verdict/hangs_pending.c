/* Programs that hang in communicators that are being made, in partitioned and persistent operations, in collectives
 * that do not match, and in loops that nap: hangs_pending CASE.
 *
 * Comments as in hangs.c. */

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
enum { BIG = 2 << 20 }; // its quarters are offered, not sent at once

static int me;
static int x;
static char *big;

// case missing_in_idup 3: rank 0 has not come to MPI_Comm_idup (number 1) on MPI_COMM_WORLD ; rank 0 is in MPI_Recv
static void missing_in_idup(void) {
    MPI_Comm twin;
    MPI_Request request;
    if (me == 0) {
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1 with tag 4
    } else {
        MPI_Comm_idup(WORLD, &twin, &request);
        MPI_Wait(&request, IGNORE); // stuck 1 2: for rank 0 in MPI_Comm_idup (number 1 on MPI_COMM_WORLD)
    }
}

// case idup_between_groups 4: ranks 0 and 1 have not come to MPI_Comm_idup (number 1) on an intercommunicator
static void idup_between_groups(void) {
    MPI_Comm half, across, twin;
    MPI_Request request;
    MPI_Comm_split(WORLD, me / 2, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, me < 2 ? 2 : 0, 1, &across);
    if (me < 2)
        MPI_Recv(&x, 1, MPI_INT, me + 2, 4, WORLD, IGNORE); // stuck 0 1: for a message of rank
    MPI_Comm_idup(across, &twin, &request);
    MPI_Wait(&request, IGNORE); // stuck 2 3: in MPI_Comm_idup
}

// case idup_loop 2: rank 0 has not come to MPI_Comm_idup
static void idup_loop(void) {
    MPI_Comm twin;
    MPI_Request request;
    int done = 0;
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1
    MPI_Comm_idup(WORLD, &twin, &request);
    while (!done)
        MPI_Test(&request, &done, IGNORE); // stuck 1: again and again
}

static MPI_Request partitions(int sends, int tag, int count) {
    MPI_Request request;
    if (sends)
        MPI_Psend_init(big, 4, count, MPI_CHAR, 1 - me, tag, WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(big, 4, count, MPI_CHAR, 1 - me, tag, WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    return request;
}

// case partitions_not_ready 2: ranks 0 and 1 cannot go on
static void partitions_not_ready(void) {
    MPI_Request request = partitions(me == 0, 5, 8);
    if (me == 0)
        MPI_Pready_range(0, 1, request);
    if (me == 0)
        MPI_Wait(&request, IGNORE); // stuck 0: for its own MPI_Pready of 2 partitions with tag 5 on MPI_COMM_WORLD
    else
        MPI_Wait(&request, IGNORE); // stuck 1: for 2 partitions of rank 0
}

// case partitions_of_a_rank_that_receives 2: ranks 0 and 1 wait for each other
static void partitions_of_a_rank_that_receives(void) {
    MPI_Request request = partitions(me == 0, 5, 8);
    if (me == 0) {
        MPI_Pready(0, request);
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1 with tag 4
    }
    MPI_Wait(&request, IGNORE); // stuck 1: for 3 partitions of rank 0 (MPI_Pready) with tag 5 on MPI_COMM_WORLD
}

// case partitions_nobody_receives 2: rank 0 waits for rank 1, which has finalized
static void partitions_nobody_receives(void) {
    if (me == 0) {
        MPI_Request request = partitions(1, 5, BIG / 4);
        MPI_Pready_range(0, 3, request);
        MPI_Wait(&request, IGNORE); // stuck 0: until rank 1 receives its message with tag 5 (512.0 KiB) on MPI_COMM_WORLD
    }
}

// case partitions_nobody_sends 2: ranks 0 and 1 wait for each other
static void partitions_nobody_sends(void) {
    MPI_Request request = partitions(0, 5, 8);
    MPI_Wait(&request, IGNORE); // stuck 0 1: for MPI_Psend_init of rank
}

// case parrived_loop 2: ranks 0 and 1 wait for each other
static void parrived_loop(void) {
    MPI_Request request = partitions(me == 0, 5, 8);
    int done = 0;
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1
    while (!done)
        MPI_Parrived(request, 2, &done); // stuck 1: calls MPI_Parrived, again and again ; for 4 partitions of rank 0
}

// case missing_in_create_group 3: ranks 0 and 2 wait for each other
static void missing_in_create_group(void) {
    int members[] = {0, 2};
    MPI_Group all, group;
    MPI_Comm made;
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 2, members, &group);
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 2, 4, WORLD, IGNORE); // stuck 0: for a message of rank 2
    if (me == 2)
        MPI_Comm_create_group(WORLD, group, 0, &made); // stuck 2: for rank 0 in MPI_Comm_create_group on MPI_COMM_WORLD
}

// case persistent_not_started 3: rank 2 has not started MPI_Barrier_init (number 1) on MPI_COMM_WORLD a 3rd time ; rank 2 is in MPI_Recv
static void persistent_not_started(void) {
    MPI_Request request;
    MPI_Barrier_init(WORLD, MPI_INFO_NULL, &request);
    for (int round = 1; round <= 3; round++) {
        if (round == 3 && me == 2)
            MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE); // stuck 2: for a message of rank 0
        MPI_Start(&request);
        MPI_Wait(&request, IGNORE); // stuck 0 1: for rank 2 in MPI_Barrier_init (number 1, started 3 times, on MPI_COMM_WORLD)
    }
}

/* Rank 0 sends nothing to rank 1, which expects 64 KiB of it. */
#define ALLTOALLV_WITHOUT_COUNTS()                                                                                     \
    int part = BIG / 32, to[] = {part, me == 0 ? 0 : part}, from[] = {part, part}, at[] = {0, BIG / 2};                \
    MPI_Alltoallv(big, to, at, MPI_CHAR, big + BIG / 4, from, at, MPI_CHAR, WORLD)

// case counts_differ_and_finalized 2: rank 0 has been through MPI_Alltoallv (number 1) on MPI_COMM_WORLD, but rank 1 still waits for it there ; SERRIED_CHECK=1
static void counts_differ_and_finalized(void) {
    ALLTOALLV_WITHOUT_COUNTS(); // stuck 1: waits for 64.0 KiB of rank 0 in MPI_Alltoallv (number 1 on MPI_COMM_WORLD)
}

// case counts_differ_and_goes_on 2: rank 0 has been through MPI_Alltoallv (number 1) on MPI_COMM_WORLD, but rank 1 still waits for it there
static void counts_differ_and_goes_on(void) {
    ALLTOALLV_WITHOUT_COUNTS(); // stuck 1: in MPI_Alltoallv (number 1 on MPI_COMM_WORLD) ; rank 0 has been through it
    MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1
}

// case naps_between_probes 3: ranks 0, 1 and 2 wait for one another
static void naps_between_probes(void) {
    for (int flag = 0; !flag; usleep(5000))
        MPI_Iprobe((me + 1) % 3, 3, WORLD, &flag, IGNORE); // stuck 0 1 2: calls MPI_Iprobe and sleeps, again and again
}

static void nothing(int signal) { (void)signal; }

// case beside_handlers 2: ranks 0 and 1 wait for each other
static void beside_handlers(void) {
    signal(SIGALRM, nothing); // nobody waits but in MPI, so it can wake nobody
    MPI_Recv(&x, 1, MPI_INT, 1 - me, 7, WORLD, IGNORE); // stuck 0 1: for a message of rank
}

static void *idle(void *nobody) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    while (!nobody)
        pthread_cond_wait(&never, &mutex);
    return nobody;
}

// case idle_thread_beside_handlers_of_faults 2: ranks 0 and 1 wait for each other
static void idle_thread_beside_handlers_of_faults(void) {
    pthread_t thread;
    signal(SIGSEGV, nothing); // as runtimes do: it does not come by itself
    signal(SIGFPE, nothing);
    pthread_create(&thread, NULL, idle, NULL);
    MPI_Recv(&x, 1, MPI_INT, 1 - me, 7, WORLD, IGNORE); // stuck 0 1: for a message of rank
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(missing_in_idup), CASE(idup_between_groups), CASE(idup_loop), CASE(partitions_not_ready),
    CASE(partitions_of_a_rank_that_receives), CASE(partitions_nobody_receives), CASE(partitions_nobody_sends),
    CASE(parrived_loop), CASE(missing_in_create_group), CASE(persistent_not_started),
    CASE(counts_differ_and_finalized), CASE(counts_differ_and_goes_on), CASE(naps_between_probes),
    CASE(beside_handlers), CASE(idle_thread_beside_handlers_of_faults),
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &me);
    big = calloc(BIG, 1);
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    MPI_Finalize();
    return 0;
}
