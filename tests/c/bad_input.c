/* ranks: 1 2
 * Wrong calls give an error of the right class, harm nothing, and leave the
 * library working. */
#include "check.h"

static int values[100];
#define W MPI_COMM_WORLD

static void point_to_point(void)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Datatype uncommitted;
    int *bound, flag, count;
    MPI_Comm_get_attr(W, MPI_TAG_UB, &bound, &flag);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);

    CHECK_CLASS(MPI_Send(values, -1, MPI_INT, 0, 0, W), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Send(values, 1, MPI_INT, size, 0, W), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(values, 1, MPI_INT, -999, 0, W), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(values, 1, MPI_INT, MPI_ANY_SOURCE, 0, W), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(values, 1, MPI_INT, 0, -999, W), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Send(values, 1, MPI_INT, 0, MPI_ANY_TAG, W), MPI_ERR_TAG);
    if (*bound < 0x7fffffff)
        CHECK_CLASS(MPI_Send(values, 1, MPI_INT, 0, *bound + 1, W), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Send(values, 1, MPI_DATATYPE_NULL, 0, 0, W), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Send(values, 1, uncommitted, 0, 0, W), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Send(values, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Send(NULL, 1, MPI_INT, 0, 0, W), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Recv(values, -1, MPI_INT, 0, 0, W, &status), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Recv(values, 1, MPI_INT, size, 0, W, &status), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Recv(values, 1, MPI_INT, 0, -999, W, &status), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Irecv(values, 1, MPI_DATATYPE_NULL, 0, 0, W, &request), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Irecv(NULL, 1, MPI_INT, 0, 0, W, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Isend(values, 1, MPI_INT, 0, 0, W, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Sendrecv(values, 1, MPI_INT, 0, -999, values + 1, 1, MPI_INT, 0, 0, W, &status),
                MPI_ERR_TAG);
    CHECK_CLASS(MPI_Probe(size, 0, W, &status), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Iprobe(0, -999, W, &flag, &status), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Mrecv(values, 1, MPI_INT, &message, &status), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Bsend(values, 1, MPI_INT, 0, 0, W), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &count), MPI_ERR_ARG);
    MPI_Type_free(&uncommitted);
}

static void requests(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Wait(NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
}

static void collectives(void)
{
    int out[100];
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    CHECK_CLASS(MPI_Bcast(values, 1, MPI_INT, size, W), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(values, -1, MPI_INT, 0, W), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Gather(values, 1, MPI_INT, out, 1, MPI_INT, -999, W), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Allgather(values, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, W), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Alltoall(values, -1, MPI_INT, out, 1, MPI_INT, W), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allreduce(values, out, 1, MPI_INT, MPI_OP_NULL, W), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(values, out, 1, MPI_DOUBLE, MPI_BAND, W), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(values, out, 1, MPI_INT, MPI_MINLOC, W), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(values, out, 1, MPI_2INT, MPI_SUM, W), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(values, out, 1, MPI_C_BOOL, MPI_MAX, W), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(values, out, 1, pair, MPI_SUM, W), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(values, values, 1, MPI_INT, MPI_SUM, W), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Reduce(values, out, 1, MPI_INT, MPI_SUM, size, W), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Scan(values, out, -1, MPI_INT, MPI_SUM, W), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Reduce_local(values, out, 1, MPI_FLOAT, MPI_BXOR), MPI_ERR_OP);
    MPI_Type_free(&pair);
}

static void objects(void)
{
    MPI_Comm comm = MPI_COMM_NULL, world = W;
    MPI_Group group, none = MPI_GROUP_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL, integer = MPI_INT;
    MPI_Op op = MPI_SUM;
    int number, twice[2] = {0, 0}, far[1] = {size};
    MPI_Comm_group(W, &group);
    CHECK_CLASS(MPI_Comm_rank(MPI_COMM_NULL, &number), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_rank(W, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_dup(MPI_COMM_NULL, &comm), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(&world), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_split(W, -5, 0, &comm), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Group_size(none, &number), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_incl(group, 1, far, &none), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_incl(group, 2, twice, &none), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_vector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_free(&integer), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_free(&type), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Op_free(&op), MPI_ERR_OP);
    CHECK_CLASS(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG);
    MPI_Group_free(&group);
}

static void environment(void)
{
    MPI_Info info, no_info = MPI_INFO_NULL;
    MPI_Comm grid;
    char text[MPI_MAX_ERROR_STRING], key[MPI_MAX_INFO_KEY + 2];
    int number, flag, dims[2] = {2, 5}, periods[2] = {0, 0}, *value;
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = 0;
    MPI_Info_create(&info);
    CHECK_CLASS(MPI_Info_set(info, key, "value"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_delete(info, "missing"), MPI_ERR_INFO_NOKEY);
    CHECK_CLASS(MPI_Info_get_nkeys(no_info, &number), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Comm_get_attr(W, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Dims_create(7, 2, dims), MPI_ERR_DIMS);
    CHECK_CLASS(MPI_Cart_coords(W, 0, 2, dims), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Cartdim_get(W, &number), MPI_ERR_TOPOLOGY);
    dims[0] = size + 1;
    CHECK(MPI_Cart_create(W, 2, dims, periods, 0, &grid) != MPI_SUCCESS);
    CHECK_CLASS(MPI_Error_string(0x3fffffff, text, &number), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_set_errhandler(W, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    MPI_Info_free(&info);
}

/* An error code becomes a sentence, and the class is named by it. */
static void sentences(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0, code = MPI_Send(values, 1, MPI_INT, size + 41, 0, W);
    MPI_Error_string(code, text, &length);
    CHECK_EQUAL(length, strlen(text));
    CHECK(length > 20);
    char number[16];
    snprintf(number, sizeof number, "%d", size + 41);
    CHECK(strstr(text, number) != NULL);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    point_to_point();
    requests();
    collectives();
    objects();
    environment();
    sentences();
    int in = rank, sum = 0;
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, W);
    CHECK_EQUAL(sum, size * (size - 1) / 2);
    return check_end();
}
