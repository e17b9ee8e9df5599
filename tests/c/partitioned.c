/* ranks: 1 2 3
 * Partitioned communication (MPI-5.0 chapter 4): each rank sends to the next one. */
#include "check.h"
#include <pthread.h>

#define W MPI_COMM_WORLD
#define ITEMS 60
static int from, to;
static int out[ITEMS], in[2 * ITEMS];

static void prepare(int seed)
{
    for (int i = 0; i < ITEMS; i++)
        out[i] = 1000 * rank + 100000 * seed + i;
    for (int i = 0; i < 2 * ITEMS; i++)
        in[i] = -1;
}

static void check_came(int first, int items, int seed)
{
    for (int i = first; i < first + items; i++)
        if (in[i] != 1000 * from + 100000 * seed + i) {
            CHECK_EQUAL(in[i], 1000 * from + 100000 * seed + i);
            return;
        }
}

/* Sender and receiver divide in their own ways; several rounds. */
static void rounds(int parts_out, int parts_in)
{
    MPI_Request r[2];
    MPI_Status status;
    int count, flag;
    MPI_Psend_init(out, parts_out, ITEMS / parts_out, MPI_INT, to, 5, W, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, parts_in, ITEMS / parts_in, MPI_INT, from, 5, W, MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < 5; round++) {
        prepare(round);
        MPI_Startall(2, r);
        if (round == 0)
            for (int part = parts_out - 1; part >= 0; part--)
                MPI_Pready(part, r[0]);
        else if (round == 1)
            MPI_Pready_range(0, parts_out - 1, r[0]);
        else {
            int list[ITEMS];
            for (int part = 0; part < parts_out; part++)
                list[part] = (part + round) % parts_out;
            MPI_Pready_list(parts_out, list, r[0]);
        }
        for (int part = parts_in - 1; part >= 0; part--) {
            do
                CHECK_CLASS(MPI_Parrived(r[1], part, &flag), MPI_SUCCESS);
            while (!flag);
            check_came(part * (ITEMS / parts_in), ITEMS / parts_in, round);
        }
        MPI_Wait(&r[1], &status);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_EQUAL(count, ITEMS);
        CHECK_EQUAL(status.MPI_SOURCE, from);
        CHECK_EQUAL(status.MPI_TAG, 5);
        check_came(0, ITEMS, round);
        CHECK_CLASS(MPI_Parrived(r[1], 0, &flag), MPI_SUCCESS);
        CHECK(flag);
    }
    CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* Only what is ready arrives; the operation is complete with the last partition. */
static void one_by_one(void)
{
    MPI_Request send, receive;
    int flag, go = 0;
    prepare(7);
    MPI_Precv_init(in, 3, 20, MPI_INT, from, 6, W, MPI_INFO_NULL, &receive);
    MPI_Start(&receive); /* before anything is announced */
    MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(W);
    MPI_Psend_init(out, 6, 10, MPI_INT, to, 6, W, MPI_INFO_NULL, &send);
    MPI_Start(&send);
    MPI_Pready(2, send);
    MPI_Pready(3, send);
    while (MPI_Parrived(receive, 1, &flag), !flag)
        ;
    check_came(20, 20, 7);
    MPI_Pready_range(0, 0, send);
    MPI_Sendrecv(&go, 1, MPI_INT, to, 6, &go, 1, MPI_INT, from, 6, W, MPI_STATUS_IGNORE);
    MPI_Parrived(receive, 0, &flag);
    CHECK(!flag); /* its other half has not been sent */
    MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(W);
    int rest[] = {5, 1, 4};
    MPI_Pready_list(3, rest, send);
    MPI_Request both[2] = {send, receive};
    MPI_Request_get_status(both[0], &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    check_came(0, ITEMS, 7);
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
}

/* Items of 12 bytes with gaps are cut by partitions of 5 ints. */
static void cut_items(void)
{
    MPI_Request r[2];
    MPI_Datatype three;
    prepare(8);
    MPI_Type_create_indexed_block(3, 1, (int[]){0, 1, 3}, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Psend_init(out, 12, 5, MPI_INT, to, 7, W, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, 4, 5, three, from, 7, W, MPI_INFO_NULL, &r[1]);
    MPI_Startall(2, r);
    MPI_Pready_range(0, 11, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int item = 0; item < 20; item++) {
        CHECK_EQUAL(in[4 * item], out[3 * item] + 1000 * (from - rank));
        CHECK_EQUAL(in[4 * item + 1], out[3 * item + 1] + 1000 * (from - rank));
        CHECK_EQUAL(in[4 * item + 2], -1);
        CHECK_EQUAL(in[4 * item + 3], out[3 * item + 2] + 1000 * (from - rank));
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Type_free(&three);
}

/* Two pairs with one tag match in the order in which they are made, and never plain messages. */
static void order(void)
{
    MPI_Request r[5];
    MPI_Status status;
    int a[2] = {1, 2}, b[2] = {3, 4}, c[2], d[2], plain = 9, got = 0;
    MPI_Precv_init(c, 2, 1, MPI_INT, from, 8, W, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(d, 1, 2, MPI_INT, from, 8, W, MPI_INFO_NULL, &r[1]);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, &r[4]);
    MPI_Psend_init(a, 2, 1, MPI_INT, to, 8, W, MPI_INFO_NULL, &r[2]);
    MPI_Psend_init(b, 2, 1, MPI_INT, to, 8, W, MPI_INFO_NULL, &r[3]);
    MPI_Startall(4, r);
    MPI_Pready_range(0, 1, r[3]);
    MPI_Pready_range(0, 1, r[2]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    CHECK(c[0] == 1 && c[1] == 2 && d[0] == 3 && d[1] == 4);
    MPI_Send(&plain, 1, MPI_INT, to, 8, W);
    MPI_Wait(&r[4], &status);
    CHECK(got == 9 && status.MPI_TAG == 8);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&r[i]);
}

/* A pair that is freed before it was started leaves nothing to those after it. */
static void never_started(void)
{
    MPI_Request send, receive;
    MPI_Precv_init(in, 1, 1, MPI_INT, from, 9, W, MPI_INFO_NULL, &receive);
    MPI_Request_free(&receive);
    MPI_Psend_init(out, 2, 1, MPI_INT, to, 9, W, MPI_INFO_NULL, &send);
    MPI_Request_free(&send);
    MPI_Psend_init(out, 0, 1, MPI_INT, to, 9, W, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 0, 1, MPI_INT, from, 9, W, MPI_INFO_NULL, &receive);
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

static void null_process(void)
{
    MPI_Request r[2];
    MPI_Status statuses[2];
    int flag;
    MPI_Psend_init(out, 4, 1, MPI_INT, MPI_PROC_NULL, 0, W, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, 4, 1, MPI_INT, MPI_PROC_NULL, 0, W, MPI_INFO_NULL, &r[1]);
    MPI_Startall(2, r);
    MPI_Parrived(r[1], 3, &flag);
    CHECK(flag);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Cancel(&r[0]), MPI_ERR_REQUEST);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
    MPI_Pready_range(0, 3, r[0]);
    MPI_Waitall(2, r, statuses);
    CHECK_EQUAL(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* Large partitions, made ready by threads. */
#define LARGE (1 << 20)
static MPI_Request shared;
static void *make_ready(void *first)
{
    for (int part = (int)(long)first; part < 8; part += 2)
        MPI_Pready(part, shared);
    return NULL;
}

static void threads(void)
{
    char *big = malloc(8 * LARGE), *room = malloc(8 * LARGE);
    MPI_Request receive;
    pthread_t helper;
    fill(big, 8 * LARGE, rank);
    MPI_Psend_init(big, 8, LARGE, MPI_BYTE, to, 1, W, MPI_INFO_NULL, &shared);
    MPI_Precv_init(room, 1, 8 * LARGE, MPI_BYTE, from, 1, W, MPI_INFO_NULL, &receive);
    MPI_Start(&receive);
    MPI_Start(&shared);
    pthread_create(&helper, NULL, make_ready, (void *)1);
    make_ready((void *)0);
    MPI_Request both[2] = {shared, receive};
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    pthread_join(helper, NULL);
    CHECK_FILLED(room, 8 * LARGE, from);
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    free(big);
    free(room);
}

static void mistakes(void)
{
    MPI_Request r[2], plain, none = MPI_REQUEST_NULL;
    MPI_Status statuses[2];
    int flag, count;
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Psend_init(out, -1, 1, MPI_INT, to, 0, W, MPI_INFO_NULL, &plain), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Psend_init(out, 1, -1, MPI_INT, to, 0, W, MPI_INFO_NULL, &plain), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Psend_init(NULL, 1, 1, MPI_INT, to, 0, W, MPI_INFO_NULL, &plain), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Psend_init(out, 1, 1, MPI_INT, size, 0, W, MPI_INFO_NULL, &plain), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Psend_init(out, 1 << 30, (MPI_Count)1 << 40, MPI_INT, to, 0, W, MPI_INFO_NULL, &plain),
                MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, MPI_INFO_NULL, &plain), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Precv_init(in, 1, 1, MPI_INT, from, MPI_ANY_TAG, W, MPI_INFO_NULL, &plain), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Pready(0, none), MPI_ERR_REQUEST);
    MPI_Recv_init(in, 1, MPI_INT, from, 0, W, &plain);
    CHECK_CLASS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Parrived(plain, 0, &flag), MPI_ERR_REQUEST);
    MPI_Request_free(&plain);
    /* The sender has more than the receiver has room for. */
    MPI_Psend_init(out, 4, 10, MPI_INT, to, 3, W, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, 5, 3, MPI_INT, from, 3, W, MPI_INFO_NULL, &r[1]);
    CHECK_CLASS(MPI_Pready(0, r[0]), MPI_ERR_REQUEST); /* not started */
    MPI_Startall(2, r);
    CHECK_CLASS(MPI_Start(&r[0]), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_free(&r[0]), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Pready(4, r[0]), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready(-1, r[0]), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready(0, r[1]), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Parrived(r[1], 5, &flag), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Parrived(r[0], 0, &flag), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Pready_range(2, 1, r[0]), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready(0, r[0]), MPI_SUCCESS);
    CHECK_CLASS(MPI_Pready(0, r[0]), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_range(1, 3, r[0]), MPI_SUCCESS);
    CHECK_CLASS(MPI_Waitall(2, r, statuses), MPI_ERR_IN_STATUS);
    CHECK_EQUAL(class_of(statuses[1].MPI_ERROR), MPI_ERR_TRUNCATE);
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    CHECK_EQUAL(count, 15);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    int divisions[] = {1, 2, 3, 4, 5, 12, 60};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++)
            rounds(divisions[i], divisions[j]);
    one_by_one();
    cut_items();
    order();
    never_started();
    null_process();
    threads();
    mistakes();
    return check_end();
}
