/* ranks: 2
 *
 * A program of the toy ABI: predefined handles are addresses of objects that the library exports. Compiled as it is
 * usual and without position independence, so that the objects lie in the library or in the program. */
#include "../c/check.h"

/* From the second library (other.c). */
MPI_Comm other_world(void);
MPI_Datatype other_int(void);
/* One more name of MPI_Barrier_init, which the header does not have. */
int MPIX_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request);

/* Addresses of objects, as constants. */
static const MPI_Datatype TYPES[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_DATATYPE_NULL};
static MPI_Comm world = MPI_COMM_WORLD;

/* Predefined handles have the same address in every library, and no two the same. */
static void addresses(void)
{
    CHECK(other_world() == MPI_COMM_WORLD && other_int() == TYPES[0]);
    CHECK(MPI_COMM_WORLD != MPI_COMM_SELF && MPI_COMM_SELF != MPI_COMM_NULL);
    CHECK(MPI_FILE_NULL != 0 && MPI_COMM_NULL != 0 && MPI_REQUEST_NULL != 0);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    CHECK(strstr(version, "toy ABI") != NULL);
}

/* Messages with every field of a status, wildcards, and no status at all. */
static void messages(void)
{
    int sent[3] = {10 + rank, 20 + rank, 30 + rank}, received[4] = {0}, count = 0, other = 1 - rank;
    MPI_Status status, statuses[2];
    MPI_Request requests[2];
    status.MPI_ERROR = 4711;
    MPI_Sendrecv(sent, 3, TYPES[0], other, 5 + rank, received, 4, TYPES[0], MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    CHECK(received[0] == 10 + other && received[2] == 30 + other && received[3] == 0);
    CHECK(status.MPI_SOURCE == other && status.MPI_TAG == 5 + other && status.MPI_ERROR == 4711);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 3);
    MPI_Irecv(received, 1, MPI_INT, other, 0, world, &requests[0]);
    MPI_Isend(sent, 1, MPI_INT, other, 0, world, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL && statuses[0].MPI_SOURCE == other);
    MPI_Irecv(received, 1, MPI_INT, other, 0, world, &requests[0]);
    MPI_Isend(sent, 1, MPI_INT, other, 0, world, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(received, 1, MPI_INT, MPI_PROC_NULL, 0, world, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Request barrier = MPI_REQUEST_NULL;
    MPIX_Barrier_init(world, MPI_INFO_NULL, &barrier);
    MPI_Start(&barrier);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    MPI_Request_free(&barrier);
    CHECK(barrier == MPI_REQUEST_NULL);
    MPI_Message message;
    MPI_Mprobe(MPI_PROC_NULL, 0, world, &message, MPI_STATUS_IGNORE);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(received, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(message == MPI_MESSAGE_NULL);
}

static MPI_Datatype told;

static void add(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    told = *datatype;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void collectives(void)
{
    int value = rank + 1, sum = 0, both[2] = {-1, rank};
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, world);
    CHECK_EQUAL(sum, 3);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, world);
    CHECK_EQUAL(value, 2);
    both[rank] = 7 + rank;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both, 1, MPI_INT, world);
    CHECK(both[0] == 7 && both[1] == 8);
    MPI_Op own;
    MPI_Op_create(add, 1, &own);
    MPI_Allreduce(&both[rank], &sum, 1, MPI_INT, own, world);
    CHECK(sum == 15 && told == MPI_INT);
    MPI_Op_free(&own);
    CHECK(own == MPI_OP_NULL);
}

static void datatypes(void)
{
    int data[6] = {0, 1, 2, 3, 4, 5}, got[3] = {0}, integers, addresses_, types, combiner, size_, length = 0;
    MPI_Datatype columns, found[1];
    MPI_Type_vector(3, 1, 2, MPI_INT, &columns);
    MPI_Type_commit(&columns);
    MPI_Sendrecv(data, 1, columns, rank, 1, got, 3, MPI_INT, rank, 1, world, MPI_STATUS_IGNORE);
    CHECK(got[0] == 0 && got[1] == 2 && got[2] == 4);
    MPI_Type_get_envelope(columns, &integers, &addresses_, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_VECTOR && integers == 3 && types == 1);
    int ints[3];
    MPI_Aint none[1];
    MPI_Type_get_contents(columns, 3, 0, 1, ints, none, found);
    CHECK(found[0] == MPI_INT && ints[2] == 2);
    MPI_Type_size(MPI_LONG_DOUBLE, &size_);
    CHECK_EQUAL(size_, (int)sizeof(long double));
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Type_get_name(TYPES[1], name, &length);
    CHECK(strcmp(name, "MPI_DOUBLE") == 0);
    MPI_Type_free(&columns);
    CHECK(columns == MPI_DATATYPE_NULL);
}

static MPI_Comm raised_on;

static void note(MPI_Comm *comm, int *code, ...)
{
    raised_on = *comm;
    *code = MPI_SUCCESS;
}

/* Wrong handles are errors with a class, wherever they point, and no crash. */
static void errors(void)
{
    int local = 0, length = 0, size_;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm copy, stale;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int code = MPI_Send(&local, 1, MPI_INT, 0, -5, world);
    CHECK_EQUAL(class_of(code), MPI_ERR_TAG);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "MPI_ERR_TAG") != NULL && length < MPI_MAX_ERROR_STRING);
    CHECK_CLASS(MPI_Send(&local, 1, MPI_INT, 7, 0, world), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, rank, 0, world), MPI_ERR_BUFFER);
    MPI_Comm wild[] = {0, (MPI_Comm)&local, (MPI_Comm)1, (MPI_Comm)(intptr_t)-1, (MPI_Comm)(intptr_t)-2,
                       (MPI_Comm)0x1000, (MPI_Comm)((char *)MPI_COMM_WORLD + 8), (MPI_Comm)MPI_INT, MPI_COMM_NULL};
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
        CHECK_CLASS(MPI_Comm_size(wild[i], &size_), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Type_size((MPI_Datatype)MPI_COMM_WORLD, &size_), MPI_ERR_TYPE);
    MPI_Comm_dup(world, &copy);
    stale = copy;
    MPI_Errhandler handler, set;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Comm_get_errhandler(copy, &set);
    CHECK(set == handler);
    MPI_Errhandler_free(&set);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
    CHECK_EQUAL(MPI_Send(&local, 1, MPI_INT, 9, 0, copy), MPI_SUCCESS);
    CHECK(raised_on == copy);
    MPI_Comm_free(&copy);
    CHECK(copy == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_size(stale, &size_), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(&world), MPI_ERR_COMM);
    CHECK(world == MPI_COMM_WORLD);
    int class_, added;
    MPI_Add_error_class(&class_);
    MPI_Add_error_code(class_, &added);
    CHECK(class_ > MPI_ERR_LASTCODE && class_of(added) == class_);
}

