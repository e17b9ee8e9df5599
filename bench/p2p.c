/* Two ranks: latency, bandwidth one way and both ways, message rate.
 * As other such benchmarks do, the messages of a window share one buffer on each side; nobody reads it. */
#include "measure.h"

#define WINDOW 64
#define LARGEST (4 << 20)

static void ping_pong(char *out, char *in, int bytes)
{
    int peer = 1 - rank;
    if (rank == 0) {
        MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    }
}

/* A window of messages from rank 0, answered by one empty message. */
static void stream(char *out, char *in, int bytes)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++)
        if (rank == 0)
            MPI_Isend(out, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(in, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(in, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(out, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
}

/* Both ranks send and receive four messages at once. */
static void both_ways(char *out, char *in, int bytes)
{
    MPI_Request requests[8];
    for (int i = 0; i < 4; i++)
        MPI_Irecv(in, bytes, MPI_BYTE, 1 - rank, 4, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 4; i++)
        MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, 4, MPI_COMM_WORLD, &requests[4 + i]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    static const int latency_sizes[] = {0, 8, 64, 1024, 8192, 65536};
    static const int stream_sizes[] = {4096, 65536, 1 << 20, LARGEST};

    start(&argc, &argv);
    if (ranks != 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    char *out = buffer_of(LARGEST), *in = buffer_of(LARGEST);
    for (int i = 0; i < 6; i++)
        show("latency", latency_sizes[i], 0.5e6 * seconds_for(ping_pong, out, in, latency_sizes[i]), "us");
    for (int i = 0; i < 4; i++)
        show("bandwidth", stream_sizes[i],
             1e-9 * WINDOW * stream_sizes[i] / seconds_for(stream, out, in, stream_sizes[i]), "GB/s");
    for (int i = 1; i < 4; i++)
        show("both-ways", stream_sizes[i],
             1e-9 * 8 * stream_sizes[i] / seconds_for(both_ways, out, in, stream_sizes[i]), "GB/s");
    show("rate", 8, 1e-6 * WINDOW / seconds_for(stream, out, in, 8), "M/s");
    MPI_Finalize();
    return 0;
}
