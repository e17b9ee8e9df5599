/* ranks: 2
 * Messages without items whose datatype is null, as MPICH and Intel MPI take them, in every call that sends or
 * receives; with items, and where it is no datatype at all, that stays an error. MPI_Psend_init_c and
 * MPI_Precv_init_c, which the Forum's header declares, are those without _c. */
#include "check.h"
#include <stdint.h>

#define W MPI_COMM_WORLD
#define N MPI_DATATYPE_NULL

/* MPICH's library has them not, so its compiler wrapper finds them when the program starts. */
typedef __typeof__(MPI_Psend_init) psend_init;
typedef __typeof__(MPI_Precv_init) precv_init;
extern psend_init MPI_Psend_init_c __attribute__((weak)), PMPI_Psend_init_c __attribute__((weak));
extern precv_init MPI_Precv_init_c __attribute__((weak)), PMPI_Precv_init_c __attribute__((weak));

static char *b;
static int other;

/* One message without items came from the other. */
static void empty(const MPI_Status *status, const char *call, int line)
{
    int bytes = -1;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    if (bytes != 0 || status->MPI_SOURCE != other)
        check_failed(__FILE__, line, "%s: %d bytes from %d", call, bytes, status->MPI_SOURCE);
}

static void wait_for(MPI_Request *request, const char *call, int line)
{
    MPI_Status status;
    CHECK_CLASS(MPI_Wait(request, &status), MPI_SUCCESS);
    if (strstr(call, "recv") || strstr(call, "Recv"))
        empty(&status, call, line);
}

