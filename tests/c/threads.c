/* ranks: 2
 * Four threads of each rank talk at the same time: each pair by its own tag,
 * on one communicator; all receive from anybody; each does collectives on a
 * communicator of its own. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300, LARGE = 100000 };
static MPI_Comm comms[THREADS];
static int received;

static void talk(int thread)
{
    unsigned char *out = malloc(LARGE), *in = malloc(LARGE);
    int peer = 1 - rank;
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = round % 10 == 0 ? LARGE : round * 13 % 5000;
        MPI_Request request;
        fill(out, bytes, thread * 1000 + round);
        MPI_Irecv(in, bytes, MPI_BYTE, peer, thread, MPI_COMM_WORLD, &request);
        MPI_Send(out, bytes, MPI_BYTE, peer, thread, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_FILLED(in, bytes, thread * 1000 + round);
    }
    free(out);
    free(in);
}

/* Whichever thread takes it, each message is taken once: by probe and receive as one. */
static void take_any(int thread)
{
    for (int round = 0; round < ROUNDS; round++) {
        int value = thread * ROUNDS + round, sum;
        MPI_Message message;
        MPI_Send(&value, 1, MPI_INT, 1 - rank, 100, MPI_COMM_WORLD);
        MPI_Mprobe(MPI_ANY_SOURCE, 100, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&sum, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        __atomic_add_fetch(&received, sum, __ATOMIC_RELAXED);
    }
}

static void collect(int thread)
{
    for (int round = 0; round < ROUNDS; round++) {
        int value = rank + thread + round, sum = 0;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[thread]);
        CHECK_EQUAL(sum, 2 * (thread + round) + 1);
        MPI_Barrier(comms[thread]);
    }
}

static void *work(void *argument)
{
    int thread = *(int *)argument;
    talk(thread);
    take_any(thread);
    collect(thread);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, numbers[THREADS], all = THREADS * ROUNDS;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
    for (int index = 0; index < THREADS; index++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[index]);
    for (int index = 0; index < THREADS; index++) {
        numbers[index] = index;
        pthread_create(&threads[index], NULL, work, &numbers[index]);
    }
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    CHECK_EQUAL(received, all * (all - 1) / 2);
    for (int index = 0; index < THREADS; index++)
        MPI_Comm_free(&comms[index]);
    return check_end();
}
