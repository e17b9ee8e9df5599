/* How a call is timed.
 *
 * A point is one operation at one size. Every visit of a point is: pass the gate, a few calls to warm up, then one
 * batch of calls between two readings of the clock. The first visit finds how many calls fill the time asked for;
 * later ones keep to that. All ranks make the same number of calls. The slowest rank's time counts.
 *
 * Freshly written data: the operation writes its buffer before it communicates (write_fresh). The time of all this
 * writing is taken off the batch, by the same clock and the same rule with every library: all of it, if the ranks
 * write one after the other (IN_TURN, as in a ping-pong); a core's share, if all write at once (AT_ONCE).
 */
#ifndef MEASURE_H
#define MEASURE_H

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <time.h>

#include "gate.h"

#ifndef MOST_POINTS
#define MOST_POINTS 128
#endif
#define MOST_RANKS 64

static int rank, ranks, cpus;
static int thread_level = MPI_THREAD_SINGLE; /* what the program asks for */
static cpu_set_t all_cpus;                   /* those that the job may use */
static double seconds_per_batch = 0.008;
static double writing; /* seconds spent writing since the batch began */
static int call;       /* number of the call in the batch: what has a root takes the ranks in turn */

typedef void (*operation)(char *out, char *in, int bytes);
enum order { AT_ONCE, IN_TURN };

struct batch {
    double wall, counted;
};

/* With more ranks than cores a rank may lose its core while it writes; then only its own time on a core counts. */
static double writing_clock(void)
{
    struct timespec now;
    if (ranks <= cpus)
        return MPI_Wtime();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Whole numbers, so that sums stay small and exact. */
static inline void write_fresh(char *out, long bytes)
{
    static double value;
    double began = writing_clock();
    value = value < 100 ? value + 1 : 1;
    for (long i = 0; i < bytes / 8; i++)
        ((double *)out)[i] = value;
    writing += writing_clock() - began;
}

static struct batch time_batch(operation run, enum order order, char *out, char *in, int bytes, int count)
{
    double own[2], all[MOST_RANKS][2], wall = 0, written = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    writing = 0;
    double began = MPI_Wtime();
    for (call = 0; call < count; call++)
        run(out, in, bytes);
    own[0] = MPI_Wtime() - began;
    own[1] = writing;
    MPI_Barrier(MPI_COMM_WORLD); /* ranks that play no part wait here, as they do in Intel's benchmark */
    MPI_Allgather(own, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) {
        wall = all[i][0] > wall ? all[i][0] : wall;
        written += all[i][1];
    }
    return (struct batch){wall, wall - written / (order == IN_TURN ? 1 : ranks < cpus ? ranks : cpus)};
}

static int limited(double wanted, int least, int most)
{
    return wanted < least ? least : wanted > most ? most : (int)wanted;
}

/* Seconds for one call, the same on all ranks; -1 if the runner wants no figure. Points are numbered 0, 1, … */
static double seconds_for(int point, operation run, enum order order, char *out, char *in, int bytes)
{
    static int counts[MOST_POINTS];
    int known = counts[point] > 0, count = known ? counts[point] : 1;

    if (!wait_at_gate("ready\n"))
        return -1;
    time_batch(run, order, out, in, bytes, limited(count / 4, 1, 1 << 20));
    struct batch took = time_batch(run, order, out, in, bytes, count);
    while (!known && took.wall < 0.8 * seconds_per_batch && count < 1 << 22) {
        count = limited(1.1 * count * seconds_per_batch / (took.wall + 1e-9) + 1, 1, 8 * count);
        took = time_batch(run, order, out, in, bytes, count);
    }
    counts[point] = limited(count * seconds_per_batch / (took.wall + 1e-9), count / 2 + 1, 2 * count);
    return took.counted / count;
}

/* One figure, from rank 0. */
static void show(const char *name, int bytes, double value, const char *unit)
{
    char line[128];
    if (rank != 0)
        return;
    snprintf(line, sizeof line, "figure %s %d %.6g %s\n", name, bytes, value, unit);
    if (gate >= 0)
        tell_runner(line);
    else
        printf("%s", line + strlen("figure "));
}

/* A time, and an amount in a time, of one call that took `seconds`. */
static void show_time(const char *name, int bytes, double seconds, double parts)
{
    if (seconds >= 0)
        show(name, bytes, 1e6 * seconds / parts, "us");
}

static inline void show_rate(const char *name, int bytes, double amount, double seconds, const char *unit)
{
    if (seconds >= 0)
        show(name, bytes, amount / seconds, unit);
}

/* Memory of its own for each buffer, all of it written once. */
static char *buffer_of(long bytes)
{
    char *buffer = malloc(bytes);
    if (!buffer)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(buffer, 0, bytes);
    return buffer;
}

/* The calling thread stays on the n-th CPU that the job may use. */
static inline void stay_on_cpu(int number)
{
    cpu_set_t one;
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all_cpus) && seen++ == number) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
}

static void start(int *argc, char ***argv)
{
    cpu_set_t own;
    int provided;
    sched_getaffinity(0, sizeof own, &own); /* before the library may bind us; some launchers have done so already */
    MPI_Init_thread(argc, argv, thread_level, &provided);
    if (provided < thread_level)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allreduce(&own, &all_cpus, sizeof own, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    cpus = CPU_COUNT(&all_cpus);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (ranks > cpus)
        seconds_per_batch *= 4;
    else
        stay_on_cpu(rank); /* one rank a core where there are enough, with every library */
    open_gate(rank);
}

#endif
