/* Programs that hang, each in its own way: hangs CASE.
 *
 * A comment `case NAME RANKS: words` above a function says with how many ranks it runs, and what the first line of the
 * verdict has to say (words between `;`). A comment `stuck RANKS: words` behind a call says which ranks wait there, and
 * what else the verdict has to say of them. */

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
enum { BIG = 1 << 20 };

static int me, size;
static int x, y, many[64];
static char *big, *other;

// case crossed_receives 2: ranks 0 and 1 wait for each other
static void crossed_receives(void) {
    MPI_Recv(&x, 1, MPI_INT, 1 - me, 7, WORLD, IGNORE); // stuck 0 1: for a message of rank ; with tag 7 ; room for 4 bytes
    MPI_Send(&x, 1, MPI_INT, 1 - me, 7, WORLD);
}

// case crossed_sends 2: ranks 0 and 1 wait for each other
static void crossed_sends(void) {
    MPI_Send(big, BIG, MPI_CHAR, 1 - me, 3, WORLD); // stuck 0 1: receives its message with tag 3 ; 1.0 MiB ; MPI_COMM_WORLD
    MPI_Recv(other, BIG, MPI_CHAR, 1 - me, 3, WORLD, IGNORE);
}

// case wrong_tag 2: rank 1 waits for rank 0, which has finalized
static void wrong_tag(void) {
    if (me == 0)
        MPI_Send(&x, 1, MPI_INT, 1, 8, WORLD);
    else
        MPI_Recv(&x, 1, MPI_INT, 0, 7, WORLD, IGNORE); // stuck 1: with tag 8 (4 bytes) ; this call waits for tag 7
}

// case wrong_tag_both 2: ranks 0 and 1 wait for each other
static void wrong_tag_both(void) {
    if (me == 0) {
        MPI_Send(&x, 1, MPI_INT, 1, 8, WORLD);
        MPI_Recv(&y, 1, MPI_INT, 1, 9, WORLD, IGNORE); // stuck 0: for a message of rank 1 with tag 9
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 7, WORLD, IGNORE); // stuck 1: a message of rank 0 with tag 8 ; waits for tag 7
    }
}

// case wrong_communicator 2: ranks 0 and 1 wait for each other
static void wrong_communicator(void) {
    MPI_Comm twin;
    MPI_Comm_dup(WORLD, &twin);
    MPI_Comm_set_name(twin, "twin");
    if (me == 0) {
        MPI_Send(&x, 1, MPI_INT, 1, 5, WORLD);
        MPI_Recv(&y, 1, MPI_INT, 1, 5, twin, IGNORE); // stuck 0: on twin
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 5, twin, IGNORE); // stuck 1: on MPI_COMM_WORLD is here; this call waits on twin
    }
}

// case wrong_source 3: ranks 0 and 2 wait ; cannot go on
static void wrong_source(void) {
    if (me == 1)
        MPI_Send(&x, 1, MPI_INT, 0, 5, WORLD);
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 2, 5, WORLD, IGNORE); // stuck 0: a message of rank 1 with tag 5 ; this call waits for rank 2
    if (me == 2)
        MPI_Recv(&x, 1, MPI_INT, 0, 5, WORLD, IGNORE); // stuck 2: for a message of rank 0
}

// case ring_of_receives 4: ranks 0, 1, 2 and 3 wait for one another
static void ring_of_receives(void) {
    MPI_Recv(&x, 1, MPI_INT, (me + 3) % 4, 1, WORLD, IGNORE); // stuck 0 1 2 3: for a message of rank
    MPI_Send(&x, 1, MPI_INT, (me + 1) % 4, 1, WORLD);
}

/* A collective to which the last rank does not come: it waits for rank 0 instead. */
#define ONE_IS_MISSING(call)                                                                                           \
    if (me == size - 1)                                                                                                \
        MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE);                                                                 \
    else                                                                                                               \
        call

// case missing_in_barrier 3: rank 2 has not come to MPI_Barrier (number 1) on MPI_COMM_WORLD ; rank 2 is in MPI_Recv
static void missing_in_barrier(void) {
    ONE_IS_MISSING(MPI_Barrier(WORLD)); // stuck 0 1 2: wait
}

// case missing_in_late_barrier 3: rank 2 has not come to MPI_Barrier (number 11) on MPI_COMM_WORLD
static void missing_in_late_barrier(void) {
    for (int i = 0; i < 10; i++)
        MPI_Barrier(WORLD);
    ONE_IS_MISSING(MPI_Barrier(WORLD)); // stuck 0 1 2: wait
}

// case missing_in_bcast 3: rank 0 has not come to MPI_Bcast
static void missing_in_bcast(void) {
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1
    else
        MPI_Bcast(many, 4, MPI_INT, 0, WORLD); // stuck 1 2: in MPI_Bcast with root 0
}