static MPI_Comm copied, deleted;

static int copy_value(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)keyval;
    copied = comm;
    *(char **)out = (char *)in + *(int *)extra;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_value(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)value, (void)extra;
    deleted = comm;
    return MPI_SUCCESS;
}

static void attributes_and_copies(void)
{
    static char values[8];
    int three = 3, flag = 0, keys[3], result = 0;
    int *bound;
    char *value;
    MPI_Comm copy;
    MPI_Comm_create_keyval(copy_value, delete_value, &keys[0], &three);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keys[1], NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[2], NULL);
    for (int i = 0; i < 3; i++)
        MPI_Comm_set_attr(world, keys[i], values + i);
    MPI_Comm_dup(world, &copy);
    CHECK(copied == MPI_COMM_WORLD && copy != MPI_COMM_WORLD);
    MPI_Comm_compare(world, copy, &result);
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MPI_Comm_get_attr(copy, keys[0], &value, &flag);
    CHECK(flag && value == values + 3);
    MPI_Comm_get_attr(copy, keys[1], &value, &flag);
    CHECK(flag && value == values + 1);
    MPI_Comm_get_attr(copy, keys[2], &value, &flag);
    CHECK(!flag);
    MPI_Comm_delete_attr(copy, keys[0]);
    CHECK(deleted == copy);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_delete_attr(world, keys[i]);
        MPI_Comm_free_keyval(&keys[i]);
        CHECK_EQUAL(keys[i], MPI_KEYVAL_INVALID);
    }
    MPI_Comm_get_attr(world, MPI_TAG_UB, &bound, &flag);
    CHECK(flag && *bound >= 32767);
    MPI_Comm_free(&copy);
}

