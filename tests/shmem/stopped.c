/* pes: 2 direct */
/* The target is stopped by a signal: put, get and atomic operations complete all the same, in the heap and in variables,
 * each in less than a millisecond. One of several tries has to be that quick: others may need the core. */
#include "check.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long variable[16];
static int process;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static int is_stopped(int number)
{
    char name[64], line[256] = "";
    snprintf(name, sizeof name, "/proc/%d/stat", number);
    FILE *file = fopen(name, "r");
    if (!file)
        return 0;
    if (!fgets(line, sizeof line, file))
        line[0] = 0;
    fclose(file);
    char *state = strrchr(line, ')');
    return state && state[2] == 'T';
}

#define QUICKLY(what)                                                       \
    do {                                                                    \
        double best = 1;                                                    \
        for (int try = 0; try < 50 && best > 1e-3; try++) {                 \
            double began = now();                                           \
            what;                                                           \
            shmem_quiet();                                                  \
            double took = now() - began;                                    \
            best = took < best ? took : best;                               \
        }                                                                   \
        if (best > 1e-3)                                                    \
            CHECK_FAILED("%s took %g s at least", #what, best);             \
    } while (0)

static void operations(long *word)
{
    long source[16], back[16];
    for (int i = 0; i < 16; i++)
        source[i] = i;
    QUICKLY(shmem_long_put(word, source, 16, 1));
    QUICKLY(shmem_long_get(back, word, 16, 1));
    CHECK_EQUAL(back[15], 15);
    QUICKLY(shmem_long_p(word, 5, 1));
    CHECK_EQUAL(shmem_long_g(word, 1), 5);
    QUICKLY(shmem_long_atomic_fetch_add(word, 0, 1));
    QUICKLY(shmem_long_atomic_compare_swap(word, 5, 6, 1));
    CHECK_EQUAL(shmem_long_atomic_fetch(word, 1), 6);
    QUICKLY(shmem_long_atomic_set(word, 9, 1));
    QUICKLY(shmem_uint64_atomic_xor((uint64_t *)word, 0, 1));
    QUICKLY(shmem_long_iput(word, source, 2, 1, 8, 1));
}

int main(void)
{
    check_begin();
    long *heap = shmem_calloc(16, sizeof *heap);
    process = getpid();
    shmem_barrier_all();
    int other = shmem_int_g(&process, 1);
    shmem_barrier_all();
    if (me == 0) {
        /* nobody is asked to do anything that it has not begun already */
        shmem_long_p(heap, 0, 1);
        shmem_long_p(variable, 0, 1);
        kill(other, SIGSTOP);
        while (!is_stopped(other))
            usleep(1000);
        operations(heap);
        operations(variable);
        CHECK(is_stopped(other));
        kill(other, SIGCONT);
    }
    shmem_barrier_all();
    if (me == 1) {
        CHECK_EQUAL(heap[0], 0);
        CHECK_EQUAL(heap[14], 7);
        CHECK_EQUAL(variable[14], 7);
    }
    return check_end();
}