// case missing_in_reduce 3: ranks 1 and 2 have not come to MPI_Reduce
static void missing_in_reduce(void) {
    if (me == 1)
        MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE); // stuck 1: for a message of rank 0
    else
        ONE_IS_MISSING(MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, 0, WORLD)); // stuck 0 2: wait
}

// case missing_in_allreduce 3: rank 2 has not come to MPI_Allreduce
static void missing_in_allreduce(void) {
    ONE_IS_MISSING(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, WORLD)); // stuck 0 1 2: wait
}

// case missing_in_long_allreduce 3: rank 2 has not come to MPI_Allreduce
static void missing_in_long_allreduce(void) {
    for (int i = 0; i < 4; i++)
        MPI_Allreduce(big, other, BIG, MPI_CHAR, MPI_MAX, WORLD);
    ONE_IS_MISSING(MPI_Allreduce(big, other, BIG, MPI_CHAR, MPI_MAX, WORLD)); // stuck 0 1 2: wait
}

// case missing_in_gather 3: ranks 1 and 2 have not come to MPI_Gather
static void missing_in_gather(void) {
    if (me == 1)
        MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE); // stuck 1: for a message of rank 0
    else
        ONE_IS_MISSING(MPI_Gather(&x, 1, MPI_INT, many, 1, MPI_INT, 0, WORLD)); // stuck 0 2: wait
}

// case missing_in_allgather 3: rank 2 has not come to MPI_Allgather
static void missing_in_allgather(void) {
    ONE_IS_MISSING(MPI_Allgather(&x, 1, MPI_INT, many, 1, MPI_INT, WORLD)); // stuck 0 1 2: wait
}

// case missing_in_alltoall 3: rank 2 has not come to MPI_Alltoall
static void missing_in_alltoall(void) {
    ONE_IS_MISSING(MPI_Alltoall(many, 1, MPI_INT, many + 16, 1, MPI_INT, WORLD)); // stuck 0 1 2: wait
}

// case missing_in_scatter 3: rank 0 has not come to MPI_Scatter
static void missing_in_scatter(void) {
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1
    else
        MPI_Scatter(many, 1, MPI_INT, &x, 1, MPI_INT, 0, WORLD); // stuck 1 2: in MPI_Scatter with root 0
}

// case missing_in_scan 3: rank 0 has not come to MPI_Scan
static void missing_in_scan(void) {
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 2, 4, WORLD, IGNORE); // stuck 0: for a message of rank 2
    else
        MPI_Scan(&x, &y, 1, MPI_INT, MPI_SUM, WORLD); // stuck 1 2: in MPI_Scan
}

// case missing_in_a_file 3: rank 2 has not come to MPI_File_write_at_all ; on the file ; hang_in_a_file
static void missing_in_a_file(void) {
    MPI_File file;
    const char *folder = getenv("TMPDIR");
    char name[300];
    snprintf(name, sizeof name, "%s/hang_in_a_file", folder ? folder : "/tmp");
    MPI_File_open(WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (me == 0)
        unlink(name);
    if (me == 2)
        MPI_Recv(&y, 1, MPI_INT, 0, 1, WORLD, IGNORE);
    MPI_File_write_at_all(file, 4 * me, &x, 1, MPI_INT, IGNORE); // stuck 0 1: MPI_File_write_at_all
}

// case missing_in_split 3: rank 2 has not come to MPI_Comm_split
static void missing_in_split(void) {
    MPI_Comm part;
    ONE_IS_MISSING(MPI_Comm_split(WORLD, me, 0, &part)); // stuck 0 1 2: wait
}

// case missing_in_ibarrier 3: rank 2 has not come to
static void missing_in_ibarrier(void) {
    MPI_Request request;
    if (me < 2)
        MPI_Ibarrier(WORLD, &request);
    ONE_IS_MISSING(MPI_Wait(&request, IGNORE)); // stuck 0 1 2: wait
}

// case missing_in_later_ibarrier 3: rank 2 has not come to
static void missing_in_later_ibarrier(void) {
    MPI_Request request;
    for (int time = 0; time < 6; time++) {
        MPI_Ibarrier(WORLD, &request); // from the third on over shared memory
        MPI_Wait(&request, IGNORE);
    }
    if (me < 2)
        MPI_Ibarrier(WORLD, &request);
    ONE_IS_MISSING(MPI_Wait(&request, IGNORE)); // stuck 0 1 2: wait
}

// case gone_before_barrier 3: rank 2 has not come to MPI_Allreduce ; rank 2 has finalized
static void gone_before_barrier(void) {
    if (me < 2)
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, WORLD); // stuck 0 1: for rank 2 in MPI_Allreduce
}

