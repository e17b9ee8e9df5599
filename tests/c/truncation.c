/* ranks: 2
 * A message longer than the receive buffer is MPI_ERR_TRUNCATE, whatever its
 * size and whichever side came first; what lies behind the buffer stays as it
 * was, and later messages arrive as if nothing had been. */
#include "check.h"

static const size_t sizes[] = {2, 41, 5000, 16385, 70000, 3 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes, GUARD = 64 };

static void receive_short(unsigned char *buffer, size_t bytes, int posted_first)
{
    size_t room = bytes / 2;
    MPI_Request request;
    MPI_Status status;
    memset(buffer, 0xee, bytes);
    if (!posted_first)
        MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(buffer, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    if (posted_first)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    CHECK(request == MPI_REQUEST_NULL);
    for (size_t index = room; index < bytes; index++)
        if (buffer[index] != 0xee) {
            CHECK_EQUAL(buffer[index], 0xee);
            break;
        }
    MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
    CHECK_FILLED(buffer, bytes, 2);
}

static void send_long(unsigned char *buffer, size_t bytes, int posted_first)
{
    if (posted_first)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fill(buffer, bytes, 1);
    CHECK_CLASS(MPI_Send(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
    fill(buffer, bytes, 2);
    MPI_Send(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
}

/* One bad receive among good ones: MPI_Waitall tells which. */
static void among_others(void)
{
    int values[3] = {1, 2, 3};
    if (rank == 0) {
        for (int index = 0; index < 3; index++)
            MPI_Send(values, index == 1 ? 2 : 1, MPI_INT, 1, index, MPI_COMM_WORLD);
        return;
    }
    MPI_Request requests[3];
    MPI_Status statuses[3];
    for (int index = 0; index < 3; index++)
        MPI_Irecv(&values[index], 1, MPI_INT, 0, index, MPI_COMM_WORLD, &requests[index]);
    CHECK_CLASS(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK_CLASS(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    CHECK(requests[1] == MPI_REQUEST_NULL);
    for (int index = 0; index < 3; index += 2) {
        /* done, or left alone for a later call */
        int error = class_of(statuses[index].MPI_ERROR);
        CHECK(error == MPI_SUCCESS || error == MPI_ERR_PENDING);
        CHECK_CLASS(MPI_Wait(&requests[index], MPI_STATUS_IGNORE), MPI_SUCCESS);
        CHECK_EQUAL(values[index], 1);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char *buffer = malloc(sizes[SIZES - 1] + GUARD);
    for (int index = 0; index < SIZES; index++)
        for (int posted_first = 0; posted_first < 2; posted_first++) {
            if (rank == 0)
                send_long(buffer, sizes[index], posted_first);
            else
                receive_short(buffer, sizes[index], posted_first);
        }
    among_others();
    free(buffer);
    return check_end();
}
