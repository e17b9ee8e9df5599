/* pes: 1 2 4 */
/* OpenSHMEM begins before MPI and ends after it. */
#include <mpi.h>
#include "check.h"

static long word;

int main(int argc, char **argv)
{
    check_begin();
    int next = (me + 1) % npes, rank, size, flag;
    MPI_Initialized(&flag);
    CHECK_EQUAL(flag, 0);
    shmem_long_p(&word, 1, next);
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(rank == me && size == npes);
    shmem_barrier_all();
    MPI_Barrier(MPI_COMM_WORLD);
    long *heap = shmem_calloc(1, sizeof *heap);
    /* memory of OpenSHMEM in a message of MPI */
    long mine = me + 1;
    MPI_Sendrecv(&mine, 1, MPI_LONG, next, 0, heap, 1, MPI_LONG, (me + npes - 1) % npes, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_EQUAL(*heap, (me + npes - 1) % npes + 1);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK_EQUAL(flag, 1);
    shmem_barrier_all();
    shmem_long_p(heap, 77, next);
    shmem_long_wait_until(heap, SHMEM_CMP_EQ, 77);
    shmem_free(heap);
    return check_end();
}
