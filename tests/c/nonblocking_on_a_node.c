/* ranks: 2 3 5
 * Nonblocking and persistent collectives at places in shared memory: more under way than
 * there are places, short and long, waited for and started in an order of each rank's own;
 * ranks that come late, threads that wait, communicators that are freed meanwhile. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { MOST = 24, LENGTH = 3000, RANKS = 5 };

static long sent[MOST][LENGTH * RANKS], got[MOST][LENGTH * RANKS];
static const int lengths[] = {1, 6, 100, 511, 600, LENGTH};
static MPI_Op plus;

static int length_of(int number)
{
    return lengths[number % 6];
}

static long item(int from, int number, int index)
{
    return from * 1000003L + number * 1009 + index;
}

static void add(void *input, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int index = 0; index < *length; index++)
        ((long *)inout)[index] += ((long *)input)[index];
}

/* Starts operation `number`; which one follows from the number. */
static void start(MPI_Comm comm, int number, int persistent, MPI_Request *request)
{
    int length = length_of(number), root = number % size, slot = number % MOST;
    long *from = sent[slot], *to = got[slot];
    MPI_Op op = number % 4 == 3 ? plus : MPI_SUM;
    for (int index = 0; index < length * size; index++) {
        from[index] = item(rank, number, index);
        to[index] = -1;
    }
    if (number % 5 == 1 && rank == root)
        memcpy(to, from, length * sizeof *to);
    switch (number % 5) {
    case 0:
        persistent ? MPI_Allreduce_init(from, to, length, MPI_LONG, op, comm, MPI_INFO_NULL, request)
                   : MPI_Iallreduce(from, to, length, MPI_LONG, op, comm, request);
        break;
    case 1:
        persistent ? MPI_Bcast_init(to, length, MPI_LONG, root, comm, MPI_INFO_NULL, request)
                   : MPI_Ibcast(to, length, MPI_LONG, root, comm, request);
        break;
    case 2:
        persistent ? MPI_Allgather_init(from, length, MPI_LONG, to, length, MPI_LONG, comm, MPI_INFO_NULL, request)
                   : MPI_Iallgather(from, length, MPI_LONG, to, length, MPI_LONG, comm, request);
        break;
    case 3:
        persistent ? MPI_Alltoall_init(from, length, MPI_LONG, to, length, MPI_LONG, comm, MPI_INFO_NULL, request)
                   : MPI_Ialltoall(from, length, MPI_LONG, to, length, MPI_LONG, comm, request);
        break;
    default:
        persistent ? MPI_Reduce_init(from, to, length, MPI_LONG, op, root, comm, MPI_INFO_NULL, request)
                   : MPI_Ireduce(from, to, length, MPI_LONG, op, root, comm, request);
    }
}

static long sum(int number, int index)
{
    long all = 0;
    for (int from = 0; from < size; from++)
        all += item(from, number, index);
    return all;
}

/* What operation `number` has brought. */
static void check(int number)
{
    int length = length_of(number), root = number % size, wrong = 0;
    long *to = got[number % MOST];
    for (int index = 0; index < length; index++)
        switch (number % 5) {
        case 0:
            wrong += to[index] != sum(number, index);
            break;
        case 1:
            wrong += to[index] != item(root, number, index);
            break;
        case 2:
            for (int from = 0; from < size; from++)
                wrong += to[from * length + index] != item(from, number, index);
            break;
        case 3:
            for (int from = 0; from < size; from++)
                wrong += to[from * length + index] != item(from, number, rank * length + index);
            break;
        default:
            wrong += rank == root && to[index] != sum(number, index);
        }
    if (wrong > 0)
        check_failed(__FILE__, __LINE__, "operation %d: %d of %d items are wrong", number, wrong, length);
}

/* More than there are places; each rank waits in an order of its own. */
static void many_under_way(MPI_Comm comm)
{
    for (int round = 0; round < 12; round++) {
        MPI_Request requests[MOST];
        for (int number = 0; number < MOST; number++)
            start(comm, round + number, 0, &requests[(round + number) % MOST]);
        if (round % 3 == 0)
            MPI_Barrier(comm);
        for (int step = 0; step < MOST; step++) {
            int number = (step * 7 + rank * 5) % MOST;
            MPI_Wait(&requests[number], MPI_STATUS_IGNORE);
        }
        for (int number = 0; number < MOST; number++)
            check(round + number);
    }
}

