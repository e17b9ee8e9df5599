/* pes: 1 2 3 4 */
/* MPI and OpenSHMEM in one program: each waits for what the other brings, and their atomic operations on one word are
 * atomic against each other. */
#include <mpi.h>
#include "check.h"

static long flag;
static long shared_counter;
/* So long that its pages are direct in a window. */
static long many[4096];

/* A message that comes only when a word has changed, which changes only when a message has come. */
static void in_turn(long *word)
{
    int next = (me + 1) % npes, before = (me + npes - 1) % npes, token = -1;
    *word = 0;
    shmem_barrier_all();
    for (long round = 1; round <= 30; round++) {
        if (me == 0) {
            shmem_long_p(word, round, next);
            MPI_Recv(&token, 1, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_EQUAL(token, before);
        } else {
            shmem_long_wait_until(word, SHMEM_CMP_EQ, round);
            if (next != 0)
                shmem_long_p(word, round, next);
            else
                MPI_Send(&me, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        }
        if (npes == 1)
            break;
    }
    shmem_barrier_all();
}

/* A long message is received by one that waits for memory meanwhile: blocking calls drive everything. */
static void driving(long *word)
{
    enum { LONG = 4 << 20 };
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    char *out = malloc(LONG), *in = malloc(LONG);
    memset(out, me + 1, LONG);
    *word = 0;
    shmem_barrier_all();
    MPI_Request receive;
    MPI_Irecv(in, LONG, MPI_CHAR, before, 6, MPI_COMM_WORLD, &receive);
    MPI_Send(out, LONG, MPI_CHAR, next, 6, MPI_COMM_WORLD);
    shmem_long_p(word, 1, next);
    shmem_long_wait_until(word, SHMEM_CMP_EQ, 1);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in[LONG - 1], before + 1);
    /* and the other way: a barrier of MPI is driven by who waits in OpenSHMEM */
    MPI_Request barrier;
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    shmem_barrier_all();
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    free(in);
    free(out);
}

/* Half of the additions by one standard, half by the other. */
static void one_word(long *base, size_t index, MPI_Win window, long times)
{
    long one = 1, two = 2, old, *word = base + index;
    MPI_Aint at = (MPI_Aint)(index * sizeof(long));
    if (me == 0)
        *word = 0;
    shmem_barrier_all();
    MPI_Win_lock_all(0, window);
    for (long i = 0; i < times; i++) {
        if ((i + me) % 2)
            shmem_long_atomic_add(word, 1, 0);
        else if (i % 3)
            MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, at, MPI_SUM, window);
        else
            MPI_Accumulate(&one, 1, MPI_LONG, 0, at, 1, MPI_LONG, MPI_SUM, window);
        if (i % 5 == 0)
            shmem_long_atomic_fetch_add(word, 2, 0);
        else if (i % 5 == 1)
            MPI_Accumulate(&two, 1, MPI_LONG, 0, at, 1, MPI_LONG, MPI_SUM, window);
    }
    MPI_Win_unlock_all(window);
    shmem_barrier_all();
    long per_pe = times + 2 * ((times + 4) / 5) + 2 * ((times + 3) / 5);
    CHECK_EQUAL(shmem_long_g(word, 0), per_pe * npes);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_begin();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK_EQUAL(rank, me);
    long *heap = shmem_calloc(2, sizeof *heap);
    if (npes > 1) {
        in_turn(heap);
        in_turn(&flag);
    }
    driving(heap);
    driving(&flag);
    int is_slow = getenv("SERRIED_COPY") || getenv("SERRIED_NODES");
    long *words[] = {heap, &shared_counter, many};
    size_t longs[] = {2, 1, 4096}, which[] = {0, 0, 2048};
    for (int i = 0; i < 3; i++) {
        MPI_Win window;
        MPI_Win_create(words[i], (MPI_Aint)(longs[i] * sizeof(long)), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        one_word(words[i], which[i], window, is_slow ? 100 : i ? 1500 : 15000);
        MPI_Win_free(&window);
    }
    shmem_barrier_all();
    MPI_Barrier(MPI_COMM_WORLD);
    shmem_finalize();
    /* MPI goes on */
    int sum;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(sum, npes * (npes - 1) / 2);
    MPI_Finalize();
    return check_failures != 0;
}
