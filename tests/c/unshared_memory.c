/* ranks: 2 3 5
 * Collectives of data in memory that never becomes shared: what malloc of the library does not give. Others find copies
 * of it. A rank that has gone on writes to its buffers at once, while others are late and still want the data that were
 * there. */
#include "check.h"
#include <sys/mman.h>

#define MOST 80000 /* items of a buffer */

static double *out, *in;
static int turn;

/* Memory of the system, not of malloc, that begins neither at a page nor at a line. */
static double *memory_for(long items)
{
    char *memory = mmap(NULL, items * 8 + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return (double *)(memory + 24);
}

/* Item `i` of what `who` contributes: small whole numbers, so that sums are exact in any order. */
static double item(int who, long i)
{
    return (double)((i * 7 + who * 131 + turn * 17) % 1009);
}

static double sum(int first, int last, long i)
{
    double all = 0;
    for (int who = first; who < last; who++)
        all += item(who, i);
    return all;
}

/* Begins a call: new data, and some ranks are late. */
static void begin(long sent, long received)
{
    turn++;
    for (long i = 0; i < sent; i++)
        out[i] = item(rank, i);
    for (long i = 0; i < received; i++)
        in[i] = -1;
    if ((turn + rank) % 3 == 0)
        for (volatile int wait = 0; wait < 20000; wait++)
            ;
}

/* Ends it: counts what is wrong, and writes over all that was lent. */
static long wrong;
#define END(received, expected)                                                                                        \
    do {                                                                                                               \
        for (long i = 0; i < (received); i++)                                                                          \
            wrong += in[i] != (expected);                                                                              \
        for (long i = 0; i < MOST; i++)                                                                                \
            out[i] = in[i] = -7;                                                                                       \
        CHECK_EQUAL(wrong, 0);                                                                                         \
    } while (0)

static void rooted(int items, int root, MPI_Comm comm)
{
    int mine = rank == root;
    begin(0, items);
    for (int i = 0; mine && i < items; i++)
        in[i] = item(root, i);
    MPI_Bcast(in, items, MPI_DOUBLE, root, comm);
    END(items, item(root, i));
    begin(items, items);
    MPI_Reduce(out, in, items, MPI_DOUBLE, MPI_SUM, root, comm);
    END(mine ? items : 0, sum(0, size, i));
    begin(items, items);
    memcpy(in, out, items * 8);
    MPI_Reduce(mine ? MPI_IN_PLACE : out, in, items, MPI_DOUBLE, MPI_SUM, root, comm);
    END(mine ? items : 0, sum(0, size, i));
    int block = items / size;
    begin(block, block * size);
    MPI_Gather(out, block, MPI_DOUBLE, in, block, MPI_DOUBLE, root, comm);
    END(mine ? block * size : 0, item(i / block, i % block));
    begin(block * size, block * size);
    memcpy(in + root * block, out, block * 8);
    MPI_Gather(mine ? MPI_IN_PLACE : out, block, MPI_DOUBLE, in, block, MPI_DOUBLE, root, comm);
    END(mine ? block * size : 0, item(i / block, i % block));
    begin(block * size, block);
    MPI_Scatter(out, block, MPI_DOUBLE, in, block, MPI_DOUBLE, root, comm);
    END(block, item(root, rank * block + i));
}

static void all_alike(int items, MPI_Comm comm)
{
    begin(items, items);
    MPI_Allreduce(out, in, items, MPI_DOUBLE, MPI_SUM, comm);
    END(items, sum(0, size, i));
    begin(items, items);
    memcpy(in, out, items * 8);
    MPI_Allreduce(MPI_IN_PLACE, in, items, MPI_DOUBLE, MPI_SUM, comm);
    END(items, sum(0, size, i));
    begin(items, items);
    MPI_Scan(out, in, items, MPI_DOUBLE, MPI_SUM, comm);
    END(items, sum(0, rank + 1, i));
    begin(items, items);
    memcpy(in, out, items * 8);
    MPI_Scan(MPI_IN_PLACE, in, items, MPI_DOUBLE, MPI_SUM, comm);
    END(items, sum(0, rank + 1, i));
    begin(items, items);
    MPI_Exscan(out, in, items, MPI_DOUBLE, MPI_SUM, comm);
    END(rank ? items : 0, sum(0, rank, i));
    int block = items / size;
    begin(block, block * size);
    MPI_Allgather(out, block, MPI_DOUBLE, in, block, MPI_DOUBLE, comm);
    END(block * size, item(i / block, i % block));
    begin(block, block * size);
    memcpy(in + rank * block, out, block * 8);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, block, MPI_DOUBLE, comm);
    END(block * size, item(i / block, i % block));
    begin(block * size, block * size);
    MPI_Alltoall(out, block, MPI_DOUBLE, in, block, MPI_DOUBLE, comm);
    END(block * size, item(i / block, rank * block + i % block));
    begin(block * size, block * size);
    memcpy(in, out, block * size * 8);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, block, MPI_DOUBLE, comm);
    END(block * size, item(i / block, rank * block + i % block));
    begin(block * size, block);
    MPI_Reduce_scatter_block(out, in, block, MPI_DOUBLE, MPI_SUM, comm);
    END(block, sum(0, size, rank * block + i));
    int counts[16], places[16];
    for (int who = 0; who < size; who++)
        counts[who] = block, places[who] = who * block;
    begin(block * size, block * size);
    MPI_Alltoallv(out, counts, places, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, comm);
    END(block * size, item(i / block, rank * block + i % block));
    begin(block, block * size);
    MPI_Allgatherv(out, block, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, comm);
    END(block * size, item(i / block, i % block));
}