#define RIGHT(call) CHECK_CLASS(call, MPI_SUCCESS)
/* A send, and what the other receives. */
#define SENDS(call)                                                 \
    do {                                                            \
        MPI_Status s;                                               \
        MPI_Request q;                                              \
        RIGHT(MPI_Irecv(b, 0, N, other, 1, W, &q));                 \
        MPI_Barrier(W);                                             \
        call;                                                       \
        RIGHT(MPI_Wait(&q, &s));                                    \
        empty(&s, #call, __LINE__);                                 \
    } while (0)
/* A request `r`, started by the call, or made by it and started here. */
#define STARTS(call, persistent)                                    \
    do {                                                            \
        MPI_Request r;                                              \
        RIGHT(call);                                                \
        if (persistent)                                             \
            RIGHT(MPI_Start(&r));                                   \
        wait_for(&r, #call, __LINE__);                              \
        if (persistent)                                             \
            RIGHT(MPI_Request_free(&r));                            \
    } while (0)

static void sends(void)
{
    SENDS(RIGHT(MPI_Send(b, 0, N, other, 1, W)));
    SENDS(RIGHT(MPI_Send_c(b, 0, N, other, 1, W)));
    SENDS(RIGHT(MPI_Bsend(b, 0, N, other, 1, W)));
    SENDS(RIGHT(MPI_Ssend(b, 0, N, other, 1, W)));
    SENDS(RIGHT(MPI_Rsend(b, 0, N, other, 1, W)));
    SENDS(STARTS(MPI_Isend(b, 0, N, other, 1, W, &r), 0));
    SENDS(STARTS(MPI_Ibsend(b, 0, N, other, 1, W, &r), 0));
    SENDS(STARTS(MPI_Issend(b, 0, N, other, 1, W, &r), 0));
    SENDS(STARTS(MPI_Irsend(b, 0, N, other, 1, W, &r), 0));
    SENDS(STARTS(MPI_Send_init(b, 0, N, other, 1, W, &r), 1));
    SENDS(STARTS(MPI_Bsend_init(b, 0, N, other, 1, W, &r), 1));
    SENDS(STARTS(MPI_Ssend_init(b, 0, N, other, 1, W, &r), 1));
    SENDS(STARTS(MPI_Rsend_init(b, 0, N, other, 1, W, &r), 1));
}

static void receives(void)
{
    MPI_Status s;
    MPI_Message m;
    for (int i = 0; i < 6; i++)
        RIGHT(MPI_Send(b, 0, N, other, 2, W));
    RIGHT(MPI_Recv(b, 0, N, other, 2, W, &s));
    empty(&s, "MPI_Recv", __LINE__);
    RIGHT(MPI_Recv_c(b, 0, N, MPI_ANY_SOURCE, 2, W, &s));
    empty(&s, "MPI_Recv_c", __LINE__);
    STARTS(MPI_Irecv(b, 0, N, other, 2, W, &r), 0);
    STARTS(MPI_Recv_init(b, 0, N, other, 2, W, &r), 1);
    MPI_Mprobe(other, 2, W, &m, &s);
    RIGHT(MPI_Mrecv(b, 0, N, &m, &s));
    empty(&s, "MPI_Mrecv", __LINE__);
    MPI_Mprobe(other, 2, W, &m, &s);
    STARTS(MPI_Imrecv(b, 0, N, &m, &r), 0);
    RIGHT(MPI_Sendrecv(b, 0, N, other, 3, b, 0, N, other, 3, W, &s));
    empty(&s, "MPI_Sendrecv", __LINE__);
    RIGHT(MPI_Sendrecv(b, 1, MPI_CHAR, other, 3, b + 1, 1, MPI_CHAR, other, 3, W, &s));
    RIGHT(MPI_Sendrecv_replace(b, 0, N, other, 3, other, 3, W, &s));
    empty(&s, "MPI_Sendrecv_replace", __LINE__);
    STARTS(MPI_Isendrecv(b, 0, N, other, 3, b, 0, N, other, 3, W, &r), 0);
    STARTS(MPI_Isendrecv_replace(b, 0, N, other, 3, other, 3, W, &r), 0);
}

static void errors(void)
{
    MPI_Datatype junk = (MPI_Datatype)(intptr_t)0x7f0000;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    CHECK_CLASS(MPI_Send(b, 1, N, other, 4, W), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Send(b, 0, junk, other, 4, W), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Send(b, 0, N, 77, 4, W), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Irecv(b, 2, N, other, 4, W, &r), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Sendrecv(b, 0, N, other, 4, b, 1, N, other, 4, W, &s), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Psend_init(b, 1, 1, N, other, 4, W, MPI_INFO_NULL, &r), MPI_ERR_TYPE);
    CHECK(r == MPI_REQUEST_NULL);
}

/* In four partitions, with items and without. */
static void partitioned(psend_init *send, precv_init *receive, int count, MPI_Datatype type)
{
    MPI_Request r[2];
    CHECK(send && receive);
    if (!send || !receive)
        return;
    memset(b, 1 + rank, 16);
    memset(b + 16, 0, 16);
    RIGHT(send(b, 4, count, type, other, 5, W, MPI_INFO_NULL, &r[0]));
    RIGHT(receive(b + 16, 4, count, type, other, 5, W, MPI_INFO_NULL, &r[1]));
    RIGHT(MPI_Startall(2, r));
    RIGHT(MPI_Pready_range(0, 3, r[0]));
    RIGHT(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 16; i++)
        CHECK_EQUAL(b[16 + i], i < 4 * count ? 1 + other : 0);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

int main(int argc, char **argv)
{
    static char buffer[64];
    b = buffer;
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    other = 1 - rank;
    MPI_Buffer_attach(malloc(10 * MPI_BSEND_OVERHEAD), 10 * MPI_BSEND_OVERHEAD);
    sends();
    receives();
    errors();
    partitioned(MPI_Psend_init, MPI_Precv_init, 0, N);
    partitioned(MPI_Psend_init_c, MPI_Precv_init_c, 0, N);
    partitioned(MPI_Psend_init_c, MPI_Precv_init_c, 3, MPI_CHAR);
    partitioned(PMPI_Psend_init_c, PMPI_Precv_init_c, 4, MPI_CHAR);
    return check_end();
}
