/* ranks: 2 4
 * Operations with requests (MPI-5.0 §12.3.5): they complete through every call that completes requests, also among
 * requests of other kinds; what a finished one has fetched is there. */
#include "windows.h"

#define MANY 300

static int to;

static long value(int who, int index)
{
    return who * 1000L + index;
}

/* Many at once, of all four kinds, among null requests and messages. */
static void many(struct window *w)
{
    static long out[MANY], got[MANY], old[MANY], ones[MANY];
    long *mine = (long *)w->memory, message = rank, received = -1;
    MPI_Request all[4 * MANY + 3];
    int from = (rank + size - 1) % size;
    for (int index = 0; index < MANY; index++) {
        mine[index] = 0;
        mine[MANY + index] = value(rank, index);
        mine[2 * MANY + index] = index;
        mine[3 * MANY + index] = 2 * index;
        out[index] = value(rank, index + 7);
        got[index] = old[index] = -1;
        ones[index] = rank + 1;
    }
    MPI_Barrier(W);
    MPI_Win_lock_all(0, w->win);
    for (int index = 0; index < MANY; index++) {
        MPI_Request *r = all + 4 * index;
        MPI_Rput(&out[index], 1, MPI_LONG, to, at(w, to, 8 * index), 1, MPI_LONG, w->win, r);
        MPI_Rget(&got[index], 1, MPI_LONG, to, at(w, to, 8 * (MANY + index)), 1, MPI_LONG, w->win, r + 1);
        MPI_Raccumulate(&ones[index], 1, MPI_LONG, to, at(w, to, 8 * (2 * MANY + index)), 1, MPI_LONG, MPI_SUM, w->win, r + 2);
        MPI_Rget_accumulate(&ones[index], 1, MPI_LONG, &old[index], 1, MPI_LONG, to, at(w, to, 8 * (3 * MANY + index)), 1, MPI_LONG, MPI_SUM, w->win, r + 3);
    }
    all[4 * MANY] = MPI_REQUEST_NULL;
    MPI_Irecv(&received, 1, MPI_LONG, from, 3, W, &all[4 * MANY + 1]);
    MPI_Isend(&message, 1, MPI_LONG, to, 3, W, &all[4 * MANY + 2]);
    CHECK_CLASS(MPI_Waitall(4 * MANY + 3, all, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    CHECK_EQUAL(received, from);
    for (int index = 0; index < 4 * MANY + 3; index++)
        CHECK(all[index] == MPI_REQUEST_NULL);
    for (int index = 0; index < MANY; index++) {
        CHECK_EQUAL(got[index], value(to, index));
        CHECK_EQUAL(old[index], 2 * index);
    }
    MPI_Win_unlock_all(w->win);
    settle(w);
    for (int index = 0; index < MANY; index++) {
        CHECK_EQUAL(mine[index], value(from, index + 7));
        CHECK_EQUAL(mine[2 * MANY + index], index + from + 1);
        CHECK_EQUAL(mine[3 * MANY + index], 2 * index + from + 1);
    }
    MPI_Barrier(W);
}

/* One of each, completed by one call of each kind. */
static void complete(MPI_Request *requests, int way)
{
    int flag = 0, index, count, indices[4];
    MPI_Status statuses[4];
    switch (way) {
    case 0:
        for (int one = 0; one < 4; one++)
            MPI_Wait(&requests[one], &statuses[0]);
        break;
    case 1:
        for (int one = 0; one < 4; one++)
            for (flag = 0; !flag;)
                MPI_Test(&requests[one], &flag, MPI_STATUS_IGNORE);
        break;
    case 2:
        for (int one = 0; one < 4; one++) {
            MPI_Waitany(4, requests, &index, &statuses[0]);
            CHECK(index >= 0 && index < 4);
        }
        break;
    case 3:
        for (int done = 0; done < 4; done += count)
            MPI_Waitsome(4, requests, &count, indices, statuses);
        break;
    case 4:
        while (!flag)
            MPI_Testall(4, requests, &flag, statuses);
        break;
    case 5:
        for (int one = 0; one < 4; one++)
            for (flag = 0; !flag;)
                MPI_Testany(4, requests, &index, &flag, &statuses[0]);
        break;
    case 6:
        for (int done = 0; done < 4; done += count)
            MPI_Testsome(4, requests, &count, indices, statuses);
        break;
    default:
        for (int one = 0; one < 4; one++) {
            for (flag = 0; !flag;)
                MPI_Request_get_status(requests[one], &flag, &statuses[0]);
            MPI_Wait(&requests[one], &statuses[0]);
        }
    }
    for (int one = 0; one < 4; one++)
        CHECK(requests[one] == MPI_REQUEST_NULL);
}

static void each_way(struct window *w)
{
    long *mine = (long *)w->memory;
    for (int way = 0; way < 8; way++) {
        long out = 5 + way, got = -1, one = 1, old = -1;
        MPI_Request requests[4];
        mine[0] = 0, mine[1] = 11, mine[2] = 22, mine[3] = 33;
        MPI_Barrier(W);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w->win);
        MPI_Rput(&out, 1, MPI_LONG, to, at(w, to, 0), 1, MPI_LONG, w->win, &requests[0]);
        MPI_Rget(&got, 1, MPI_LONG, to, at(w, to, 8), 1, MPI_LONG, w->win, &requests[1]);
        MPI_Raccumulate(&one, 1, MPI_LONG, to, at(w, to, 16), 1, MPI_LONG, MPI_SUM, w->win, &requests[2]);
        MPI_Rget_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, to, at(w, to, 24), 1, MPI_LONG, MPI_SUM, w->win, &requests[3]);
        complete(requests, way);
        CHECK_EQUAL(got, 11);
        CHECK_EQUAL(old, 33);
        MPI_Win_unlock(to, w->win);
        settle(w);
        CHECK(mine[0] == out && mine[2] == 23 && mine[3] == 34);
        MPI_Barrier(W);
    }
}

