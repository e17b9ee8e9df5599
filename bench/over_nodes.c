/* Collectives of ranks on several hosts: `over_nodes OPERATIONS BYTES...` prints for each operation and size the lower quartile
 * and the least of the times of single calls, and the processor time of all ranks for a call, in microseconds. The
 * quartile is of batches; hosts that share cores with other work have few batches that nobody has disturbed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { LARGEST = 16 << 20, TURNS = 15, WARM = 2 };

static int size;
static char *out, *in;

static void bcast(int bytes) { MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void allreduce(int bytes) { MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void reduce(int bytes) { MPI_Reduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); }
static void scan(int bytes) { MPI_Scan(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void scan_integers(int bytes) { MPI_Scan(out, in, bytes / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); }
static void exscan_integers(int bytes) { MPI_Exscan(out, in, bytes / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); }

/* Of the others, `bytes` are the blocks of all ranks together. */
static void reduce_scatter(int bytes)
{
    MPI_Reduce_scatter_block(out, in, bytes / 8 / size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void gather(int bytes) { MPI_Gather(out, bytes / size, MPI_BYTE, in, bytes / size, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void scatter(int bytes) { MPI_Scatter(out, bytes / size, MPI_BYTE, in, bytes / size, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void allgather(int bytes) { MPI_Allgather(out, bytes / size, MPI_BYTE, in, bytes / size, MPI_BYTE, MPI_COMM_WORLD); }
static void alltoall(int bytes) { MPI_Alltoall(out, bytes / size, MPI_BYTE, in, bytes / size, MPI_BYTE, MPI_COMM_WORLD); }

static const struct { const char *name; void (*call)(int); } operations[] = {
    {"bcast", bcast}, {"allreduce", allreduce}, {"reduce", reduce}, {"reduce_scatter", reduce_scatter},
    {"gather", gather}, {"scatter", scatter}, {"allgather", allgather}, {"alltoall", alltoall},
    {"scan", scan}, {"scan_integers", scan_integers}, {"exscan_integers", exscan_integers}};

static double processor(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int compare(const void *one, const void *other)
{
    double left = *(const double *)one, right = *(const double *)other;
    return (left > right) - (left < right);
}

static void measure(const char *name, void (*call)(int), int bytes)
{
    int batch = bytes <= 4096 ? 20 : bytes <= 65536 ? 8 : 2, rank;
    double times[TURNS], used = 0, all_used;
    for (int turn = -WARM; turn < TURNS; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double before = processor(), began = MPI_Wtime(), longest;
        for (int at = 0; at < batch; at++)
            call(bytes);
        double mine = (MPI_Wtime() - began) / batch;
        used += turn < 0 ? 0 : processor() - before;
        MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (turn >= 0)
            times[turn] = longest;
    }
    MPI_Reduce(&used, &all_used, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    qsort(times, TURNS, sizeof *times, compare);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%s %d %.2f %.2f %.2f\n", name, bytes, times[TURNS / 4] * 1e6, times[0] * 1e6, all_used / TURNS / batch * 1e6);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc(1, LARGEST);
    in = calloc(1, LARGEST);
    for (unsigned which = 0; argc > 2 && which < sizeof operations / sizeof *operations; which++) {
        char *list = strdup(argv[1]), *rest = NULL;
        for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
            for (int at = 2; strcmp(name, operations[which].name) == 0 && at < argc; at++)
                measure(name, operations[which].call, atoi(argv[at]) < LARGEST ? atoi(argv[at]) : LARGEST);
        free(list);
    }
    MPI_Finalize();
}
