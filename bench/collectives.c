/* Any number of ranks: barrier, broadcast, sum, exchange of all with all. */
#include "measure.h"

#define LARGEST (1 << 20)

static void barrier(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(char *out, char *in, int bytes)
{
    (void)in;
    MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* A broadcast alone lets rank 0 run ahead; the barrier after it holds all to one pace. */
static void bcast_in_step(char *out, char *in, int bytes)
{
    bcast(out, in, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(char *out, char *in, int bytes)
{
    MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(char *out, char *in, int bytes)
{
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 1024, 65536, LARGEST};

    start(&argc, &argv);
    char *out = buffer_of((long)ranks * 65536 + LARGEST), *in = buffer_of((long)ranks * 65536 + LARGEST);
    memset(out, 0, LARGEST); /* whole numbers of zero: no infinities in the sums */
    show("barrier", 0, 1e6 * seconds_for(barrier, out, in, 0), "us");
    for (int i = 0; i < 4; i++)
        show("allreduce", sizes[i], 1e6 * seconds_for(allreduce, out, in, sizes[i]), "us");
    for (int i = 0; i < 4; i++)
        show("bcast", sizes[i], 1e6 * seconds_for(bcast_in_step, out, in, sizes[i]), "us");
    for (int i = 0; i < 3; i++)
        show("alltoall", sizes[i], 1e6 * seconds_for(alltoall, out, in, sizes[i]), "us");
    MPI_Finalize();
    return 0;
}
