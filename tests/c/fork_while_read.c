/* ranks: 2
 * Rank 0 forks while rank 1 reads memory of it through the kernel, which pins those pages: a fork copies pinned pages
 * at once and others when they are written. Nevertheless every child must see all pages as they were at one moment. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 5000
#define PAGES 96
#define PAGE_LONGS 512

static const int bytes = PAGES * PAGE_LONGS * sizeof(long);
static volatile long *pages;
static atomic_int stop;

/* Writes generation after generation from the first page to the last, and sends each. */
static void *write_and_send(void *argument)
{
    (void)argument;
    for (long generation = 1;; generation++) {
        for (int page = 0; page < PAGES; page++)
            pages[page * PAGE_LONGS] = generation;
        int last = atomic_load(&stop);
        MPI_Send((void *)pages, bytes, MPI_BYTE, 1, last, MPI_COMM_WORLD);
        if (last)
            return NULL;
    }
}

/* In a child: no page is ahead of the one before it. Its number, if one is. */
static int torn(void)
{
    for (int page = 1; page < PAGES; page++)
        if (pages[page * PAGE_LONGS] > pages[(page - 1) * PAGE_LONGS])
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
    MPI_Status status;
    do
        MPI_Recv(in, bytes, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    while (status.MPI_TAG == 0);
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
    pthread_t thread;
    /* Memory that is no block of malloc, so that it is never shared between the ranks. */
    pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    pthread_create(&thread, NULL, write_and_send, NULL);
    fork_again_and_again();
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    return check_end();
}
