/* ranks: 1 2
 * Whose error handler answers where no object of the call has one (docs/errors.md), and that of an object which the
 * call was to make (MPI-5.0 §7.4.2, §11.3.1). */
#include "check.h"

#define W MPI_COMM_WORLD
#define S MPI_COMM_SELF

static int of_world, of_self, of_none, of_session, last;
static MPI_Errhandler counting, counting_session;

static void count(MPI_Comm *comm, int *code, ...)
{
    of_world += *comm == W;
    of_self += *comm == S;
    of_none += *comm == MPI_COMM_NULL;
    last = *code;
}

static void count_session(MPI_Session *session, int *code, ...)
{
    of_session += *session == MPI_SESSION_NULL;
    last = *code;
}

/* Calls without a communicator, or with none that is one: each gives an error of its class, whoever handles it. */
static int wrong_calls(void)
{
    int n;
    char inbuf[1] = "", text[MPI_MAX_ERROR_STRING];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Request request = (MPI_Request)(intptr_t)0x1234;
    CHECK_CLASS(MPI_Type_commit(NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Reduce_local(inbuf, inbuf, 1, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Info_free(NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Error_string(-1, text, &n), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_free_keyval(&n), MPI_ERR_KEYVAL);
    return 9;
}

static void with_handlers(MPI_Errhandler world, MPI_Errhandler self, int times_world, int times_self)
{
    MPI_Comm_set_errhandler(W, world);
    MPI_Comm_set_errhandler(S, self);
    of_world = of_self = 0;
    int calls = wrong_calls();
    CHECK_EQUAL(of_world, times_world * calls);
    CHECK_EQUAL(of_self, times_self * calls);
}

/* MPI_COMM_SELF answers; while its handler is the one that ends the job, MPI_COMM_WORLD does. */
static void without_an_object(void)
{
    with_handlers(MPI_ERRORS_RETURN, MPI_ERRORS_ARE_FATAL, 0, 0);
    with_handlers(counting, MPI_ERRORS_ARE_FATAL, 1, 0);
    with_handlers(MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN, 0, 0);
    with_handlers(MPI_ERRORS_ARE_FATAL, counting, 0, 1);
    with_handlers(MPI_ERRORS_RETURN, counting, 0, 1);
    with_handlers(counting, MPI_ERRORS_RETURN, 0, 0);
    with_handlers(counting, counting, 0, 1);
}

/* A handler that a call was given for what it makes is told of the call's own errors, once. */
static void of_what_is_made(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Group group, mine;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Errhandler wrong = counting_session;
    CHECK_CLASS(MPI_Session_init(MPI_INFO_NULL, counting_session, NULL), MPI_ERR_ARG);
    CHECK_EQUAL(of_session, 1);
    CHECK_EQUAL(class_of(last), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Session_init(MPI_INFO_NULL, counting_session, &session), MPI_SUCCESS);
    MPI_Group_from_session_pset(session, "mpi://self", &group);
    MPI_Group_from_session_pset(session, "mpi://world", &mine);
    of_world = of_self = of_none = 0;
    CHECK_CLASS(MPI_Comm_create_from_group(group, "t", MPI_INFO_NULL, counting, NULL), MPI_ERR_ARG);
    CHECK_EQUAL(of_none, 1);
    CHECK_EQUAL(class_of(last), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "t", MPI_INFO_NULL, counting, &comm), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, counting, &comm), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Intercomm_create_from_groups(group, 99, mine, 0, "t", MPI_INFO_NULL, counting, &comm),
                MPI_ERR_RANK);
    CHECK_EQUAL(of_none, 4);
    CHECK_CLASS(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_ERR_ARG);
    CHECK_EQUAL(of_world + of_self, 0);
    /* One for other objects, or none, can neither be had nor answer. */
    CHECK_CLASS(MPI_Comm_create_from_group(group, "t", MPI_INFO_NULL, wrong, &comm), MPI_ERR_ERRHANDLER);
    MPI_Session none = session;
    CHECK_CLASS(MPI_Session_init(MPI_INFO_NULL, counting, &none), MPI_ERR_ERRHANDLER);
    CHECK(none == MPI_SESSION_NULL); /* a call that fails leaves no handle */
    CHECK_CLASS(MPI_Comm_create_from_group(group, "t", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &comm), MPI_ERR_ERRHANDLER);
    CHECK_EQUAL(of_self, 3);
    CHECK(of_none == 4 && of_session == 1 && comm == MPI_COMM_NULL);
    /* Without an error it is that of the communicator, and of nothing else. */
    CHECK_CLASS(MPI_Comm_create_from_group(group, "t", MPI_INFO_NULL, counting, &comm), MPI_SUCCESS);
    CHECK_CLASS(MPI_Send(NULL, 0, MPI_INT, 77, 0, comm), MPI_ERR_RANK);
    CHECK(of_none == 4 && of_self == 3 && of_world == 0 && class_of(last) == MPI_ERR_RANK);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Group_free(&mine);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    MPI_Session session = MPI_SESSION_NULL;
    CHECK_CLASS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL), MPI_ERR_ARG); /* before everything else */
    CHECK(session == MPI_SESSION_NULL);
    check_begin(&argc, &argv);
    MPI_Comm_create_errhandler(count, &counting);
    MPI_Session_create_errhandler(count_session, &counting_session);
    without_an_object();
    MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(S, counting);
    of_what_is_made();
    MPI_Errhandler_free(&counting);
    MPI_Errhandler_free(&counting_session);
    return check_end();
}
