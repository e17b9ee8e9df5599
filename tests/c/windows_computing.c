/* ranks: 2 4
 * Nobody waits for a target that computes and calls nothing, or is stopped: every operation on every kind of memory is done meanwhile,
 * wherever the target is, and so are locks that others hold for a while. Ranks on other nodes have a server for that,
 * which sleeps when it has nothing to do; where ranks of a node do not reach each other's memory, each has a thread. */
#include "windows.h"
#include <dirent.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* What all but the target do with its memory, each in its own part of it and all in one word. */
static void operations(struct window *w, int target)
{
    long value = 3, got = -1, old = -1, expected, next, one = 1;
    MPI_Aint mine = at(w, target, 128 + 64 * rank);
    static char block[40000], back[40000];
    for (int round = 0; round < 20; round++) {
        MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, w->win);
        value = 3, next = 12, expected = 5;
        MPI_Put(&value, 1, MPI_LONG, target, mine, 1, MPI_LONG, w->win);
        MPI_Win_flush(target, w->win);
        MPI_Get(&got, 1, MPI_LONG, target, mine, 1, MPI_LONG, w->win);
        MPI_Win_flush(target, w->win);
        CHECK_EQUAL(got, 3);
        value = 2;
        MPI_Accumulate(&value, 1, MPI_LONG, target, mine, 1, MPI_LONG, MPI_SUM, w->win);
        MPI_Fetch_and_op(NULL, &old, MPI_LONG, target, mine, MPI_NO_OP, w->win);
        MPI_Win_flush(target, w->win);
        CHECK_EQUAL(old, 5);
        MPI_Compare_and_swap(&next, &expected, &old, MPI_LONG, target, mine, w->win);
        MPI_Win_flush(target, w->win);
        CHECK_EQUAL(old, 5);
        MPI_Accumulate(&one, 1, MPI_LONG, target, at(w, target, 64), 1, MPI_LONG, MPI_SUM, w->win);
        if (round == 0) {
            fill(block, sizeof block, rank);
            MPI_Aint there = at(w, target, 4096 + rank * (MPI_Aint)sizeof block);
            MPI_Put(block, sizeof block, MPI_CHAR, target, there, sizeof block, MPI_CHAR, w->win);
            MPI_Win_flush(target, w->win);
            MPI_Get(back, sizeof back, MPI_CHAR, target, there, sizeof back, MPI_CHAR, w->win);
            MPI_Win_flush(target, w->win);
            CHECK(memcmp(block, back, sizeof block) == 0);
        }
        MPI_Win_unlock(target, w->win);
    }
}

/* The target computes until all others are ready: they tell so in its memory. */
static void while_it_computes(struct window *w, int target)
{
    volatile long *ready = (volatile long *)w->memory;
    long one = 1;
    MPI_Barrier(W);
    if (rank == target) {
        double until = now() + 20;
        while (*ready < size - 1 && now() < until)
            ;
        CHECK_EQUAL(*ready, size - 1);
        CHECK_EQUAL(*(volatile long *)(w->memory + 64), 20 * (size - 1));
        *ready = *(volatile long *)(w->memory + 64) = 0;
    } else {
        operations(w, target);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
        MPI_Accumulate(&one, 1, MPI_LONG, target, at(w, target, 0), 1, MPI_LONG, MPI_SUM, w->win);
        MPI_Win_unlock(target, w->win);
    }
    MPI_Barrier(W);
}

/* The last rank is stopped. It may not have the server of its node: that is a thread of the node's first rank. */
static void while_it_is_stopped(struct window *w)
{
    int pid = getpid(), last = size - 1;
    memset(w->memory, 0, 128);
    MPI_Barrier(W);
    if (rank == last)
        MPI_Send(&pid, 1, MPI_INT, 0, 1, W);
    if (rank == 0) {
        MPI_Recv(&pid, 1, MPI_INT, last, 1, W, MPI_STATUS_IGNORE);
        kill(pid, SIGSTOP);
        usleep(20000);
        operations(w, last);
        kill(pid, SIGCONT);
    }
    MPI_Barrier(W);
    if (rank == last)
        CHECK_EQUAL(*(volatile long *)(w->memory + 64), 20);
}

/* Clock ticks that the threads of this process have taken whose names begin so; how many they are. */
static long ticks_of(const char *name, int *threads)
{
    long all = 0;
    struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");
    *threads = 0;
    while ((entry = readdir(tasks))) {
        char path[300], line[600], *after;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        if (fgets(line, sizeof line, file) && strstr(line, name) && (after = strrchr(line, ')'))) {
            long user = 0, system = 0;
            sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system);
            all += user + system;
            ++*threads;
        }
        fclose(file);
    }
    closedir(tasks);
    return all;
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    check_begin(&argc, &argv);
    int threads, on_nodes = getenv("SERRIED_TRANSPORT") != NULL;
    int stops = !on_nodes || getenv("SERRIED_NODES"); /* then a node has several ranks */
    const char *copy = getenv("SERRIED_COPY");
    if (copy && strcmp(copy, "cross-memory") != 0)
        stops = 0; /* nobody but a rank's own threads reaches its memory then */
    for (enum kind kind = 0; kind < KINDS; kind++) {
        if (kind == OF_STACK || kind == STATIC)
            continue;
        struct window w = make_window(kind, 4096 + 40000 * size);
        while_it_computes(&w, size - 1);
        while_it_computes(&w, 0);
        if (stops)
            while_it_is_stopped(&w);
        free_window(&w);
    }
    struct window idle = make_window(ALLOCATED, 64);
    long before = ticks_of("(serried-server)", &threads);
    if (!on_nodes)
        CHECK_EQUAL(threads, 0); /* on one node nobody needs a server */
    usleep(1000000);
    /* Whoever runs at the moment is charged a whole tick; one that did not sleep would take a hundred. */
    CHECK(ticks_of("(serried-server)", &threads) - before <= 1);
    free_window(&idle);
    return check_end();
}
