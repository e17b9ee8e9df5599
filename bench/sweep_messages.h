/* Operations of the sweep between two ranks: 0 and 1, 2 and 3, and so on. A call is a message there and one back, or an
 * exchange. */
#ifndef SWEEP_MESSAGES_H
#define SWEEP_MESSAGES_H

#include "sweep.h"

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
#define BURST 8

typedef void transfer(char *data, int bytes, int peer);

static int peer_of_rank(void)
{
    return (rank ^ 1) < ranks ? rank ^ 1 : MPI_PROC_NULL;
}

/* There and back. */
static void ping_pong(transfer send, transfer receive)
{
    int peer = peer_of_rank(), bytes = cell.bytes;
    char *out = block(0), *in = block(1);
    if (peer == MPI_PROC_NULL)
        return;
    for (int turn = 0; turn < 2; turn++)
        if (turn == (rank & 1)) {
            produce(out, bytes);
            send(out, bytes, peer);
        } else {
            receive(in, bytes, peer);
            consume(in, bytes);
        }
}

static void plain_send(char *data, int bytes, int peer)
{
    MPI_Send(data, bytes, MPI_BYTE, peer, 1, WORLD);
}

static void plain_receive(char *data, int bytes, int peer)
{
    MPI_Recv(data, bytes, MPI_BYTE, peer, 1, WORLD, IGNORE);
}

static void synchronous_send(char *data, int bytes, int peer)
{
    MPI_Ssend(data, bytes, MPI_BYTE, peer, 1, WORLD);
}

static void probed_receive(char *data, int bytes, int peer)
{
    MPI_Status status;
    MPI_Probe(peer, 1, WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    MPI_Recv(data, bytes, MPI_BYTE, peer, 1, WORLD, IGNORE);
}

static void matched_receive(char *data, int bytes, int peer)
{
    MPI_Message message;
    MPI_Mprobe(peer, 1, WORLD, &message, IGNORE);
    MPI_Mrecv(data, bytes, MPI_BYTE, &message, IGNORE);
}

static void waited_send(char *data, int bytes, int peer)
{
    MPI_Request request;
    MPI_Isend(data, bytes, MPI_BYTE, peer, 1, WORLD, &request);
    MPI_Wait(&request, IGNORE);
}

static void tested_receive(char *data, int bytes, int peer)
{
    MPI_Request request;
    MPI_Irecv(data, bytes, MPI_BYTE, peer, 1, WORLD, &request);
    for (int done = 0; !done;)
        MPI_Test(&request, &done, IGNORE);
}

static void persistent_send(char *data, int bytes, int peer)
{
    MPI_Request request;
    MPI_Send_init(data, bytes, MPI_BYTE, peer, 1, WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, IGNORE);
    MPI_Request_free(&request);
}

/* Doubles with as much room between them. */
static MPI_Datatype spread_type(void)
{
    static MPI_Datatype spread = MPI_DATATYPE_NULL;
    if (spread == MPI_DATATYPE_NULL) {
        MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &spread);
        MPI_Type_commit(&spread);
    }
    return spread;
}

static void spread_send(char *data, int bytes, int peer)
{
    MPI_Send(data, bytes / 16, spread_type(), peer, 1, WORLD);
}

static void spread_receive(char *data, int bytes, int peer)
{
    MPI_Recv(data, bytes / 16, spread_type(), peer, 1, WORLD, IGNORE);
}

static void op_send(void) { ping_pong(plain_send, plain_receive); }
static void op_ssend(void) { ping_pong(synchronous_send, plain_receive); }
static void op_probe(void) { ping_pong(plain_send, probed_receive); }
static void op_mprobe(void) { ping_pong(plain_send, matched_receive); }
static void op_isend(void) { ping_pong(waited_send, tested_receive); }
static void op_send_init(void) { ping_pong(persistent_send, plain_receive); }
static void op_vector(void) { ping_pong(spread_send, spread_receive); }
static void op_vector_to_block(void) { ping_pong(spread_send, plain_receive); }

static void op_sendrecv(void)
{
    int peer = peer_of_rank(), bytes = cell.bytes;
    char *out = block(0), *in = block(1);
    produce(out, bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, peer, 1, in, bytes, MPI_BYTE, peer, 1, WORLD, IGNORE);
    consume(in, bytes);
}

static void op_exchange(void)
{
    int peer = peer_of_rank(), bytes = cell.bytes;
    char *out = block(0), *in = block(1);
    MPI_Request requests[2];
    produce(out, bytes);
    MPI_Irecv(in, bytes, MPI_BYTE, peer, 1, WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, peer, 1, WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    consume(in, bytes);
}

/* A persistent exchange with the same buffers for many calls. */
static void op_persistent(void)
{
    static MPI_Request requests[2];
    static char *of[2];
    int peer = peer_of_rank(), bytes = cell.bytes;
    char *out = block(0), *in = block(1);
    if (call == 0 || of[0] != out || of[1] != in) {
        for (int i = 0; i < 2 && of[i]; i++)
            MPI_Request_free(&requests[i]);
        MPI_Recv_init(in, bytes, MPI_BYTE, peer, 1, WORLD, &requests[0]);
        MPI_Send_init(out, bytes, MPI_BYTE, peer, 1, WORLD, &requests[1]);
        of[0] = out, of[1] = in;
    }
    produce(out, bytes);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    consume(in, bytes);
}

/* Eight messages at once, each way; `end` ends all of their requests. */
static void burst(void end(int, MPI_Request *))
{
    int peer = peer_of_rank(), bytes = cell.bytes / BURST;
    char *out = block(0), *in = block(1);
    MPI_Request requests[2 * BURST];
    produce(out, cell.bytes);
    for (int i = 0; i < BURST; i++)
        MPI_Irecv(in + (long)i * bytes, bytes, MPI_BYTE, peer, i, WORLD, &requests[i]);
    for (int i = 0; i < BURST; i++)
        MPI_Isend(out + (long)i * bytes, bytes, MPI_BYTE, peer, i, WORLD, &requests[BURST + i]);
    end(2 * BURST, requests);
    consume(in, cell.bytes);
}

static void end_together(int count, MPI_Request *requests)
{
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void end_one_by_one(int count, MPI_Request *requests)
{
    for (int i = 0, index; i < count; i++)
        MPI_Waitany(count, requests, &index, IGNORE);
}

/* As programs do that compute between two looks. */
static void end_by_looking(int count, MPI_Request *requests)
{
    for (int ended = 0, index, found; ended < count; ended += found)
        MPI_Testany(count, requests, &index, &found, IGNORE);
}

static void op_burst(void) { burst(end_together); }
static void op_waitany(void) { burst(end_one_by_one); }
static void op_testany(void) { burst(end_by_looking); }

#endif
