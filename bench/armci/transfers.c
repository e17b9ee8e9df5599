/* Times of ARMCI between rank 0 and rank 1: puts with a fence, gets, and accumulates, of one piece, of a square part of an
 * array of doubles, and of single doubles anywhere; read-modify-writes, mutexes, allocation. All others do nothing. */
#include "../measure.h"
#include <armci.h>

#define SIDE 1024 /* of the array, which has as many rows as columns */
#define MOST (SIDE * SIDE * 8L)

static char *there;             /* the array of rank 1 */
static double factor = 1.5;     /* of accumulates */
static void **nears, **fars;    /* of vectors */

static int row_bytes = SIDE * 8;

/* A square of so many bytes. */
static void square(int bytes, int count[2])
{
    int side = 1;
    while ((side + 1) * (side + 1) * 8 <= bytes)
        side++;
    count[0] = 8 * side;
    count[1] = side;
}

static void put(char *out, char *in, int bytes)
{
    (void)in;
    ARMCI_Put(out, there, bytes, 1);
    ARMCI_Fence(1);
}

static void get(char *out, char *in, int bytes)
{
    (void)out;
    ARMCI_Get(there, in, bytes, 1);
}

static void accumulate(char *out, char *in, int bytes)
{
    (void)in;
    ARMCI_Acc(ARMCI_ACC_DBL, &factor, out, there, bytes, 1);
    ARMCI_Fence(1);
}

static void put_square(char *out, char *in, int bytes)
{
    int count[2];
    (void)in;
    square(bytes, count);
    ARMCI_PutS(out, &row_bytes, there, &row_bytes, count, 1, 1);
    ARMCI_Fence(1);
}

static void get_square(char *out, char *in, int bytes)
{
    int count[2];
    (void)out;
    square(bytes, count);
    ARMCI_GetS(there, &row_bytes, in, &row_bytes, count, 1, 1);
}

static void accumulate_square(char *out, char *in, int bytes)
{
    int count[2];
    (void)in;
    square(bytes, count);
    ARMCI_AccS(ARMCI_ACC_DBL, &factor, out, &row_bytes, there, &row_bytes, count, 1, 1);
    ARMCI_Fence(1);
}

static void put_vector(char *out, char *in, int bytes)
{
    (void)out, (void)in;
    armci_giov_t vector = {nears, fars, 8, bytes / 8};
    ARMCI_PutV(&vector, 1, 1);
    ARMCI_Fence(1);
}

static void get_vector(char *out, char *in, int bytes)
{
    (void)out, (void)in;
    armci_giov_t vector = {fars, nears, 8, bytes / 8};
    ARMCI_GetV(&vector, 1, 1);
}

static void accumulate_vector(char *out, char *in, int bytes)
{
    (void)out, (void)in;
    armci_giov_t vector = {nears, fars, 8, bytes / 8};
    ARMCI_AccV(ARMCI_ACC_DBL, &factor, &vector, 1, 1);
    ARMCI_Fence(1);
}

static void read_modify_write(char *out, char *in, int bytes)
{
    (void)out, (void)bytes;
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, in, there, 1, 1);
}

static void mutex(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
    ARMCI_Lock(0, 1);
    ARMCI_Unlock(0, 1);
}

static void nothing(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
}

/* Of all ranks together. */
static void allocate(char *out, char *in, int bytes)
{
    void *base[MOST_RANKS];
    (void)out, (void)in;
    ARMCI_Malloc(base, bytes);
    ARMCI_Free(base[rank]);
}

static void barrier(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
    ARMCI_Barrier();
}

static int point;

static void of_rank_0(const char *name, operation run, char *out, char *in, int bytes)
{
    show_time(name, bytes, seconds_for(point++, rank == 0 ? run : nothing, AT_ONCE, out, in, bytes), 1);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    ARMCI_Init();
    void *base[MOST_RANKS];
    if (ARMCI_Malloc(base, MOST) || ARMCI_Create_mutexes(1))
        ARMCI_Error("no memory", 1);
    there = base[1];
    memset(base[rank], 0, MOST);
    char *out = ARMCI_Malloc_local(MOST), *in = ARMCI_Malloc_local(MOST);
    memset(out, 0, MOST);
    memset(in, 0, MOST);
    int pieces = 100000;
    nears = malloc(pieces * sizeof *nears);
    fars = malloc(pieces * sizeof *fars);
    for (int i = 0; i < pieces; i++) {
        nears[i] = in + 8 * i;
        fars[i] = there + 8 * (int)((i * 7919L) % (MOST / 8)); /* none twice */
    }
    do {
        point = 0;
        for (int bytes = 8; bytes <= 4 << 20; bytes *= 8) {
            of_rank_0("put", put, out, in, bytes);
            of_rank_0("get", get, out, in, bytes);
            of_rank_0("accumulate", accumulate, out, in, bytes);
        }
        for (int bytes = 128; bytes <= 2 << 20; bytes *= 4) {
            of_rank_0("put_square", put_square, out, in, bytes);
            of_rank_0("get_square", get_square, out, in, bytes);
            of_rank_0("accumulate_square", accumulate_square, out, in, bytes);
        }
        for (int bytes = 800; bytes <= 800000; bytes *= 10) {
            of_rank_0("put_vector", put_vector, out, in, bytes);
            of_rank_0("get_vector", get_vector, out, in, bytes);
            of_rank_0("accumulate_vector", accumulate_vector, out, in, bytes);
        }
        of_rank_0("read-modify-write", read_modify_write, out, in, 8);
        of_rank_0("mutex", mutex, out, in, 0);
        show_time("barrier", 0, seconds_for(point++, barrier, AT_ONCE, out, in, 0), 1);
        for (int bytes = 64; bytes <= 1 << 20; bytes <<= 14)
            show_time("allocate-and-free", bytes, seconds_for(point++, allocate, AT_ONCE, out, in, bytes), 1);
    } while (wait_at_gate("round\n"));
    ARMCI_Destroy_mutexes();
    ARMCI_Free(base[rank]);
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}