/* Predefined handles are small numbers to Fortran, as the ABI's file says, and all others are negative. */
static void fortran(void)
{
    CHECK_EQUAL(MPI_Comm_c2f(MPI_COMM_WORLD), 0);
    CHECK_EQUAL(MPI_Comm_c2f(MPI_COMM_NULL), 2);
    CHECK_EQUAL(MPI_Type_c2f(MPI_DATATYPE_NULL), 0);
    CHECK_EQUAL(MPI_Type_c2f(MPI_INT), 6);
    CHECK_EQUAL(MPI_File_c2f(MPI_FILE_NULL), 0);
    CHECK(MPI_Comm_f2c(0) == MPI_COMM_WORLD && MPI_Comm_f2c(1) == MPI_COMM_SELF);
    CHECK(MPI_Type_f2c(6) == MPI_INT && MPI_Op_f2c(1) == MPI_SUM && MPI_File_f2c(0) == MPI_FILE_NULL);
    CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Fint number = MPI_Comm_c2f(copy);
    CHECK(number < 0 && MPI_Comm_f2c(number) == copy && MPI_Comm_fromint(MPI_Comm_toint(copy)) == copy);
    int size_ = 0;
    CHECK_CLASS(MPI_Comm_size(MPI_Comm_f2c(77), &size_), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_size(MPI_Comm_f2c(-1), &size_), MPI_ERR_COMM);
    MPI_Comm_free(&copy);
    MPI_Status status = {0}, back = {0};
    MPI_Fint array[MPI_F_STATUS_SIZE];
    CHECK_EQUAL((int)sizeof array, (int)sizeof status);
    status.MPI_TAG = 3;
    MPI_Status_set_elements(&status, MPI_INT, 9);
    MPI_Status_c2f(&status, array);
    CHECK_EQUAL(array[MPI_F_TAG], 3);
    MPI_Status_f2c(array, &back);
    int count = 0;
    MPI_Get_count(&back, MPI_INT, &count);
    CHECK_EQUAL(count, 9);
}

static void objects(void)
{
    MPI_Group group;
    MPI_Info info;
    MPI_Session session;
    char key[MPI_MAX_INFO_KEY];
    int weights[1] = {1}, degree = 0, out = 0, weighted = 1;
    MPI_Comm_group(world, &group);
    MPI_Group_difference(group, group, &group);
    CHECK(group == MPI_GROUP_EMPTY);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_get_nthkey(info, 0, key);
    CHECK(strcmp(key, "key") == 0);
    MPI_Info_free(&info);
    CHECK(info == MPI_INFO_NULL);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_finalize(&session);
    CHECK(session == MPI_SESSION_NULL);
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(world, 0, weights, MPI_WEIGHTS_EMPTY, 0, weights, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Dist_graph_neighbors_count(graph, &degree, &out, &weighted);
    CHECK(degree == 0 && weighted == 1);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(world, 0, weights, MPI_UNWEIGHTED, 0, weights, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &degree, &out, &weighted);
    CHECK_EQUAL(weighted, 0);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    addresses();
    messages();
    collectives();
    datatypes();
    errors();
    attributes_and_copies();
    fortran();
    objects();
    return check_end();
}
