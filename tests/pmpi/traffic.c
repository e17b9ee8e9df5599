/* Known traffic: rank 0 sends 5 messages to rank 1 (one by the large form), then 3 reductions and a barrier of all. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, value = 7, sum = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int tag = 0; tag < 5; tag++) {
        if (rank == 1)
            MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0 && tag == 3) {
            MPI_Isend(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank == 0 && tag == 4) {
            MPI_Send_c(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        }
    }
    for (int round = 0; round < 3; round++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (MPI_Wtime() > 0)
        printf("rank %d: sum %d\n", rank, sum);
    MPI_Finalize();
    return sum != size * (size - 1) / 2;
}
