/* One rank, two threads (MPI_THREAD_MULTIPLE): messages of 8 bytes that each thread sends to its own rank, in windows.
 * One thread alone; two threads that have a communicator each; two threads in one communicator, by their tags. */
#include "measure.h"

#include <pthread.h>

#define WINDOW 32
#define WINDOWS 200 /* of a thread in a call: far more time than it takes to let two threads begin together */
#define THREADS 2

static MPI_Comm own_comm[THREADS], shared_comm, *comm_of[THREADS];
static int threads_in_call;
static pthread_barrier_t begin, end;

static void windows(int thread)
{
    char out[8] = {0}, in[WINDOW][8];
    MPI_Request requests[2 * WINDOW];
    MPI_Comm comm = *comm_of[thread];

    for (int count = 0; count < WINDOWS; count++) {
        for (int i = 0; i < WINDOW; i++)
            MPI_Irecv(in[i], 8, MPI_BYTE, 0, thread, comm, &requests[i]);
        for (int i = 0; i < WINDOW; i++)
            MPI_Isend(out, 8, MPI_BYTE, 0, thread, comm, &requests[WINDOW + i]);
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    }
}

/* The second thread: takes part when a call has one for it. */
static void *second(void *unused)
{
    stay_on_cpu(1);
    for (;;) {
        pthread_barrier_wait(&begin);
        if (threads_in_call == 0)
            return unused;
        windows(1);
        pthread_barrier_wait(&end);
    }
}

static void one_thread(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
    windows(0);
}

static void two_threads(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
    threads_in_call = 2;
    pthread_barrier_wait(&begin);
    windows(0);
    pthread_barrier_wait(&end);
}

static void point(int number, const char *name, operation run, int threads)
{
    show_rate(name, 8, 1e-6 * threads * WINDOWS * WINDOW, seconds_for(number, run, NULL, NULL, 8), "M/s");
}

static void all_points(void)
{
    comm_of[0] = &own_comm[0], comm_of[1] = &own_comm[1];
    point(0, "one-thread", one_thread, 1);
    point(1, "two-threads", two_threads, 2);
    comm_of[0] = comm_of[1] = &shared_comm;
    point(2, "two-threads-one-comm", two_threads, 2);
}

int main(int argc, char **argv)
{
    pthread_t thread;

    thread_level = MPI_THREAD_MULTIPLE;
    start(&argc, &argv);
    if (ranks != 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own_comm[i]);
    MPI_Comm_dup(MPI_COMM_WORLD, &shared_comm);
    pthread_barrier_init(&begin, NULL, THREADS);
    pthread_barrier_init(&end, NULL, THREADS);
    pthread_create(&thread, NULL, second, NULL);
    do
        all_points();
    while (wait_at_gate("round\n"));
    threads_in_call = 0;
    pthread_barrier_wait(&begin);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
