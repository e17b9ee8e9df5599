/* Programs that are slow, but alive, in communicators that are being made and in partitioned operations:
 * slow_pending CASE SECONDS. Comments as in slow.c. */

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static int me, seconds;
static int x, many[64];

static void doze(void) { sleep(seconds); }

// case late_idup 2
static void late_idup(void) {
    MPI_Comm twin;
    MPI_Request request;
    if (me == 1)
        doze();
    MPI_Comm_idup(WORLD, &twin, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Comm_free(&twin);
}

// case idup_goes_on_in_a_receive 4
static void idup_goes_on_in_a_receive(void) {
    // Ranks 1 and 2 hand on in MPI_Recv what rank 0 tells late; rank 3 waits for that.
    MPI_Comm twin;
    MPI_Request request;
    if (me == 0)
        doze();
    MPI_Comm_idup(WORLD, &twin, &request);
    if (me == 1 || me == 2)
        MPI_Recv(&x, 1, MPI_INT, 3, 0, WORLD, IGNORE);
    MPI_Wait(&request, IGNORE);
    if (me == 3)
        for (int i = 1; i < 3; i++)
            MPI_Send(&x, 1, MPI_INT, i, 0, WORLD);
    MPI_Comm_free(&twin);
}

// case late_idup_between_groups 4
static void late_idup_between_groups(void) {
    MPI_Comm half, across, twin;
    MPI_Request request;
    MPI_Comm_split(WORLD, me / 2, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, me < 2 ? 2 : 0, 1, &across);
    if (me == 0)
        doze();
    MPI_Comm_idup(across, &twin, &request);
    if (me == 2)
        MPI_Recv(&x, 1, MPI_INT, 3, 0, WORLD, IGNORE);
    MPI_Wait(&request, IGNORE);
    if (me == 3)
        MPI_Send(&x, 1, MPI_INT, 2, 0, WORLD);
}

// case partitioned 2
static void partitioned(void) {
    MPI_Request request;
    if (me == 0)
        MPI_Precv_init(many, 2, 4, MPI_INT, 1, 1, WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Psend_init(many, 2, 4, MPI_INT, 0, 1, WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (me == 1) {
        doze();
        MPI_Pready_range(0, 1, request);
    }
    MPI_Wait(&request, IGNORE);
    MPI_Request_free(&request);
}

// case parrived_loop 2
static void parrived_loop(void) {
    MPI_Request request;
    int done = 0;
    if (me == 0)
        MPI_Precv_init(many, 4, 4, MPI_INT, 1, 1, WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Psend_init(many, 4, 4, MPI_INT, 0, 1, WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (me == 1) {
        MPI_Pready_range(1, 3, request);
        doze();
        MPI_Pready(0, request);
    } else {
        while (!done)
            MPI_Parrived(request, 0, &done);
    }
    MPI_Wait(&request, IGNORE);
    MPI_Request_free(&request);
}

static MPI_Request ready_later;

static void *make_ready(void *nobody) {
    doze();
    MPI_Pready_range(0, 1, ready_later);
    return nobody;
}

// case ready_by_a_thread 2
static void ready_by_a_thread(void) {
    pthread_t thread;
    if (me == 0)
        MPI_Precv_init(many, 2, 4, MPI_INT, 1, 1, WORLD, MPI_INFO_NULL, &ready_later);
    else
        MPI_Psend_init(many, 2, 4, MPI_INT, 0, 1, WORLD, MPI_INFO_NULL, &ready_later);
    MPI_Start(&ready_later);
    if (me == 1)
        pthread_create(&thread, NULL, make_ready, NULL);
    MPI_Wait(&ready_later, IGNORE);
    if (me == 1)
        pthread_join(thread, NULL);
    MPI_Request_free(&ready_later);
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(late_idup), CASE(idup_goes_on_in_a_receive), CASE(late_idup_between_groups), CASE(partitioned),
    CASE(parrived_loop), CASE(ready_by_a_thread),
};

int main(int argc, char **argv) {
    int given, threads = strstr(argv[1], "thread") != NULL;
    seconds = argc > 2 ? atoi(argv[2]) : 60;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
    MPI_Comm_rank(WORLD, &me);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    MPI_Finalize();
    return 0;
}
