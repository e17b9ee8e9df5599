/* ranks: 1 2
 * Wrong calls of point-to-point communication. */
#include "bad_input.h"

#define W MPI_COMM_WORLD
static int v[100];
static MPI_Datatype uncommitted;
static MPI_Comm freed = MPI_COMM_WORLD;

static void sends(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Send(v, -1, MPI_INT, 0, 0, W));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Send_c(v, -1, MPI_INT, 0, 0, W));
    BAD(MPI_ERR_RANK, "dest|1000", MPI_Send(v, 1, MPI_INT, 1000, 0, W));
    BAD(MPI_ERR_RANK, "dest|-999", MPI_Send(v, 1, MPI_INT, -999, 0, W));
    BAD(MPI_ERR_RANK, "dest|MPI_ANY_SOURCE", MPI_Send(v, 1, MPI_INT, MPI_ANY_SOURCE, 0, W));
    BAD(MPI_ERR_RANK, "dest|MPI_ROOT", MPI_Send(v, 1, MPI_INT, MPI_ROOT, 0, W));
    BAD(MPI_ERR_TAG, "tag|-999", MPI_Send(v, 1, MPI_INT, 0, -999, W));
    BAD(MPI_ERR_TAG, "tag|MPI_ANY_TAG", MPI_Send(v, 1, MPI_INT, 0, MPI_ANY_TAG, W));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Send(v, 1, MPI_DATATYPE_NULL, 0, 0, W));
    BAD(MPI_ERR_TYPE, "not committed|MPI_Type_commit", MPI_Send(v, 1, uncommitted, 0, 0, W));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Send(v, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    BAD(MPI_ERR_COMM, "comm|freed", MPI_Send(v, 1, MPI_INT, 0, 0, freed));
    BAD(MPI_ERR_BUFFER, "buf|null", MPI_Send(NULL, 1, MPI_INT, 0, 0, W));
    BAD(MPI_ERR_BUFFER, "MPI_IN_PLACE", MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, W));
    BAD(MPI_ERR_COUNT, "count|-2", MPI_Ssend(v, -2, MPI_INT, 0, 0, W));
    BAD(MPI_ERR_RANK, "dest|1000", MPI_Rsend(v, 1, MPI_INT, 1000, 0, W));
    BAD(MPI_ERR_TAG, "tag|-5", MPI_Isend(v, 1, MPI_INT, 0, -5, W, &r));
    BAD(MPI_ERR_ARG, "request|null", MPI_Isend(v, 1, MPI_INT, 0, 0, W, NULL));
    BAD(MPI_ERR_TYPE, "datatype", MPI_Issend(v, 1, MPI_DATATYPE_NULL, 0, 0, W, &r));
    BAD(MPI_ERR_BUFFER, "buf", MPI_Irsend(NULL, 3, MPI_INT, 0, 0, W, &r));
    BAD(MPI_ERR_RANK, "dest|-8", MPI_Send_init(v, 1, MPI_INT, -8, 0, W, &r));
    BAD(MPI_ERR_TAG, "tag|-8", MPI_Ssend_init(v, 1, MPI_INT, 0, -8, W, &r));
    BAD(MPI_ERR_COUNT, "count|-8", MPI_Rsend_init(v, -8, MPI_INT, 0, 0, W, &r));
    CHECK(r == MPI_REQUEST_NULL);
}

