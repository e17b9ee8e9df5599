/* ranks: 1
 * Extensions of MPICH that programs ask for before they use what is not there,
 * and some that are. Only that library's header declares them. */
#include "check.h"

#ifdef MPICH_VERSION
static void nothing_of_gpus(void)
{
    int there = 1;
    CHECK_EQUAL(MPIX_Query_cuda_support(), 0);
    CHECK_EQUAL(MPIX_Query_ze_support(), 0);
    CHECK_EQUAL(MPIX_Query_hip_support(), 0);
    CHECK_CLASS(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &there), MPI_SUCCESS);
    CHECK_EQUAL(there, 0);
    CHECK_CLASS(MPIX_Comm_test_threadcomm(MPI_COMM_WORLD, &there), MPI_SUCCESS);
    CHECK_EQUAL(there, 0);
}

static void pieces_of_a_type(void)
{
    MPI_Datatype columns;
    MPI_Count pieces, bytes;
    MPIX_Iov iov[8];
    MPI_Type_vector(5, 2, 4, MPI_INT, &columns);
    CHECK_CLASS(MPIX_Type_iov_len(columns, -1, &pieces, &bytes), MPI_SUCCESS);
    CHECK(pieces == 5 && bytes == 40);
    CHECK_CLASS(MPIX_Type_iov_len(columns, 23, &pieces, &bytes), MPI_SUCCESS);
    CHECK(pieces == 2 && bytes == 16);
    CHECK_CLASS(MPIX_Type_iov(columns, 1, iov, 8, &pieces), MPI_SUCCESS);
    CHECK_EQUAL(pieces, 4);
    for (int index = 0; index < 4; index++) {
        CHECK_EQUAL((long)iov[index].iov_base, 16 * (index + 1));
        CHECK_EQUAL(iov[index].iov_len, 8);
    }
    CHECK_CLASS(MPIX_Type_iov(columns, -1, iov, 8, &pieces), MPI_ERR_ARG);
    MPI_Type_free(&columns);
}

static void requests_and_infos(void)
{
    MPI_Request request;
    MPI_Info info;
    char value[16] = "";
    int got, sent = 1, room = sizeof value, flag;
    MPI_Irecv(&got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    CHECK(!MPIX_Request_is_complete(request) && MPIX_Request_is_complete(MPI_REQUEST_NULL));
    MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    CHECK(MPIX_Request_is_complete(request));
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Info_create(&info);
    CHECK_CLASS(MPIX_Info_set_hex(info, "stream", "\x01\xab", 2), MPI_SUCCESS);
    MPI_Info_get_string(info, "stream", &room, value, &flag);
    CHECK(flag && !strcmp(value, "01ab"));
    MPI_Info_free(&info);
}
#else
static void nothing_of_gpus(void) {}
static void pieces_of_a_type(void) {}
static void requests_and_infos(void) {}
#endif

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    nothing_of_gpus();
    pieces_of_a_type();
    requests_and_infos();
    return check_end();
}
