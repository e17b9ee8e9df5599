/* ranks: 2 4
 * Long messages whose data are written before and read after: the receiver reads them where they are or has them sent in
 * parts, as it finds out for each. All arrive whole. A sender that computes is not waited for. */
#define _GNU_SOURCE
#include "check.h"
#include <unistd.h>

#define LARGEST 3000001
#define TURNS 16

static unsigned char statics[2][LARGEST] = {{1}, {1}};

static void there_and_back(unsigned char *out, unsigned char *in, int bytes, int peer)
{
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Status status;
        int count;
        fill(out, bytes, turn);
        memset(in, 0xee, bytes);
        if (rank < peer)
            MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status);
        if (rank > peer)
            MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQUAL(count, bytes);
        CHECK_FILLED(in, bytes, turn);
    }
}

static void both_ways(unsigned char *out, unsigned char *in, int bytes, int peer)
{
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Request requests[2];
        fill(out, bytes, turn);
        MPI_Irecv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_FILLED(in, bytes, turn);
    }
}

/* Into less room than the message has: the first of it arrives, the rest of the buffer stays. */
static void shortened(unsigned char *out, unsigned char *in, int peer)
{
    int room = 700000;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int turn = 0; turn < 10; turn++) {
        fill(out, LARGEST, turn);
        memset(in, 0xee, LARGEST);
        if (rank < peer) {
            MPI_Send(out, LARGEST, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
            continue;
        }
        CHECK_CLASS(MPI_Recv(in, room, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        CHECK_FILLED(in, room, turn);
        CHECK(in[room] == 0xee && in[LARGEST - 1] == 0xee);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* The sender is away for a fifth of a second; the message is there long before. */
static void nobody_waits_for_who_computes(unsigned char *out, unsigned char *in, int peer)
{
    int late = 0;
    for (int turn = 0; turn < 10; turn++) {
        MPI_Request request;
        fill(out, LARGEST, turn);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank < peer) {
            MPI_Isend(out, LARGEST, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &request);
            usleep(200000);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            continue;
        }
        double began = MPI_Wtime();
        MPI_Recv(in, LARGEST, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        late += MPI_Wtime() - began > 0.15;
        CHECK_FILLED(in, LARGEST, turn);
    }
    CHECK(late <= 3);
}

int main(int argc, char **argv)
{
    int lengths[] = {262145, 300000, 524288, 1048577, LARGEST};
    check_begin(&argc, &argv);
    int peer = rank ^ 1;
    unsigned char *heap[2] = {malloc(LARGEST), malloc(LARGEST)};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        there_and_back(heap[0], heap[1], lengths[i], peer);
        there_and_back(statics[0], statics[1], lengths[i], peer);
        both_ways(heap[0], heap[1], lengths[i], peer);
        both_ways(statics[0], statics[1], lengths[i], peer);
    }
    shortened(heap[0], heap[1], peer);
    /* Where nobody reaches the memory of others, the sender has to copy. */
    const char *means = getenv("SERRIED_COPY");
    if (!means || strcmp(means, "cells"))
        nobody_waits_for_who_computes(heap[0], heap[1], peer);
    free(heap[0]);
    free(heap[1]);
    return check_end();
}
