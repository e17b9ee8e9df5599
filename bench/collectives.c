/* Any number of ranks: the main collectives, and ping-pongs among many.
 *
 * From 4 KiB on, every rank writes its data afresh before each call. There is no barrier between the calls: in
 * broadcast and reduction every rank is the root in turn, as in Intel's benchmark, so none can run ahead. */
#include "measure.h"
#include <sys/mman.h>

#define FRESH 4096
#define LARGEST (4 << 20)
#define LARGEST_UNSHARED 65536
#define LARGEST_FOR_EACH (1 << 20) /* allgather and alltoall: bytes for each rank */

static void barrier(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(char *out, char *in, int bytes)
{
    (void)in;
    int root = call % ranks;
    if (bytes >= FRESH && rank == root)
        write_fresh(out, bytes);
    MPI_Bcast(out, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void reduce(char *out, char *in, int bytes)
{
    if (bytes >= FRESH)
        write_fresh(out, bytes);
    MPI_Reduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, call % ranks, MPI_COMM_WORLD);
}

static void allreduce(char *out, char *in, int bytes)
{
    if (bytes >= FRESH)
        write_fresh(out, bytes);
    MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(char *out, char *in, int bytes)
{
    if (bytes >= FRESH)
        write_fresh(out, bytes);
    MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(char *out, char *in, int bytes)
{
    if (bytes >= FRESH)
        write_fresh(out, (long)bytes * ranks);
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* Memory of the system, and not of malloc, as stacks are: no library can have made it shared. */
static char *memory_of_system(int which)
{
    static char *memory[2];
    if (!memory[which]) {
        long bytes = (long)ranks * LARGEST_UNSHARED;
        memory[which] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory[which] == MAP_FAILED)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory[which];
}

static void bcast_unshared(char *out, char *in, int bytes)
{
    (void)out, (void)in;
    bcast(memory_of_system(0), memory_of_system(1), bytes);
}

static void allreduce_unshared(char *out, char *in, int bytes)
{
    (void)out, (void)in;
    allreduce(memory_of_system(0), memory_of_system(1), bytes);
}

static void allgather_unshared(char *out, char *in, int bytes)
{
    (void)out, (void)in;
    allgather(memory_of_system(0), memory_of_system(1), bytes);
}

/* Ranks 0 and 1, 2 and 3, …: all pairs at once. */
static void pairs(char *out, char *in, int bytes)
{
    int peer = rank ^ 1;
    if (rank & 1) {
        MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    } else if (peer < ranks) {
        MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Ranks 0 and 1 play, the others wait in a barrier: what Intel's PingPong does on more than two ranks. */
static void two_of_all(char *out, char *in, int bytes)
{
    if (rank < 2)
        pairs(out, in, bytes);
}

static const struct {
    const char *name;
    operation run;
    int sizes[8]; /* ends with -1 */
    int fewest_ranks;
    double parts; /* a ping-pong is two messages */
} points[] = {
    {"barrier", barrier, {0, -1}, 2, 1},
    {"pingpong-two", two_of_all, {0, 8, 1024, 65536, -1}, 4, 2},
    {"pingpong-pairs", pairs, {0, 8, 1024, 65536, -1}, 4, 2},
    {"bcast", bcast, {8, 1024, 8192, 65536, 1 << 20, 4 << 20, -1}, 2, 1},
    {"reduce", reduce, {8, 512, 4096, 32768, 1 << 20, 4 << 20, -1}, 2, 1},
    {"allreduce", allreduce, {8, 512, 4096, 32768, 1 << 20, 4 << 20, -1}, 2, 1},
    {"allgather", allgather, {8, 512, 4096, 65536, 1 << 20, -1}, 2, 1},
    {"alltoall", alltoall, {8, 512, 4096, 65536, 1 << 20, -1}, 2, 1},
    {"bcast-unshared", bcast_unshared, {8192, LARGEST_UNSHARED, -1}, 2, 1},
    {"allreduce-unshared", allreduce_unshared, {8192, LARGEST_UNSHARED, -1}, 2, 1},
    {"allgather-unshared", allgather_unshared, {8192, LARGEST_UNSHARED, -1}, 2, 1},
};

static void all_points(char *out, char *in, int largest)
{
    int point = 0;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        for (const int *bytes = points[i].sizes; ranks >= points[i].fewest_ranks && *bytes >= 0; bytes++)
            if (*bytes <= largest)
                show_time(points[i].name, *bytes, seconds_for(point++, points[i].run, out, in, *bytes), points[i].parts);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    long each = (long)ranks * LARGEST_FOR_EACH, size = each > LARGEST ? each : LARGEST;
    char *out = buffer_of(size), *in = buffer_of(size);
    do /* the longest only for few ranks: they would measure nothing but the machine's memory */
        all_points(out, in, ranks > 8 ? 65536 : ranks > 2 ? 1 << 20 : LARGEST);
    while (wait_at_gate("round\n"));
    MPI_Finalize();
    return 0;
}
