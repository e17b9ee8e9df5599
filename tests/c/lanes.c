/* ranks: 2 3 4
 * Communicators of several lanes (see docs/rooms/engine.md): threads that each use their own, requests of many
 * communicators waited for together, and all sorts of operations in each of them. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { COMMS = 7, ROUNDS = 60, LARGE = 200000 };
static MPI_Comm comms[COMMS];
static int next, before;

/* Messages of all lengths round the ring. */
static void *round_the_ring(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    unsigned char *out = malloc(LARGE), *in = malloc(LARGE);
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = round % 7 == 0 ? LARGE - round : round * 97 % 6000;
        MPI_Request requests[2];
        fill(out, bytes, rank + round);
        MPI_Irecv(in, LARGE, MPI_BYTE, before, round, comm, &requests[0]);
        MPI_Isend(out, bytes, MPI_BYTE, next, round, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_FILLED(in, bytes, before + round);
        int sum = 0, one = rank;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK_EQUAL(sum, size * (size - 1) / 2);
    }
    free(out);
    free(in);
    return NULL;
}

/* Receives in all communicators, completed in the order in which they are sent to. */
static void wait_across(void)
{
    int in[COMMS], order[COMMS], flag, count, indices[COMMS];
    MPI_Request requests[COMMS];
    MPI_Status statuses[COMMS];
    for (int comm = 0; comm < COMMS; comm++)
        MPI_Irecv(&in[comm], 1, MPI_INT, before, 5, comms[comm], &requests[comm]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Testall(COMMS, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(flag, 0);
    for (int step = 0; step < COMMS; step++) {
        int comm = (step * 3 + 2) % COMMS, found = -1;
        MPI_Send(&comm, 1, MPI_INT, next, 5, comms[comm]);
        MPI_Waitany(COMMS, requests, &found, &statuses[0]);
        CHECK_EQUAL(found, comm);
        CHECK_EQUAL(in[comm], comm);
        CHECK_EQUAL(statuses[0].MPI_SOURCE, before);
        order[step] = found;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int comm = 0; comm < COMMS; comm++)
        MPI_Irecv(&in[comm], 1, MPI_INT, before, 6, comms[comm], &requests[comm]);
    for (int step = 0; step < COMMS; step++)
        MPI_Send(&step, 1, MPI_INT, next, 6, comms[order[step]]);
    for (int left = COMMS; left > 0; left -= count) {
        MPI_Waitsome(COMMS, requests, &count, indices, statuses);
        CHECK(count > 0 && count <= left);
        for (int each = 0; each < count; each++)
            CHECK_EQUAL(comms[order[in[indices[each]]]] == comms[indices[each]], 1);
    }
}

/* Sends that nobody receives, withdrawn in every lane. */
static void cancelled_in_each_lane(void)
{
    for (int comm = 0; comm < COMMS; comm++) {
        MPI_Request requests[2];
        MPI_Status status;
        unsigned char *out = calloc(1, LARGE);
        MPI_Issend(out, 1, MPI_BYTE, next, 9, comms[comm], &requests[0]);
        MPI_Issend(out, LARGE, MPI_BYTE, next, 9, comms[comm], &requests[1]);
        for (int each = 0; each < 2; each++) {
            int cancelled = 0;
            MPI_Cancel(&requests[each]);
            MPI_Wait(&requests[each], &status);
            MPI_Test_cancelled(&status, &cancelled);
            CHECK_EQUAL(cancelled, 1);
        }
        free(out);
        int flag = 1;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iprobe(before, 9, comms[comm], &flag, MPI_STATUS_IGNORE);
        CHECK_EQUAL(flag, 0);
    }
}

/* A request that is complete at once, of another lane than its partner. */
static void to_nobody(void)
{
    for (int comm = 0; comm < COMMS; comm++) {
        int out = rank, in = -1;
        MPI_Request request;
        MPI_Status status;
        MPI_Isendrecv(&out, 1, MPI_INT, rank == 0 ? 1 : MPI_PROC_NULL, 3, &in, 1, MPI_INT,
                      rank == 1 ? 0 : MPI_PROC_NULL, 3, comms[comm], &request);
        MPI_Wait(&request, &status);
        CHECK_EQUAL(in, rank == 1 ? 0 : -1);
        CHECK_EQUAL(status.MPI_SOURCE, rank == 1 ? 0 : MPI_PROC_NULL);
    }
}

/* Persistent and partitioned operations, matched probes and communicators made of others. */
static void all_sorts(MPI_Comm comm)
{
    int out[4] = {rank, 1, 2, 3}, in[4] = {-1, -1, -1, -1}, sum = 0;
    MPI_Request requests[3];
    MPI_Message message;
    MPI_Comm copy;
    MPI_Send_init(out, 2, MPI_INT, next, 8, comm, &requests[0]);
    MPI_Recv_init(in, 2, MPI_INT, before, 8, comm, &requests[1]);
    MPI_Allreduce_init(&out[1], &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[2]);
    for (int round = 0; round < 3; round++) {
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        CHECK_EQUAL(in[0], before);
        CHECK_EQUAL(sum, size);
    }
    for (int each = 0; each < 3; each++)
        MPI_Request_free(&requests[each]);
    MPI_Psend_init(out, 2, 2, MPI_INT, next, 9, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 2, 2, MPI_INT, before, 9, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready(1, requests[0]);
    MPI_Pready(0, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(in[0], before);
    CHECK_EQUAL(in[3], 3);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Isend(out, 4, MPI_INT, next, 10, comm, &requests[0]);
    MPI_Mprobe(MPI_ANY_SOURCE, 10, comm, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, 4, MPI_INT, &message, &requests[1]);
    MPI_Comm_idup(comm, &copy, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(in[3], 3);
    MPI_Bcast(out, 4, MPI_INT, 0, copy);
    CHECK_EQUAL(out[0], 0);
    MPI_Comm_free(&copy);
}

/* Intercommunicators whose sides would put them into different lanes: the last rank of a side has to hear of the
 * duplicate although nothing else comes to it in the lane of the original. */
static void across_groups(void)
{
    int right = rank >= size / 2, in = -1;
    MPI_Comm side, both, copies[4], shift;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, right, rank, &side);
    for (int lane = 0; lane < 4; lane++) {
        MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, right ? 0 : size / 2, lane, &both);
        for (int copy = 0; copy < 4; copy++) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == size / 2)
                usleep(2000); /* so that all others wait */
            MPI_Comm_idup(both, &copies[copy], &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        for (int copy = 0; copy < 4; copy++) {
            MPI_Iallreduce(&rank, &in, 1, MPI_INT, MPI_MAX, copies[copy], &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK_EQUAL(in, right ? size / 2 - 1 : size - 1);
            MPI_Comm_free(&copies[copy]);
        }
        MPI_Comm_free(&both);
        if (rank == 0) { /* the first side goes on to the next lane */
            MPI_Comm_dup(MPI_COMM_SELF, &shift);
            MPI_Comm_free(&shift);
        }
    }
    MPI_Comm_free(&side);
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[COMMS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int comm = 0; comm < COMMS - 1; comm++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[comm]);
    MPI_Comm_split(comms[0], 0, rank, &comms[COMMS - 1]);
    for (int comm = 0; comm < COMMS; comm++)
        pthread_create(&threads[comm], NULL, round_the_ring, &comms[comm]);
    for (int comm = 0; comm < COMMS; comm++)
        pthread_join(threads[comm], NULL);
    wait_across();
    to_nobody();
    cancelled_in_each_lane();
    for (int comm = 0; comm < COMMS; comm++)
        all_sorts(comms[comm]);
    across_groups();
    /* A rendezvous in one lane ends although its sender waits in another one. */
    unsigned char *big = malloc(LARGE);
    MPI_Request request;
    fill(big, LARGE, 4);
    if (rank == 0) {
        MPI_Isend(big, LARGE, MPI_BYTE, 1, 1, comms[0], &request);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, comms[1], MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(big, LARGE, MPI_BYTE, 0, 1, comms[0], MPI_STATUS_IGNORE);
        CHECK_FILLED(big, LARGE, 4);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, comms[1]);
    }
    free(big);
    for (int comm = 0; comm < COMMS; comm++)
        MPI_Comm_free(&comms[comm]);
    return check_end();
}