// case different_order 2: rank 1 has not come to MPI_Barrier ; rank 1 is in MPI_Barrier on twin
static void different_order(void) {
    MPI_Comm twin;
    MPI_Comm_dup(WORLD, &twin);
    MPI_Comm_set_name(twin, "twin");
    if (me == 0) {
        MPI_Barrier(WORLD); // stuck 0: for rank 1 in MPI_Barrier
        MPI_Barrier(twin);
    } else {
        MPI_Barrier(twin); // stuck 1: for rank 0 in MPI_Barrier
        MPI_Barrier(WORLD);
    }
}

// case different_kinds 2: rank 0 calls MPI_Barrier and rank 1 MPI_Bcast with root 0 ; number 1 on MPI_COMM_WORLD
static void different_kinds(void) {
    if (me == 0) {
        MPI_Barrier(WORLD); // stuck 0: in MPI_Barrier
    } else {
        MPI_Bcast(many, 0, MPI_CHAR, 0, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE); // stuck 1: for a message of rank 0
    }
}

// case self_receive 1: rank 0 waits for itself
static void self_receive(void) {
    MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE); // stuck 0: for a message of rank 0 with tag 0
}

// case self_ssend 2: rank 1 waits for itself
static void self_ssend(void) {
    if (me == 1)
        MPI_Ssend(&x, 1, MPI_INT, 1, 0, WORLD); // stuck 1: until rank 1 receives its message with tag 0
}

// case ssend_without_receive 2: rank 0 waits for rank 1, which has finalized
static void ssend_without_receive(void) {
    if (me == 0)
        MPI_Ssend(&x, 1, MPI_INT, 1, 6, WORLD); // stuck 0: until rank 1 receives its message with tag 6 ; has finalized
}

// case probe 2: ranks 0 and 1 wait for each other
static void probe(void) {
    MPI_Status status;
    MPI_Probe(1 - me, MPI_ANY_TAG, WORLD, &status); // stuck 0 1: for a message of rank ; with any tag
}

// case probe_loop 2: ranks 0 and 1 wait for each other
static void probe_loop(void) {
    int flag = 0;
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, 3, WORLD, &flag, IGNORE); // stuck 0 1: calls MPI_Iprobe ; of any rank with tag 3
}

// case test_loop 2: ranks 0 and 1 wait for each other
static void test_loop(void) {
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(&x, 1, MPI_INT, 1 - me, 12, WORLD, &request);
    if (me == 0)
        while (!flag)
            MPI_Test(&request, &flag, IGNORE); // stuck 0: calls MPI_Test ; of rank 1 with tag 12
    else
        MPI_Wait(&request, IGNORE); // stuck 1: for a message of rank 0 with tag 12
}

// case testall_loop 3: ranks 0, 1 and 2 wait for one another
static void testall_loop(void) {
    MPI_Request requests[2];
    int flag = 0;
    if (me == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&many[i], 1, MPI_INT, i + 1, 14, WORLD, &requests[i]);
        while (!flag)
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE); // stuck 0: calls MPI_Testall ; of rank 2 with tag 14
    } else if (me == 1) {
        MPI_Send(&x, 1, MPI_INT, 0, 14, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 0, 14, WORLD, IGNORE); // stuck 1: for a message of rank 0
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 14, WORLD, IGNORE); // stuck 2: for a message of rank 0
    }
}

// case any_source 3: ranks 0, 1 and 2 wait for one another
static void any_source(void) {
    MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 2, WORLD, IGNORE); // stuck 0 1 2: for a message of any rank with tag 2
}

// case waitany 3: ranks 0, 1 and 2 wait for one another
static void waitany(void) {
    MPI_Request requests[2];
    int which;
    if (me == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&many[i], 1, MPI_INT, i + 1, 2, WORLD, &requests[i]);
        MPI_Waitany(2, requests, &which, IGNORE); // stuck 0: waits for any of these ; a message of rank 1 ; a message of rank 2
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 2, WORLD, IGNORE); // stuck 1 2: for a message of rank 0
    }
}

// case waitall 3: ranks 0 and 2 wait for each other
static void waitall(void) {
    MPI_Request requests[2];
    if (me == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&many[i], 1, MPI_INT, i + 1, 2, WORLD, &requests[i]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); // stuck 0: a message of rank 2
    } else if (me == 1) {
        MPI_Send(&x, 1, MPI_INT, 0, 2, WORLD);
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 2, WORLD, IGNORE); // stuck 2: for a message of rank 0
    }
}

