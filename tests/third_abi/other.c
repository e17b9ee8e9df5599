/* A second shared library of a program: predefined handles must have the same addresses here as in the program. */
#include <mpi.h>

static const MPI_Comm WORLD = MPI_COMM_WORLD;

MPI_Comm other_world(void)
{
    return WORLD;
}

MPI_Datatype other_int(void)
{
    return MPI_INT;
}