static void receives(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Recv(v, -1, MPI_INT, 0, 0, W, &s));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Recv_c(v, -1, MPI_INT, 0, 0, W, &s));
    BAD(MPI_ERR_RANK, "source|1000", MPI_Recv(v, 1, MPI_INT, 1000, 0, W, &s));
    BAD(MPI_ERR_RANK, "source|-999", MPI_Recv(v, 1, MPI_INT, -999, 0, W, &s));
    BAD(MPI_ERR_TAG, "tag|-999", MPI_Recv(v, 1, MPI_INT, 0, -999, W, &s));
    BAD(MPI_ERR_BUFFER, "buf|null", MPI_Recv(NULL, 1, MPI_INT, 0, 0, W, &s));
    BAD(MPI_ERR_BUFFER, "MPI_IN_PLACE", MPI_Recv(MPI_IN_PLACE, 1, MPI_INT, 0, 0, W, &s));
    BAD(MPI_ERR_TYPE, "committed", MPI_Recv(v, 1, uncommitted, 0, 0, W, &s));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Irecv(v, 1, MPI_DATATYPE_NULL, 0, 0, W, &r));
    BAD(MPI_ERR_BUFFER, "buf|null", MPI_Irecv(NULL, 1, MPI_INT, 0, 0, W, &r));
    BAD(MPI_ERR_ARG, "request|null", MPI_Irecv(v, 1, MPI_INT, 0, 0, W, NULL));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Recv_init(v, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &r));
    BAD(MPI_ERR_RANK, "source|7777", MPI_Recv_init(v, 1, MPI_INT, 7777, 0, W, &r));
    BAD(MPI_ERR_TAG, "tag|-999", MPI_Sendrecv(v, 1, MPI_INT, 0, -999, v + 1, 1, MPI_INT, 0, 0, W, &s));
    BAD(MPI_ERR_RANK, "source|1000", MPI_Sendrecv(v, 1, MPI_INT, 0, 0, v + 1, 1, MPI_INT, 1000, 0, W, &s));
    BAD(MPI_ERR_COUNT, "count|-4", MPI_Sendrecv_replace(v, -4, MPI_INT, 0, 0, 0, 0, W, &s));
    BAD(MPI_ERR_RANK, "dest|1000", MPI_Isendrecv(v, 1, MPI_INT, 1000, 0, v + 1, 1, MPI_INT, 0, 0, W, &r));
    BAD(MPI_ERR_TAG, "tag|-6", MPI_Isendrecv_replace(v, 1, MPI_INT, 0, 0, 0, -6, W, &r));
    CHECK(r == MPI_REQUEST_NULL);
}

static void probes(void)
{
    MPI_Status s;
    MPI_Message m = MPI_MESSAGE_NULL, stale;
    MPI_Request r = MPI_REQUEST_NULL;
    int flag, count;
    BAD(MPI_ERR_RANK, "source|1000", MPI_Probe(1000, 0, W, &s));
    BAD(MPI_ERR_TAG, "tag|-999", MPI_Iprobe(0, -999, W, &flag, &s));
    BAD(MPI_ERR_ARG, "flag|null", MPI_Iprobe(0, 0, W, NULL, &s));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Mprobe(0, 0, MPI_COMM_NULL, &m, &s));
    BAD(MPI_ERR_ARG, "message|null", MPI_Mprobe(0, 0, W, NULL, &s));
    BAD(MPI_ERR_RANK, "source|-77", MPI_Improbe(-77, 0, W, &flag, &m, &s));
    BAD(MPI_ERR_REQUEST, "message|null", MPI_Mrecv(v, 1, MPI_INT, &m, &s));
    BAD(MPI_ERR_REQUEST, "message|null", MPI_Imrecv(v, 1, MPI_INT, &m, &r));
    MPI_Isend(v, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r);
    MPI_Mprobe(0, 3, MPI_COMM_SELF, &m, &s);
    stale = m;
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Mrecv(v + 1, -1, MPI_INT, &m, &s));
    CHECK_CLASS(MPI_Mrecv(v + 1, 1, MPI_INT, &m, &s), MPI_SUCCESS);
    BAD(MPI_ERR_REQUEST, "message", MPI_Mrecv(v + 1, 1, MPI_INT, &stale, &s));
    MPI_Wait(&r, &s);
    BAD(MPI_ERR_ARG, "status", MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &count));
    BAD(MPI_ERR_TYPE, "datatype", MPI_Get_count(&s, MPI_DATATYPE_NULL, &count));
    BAD(MPI_ERR_ARG, "count|null", MPI_Get_count(&s, MPI_INT, NULL));
    BAD(MPI_ERR_TYPE, "datatype", MPI_Get_elements(&s, MPI_DATATYPE_NULL, &count));
    BAD(MPI_ERR_ARG, "flag|null", MPI_Test_cancelled(&s, NULL));
    BAD(MPI_ERR_COUNT, "count|-3", MPI_Status_set_elements(&s, MPI_INT, -3));
}

