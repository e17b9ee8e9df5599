/* ranks: 2
 * Buffers for buffered sends (MPI-5.0 §3.6): of the process, of a communicator, of a session, automatic. */
#include "check.h"

#define W MPI_COMM_WORLD

/* Sends that nobody receives yet, from rank 0 to rank 1, and then what came. */
static void burst(MPI_Comm comm, int messages, int items)
{
    int *data = malloc(sizeof(int) * items);
    for (int n = 0; n < messages; n++) {
        if (rank == 0) {
            for (int i = 0; i < items; i++)
                data[i] = n * 7 + i;
            CHECK_CLASS(MPI_Bsend(data, items, MPI_INT, 1, n, comm), MPI_SUCCESS);
            memset(data, 0xff, sizeof(int) * items); /* it may be changed at once */
        }
    }
    MPI_Barrier(W);
    for (int n = messages - 1; n >= 0 && rank == 1; n--) {
        MPI_Recv(data, items, MPI_INT, 0, n, comm, MPI_STATUS_IGNORE);
        CHECK(data[0] == n * 7 && data[items - 1] == n * 7 + items - 1);
    }
    free(data);
}

int main(int argc, char **argv)
{
    static char room[1 << 20], other[1 << 20];
    void *address;
    int bytes, flag;
    MPI_Count large;
    MPI_Comm comm;
    MPI_Session session;
    MPI_Request request;
    check_begin(&argc, &argv);
    MPI_Comm_dup(W, &comm);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    CHECK_CLASS(MPI_Bsend(room, 1, MPI_BYTE, rank, 0, W), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Buffer_detach(&address, &bytes), MPI_ERR_BUFFER);
    MPI_Buffer_attach(room, sizeof room);
    CHECK_CLASS(MPI_Buffer_attach(other, sizeof other), MPI_ERR_BUFFER);
    burst(W, 10, 1000);
    burst(comm, 10, 1000); /* without a buffer of its own */
    MPI_Comm_attach_buffer(comm, other, sizeof other);
    CHECK_CLASS(MPI_Comm_attach_buffer(comm, room, sizeof room), MPI_ERR_BUFFER);
    burst(comm, 10, 1000);
    CHECK_CLASS(MPI_Comm_flush_buffer(comm), MPI_SUCCESS);
    MPI_Buffer_detach_c(&address, &large);
    CHECK(address == room);
    CHECK_EQUAL(large, sizeof room);
    CHECK_CLASS(MPI_Bsend(room, 1, MPI_BYTE, rank, 0, W), MPI_ERR_BUFFER);
    burst(comm, 2, 10);
    MPI_Comm_detach_buffer(comm, &address, &bytes);
    CHECK(address == other);
    CHECK_EQUAL(bytes, sizeof other);
    MPI_Comm_attach_buffer(comm, room, 100);
    CHECK_CLASS(MPI_Bsend(other, 101, MPI_BYTE, 0, 0, comm), MPI_ERR_BUFFER);
    MPI_Comm_detach_buffer(comm, &address, &bytes);

    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    burst(W, 20, 100000);
    MPI_Buffer_iflush(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_CLASS(MPI_Buffer_flush(), MPI_SUCCESS);
    MPI_Buffer_detach(&address, &bytes);
    CHECK(address == MPI_BUFFER_AUTOMATIC);
    CHECK_EQUAL(bytes, 0);

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_attach_buffer(session, room, sizeof room);
    CHECK_CLASS(MPI_Session_attach_buffer(session, other, 1), MPI_ERR_BUFFER);
    MPI_Session_flush_buffer(session);
    MPI_Session_iflush_buffer(session, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(flag);
    MPI_Session_detach_buffer(session, &address, &bytes);
    CHECK(address == room);
    MPI_Session_finalize(&session);

    /* A communicator that goes takes its buffer along; what it has sent arrives. */
    MPI_Comm_attach_buffer(comm, room, sizeof room);
    burst(comm, 1, 100);
    MPI_Comm_disconnect(&comm);
    MPI_Comm_dup(W, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Bsend(other, 1, MPI_BYTE, 0, 0, comm), MPI_ERR_BUFFER);
    MPI_Comm_free(&comm);
    return check_end();
}
