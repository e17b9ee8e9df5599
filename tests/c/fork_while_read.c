/* ranks: 2
 * Rank 0 forks while rank 1 reads memory of it through the kernel, which pins those pages: a fork copies pinned pages
 * at once and others when they are written. Nevertheless every child must see all pages as they were at one moment. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 1
#define FORKS 5000
#define PAGES 96
#define PAGE_LONGS 512

static const int bytes = PAGES * PAGE_LONGS * sizeof(long);
static volatile long *pages[THREADS];
static atomic_int stop;

/* Writes generation after generation from the first page to the last, and sends each. */
static void *write_and_send(void *argument)
{
    int number = (int)(long)argument, last;
    for (long generation = 1;; generation++) {
        for (int page = 0; page < PAGES; page++)
            pages[number][page * PAGE_LONGS] = generation;
        last = atomic_load(&stop);
        MPI_Send((void *)pages[number], bytes, MPI_BYTE, 1, last, MPI_COMM_WORLD);
        if (last)
            return NULL;
    }
}

/* In a child: no page is ahead of the one before it. Its number, if one is. */
static int torn(void)
{
    for (int number = 0; number < THREADS; number++)
        for (int page = 1; page < PAGES; page++)
            if (pages[number][page * PAGE_LONGS] > pages[number][(page - 1) * PAGE_LONGS])
                return page;
    return 0;
}

static void fork_again_and_again(void)
{
    for (int round = 0; round < FORKS; round++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(torn());
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK_EQUAL(status, 0);
    }
}

static void receive(void)
{
    char *in = malloc(bytes);
    for (int ended = 0; ended < THREADS;) {
        MPI_Status status;
        MPI_Recv(in, bytes, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        ended += status.MPI_TAG;
    }
    free(in);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 1) {
        receive();
        return check_end();
    }
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++) {
        /* Memory that is no block of malloc, so that it is never shared between the ranks. */
        pages[number] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(pages[number] != MAP_FAILED);
        pthread_create(&threads[number], NULL, write_and_send, (void *)number);
    }
    fork_again_and_again();
    atomic_store(&stop, 1);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    return check_end();
}
