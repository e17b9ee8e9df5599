/* ranks: 1 2
 * Generalized requests (MPI-5.0 §13.2): when the program's functions are called, and what they say. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

struct state {
    int queries, frees, cancels, complete_when_cancelled, fail;
};

static int query(void *extra, MPI_Status *status)
{
    struct state *state = extra;
    state->queries++;
    MPI_Status_set_elements(status, MPI_INT, 7);
    MPI_Status_set_cancelled(status, state->cancels > 0);
    MPI_Status_set_source(status, 3);
    MPI_Status_set_tag(status, 44);
    return state->fail ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int release(void *extra)
{
    ((struct state *)extra)->frees++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    struct state *state = extra;
    state->cancels++;
    state->complete_when_cancelled = complete;
    return MPI_SUCCESS;
}

static MPI_Request start(struct state *state)
{
    MPI_Request request;
    memset(state, 0, sizeof *state);
    CHECK_CLASS(MPI_Grequest_start(query, release, cancel, state, &request), MPI_SUCCESS);
    return request;
}

static void *complete_later(void *request)
{
    usleep(20000);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

int main(int argc, char **argv)
{
    struct state state, many[4];
    MPI_Request request, requests[4], copy;
    MPI_Status status, statuses[4];
    int flag, count, provided, index, indices[4];
    pthread_t helper;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    /* A thread completes it while the other one sleeps. */
    request = start(&state);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && state.queries == 0);
    copy = request;
    pthread_create(&helper, NULL, complete_later, &copy);
    MPI_Wait(&request, &status);
    pthread_join(helper, NULL);
    CHECK(request == MPI_REQUEST_NULL && state.queries == 1 && state.frees == 1);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 7 && status.MPI_SOURCE == 3 && status.MPI_TAG == 44);

    /* Looked at before it is completed. */
    request = start(&state);
    MPI_Grequest_complete(request);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(flag && status.MPI_TAG == 44 && state.frees == 0);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(flag && state.frees == 1);

    /* Freed after completion, and before: the function runs with the last of both. */
    request = start(&state);
    MPI_Grequest_complete(request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL && state.frees == 1);
    request = start(&state);
    copy = request;
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL && state.frees == 0);
    CHECK_CLASS(MPI_Grequest_complete(copy), MPI_SUCCESS);
    CHECK_EQUAL(state.frees, 1);
    CHECK_EQUAL(state.queries, 0);

    /* Cancelled before it is complete. */
    request = start(&state);
    MPI_Cancel(&request);
    CHECK(state.cancels == 1 && !state.complete_when_cancelled);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);

    /* Several at once. */
    for (int i = 0; i < 4; i++)
        requests[i] = start(&many[i]);
    MPI_Grequest_complete(requests[2]);
    MPI_Waitany(4, requests, &index, &status);
    CHECK(index == 2 && many[2].frees == 1 && status.MPI_SOURCE == 3);
    MPI_Grequest_complete(requests[0]);
    MPI_Testsome(4, requests, &count, indices, statuses);
    CHECK(count == 1 && indices[0] == 0 && statuses[0].MPI_TAG == 44);
    MPI_Testall(4, requests, &flag, statuses);
    CHECK(!flag);
    MPI_Grequest_complete(requests[1]);
    MPI_Grequest_complete(requests[3]);
    MPI_Waitall(4, requests, statuses);
    for (int i = 0; i < 4; i++)
        CHECK(many[i].frees == 1 && many[i].queries == 1);

    /* What the query function says is the error. */
    request = start(&state);
    state.fail = 1;
    MPI_Grequest_complete(request);
    CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_OTHER);
    CHECK_EQUAL(state.frees, 1);

    /* Mistakes. */
    CHECK_CLASS(MPI_Grequest_start(NULL, release, cancel, &state, &request), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Grequest_complete(MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    MPI_Irecv(&count, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &request);
    CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return check_end();
}
