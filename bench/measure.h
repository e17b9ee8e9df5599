/* How a call is timed.
 *
 * A point is one operation at one size. Every visit of a point is: pass the gate, a few calls to warm up, then one
 * batch of calls between two readings of the clock. The first visit finds how many calls fill the time asked for;
 * later ones keep to that. All ranks make the same number of calls. The slowest rank's time counts.
 *
 * Freshly written data: the operation writes its buffer before it communicates (write_fresh). That counts, for where a
 * library leaves the lines of a buffer decides what it costs to write there again.
 */
#ifndef MEASURE_H
#define MEASURE_H

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

#include "gate.h"

#ifndef MOST_POINTS
#define MOST_POINTS 128
#endif

static int rank, ranks, cpus;
static int thread_level = MPI_THREAD_SINGLE; /* what the program asks for */
static cpu_set_t all_cpus;                   /* those that the job may use */
static double seconds_per_batch = 0.008;
static int call; /* number of the call in the batch: what has a root takes the ranks in turn */

typedef void (*operation)(char *out, char *in, int bytes);

/* Whole numbers, so that sums stay small and exact. */
static inline void write_fresh(char *out, long bytes)
{
    static double value;
    value = value < 100 ? value + 1 : 1;
    for (long i = 0; i < bytes / 8; i++)
        ((double *)out)[i] = value;
}

/* Seconds of the slowest rank. */
static double time_batch(operation run, char *out, char *in, int bytes, int count)
{
    double own, slowest;

    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (call = 0; call < count; call++)
        run(out, in, bytes);
    own = MPI_Wtime() - began;
    MPI_Barrier(MPI_COMM_WORLD); /* ranks that play no part wait here, as they do in Intel's benchmark */
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static int limited(double wanted, int least, int most)
{
    return wanted < least ? least : wanted > most ? most : (int)wanted;
}

/* Seconds for one call, the same on all ranks, which have passed the gate. Points are numbered 0, 1, … */
static double seconds_behind_gate(int point, operation run, char *out, char *in, int bytes)
{
    static int counts[MOST_POINTS];
    int known = counts[point] > 0, count = known ? counts[point] : 1;

    time_batch(run, out, in, bytes, limited(count / 4, 1, 1 << 20));
    double took = time_batch(run, out, in, bytes, count);
    while (!known && took < 0.8 * seconds_per_batch && count < 1 << 22) {
        count = limited(1.1 * count * seconds_per_batch / (took + 1e-9) + 1, 1, 8 * count);
        took = time_batch(run, out, in, bytes, count);
    }
    counts[point] = limited(count * seconds_per_batch / (took + 1e-9), count / 2 + 1, 2 * count);
    return took / count;
}

/* The same from before the gate; -1 if the runner wants no figure. */
static double seconds_for(int point, operation run, char *out, char *in, int bytes)
{
    return wait_at_gate("ready\n") ? seconds_behind_gate(point, run, out, in, bytes) : -1;
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
    if (ranks > cpus)
        seconds_per_batch *= 4;
    else
        stay_on_cpu(rank); /* one rank a core where there are enough, with every library */
    open_gate(rank);
}

#endif
