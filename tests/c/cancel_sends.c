/* ranks: 1 2 3
 * Sends are cancelled: on a node waiting for them waits for nobody, and a message is either received or cancelled, never both,
 * whatever its length and mode, however it is received, and however close the two come. */
#include "check.h"
#include <signal.h>
#include <unistd.h>

enum { LONG = 1 << 20, KINDS = 5, DONE = 99, RACES = 400 };
static const int lengths[] = {0, 40, 2000, 20000, 100000, 300000, LONG};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static MPI_Comm comm;
static MPI_Datatype spread;
static char *out, *in;
static int shares_memory;

/* Starts a send of one of several kinds. */
static MPI_Request start(int kind, int bytes, int to, int tag)
{
    MPI_Request request;
    switch (kind) {
    case 0:
        MPI_Issend(out, bytes, MPI_CHAR, to, tag, comm, &request);
        break;
    case 1:
        MPI_Ssend_init(out, bytes, MPI_CHAR, to, tag, comm, &request);
        MPI_Start(&request);
        break;
    case 2: /* data with gaps */
        MPI_Issend(out, bytes / 4, spread, to, tag, comm, &request);
        break;
    case 3:
        MPI_Isend(out, bytes, MPI_CHAR, to, tag, comm, &request);
        break;
    default:
        MPI_Send_init(out, bytes, MPI_CHAR, to, tag, comm, &request);
        MPI_Start(&request);
    }
    return request;
}

/* Cancels a send and waits for it; whether it was cancelled. */
static int cancel(MPI_Request request, int kind)
{
    MPI_Status status;
    int cancelled;
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (kind == 1 || kind == 4)
        MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    return cancelled;
}