/* With types that have gaps, and in the form with large counts. */
static void with_gaps(struct window *w)
{
    int *mine = (int *)w->memory, got[64], packed[16];
    MPI_Datatype strided;
    MPI_Request requests[2];
    MPI_Type_vector(16, 1, 3, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    memset(got, 0, sizeof got);
    for (int index = 0; index < 64; index++)
        mine[index] = rank * 100 + index;
    MPI_Barrier(W);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
    MPI_Rget(got, 1, strided, to, at(w, to, 0), 1, strided, w->win, &requests[0]);
    MPI_Rget_c(packed, 16, MPI_INT, to, at(w, to, 4), 1, strided, w->win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int index = 0; index < 16; index++) {
        CHECK_EQUAL(got[3 * index], to * 100 + 3 * index);
        CHECK_EQUAL(got[3 * index + 1], 0);
        CHECK_EQUAL(packed[index], to * 100 + 3 * index + 1);
    }
    MPI_Win_unlock(to, w->win);
    MPI_Type_free(&strided);
    MPI_Barrier(W);
}

/* Long ones; the put's buffer is written over as soon as its request is complete. */
static void long_ones(struct window *w)
{
    size_t bytes = 200000;
    char *out = malloc(bytes), *got = malloc(bytes);
    MPI_Request request;
    fill(out, bytes, rank);
    fill(w->memory + bytes, bytes, 100 + rank);
    MPI_Barrier(W);
    MPI_Win_lock_all(0, w->win);
    MPI_Rput(out, bytes, MPI_BYTE, to, at(w, to, 0), bytes, MPI_BYTE, w->win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(out, 0, bytes);
    MPI_Rget(got, bytes, MPI_BYTE, to, at(w, to, bytes), bytes, MPI_BYTE, w->win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_FILLED(got, bytes, 100 + to);
    MPI_Win_unlock_all(w->win);
    settle(w);
    CHECK_FILLED(w->memory, bytes, (rank + size - 1) % size);
    free(out);
    free(got);
    MPI_Barrier(W);
}

/* Other waits, a flush and the end of the epoch come between the start of a request and its end; the requests are ended in
 * the reverse order. */
static void other_calls(struct window *w)
{
    long *mine = (long *)w->memory, got[40], token = rank, received = -1;
    int from = (rank + size - 1) % size;
    MPI_Request requests[40];
    for (int index = 0; index < 40; index++)
        mine[index] = value(rank, index);
    MPI_Barrier(W);
    for (int way = 0; way < 3; way++) {
        memset(got, 0, sizeof got);
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
        for (int index = 0; index < 40; index++)
            MPI_Rget(&got[index], 1, MPI_LONG, to, at(w, to, 8 * index), 1, MPI_LONG, w->win, &requests[index]);
        if (way == 0)
            MPI_Sendrecv(&token, 1, MPI_LONG, to, 4, &received, 1, MPI_LONG, from, 4, W, MPI_STATUS_IGNORE);
        if (way == 1)
            MPI_Win_flush(to, w->win);
        if (way == 2)
            MPI_Win_unlock(to, w->win);
        for (int index = 39; index >= 0; index--) {
            CHECK_CLASS(MPI_Wait(&requests[index], MPI_STATUS_IGNORE), MPI_SUCCESS);
            CHECK_EQUAL(got[index], value(to, index));
        }
        if (way < 2)
            MPI_Win_unlock(to, w->win);
    }
    CHECK_EQUAL(received, from);
    MPI_Barrier(W);
}

/* With nobody, and with nothing. */
static void nothing(struct window *w)
{
    long one = 1, result = 9;
    MPI_Request requests[5];
    MPI_Status statuses[5];
    MPI_Win_lock_all(0, w->win);
    MPI_Rput(&one, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, w->win, &requests[0]);
    MPI_Rget(&result, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, w->win, &requests[1]);
    MPI_Raccumulate(&one, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, w->win, &requests[2]);
    MPI_Rget_accumulate(&one, 1, MPI_LONG, &result, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, w->win, &requests[3]);
    MPI_Rput(NULL, 0, MPI_LONG, to, at(w, to, 0), 0, MPI_LONG, w->win, &requests[4]);
    CHECK_CLASS(MPI_Waitall(5, requests, statuses), MPI_SUCCESS);
    CHECK_EQUAL(result, 9);
    MPI_Win_unlock_all(w->win);
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    check_begin(&argc, &argv);
    to = (rank + 1) % size;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        if (kind == OF_STACK || kind == STATIC)
            continue;
        struct window w = make_window(kind, 400000);
        many(&w);
        each_way(&w);
        with_gaps(&w);
        long_ones(&w);
        other_calls(&w);
        nothing(&w);
        free_window(&w);
    }
    return check_end();
}