/* Every second item. */
static void with_gaps(int items, MPI_Comm comm)
{
    MPI_Datatype every_second;
    MPI_Type_vector(items, 1, 2, MPI_DOUBLE, &every_second);
    MPI_Type_commit(&every_second);
    int root = turn % size;
    begin(0, 2 * items);
    for (int i = 0; rank == root && i < items; i++)
        in[2 * i] = item(root, i);
    MPI_Bcast(in, 1, every_second, root, comm);
    END(2 * items, i % 2 ? -1 : item(root, i / 2));
    begin(2 * items, items * size);
    MPI_Allgather(out, 1, every_second, in, items, MPI_DOUBLE, comm);
    END(items * size, item(i / items, i % items * 2));
    MPI_Type_free(&every_second);
}

static void begun(int items, MPI_Comm comm)
{
    MPI_Request requests[3];
    double *first = memory_for(items), *second = memory_for(items);
    int root = turn % size;
    begin(items, items);
    for (int i = 0; i < items; i++)
        first[i] = rank == root ? item(root, i) : -1;
    MPI_Ibcast(first, items, MPI_DOUBLE, root, comm, &requests[0]);
    MPI_Iallreduce(out, in, items, MPI_DOUBLE, MPI_SUM, comm, &requests[1]);
    MPI_Iscan(out, second, items, MPI_DOUBLE, MPI_SUM, comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < items; i++)
        wrong += first[i] != item(root, i) || second[i] != sum(0, rank + 1, i);
    END(items, sum(0, size, i));
    munmap((char *)first - 24, items * 8 + 8192);
    munmap((char *)second - 24, items * 8 + 8192);
}

/* The root leaves a communicator while others still read what it has left behind. */
static void left_at_once(void)
{
    for (int round = 0; round < 12; round++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int call = 0; call < 6; call++) {
            int items = 600 + 100 * call, root = round % size;
            begin(0, items);
            for (int i = 0; rank == root && i < items; i++)
                in[i] = item(root, i);
            MPI_Bcast(in, items, MPI_DOUBLE, root, comm);
            END(items, item(root, i));
        }
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    static const int lengths[] = {513, 777, 1025, 2048, 5001, 9000};
    check_begin(&argc, &argv);
    out = memory_for(MOST), in = memory_for(MOST);
    for (int round = 0; round < 3; round++)
        for (size_t which = 0; which < sizeof lengths / sizeof *lengths; which++) {
            for (int root = 0; root < size; root++)
                rooted(lengths[which], root, MPI_COMM_WORLD);
            all_alike(lengths[which], MPI_COMM_WORLD);
            with_gaps(lengths[which], MPI_COMM_WORLD);
            begun(lengths[which], MPI_COMM_WORLD);
        }
    rooted(50001, size - 1, MPI_COMM_WORLD);
    all_alike(50001, MPI_COMM_WORLD);
    left_at_once();
    return check_end();
}
