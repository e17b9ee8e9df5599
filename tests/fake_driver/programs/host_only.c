/* ranks: 2
 * A program that uses no device makes no call of the driver through MPI, although the driver's
 * library is loaded and CUDA has begun: memory that MPI knows to be the host's is not asked about. */
#include "fake_cuda.h"
#include <dlfcn.h>

static char of_the_program[1 << 20];

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    char of_the_stack[4096] = {0}, *of_malloc = calloc(1, 8192), *of_mpi;
    MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &of_mpi);
    memset(of_mpi, 0, 1 << 20);
    char *buffers[] = {of_the_program, of_the_stack, of_malloc, of_mpi};
    for (int begun = 0; begun < 2; begun++) {
        for (int which = 0; which < 4; which++) {
            int bytes = which == 0 || which == 3 ? 1 << 20 : 4096, other = 1 - rank;
            for (int round = 0; round < 20; round++) {
                int length = round % 2 ? bytes : 8;
                MPI_Request request;
                MPI_Sendrecv_replace(buffers[which], length, MPI_BYTE, other, 0, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Bcast(buffers[which], length, MPI_BYTE, round % 2, MPI_COMM_WORLD);
                MPI_Allreduce(MPI_IN_PLACE, buffers[which], length, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
                MPI_Ibcast(buffers[which], length, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
        CHECK_EQUAL(fake_cuda_calls(NULL), begun ? 1 : 0);
        if (!begun)
            cuInit(0);
    }
    MPI_Free_mem(of_mpi);
    free(of_malloc);
    return check_end();
}
