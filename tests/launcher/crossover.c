/* Each rank says how many bytes a crossover has: crossover NAME. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int provided, index, count, rank;
    unsigned long long bytes = 0;
    MPI_T_cvar_handle handle;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2 || MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) || MPI_T_cvar_get_index(argv[1], &index))
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_read(handle, &bytes);
    printf("rank %d: %llu\n", rank, bytes);
    MPI_T_cvar_handle_free(&handle);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