/* The receiver does not come before all have been cancelled, and gets only what is sent afterwards. */
static void without_a_receiver(int from, int to)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int length = 0; length < LENGTHS; length++) {
            int gone = 0;
            if (rank == from) {
                MPI_Request requests[3];
                for (int i = 0; i < 3; i++)
                    requests[i] = start(kind, lengths[length], to, 5);
                for (int i = 0; i < 3; i++)
                    gone += cancel(requests[i], kind);
                if (kind < 3)
                    CHECK_EQUAL(gone, 3);
                /* Those of standard mode that were complete have been sent. */
                MPI_Request request;
                int left = 3 - gone;
                fill(out, lengths[length], 7);
                MPI_Isend(&left, 1, MPI_INT, to, 6, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                MPI_Isend(out, lengths[length], MPI_CHAR, to, 5, comm, &request);
                if (from == to) {
                    MPI_Recv(&left, 1, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    while (left-- > 0)
                        MPI_Recv(in, LONG, MPI_CHAR, from, 5, comm, MPI_STATUS_IGNORE);
                    MPI_Recv(in, LONG, MPI_CHAR, from, 5, comm, MPI_STATUS_IGNORE);
                    CHECK_FILLED(in, lengths[length], 7);
                }
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else if (rank == to) {
                int left, flag;
                if (length % 2)
                    usleep(2000); /* not in MPI meanwhile */
                MPI_Recv(&left, 1, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (; left > 0; left--)
                    MPI_Recv(in, LONG, MPI_CHAR, from, 5, comm, MPI_STATUS_IGNORE);
                MPI_Recv(in, LONG, MPI_CHAR, from, 5, comm, MPI_STATUS_IGNORE);
                CHECK_FILLED(in, lengths[length], 7);
                MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
                CHECK_EQUAL(flag, 0);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
}

static unsigned random_number(void)
{
    static unsigned state = 12345;
    return (state = state * 1664525 + 1013904223) >> 16;
}

/* Receives one message in a way that depends on `how`; its tag. */
static int receive_one(int how)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int flag = 0;
    switch (how % 4) {
    case 0:
        MPI_Recv(in, LONG, MPI_CHAR, 0, MPI_ANY_TAG, comm, &status);
        break;
    case 1:
        MPI_Mprobe(0, MPI_ANY_TAG, comm, &message, &status);
        usleep(random_number() % 30);
        MPI_Mrecv(in, LONG, MPI_CHAR, &message, &status);
        break;
    case 2:
        MPI_Irecv(in, LONG, MPI_CHAR, 0, MPI_ANY_TAG, comm, &request);
        usleep(random_number() % 30);
        MPI_Wait(&request, &status);
        break;
    default:
        while (!flag)
            MPI_Iprobe(0, MPI_ANY_TAG, comm, &flag, &status);
        /* What was seen may be withdrawn before it is received. */
        MPI_Recv(in, LONG, MPI_CHAR, 0, MPI_ANY_TAG, comm, &status);
    }
    return status.MPI_TAG;
}

/* Sends are cancelled while they are received: as many arrive as were not cancelled, in order. */
static void races(int bytes)
{
    int kept = 0, received = 0, last = -1;
    for (int how = 0; how < 4; how++) {
        if (rank == 0) {
            for (int i = 0; i < RACES; i++) {
                MPI_Request request = start(i % 3, bytes, 1, 100 + i);
                for (volatile unsigned spin = random_number() % 4000; spin > 0; spin--) {
                }
                kept += !cancel(request, i % 3);
            }
            MPI_Send(out, 1, MPI_CHAR, 1, DONE, comm);
        } else if (rank == 1) {
            last = -1;
            for (int tag; (tag = receive_one(how)) != DONE; received++) {
                CHECK(tag > last);
                last = tag;
                if (random_number() % 8 == 0)
                    usleep(50);
            }
        }
    }
    if (rank == 0)
        MPI_Send(&kept, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(&kept, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQUAL(received, kept);
    }
}

/* Whether ranks 0 and 1 see one memory: only there is it settled without the receiver what becomes of a message. */
static int share_memory(void)
{
    if (size < 2)
        return 0;
    MPI_Comm node;
    MPI_Group all, here;
    int both[2] = {0, 1}, there[2];
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(node, &here);
    MPI_Group_translate_ranks(all, 2, both, here, there);
    MPI_Group_free(&all);
    MPI_Group_free(&here);
    MPI_Comm_free(&node);
    return there[0] != MPI_UNDEFINED && there[1] != MPI_UNDEFINED;
}

/* As many as are settled without the receiver, which does not look meanwhile. */
static void many(void)
{
    enum { MANY = 450 };
    static MPI_Request requests[MANY];
    static MPI_Status statuses[MANY];
    int gone = 0, cancelled, process = getpid(), signal;
    sigset_t signals; /* rank 1 waits for one, outside of MPI, however long rank 0 takes */
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    if (rank == 0) {
        MPI_Recv(&process, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < MANY; i++)
            requests[i] = start(0, 8, 1, 5);
        for (int i = 0; i < MANY; i++)
            MPI_Cancel(&requests[i]);
        MPI_Waitall(MANY, requests, statuses);
        for (int i = 0; i < MANY; i++) {
            MPI_Test_cancelled(&statuses[i], &cancelled);
            gone += cancelled;
        }
        CHECK_EQUAL(gone, MANY);
        kill(process, SIGUSR1);
        MPI_Ssend(&gone, 1, MPI_INT, 1, 5, comm);
    } else if (rank == 1) {
        pthread_sigmask(SIG_BLOCK, &signals, NULL);
        MPI_Send(&process, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
        sigwait(&signals, &signal);
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
        MPI_Recv(&gone, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
        CHECK_EQUAL(gone, MANY);
    }
}

/* More than are settled without the receiver, and more than its mailbox holds: it decides then. */
static void too_many(void)
{
    enum { MANY = 3000 };
    static MPI_Request requests[MANY];
    static MPI_Status statuses[MANY];
    int gone = 0, cancelled, tag;
    if (rank == 0) {
        for (int i = 0; i < MANY; i++)
            requests[i] = start(0, 8, 1, 5);
        for (int i = 0; i < MANY; i++)
            MPI_Cancel(&requests[i]);
        MPI_Waitall(MANY, requests, statuses);
        for (int i = 0; i < MANY; i++) {
            MPI_Test_cancelled(&statuses[i], &cancelled);
            gone += cancelled;
        }
        MPI_Send(&gone, 1, MPI_INT, 1, DONE, comm);
    } else if (rank == 1) {
        int received = 0;
        usleep(20000);
        for (; (tag = receive_one(0)) != DONE; received++)
            CHECK_EQUAL(tag, 5);
        memcpy(&gone, in, sizeof gone);
        CHECK_EQUAL(received + gone, MANY);
        /* Over a network the receiver may have been quicker than the sender. */
        CHECK(gone > 0 || !shares_memory);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    out = calloc(2, LONG);
    in = calloc(1, LONG);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(2, 2, 4, MPI_CHAR, &spread);
    MPI_Type_commit(&spread);
    shares_memory = share_memory();
    without_a_receiver(0, size - 1);
    if (size > 1) {
        without_a_receiver(1, 0);
        races(8);
        races(3000);
        races(40000);
        races(LONG);
        if (shares_memory)
            many();
        too_many();
        races(8); /* numbers of requests that were withdrawn are used again */
    }
    MPI_Type_free(&spread);
    MPI_Comm_free(&comm);
    return check_end();
}