// case sendrecv 2: ranks 0 and 1 wait for each other
static void sendrecv(void) {
    MPI_Sendrecv(&x, 1, MPI_INT, 1 - me, me, &y, 1, MPI_INT, 1 - me, me, WORLD, IGNORE); // stuck 0 1: is here; this call waits for tag
}

// case persistent 2: ranks 0 and 1 wait for each other
static void persistent(void) {
    MPI_Request request;
    MPI_Recv_init(&x, 1, MPI_INT, 1 - me, 21, WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, IGNORE); // stuck 0 1: with tag 21
}

// case never_completed 2: rank 0 waits for rank 1, which has finalized
static void never_completed(void) {
    MPI_Request request;
    if (me == 0) {
        MPI_Isend(big, BIG, MPI_CHAR, 1, 13, WORLD, &request);
        MPI_Wait(&request, IGNORE); // stuck 0: receives its message with tag 13
    }
}

static int nothing(void *state, MPI_Status *status) { return state == status; }
static int nothing_more(void *state) { return state != NULL; }
static int no_cancel(void *state, int complete) { return state != NULL && complete; }

// case never_completed_by_itself 2: something that nobody can do
static void never_completed_by_itself(void) {
    MPI_Request request;
    MPI_Grequest_start(nothing, nothing_more, no_cancel, NULL, &request);
    if (me == 0)
        MPI_Wait(&request, IGNORE); // stuck 0: MPI_Grequest_complete
    else
        MPI_Grequest_complete(request);
    if (me == 1)
        MPI_Wait(&request, IGNORE);
}

// case between_groups 4: wait
static void between_groups(void) {
    MPI_Comm half, across;
    MPI_Comm_split(WORLD, me / 2, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, me < 2 ? 2 : 0, 1, &across);
    if (me < 2)
        MPI_Recv(&x, 1, MPI_INT, me, 17, across, IGNORE); // stuck 0 1: for a message of rank ; an intercommunicator of ranks 0, 1, 2 and 3
    else
        MPI_Barrier(across); // stuck 2 3: in MPI_Barrier
}

// case part_of_the_ranks 4: ranks 0 and 1 wait for each other
static void part_of_the_ranks(void) {
    if (me < 2)
        MPI_Recv(&x, 1, MPI_INT, 1 - me, 1, WORLD, IGNORE); // stuck 0 1: with tag 1
    else
        sleep(60);
}

static void *receive(void *nobody) {
    MPI_Recv(&y, 1, MPI_INT, 1 - me, 2, WORLD, IGNORE);
    return nobody;
}

// case two_threads 2: ranks 0 and 1 wait for each other
static void two_threads(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, receive, NULL);
    MPI_Recv(&x, 1, MPI_INT, 1 - me, 1, WORLD, IGNORE); // stuck 0 1: with tag 1 ; with tag 2
    pthread_join(thread, NULL);
}

// case thread_joined 2: ranks 0 and 1 wait for each other
static void *later(void *nobody) {
    MPI_Recv(&y, 1, MPI_INT, 1 - me, 2, WORLD, IGNORE); // stuck 0 1: with tag 2
    return nobody;
}

static void thread_joined(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, later, NULL);
    pthread_join(thread, NULL);
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(crossed_receives), CASE(crossed_sends), CASE(wrong_tag), CASE(wrong_tag_both), CASE(wrong_communicator),
    CASE(wrong_source), CASE(ring_of_receives), CASE(missing_in_barrier), CASE(missing_in_late_barrier),
    CASE(missing_in_bcast), CASE(missing_in_reduce), CASE(missing_in_allreduce), CASE(missing_in_long_allreduce),
    CASE(missing_in_gather), CASE(missing_in_allgather), CASE(missing_in_alltoall), CASE(missing_in_scatter),
    CASE(missing_in_scan), CASE(missing_in_a_file), CASE(missing_in_split), CASE(missing_in_ibarrier), CASE(missing_in_later_ibarrier),
    CASE(gone_before_barrier),
    CASE(different_order), CASE(different_kinds), CASE(self_receive), CASE(self_ssend), CASE(ssend_without_receive),
    CASE(probe), CASE(probe_loop), CASE(test_loop), CASE(testall_loop), CASE(any_source), CASE(waitany), CASE(waitall), CASE(sendrecv),
    CASE(persistent), CASE(never_completed), CASE(never_completed_by_itself), CASE(between_groups),
    CASE(part_of_the_ranks), CASE(two_threads), CASE(thread_joined),
};

int main(int argc, char **argv) {
    int given, threads = argc > 1 && strstr(argv[1], "thread") != NULL;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
    MPI_Comm_rank(WORLD, &me);
    MPI_Comm_size(WORLD, &size);
    big = calloc(BIG, 1);
    other = calloc(BIG, 1);
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    MPI_Finalize();
    return 0;
}
