/* ranks: 2 3
 * Windows on small memory of the program: variables with values, and blocks of malloc that share their pages with other
 * data. Peers reach them by plain loads and stores, and their neighbours stay the program's own, also over a fork. */
#include "counter.h"
#include "windows.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

struct three {
    long before, counter, after;
};
static struct three variable = {11, 0, 22};
/* One with a page to itself. */
static union {
    struct three is;
    char page[4096];
} late __attribute__((aligned(4096))) = {{11, 0, 22}};

enum { BLOCKS = 40 };

static unsigned long long through_the_kernel(void)
{
    return counter("bytes_cross_memory", MPI_T_PVAR_CLASS_AGGREGATE);
}

/* All add one to `place` bytes of everybody's window; whether it is so. */
static int add_everywhere(MPI_Win win, MPI_Aint place, long *mine)
{
    long one = 1, before = *mine;
    MPI_Barrier(W);
    MPI_Win_lock_all(0, win);
    for (int to = 0; to < size; to++)
        MPI_Accumulate(&one, 1, MPI_LONG, to, place, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(W);
    return *mine == before + size;
}

static MPI_Win window_on(long *memory, MPI_Aint bytes)
{
    MPI_Win win;
    MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, W, &win);
    return win;
}

static void check_variable(struct three *one, int is_direct)
{
    unsigned long long copies = through_the_kernel();
    for (int turn = 0; turn < 3; turn++) {
        MPI_Win win = window_on(&one->counter, sizeof(long));
        CHECK(add_everywhere(win, 0, &one->counter));
        MPI_Win_free(&win);
        one->counter++; /* it is the program's own again, with its value */
    }
    CHECK(one->before == 11 && one->after == 22);
    if (is_direct)
        CHECK_EQUAL(through_the_kernel(), copies);
    else
        CHECK(through_the_kernel() > copies);
}

/* Neighbours in a page, each in a window of its own; they come and go in different orders. */
static void check_blocks(void)
{
    long *blocks[BLOCKS];
    MPI_Win wins[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(200 + 8 * rank);
        blocks[i][0] = i, blocks[i][1] = -i;
        wins[i] = window_on(blocks[i], 8);
    }
    for (int i = 0; i < BLOCKS; i++)
        CHECK(add_everywhere(wins[i], 0, blocks[i]));
    for (int i = 0; i < BLOCKS; i++) {
        int which = i * 7 % BLOCKS;
        MPI_Win_free(&wins[which]);
        blocks[which][1]--;
        CHECK(blocks[which][0] == which + size && blocks[which][1] == -which - 1);
    }
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(blocks[i][0] == i + size && blocks[i][1] == -i - 1);
        free(blocks[i]);
    }
}

/* Memory of which one window has a part and another one more than that. */
static void check_overlap(void)
{
    enum { WORDS = 3000 };
    long *block = calloc(WORDS, sizeof *block);
    MPI_Win part = window_on(block + 600, 800), all = window_on(block, WORDS * sizeof *block);
    for (int turn = 0; turn < 3; turn++) {
        CHECK(add_everywhere(part, 80, block + 610));
        CHECK(add_everywhere(all, 610 * 8, block + 610));
        CHECK(add_everywhere(all, 8 * (WORDS - 1), block + WORDS - 1));
    }
    /* No addition is lost where some know the memory as words and others do not. */
    enum { TIMES = 2000 };
    long one = 1, before = block[610];
    MPI_Win win = rank % 2 ? part : all;
    MPI_Barrier(W);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; i++) {
        MPI_Accumulate(&one, 1, MPI_LONG, 0, rank % 2 ? 80 : 610 * 8, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(W);
    CHECK_EQUAL(block[610], before + (rank ? 0 : size * TIMES));
    block[610] = before;
    MPI_Barrier(W);

    MPI_Win_free(&part);
    CHECK(add_everywhere(all, 610 * 8, block + 610));
    MPI_Win_free(&all);
    CHECK(block[610] == 7 * size && block[WORDS - 1] == 3 * size);
    free(block);
}

/* A child has memory of its own there, neighbours and all, as it was at the fork. */
static void check_fork(void)
{
    long *block = malloc(300);
    int to_child[2], to_parent[2], status;
    char word = 0;
    block[0] = 1, block[1] = 5;
    MPI_Win win = window_on(block, 8);
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
    pid_t child = fork();
    if (child == 0) {
        int was = block[0] == 1 && block[1] == 5;
        block[1] = 77;
        if (write(to_parent[1], "x", 1) != 1 || read(to_child[0], &word, 1) != 1)
            _exit(2);
        _exit(was && block[0] == 1 && block[1] == 77 ? 0 : 1);
    }
    CHECK(read(to_parent[0], &word, 1) == 1);
    CHECK(add_everywhere(win, 0, block));
    CHECK_EQUAL(block[1], 5);
    CHECK(write(to_child[1], "x", 1) == 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(add_everywhere(win, 0, block));
    MPI_Win_free(&win);
    for (int i = 0; i < 2; i++)
        close(to_child[i]), close(to_parent[i]);
    free(block);
}

static void check_attached(void)
{
    MPI_Win win;
    long *block = malloc(100), zero = 0, seen;
    MPI_Aint address, addresses[16];
    block[0] = 3, block[1] = 4;
    MPI_Win_create_dynamic(MPI_INFO_NULL, W, &win);
    MPI_Win_attach(win, block, 8);
    MPI_Get_address(block, &address);
    MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, W);
    MPI_Win_lock_all(0, win);
    for (int to = 0; to < size; to++) {
        MPI_Fetch_and_op(&zero, &seen, MPI_LONG, to, addresses[to], MPI_NO_OP, win);
        MPI_Win_flush(to, win);
        CHECK_EQUAL(seen, 3);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(W);
    MPI_Win_detach(win, block);
    MPI_Win_free(&win);
    CHECK(block[0] == 3 && block[1] == 4);
    free(block);
}

static void *waits(void *ends)
{
    char word;
    ssize_t got = read(*(int *)ends, &word, 1);
    return got == 1 ? NULL : ends;
}

/* AddressSanitizer leaves no room for the windows of ranks: all goes through the kernel. */
#ifdef __SANITIZE_ADDRESS__
enum { HAS_WINDOWS = 0 };
#else
enum { HAS_WINDOWS = 1 };
#endif

int main(int argc, char **argv)
{
    pthread_t thread;
    void *failed;
    int ends[2];
    check_begin(&argc, &argv);
    through_the_kernel();
    check_variable(&variable, HAS_WINDOWS);
    for (int turn = 0; turn < 20; turn++)
        check_blocks(), check_overlap(), check_fork(), check_attached();
    check_variable(&variable, HAS_WINDOWS);

    /* With a thread beside, which might write to the same pages, they stay what they are; all else is the same. */
    MPI_Win before = window_on(&variable.counter, sizeof(long));
    CHECK(pipe(ends) == 0 && pthread_create(&thread, NULL, waits, ends) == 0);
    CHECK(add_everywhere(before, 0, &variable.counter));
    MPI_Win_free(&before);
    check_variable(&variable, HAS_WINDOWS);
    check_variable(&late.is, 0);
    check_blocks(), check_overlap(), check_fork(), check_attached();
    CHECK(write(ends[1], "x", 1) == 1 && pthread_join(thread, &failed) == 0 && !failed);
    check_variable(&variable, HAS_WINDOWS);
    check_variable(&late.is, HAS_WINDOWS);
    return check_end();
}
