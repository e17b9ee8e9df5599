/* ranks: 2
 * Threads write, send and reallocate big blocks, and a big variable, while their rank forks again and again. No store
 * may be lost, and every child must see all blocks as they were at one moment. Blocks that are sent become shared
 * between the ranks, each fork makes them private, and so on. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define FORKS 200
#define PAGES 96
#define PAGE_LONGS 512

typedef struct {
    long *pages;           /* the first number of each page is its generation */
    atomic_long moving;    /* odd while the block has no fixed place */
    atomic_long rounds;
    enum { ALLOC_MEM, STATIC, MALLOC } kind;
} block;

static block blocks[THREADS];
static long variable[PAGES * PAGE_LONGS];
static atomic_int stop;

/* Writes generation after generation, page by page, and looks first whether the last one is still there. */
static void write_generation(block *mine, long generation)
{
    for (int page = 0; page < PAGES; page++) {
        long *number = mine->pages + page * PAGE_LONGS;
        CHECK_EQUAL(*(volatile long *)number, generation - 1);
        number[PAGE_LONGS - 1] = generation;
        atomic_signal_fence(memory_order_seq_cst);
        *(volatile long *)number = generation;
    }
}

static void exchange(block *mine, long *in, int number, long generation)
{
    int bytes = PAGES * PAGE_LONGS * sizeof(long), peer = 1 - rank;
    MPI_Sendrecv(mine->pages, bytes, MPI_BYTE, peer, number, in, bytes, MPI_BYTE, peer, number, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int page = 0; page < PAGES; page++) {
        CHECK_EQUAL(in[page * PAGE_LONGS], generation);
        CHECK_EQUAL(in[page * PAGE_LONGS + PAGE_LONGS - 1], generation);
    }
}

/* Gives the block another place, with what is in it; a variable keeps its place. */
static void reallocate(block *mine)
{
    if (mine->kind == STATIC)
        return;
    long bytes = PAGES * PAGE_LONGS * sizeof(long);
    atomic_fetch_add(&mine->moving, 1);
    if (mine->kind == ALLOC_MEM) {
        long *other;
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &other);
        memcpy(other, mine->pages, bytes);
        MPI_Free_mem(mine->pages);
        mine->pages = other;
    } else {
        mine->pages = realloc(mine->pages, 3 * bytes);
        mine->pages = realloc(mine->pages, bytes);
    }
    atomic_fetch_add(&mine->moving, 1);
}

static void *write_and_send(void *argument)
{
    int number = (int)(long)argument;
    block *mine = &blocks[number];
    long *in = malloc(PAGES * PAGE_LONGS * sizeof(long));
    for (long generation = 1;; generation++) {
        write_generation(mine, generation);
        exchange(mine, in, number, generation);
        atomic_store(&mine->rounds, generation);
        if (generation % 40 == 0)
            reallocate(mine);
        /* Both ranks stop after the same generation. */
        int mine_is_over = atomic_load(&stop), theirs_is_over = 0;
        MPI_Sendrecv(&mine_is_over, 1, MPI_INT, 1 - rank, 100 + number, &theirs_is_over, 1, MPI_INT, 1 - rank,
                     100 + number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (mine_is_over && theirs_is_over)
            break;
    }
    free(in);
    return NULL;
}

/* In a child: each block is being written from its first page to its last, so later pages are one behind or equal. */
static int torn(void)
{
    for (int number = 0; number < THREADS; number++) {
        block *one = &blocks[number];
        if (atomic_load(&one->moving) % 2)
            continue;
        long first = one->pages[0], last = one->pages[(PAGES - 1) * PAGE_LONGS];
        long before = first;
        for (int page = 0; page < PAGES; page++) {
            long now = one->pages[page * PAGE_LONGS];
            if (now > before) {
                dprintf(2,
                        "rank %d, block %d at %p: page %d has generation %ld, the one before %ld, the first %ld, "
                        "the last %ld\n",
                        rank, number, (void *)one->pages, page, now, before, first, last);
                return 1;
            }
            before = now;
        }
        if (first - last > 1)
            return 2;
    }
    return 0;
}

/* Memory that a child takes. Not from the allocator of gcc's AddressSanitizer: a fork while another thread is in it
 * leaves its lock taken in the child for ever. */
static char *own_memory(void)
{
#ifdef __SANITIZE_ADDRESS__
    return NULL;
#else
    char *own = malloc(1 << 20);
    return memset(own, 1, 1 << 20);
#endif
}

/* A child looks at once and again later, while the parent goes on; it also takes memory of its own. */
static void be_a_child(int patient)
{
    int found = torn();
    char *own = own_memory();
    if (patient)
        usleep(3000);
    if (!found)
        found = torn() ? 3 : 0;
    free(own);
    _exit(found);
}

static void collect(pid_t child)
{
    int status = 0;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++) {
        long bytes = PAGES * PAGE_LONGS * sizeof(long);
        block *one = &blocks[number];
        one->kind = number < MALLOC ? number : MALLOC;
        if (one->kind == ALLOC_MEM)
            MPI_Alloc_mem(bytes, MPI_INFO_NULL, &one->pages);
        else if (one->kind == STATIC)
            one->pages = variable;
        else
            one->pages = malloc(bytes);
        memset(one->pages, 0, bytes);
        pthread_create(&threads[number], NULL, write_and_send, (void *)number);
    }
    for (int round = 0; round < FORKS; round++) {
        long before = atomic_load(&blocks[round % THREADS].rounds);
        pid_t child = fork();
        if (child == 0)
            be_a_child(round % 4 == 0);
        CHECK(child > 0);
        collect(child);
        /* Between some forks the threads get the time to share their blocks again. */
        while (round % 3 == 0 && atomic_load(&blocks[round % THREADS].rounds) < before + 10)
            usleep(200);
    }
    atomic_store(&stop, 1);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    return check_end();
}
