/* ranks: 1 2
 * Wrong requests, statuses and generalized requests. */
#include "bad_input.h"

static int v[4];

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int release(void *extra) { return extra ? MPI_SUCCESS : MPI_SUCCESS; }
static int cancel(void *extra, int complete) { return extra && complete ? MPI_SUCCESS : MPI_SUCCESS; }

static void null_and_stale(void)
{
    MPI_Request null = MPI_REQUEST_NULL, r, stale, list[2];
    MPI_Status s, statuses[2];
    int flag, index, count, indices[2];
    BAD(MPI_ERR_REQUEST, "MPI_REQUEST_NULL", MPI_Cancel(&null));
    BAD(MPI_ERR_REQUEST, "MPI_REQUEST_NULL", MPI_Request_free(&null));
    BAD(MPI_ERR_REQUEST, "MPI_REQUEST_NULL", MPI_Start(&null));
    BAD(MPI_ERR_ARG, "request|null", MPI_Wait(NULL, &s));
    BAD(MPI_ERR_ARG, "request|null", MPI_Test(NULL, &flag, &s));
    BAD(MPI_ERR_ARG, "flag|null", MPI_Test(&null, NULL, &s));
    BAD(MPI_ERR_ARG, "request|null", MPI_Cancel(NULL));
    BAD(MPI_ERR_ARG, "count|-1", MPI_Waitall(-1, list, statuses));
    BAD(MPI_ERR_ARG, "requests|null", MPI_Waitall(2, NULL, statuses));
    BAD(MPI_ERR_ARG, "count|-1", MPI_Waitany(-1, list, &index, &s));
    BAD(MPI_ERR_ARG, "indx|null", MPI_Waitany(0, list, NULL, &s));
    BAD(MPI_ERR_ARG, "count|-1", MPI_Testall(-1, list, &flag, statuses));
    BAD(MPI_ERR_ARG, "flag|null", MPI_Testall(0, list, NULL, statuses));
    BAD(MPI_ERR_ARG, "requests|null", MPI_Testany(1, NULL, &index, &flag, &s));
    BAD(MPI_ERR_ARG, "incount|-3", MPI_Waitsome(-3, list, &count, indices, statuses));
    BAD(MPI_ERR_ARG, "outcount|null", MPI_Testsome(0, list, NULL, indices, statuses));
    BAD(MPI_ERR_ARG, "count|-1", MPI_Startall(-1, list));

    MPI_Irecv(v, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &r);
    stale = r;
    BAD(MPI_ERR_REQUEST, "persistent", MPI_Start(&r));
    MPI_Send(v + 1, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
    MPI_Wait(&r, &s);
    r = stale;
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Wait(&r, &s));
    r = stale;
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Test(&r, &flag, &s));
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Cancel(&r));
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Request_free(&r));
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Request_get_status(r, &flag, &s));
    list[0] = list[1] = stale;
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Waitall(2, list, statuses));
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Waitany(2, list, &index, &s));
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Testsome(2, list, &count, indices, statuses));
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Request_get_status_all(2, list, &flag, statuses));
    BAD(MPI_ERR_REQUEST, "completed|freed", MPI_Startall(2, list));
}

static void persistent(void)
{
    MPI_Request r, freed;
    MPI_Recv_init(v, 1, MPI_INT, 0, 6, MPI_COMM_SELF, &r);
    MPI_Start(&r);
    BAD(MPI_ERR_REQUEST, "active", MPI_Start(&r));
    MPI_Send(v + 1, 1, MPI_INT, 0, 6, MPI_COMM_SELF);
    CHECK_CLASS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    freed = r;
    MPI_Request_free(&r);
    BAD(MPI_ERR_REQUEST, "freed", MPI_Start(&freed));
    BAD(MPI_ERR_REQUEST, "freed", MPI_Request_free(&freed));
}

static void generalized(void)
{
    MPI_Request r = MPI_REQUEST_NULL, receive;
    BAD(MPI_ERR_ARG, "query_fn|null", MPI_Grequest_start(NULL, release, cancel, NULL, &r));
    BAD(MPI_ERR_ARG, "free_fn|null", MPI_Grequest_start(query, NULL, cancel, NULL, &r));
    BAD(MPI_ERR_ARG, "cancel_fn|null", MPI_Grequest_start(query, release, NULL, NULL, &r));
    BAD(MPI_ERR_REQUEST, "MPI_REQUEST_NULL", MPI_Grequest_complete(MPI_REQUEST_NULL));
    MPI_Irecv(v, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &receive);
    BAD(MPI_ERR_REQUEST, "generalized", MPI_Grequest_complete(receive));
    MPI_Cancel(&receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Grequest_start(query, release, cancel, NULL, &r);
    MPI_Grequest_complete(r);
    BAD(MPI_ERR_REQUEST, "complete", MPI_Grequest_complete(r));
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* Messages that are longer than their receive, in every kind of receive. */
static void truncated(void)
{
    MPI_Request r;
    MPI_Status s;
    MPI_Message m;
    MPI_Comm c = MPI_COMM_SELF;
    int flag = 0;
    MPI_Isend(v, 2, MPI_INT, 0, 8, c, &r);
    BAD(MPI_ERR_TRUNCATE, "8|4", MPI_Recv(v + 2, 1, MPI_INT, 0, 8, c, &s));
    MPI_Wait(&r, &s);
    MPI_Isend(v, 2, MPI_INT, 0, 8, c, &r);
    MPI_Mprobe(0, 8, c, &m, &s);
    BAD(MPI_ERR_TRUNCATE, "8|4", MPI_Mrecv(v + 2, 1, MPI_INT, &m, &s));
    MPI_Wait(&r, &s);
    BAD(MPI_ERR_TRUNCATE, "8|4", MPI_Sendrecv(v, 2, MPI_INT, 0, 8, v + 2, 1, MPI_INT, 0, 8, c, &s));
    MPI_Irecv(v + 2, 1, MPI_INT, 0, 8, c, &r);
    MPI_Send(v, 2, MPI_INT, 0, 8, c);
    BAD(MPI_ERR_TRUNCATE, "8|4", MPI_Test(&r, &flag, &s));
    CHECK(flag && r == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    bad_begin(&argc, &argv);
    null_and_stale();
    persistent();
    generalized();
    truncated();
    return bad_end(40);
}