/* Persistent ones may be started in any order. */
static void persistent_in_any_order(MPI_Comm comm)
{
    MPI_Request requests[MOST];
    for (int number = 0; number < MOST; number++)
        start(comm, number, 1, &requests[number]);
    for (int round = 0; round < 10; round++) {
        for (int step = 0; step < MOST; step++)
            MPI_Start(&requests[(step * 5 + rank * 7 + round) % MOST]);
        MPI_Waitall(MOST, requests, MPI_STATUSES_IGNORE);
        for (int number = 0; number < MOST; number++)
            check(number);
    }
    for (int number = 0; number < MOST; number++)
        MPI_Request_free(&requests[number]);
}

/* A wake that is missed costs a second, so waits of that length are counted: a busy machine makes many a wait longer, but
 * hardly one as long as this. */
static int long_waits;

static void wait_for(MPI_Request *request)
{
    double begin = MPI_Wtime();
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (MPI_Wtime() - begin > 0.9)
        __atomic_add_fetch(&long_waits, 1, __ATOMIC_RELAXED);
}

static void no_wake_is_missed(const char *where)
{
    if (long_waits > 3)
        check_failed(__FILE__, __LINE__, "%s: %d waits of a second", where, long_waits);
    long_waits = 0;
}

/* A rank that waits for a late one sleeps. */
static void late_ones(MPI_Comm comm)
{
    for (int round = 0; round < 20; round++) {
        MPI_Request request;
        if (round % size == rank)
            usleep(4000);
        start(comm, round, 0, &request);
        if ((round + 1) % size == rank)
            usleep(4000);
        wait_for(&request);
        check(round);
    }
    no_wake_is_missed("late ones");
}

/* An operation under way ends, also if its communicator has been freed. */
static void freed_meanwhile(void)
{
    for (int time = 0; time < 20; time++) {
        MPI_Comm comm;
        MPI_Request requests[8];
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int number = 0; number < 8; number++)
            start(comm, number, 0, &requests[number]);
        MPI_Comm_free(&comm);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        for (int number = 0; number < 8; number++)
            check(number);
    }
}

/* Places are few: those who come last go without. */
static void many_communicators(void)
{
    enum { COMMUNICATORS = 40 };
    MPI_Comm comms[COMMUNICATORS];
    for (int which = 0; which < COMMUNICATORS; which++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[which]);
    for (int number = 0; number < 10; number++)
        for (int which = 0; which < COMMUNICATORS; which++) {
            MPI_Request request;
            start(comms[which], number, 0, &request);
            wait_for(&request);
            check(number);
        }
    for (int which = 0; which < COMMUNICATORS; which++)
        MPI_Comm_free(&comms[which]);
}

static void *wait_in_a_thread(void *request)
{
    wait_for(request);
    return NULL;
}

/* Each of several threads waits for one of them. */
static void threads_wait(MPI_Comm comm)
{
    enum { THREADS = 3 };
    for (int round = 0; round < 10; round++) {
        MPI_Request requests[THREADS];
        pthread_t threads[THREADS];
        for (int which = 0; which < THREADS; which++) {
            if ((round + which) % size == rank)
                usleep(2000);
            start(comm, round + which, 0, &requests[which]);
            pthread_create(&threads[which], NULL, wait_in_a_thread, &requests[which]);
        }
        for (int which = 0; which < THREADS; which++) {
            pthread_join(threads[which], NULL);
            check(round + which);
        }
    }
    no_wake_is_missed("threads");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(add, 1, &plus);
    many_under_way(MPI_COMM_WORLD);
    persistent_in_any_order(MPI_COMM_WORLD);
    late_ones(MPI_COMM_WORLD);
    freed_meanwhile();
    for (int time = 0; time < 5; time++)
        many_communicators();
    no_wake_is_missed("many communicators");
    threads_wait(MPI_COMM_WORLD);
    MPI_Op_free(&plus);
    return check_end();
}