static void buffered(void)
{
    char memory[256];
    void *address;
    int bytes;
    MPI_Request r = MPI_REQUEST_NULL;
    BAD(MPI_ERR_BUFFER, "no buffer|MPI_Buffer_attach", MPI_Bsend(v, 1, MPI_INT, 0, 0, W));
    BAD(MPI_ERR_BUFFER, "no buffer", MPI_Ibsend(v, 1, MPI_INT, 0, 0, W, &r));
    BAD(MPI_ERR_BUFFER, "no buffer", MPI_Buffer_detach(&address, &bytes));
    BAD(MPI_ERR_BUFFER, "no buffer", MPI_Comm_detach_buffer(W, &address, &bytes));
    BAD(MPI_ERR_ARG, "size|-1", MPI_Buffer_attach(memory, -1));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Comm_attach_buffer(MPI_COMM_NULL, memory, sizeof memory));
    BAD(MPI_ERR_SESSION, "session|null", MPI_Session_attach_buffer(MPI_SESSION_NULL, memory, sizeof memory));
    BAD(MPI_ERR_BUFFER, "buffer|null", MPI_Buffer_attach(NULL, 100));
    MPI_Buffer_attach(memory, sizeof memory);
    BAD(MPI_ERR_BUFFER, "attached already", MPI_Buffer_attach(memory, sizeof memory));
    BAD(MPI_ERR_BUFFER, "400 bytes|256", MPI_Bsend(v, 100, MPI_INT, 0, 0, W));
    BAD(MPI_ERR_ARG, "buffer_addr|null", MPI_Buffer_detach(NULL, &bytes));
    BAD(MPI_ERR_ARG, "size|null", MPI_Buffer_detach(&address, NULL));
    CHECK_CLASS(MPI_Buffer_detach(&address, &bytes), MPI_SUCCESS);
}

static void partitioned(void)
{
    MPI_Request r = MPI_REQUEST_NULL, isend;
    int flag, parts[] = {0, 9};
    BAD(MPI_ERR_ARG, "partitions|-2", MPI_Psend_init(v, -2, 1, MPI_INT, 0, 0, W, MPI_INFO_NULL, &r));
    BAD(MPI_ERR_COUNT, "count|-2", MPI_Psend_init(v, 2, -2, MPI_INT, 0, 0, W, MPI_INFO_NULL, &r));
    BAD(MPI_ERR_RANK, "source|MPI_ANY_SOURCE",
        MPI_Precv_init(v, 2, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, MPI_INFO_NULL, &r));
    BAD(MPI_ERR_TAG, "tag|MPI_ANY_TAG", MPI_Precv_init(v, 2, 1, MPI_INT, 0, MPI_ANY_TAG, W, MPI_INFO_NULL, &r));
    BAD(MPI_ERR_REQUEST, "MPI_REQUEST_NULL", MPI_Pready(0, MPI_REQUEST_NULL));
    MPI_Psend_init(v, 2, 1, MPI_INT, MPI_PROC_NULL, 0, W, MPI_INFO_NULL, &r);
    BAD(MPI_ERR_REQUEST, "", MPI_Pready(0, r)); /* not started */
    MPI_Start(&r);
    BAD(MPI_ERR_ARG, "2", MPI_Pready(2, r));
    BAD(MPI_ERR_ARG, "-1", MPI_Pready(-1, r));
    BAD(MPI_ERR_ARG, "partition_low|partition_high", MPI_Pready_range(1, 0, r));
    BAD(MPI_ERR_ARG, "9", MPI_Pready_list(2, parts, r));
    BAD(MPI_ERR_REQUEST, "", MPI_Parrived(r, 0, &flag)); /* a send */
    MPI_Pready_range(0, 1, r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
    MPI_Irecv(v, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &isend);
    BAD(MPI_ERR_REQUEST, "", MPI_Pready(0, isend));
    MPI_Cancel(&isend);
    MPI_Wait(&isend, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    bad_begin(&argc, &argv);
    MPI_Comm twin;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    MPI_Comm_dup(W, &twin);
    freed = twin;
    MPI_Comm_free(&twin);
    sends();
    receives();
    probes();
    buffered();
    partitioned();
    MPI_Type_free(&uncommitted);
    return bad_end(80);
}
