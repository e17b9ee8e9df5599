/* Messages of every mode and form round a ring. */
#ifndef MESSAGE_OPERATIONS_H
#define MESSAGE_OPERATIONS_H

#include "twice.h"

#define RIGHT ((rank + 1) % size)
#define LEFT ((rank + size - 1) % size)
#define SENT o->send, o->count, o->type, RIGHT, 7, o->comm
#define RECEIVED o->receive, o->count, o->type, LEFT, 7, o->comm

static char attached[4 << 20];
static MPI_Status statuses[2];

static void finish(MPI_Request *receive)
{
    MPI_Status status;
    WORKS(MPI_Wait(receive, &status));
    CHECK_EQUAL(status.MPI_SOURCE, LEFT);
}

static void blocking(struct operation *o)
{
    MPI_Request request;
    WORKS(MPI_Irecv(RECEIVED, &request));
    WORKS(o->form == 0 ? MPI_Send(SENT) : o->form == 1 ? MPI_Ssend(SENT) : MPI_Bsend(SENT));
    finish(&request);
}

static void receiving(struct operation *o)
{
    MPI_Request request;
    MPI_Status status;
    WORKS(o->form == 0 ? MPI_Isend(SENT, &request) : o->form == 1 ? MPI_Issend(SENT, &request) : MPI_Ibsend(SENT, &request));
    WORKS(MPI_Recv(RECEIVED, &status));
    WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void ready(struct operation *o)
{
    MPI_Request requests[2];
    WORKS(MPI_Irecv(RECEIVED, &requests[0]));
    WORKS(MPI_Barrier(o->comm));
    WORKS(MPI_Irsend(SENT, &requests[1]));
    WORKS(MPI_Waitall(2, requests, statuses));
}

/* A receive with more room than the message: the rest keeps its bytes. */
static void shorter(struct operation *o)
{
    MPI_Request request;
    WORKS(MPI_Irecv(RECEIVED, &request));
    WORKS(MPI_Send(o->send, o->count / 2, o->type, RIGHT, 7, o->comm));
    finish(&request);
}

static void together(struct operation *o)
{
    MPI_Request request;
    switch (o->form) {
    case 0:
        WORKS(MPI_Sendrecv(o->send, o->count, o->type, RIGHT, 7, RECEIVED, MPI_STATUS_IGNORE));
        break;
    case 1:
        WORKS(MPI_Isendrecv(o->send, o->count, o->type, RIGHT, 7, RECEIVED, &request));
        finish(&request);
        break;
    default:
        WORKS(MPI_Sendrecv_replace(o->receive, o->count, o->type, RIGHT, 7, LEFT, 7, o->comm, MPI_STATUS_IGNORE));
        WORKS(MPI_Isendrecv_replace(o->receive, o->count, o->type, RIGHT, 7, LEFT, 7, o->comm, &request));
        finish(&request);
    }
}

static void matched(struct operation *o)
{
    MPI_Request request, receive;
    MPI_Message message;
    MPI_Status status;
    WORKS(MPI_Isend(SENT, &request));
    WORKS(MPI_Mprobe(LEFT, 7, o->comm, &message, &status));
    if (o->form) {
        WORKS(MPI_Imrecv(o->receive, o->count, o->type, &message, &receive));
        finish(&receive);
    } else
        WORKS(MPI_Mrecv(o->receive, o->count, o->type, &message, &status));
    WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void persistent(struct operation *o)
{
    MPI_Request requests[2];
    WORKS(MPI_Recv_init(RECEIVED, &requests[0]));
    WORKS(o->form == 0 ? MPI_Send_init(SENT, &requests[1])
                       : o->form == 1 ? MPI_Ssend_init(SENT, &requests[1]) : MPI_Bsend_init(SENT, &requests[1]));
    for (int round = 0; round < 3; round++) {
        WORKS(MPI_Startall(2, requests));
        WORKS(MPI_Waitall(2, requests, statuses));
    }
    WORKS(MPI_Request_free(&requests[0]));
    WORKS(MPI_Request_free(&requests[1]));
}

/* What is given up goes on, and is there when the other side says so. */
static void given_up(struct operation *o)
{
    MPI_Request requests[2];
    WORKS(MPI_Irecv(RECEIVED, &requests[0]));
    WORKS(MPI_Request_free(&requests[0]));
    WORKS(MPI_Barrier(o->comm));
    WORKS(MPI_Issend(SENT, &requests[0]));
    WORKS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    WORKS(MPI_Barrier(o->comm));
    /* A later message on the same way has come, so the one before has. */
    WORKS(MPI_Sendrecv(NULL, 0, MPI_BYTE, RIGHT, 7, NULL, 0, MPI_BYTE, LEFT, 7, o->comm, MPI_STATUS_IGNORE));
}

static void tested(struct operation *o)
{
    MPI_Request requests[2];
    int flag = 0, index, outcount, indices[2];
    WORKS(MPI_Irecv(RECEIVED, &requests[0]));
    WORKS(MPI_Isend(SENT, &requests[1]));
    switch (o->form) {
    case 0:
        while (!flag)
            WORKS(MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE));
        WORKS(MPI_Testall(2, requests, &flag, statuses));
        WORKS(MPI_Waitall(2, requests, statuses));
        break;
    case 1:
        WORKS(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
        WORKS(MPI_Wait(&requests[1 - index], MPI_STATUS_IGNORE));
        break;
    default:
        for (int done = 0; done < 2; done += outcount)
            WORKS(MPI_Waitsome(2, requests, &outcount, indices, statuses));
    }
}

/* A receive that is cancelled leaves its buffer alone. */
static void cancelled(struct operation *o)
{
    MPI_Request request;
    MPI_Status status;
    int flag;
    WORKS(MPI_Irecv(o->receive, o->count, o->type, LEFT, 8, o->comm, &request));
    WORKS(MPI_Cancel(&request));
    WORKS(MPI_Wait(&request, &status));
    WORKS(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
}

static void partitioned(struct operation *o)
{
    MPI_Request requests[2];
    int flag = 0, parts = 4, each = o->count / parts;
    WORKS(MPI_Psend_init(o->send, parts, each, o->type, RIGHT, 9, o->comm, MPI_INFO_NULL, &requests[0]));
    WORKS(MPI_Precv_init(o->receive, parts, each, o->type, LEFT, 9, o->comm, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 2; round++) {
        WORKS(MPI_Startall(2, requests));
        WORKS(MPI_Pready(2, requests[0]));
        WORKS(MPI_Pready_range(0, 1, requests[0]));
        for (flag = 0; !flag;)
            WORKS(MPI_Parrived(requests[1], 1, &flag));
        WORKS(MPI_Pready(3, requests[0]));
        WORKS(MPI_Waitall(2, requests, statuses));
    }
    WORKS(MPI_Request_free(&requests[0]));
    WORKS(MPI_Request_free(&requests[1]));
}

/* Addresses in the datatype: two pieces of one buffer. */
static void by_address(struct operation *o)
{
    MPI_Datatype sent, received;
    MPI_Aint places[2];
    int lengths[2] = {o->count / 2, o->count / 4};
    MPI_Get_address(o->send, &places[0]);
    MPI_Get_address(o->send + o->count * 3 + 4, &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &sent);
    MPI_Get_address(o->receive, &places[0]);
    MPI_Get_address(o->receive + o->count * 4, &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &received);
    MPI_Type_commit(&sent);
    MPI_Type_commit(&received);
    WORKS(MPI_Sendrecv(MPI_BOTTOM, 1, sent, RIGHT, 7, MPI_BOTTOM, 1, received, LEFT, 7, o->comm, MPI_STATUS_IGNORE));
    MPI_Type_free(&sent);
    MPI_Type_free(&received);
}

static struct listed message_operations[] = {{"send", blocking, 3, 0, 0}, {"isend", receiving, 3, 0, 0}, {"rsend", ready, 1, 0, 0}, {"shorter", shorter, 1, 0, 0},
           {"sendrecv", together, 3, 0, 0}, {"matched", matched, 2, 0, 0}, {"persistent", persistent, 3, 0, 0}, {"given up", given_up, 1, 0, 0},
           {"tested", tested, 3, 0, 0}, {"cancelled", cancelled, 1, 0, 0}, {"partitioned", partitioned, 1, 0, 0}, {"by address", by_address, 1, 0, 0}};

#endif
