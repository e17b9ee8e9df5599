// The same in C++, where C++ does not take what C takes.
#include <mpi.h>
#include <cstdio>
#include <vector>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, length;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<int> one{rank}, sum(1);
    MPI_Allreduce(one.data(), sum.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Get_library_version(version, &length);
    if (rank == 0)
        std::printf("%.7s %d\n", version, sum[0]);
    return MPI_Finalize();
}
