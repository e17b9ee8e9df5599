/* Two ranks: latency, latency of freshly written data, bandwidth one way, both ways, message rate.
 * But for "fresh", as other such benchmarks do, nobody writes or reads the buffers meanwhile, and the messages of a
 * window share one buffer on each side. */
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

/* Each message is written by its sender just before it goes. */
static void fresh_ping_pong(char *out, char *in, int bytes)
{
    int peer = 1 - rank;
    if (rank == 0)
        write_fresh(out, bytes);
    else
        MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        write_fresh(out, bytes);
    MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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

static void all_points(char *out, char *in)
{
    int point = 0;

    for (int bytes = 0; bytes <= LARGEST; bytes = bytes ? 2 * bytes : 8)
        show_time("latency", bytes, seconds_for(point++, ping_pong, out, in, bytes), 2);
    for (int bytes = 65536; bytes <= LARGEST; bytes *= 2)
        show_time("latency-fresh", bytes, seconds_for(point++, fresh_ping_pong, out, in, bytes), 2);
    for (int bytes = 64; bytes <= LARGEST; bytes *= 16)
        show_rate("bandwidth", bytes, 1e-9 * WINDOW * bytes, seconds_for(point++, stream, out, in, bytes),
                  "GB/s");
    for (int bytes = 1024; bytes <= LARGEST; bytes *= 16)
        show_rate("both-ways", bytes, 1e-9 * 8 * bytes, seconds_for(point++, both_ways, out, in, bytes),
                  "GB/s");
    show_rate("rate", 8, 1e-6 * WINDOW, seconds_for(point++, stream, out, in, 8), "M/s");
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (ranks != 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    char *out = buffer_of(LARGEST), *in = buffer_of(LARGEST);
    do
        all_points(out, in);
    while (wait_at_gate("round\n"));
    MPI_Finalize();
    return 0;
}
