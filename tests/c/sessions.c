/* ranks: 1 2 3
 * Sessions and the world model in every order (MPI-5.0 §11.2, §11.3). */
#include "check.h"

/* A session, a communicator made from its process set, a message in a ring. */
static void in_a_session(const char *tag)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    int number, length = 0, flag, value = -1;
    char name[MPI_MAX_PSET_NAME_LEN], level[64];
    CHECK_CLASS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &number);
    CHECK(number >= 2);
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL);
    CHECK_EQUAL(length, sizeof "mpi://WORLD");
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name);
    CHECK(!strcmp(name, "mpi://WORLD"));
    MPI_Session_get_pset_info(session, name, &info);
    length = sizeof level;
    MPI_Info_get_string(info, "mpi_size", &length, level, &flag);
    CHECK(flag);
    MPI_Info_free(&info);
    MPI_Session_get_info(session, &info);
    length = sizeof level;
    MPI_Info_get_string(info, "thread_level", &length, level, &flag);
    CHECK(flag && !strcmp(level, "MPI_THREAD_MULTIPLE"));
    MPI_Info_free(&info);
    CHECK_CLASS(MPI_Group_from_session_pset(session, "mpi://nowhere", &group), MPI_ERR_ARG);
    MPI_Group_from_session_pset(session, "MPI://Self", &group); /* the case of letters does not count */
    MPI_Group_size(group, &number);
    CHECK_EQUAL(number, 1);
    MPI_Group_free(&group);
    CHECK_CLASS(MPI_Session_get_pset_info(session, "mpi://self", &info), MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://world", &group);
    CHECK_CLASS(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_SUCCESS);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0);
    MPI_Bsend(&rank, 1, MPI_INT, (rank + 1) % size, 0, comm);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE);
    CHECK_EQUAL(value, (rank + size - 1) % size);
    MPI_Barrier(comm);
    MPI_Comm_disconnect(&comm);
    CHECK(comm == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Session_finalize(&session), MPI_SUCCESS);
    CHECK(session == MPI_SESSION_NULL);
}

static void stages(int initialized, int finalized)
{
    int flag;
    MPI_Initialized(&flag);
    CHECK_EQUAL(flag, initialized);
    MPI_Finalized(&flag);
    CHECK_EQUAL(flag, finalized);
}

int main(int argc, char **argv)
{
    MPI_Session outer;
    int sum = 0, one = 1;
    stages(0, 0);
    in_a_session("before");
    in_a_session("before");
    stages(0, 0);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &outer);
    MPI_Init(&argc, &argv);
    stages(1, 0);
    in_a_session("during");
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(sum, size);
    MPI_Finalize();
    stages(1, 1);
    in_a_session("after the world");
    MPI_Session_finalize(&outer);
    stages(1, 1);
    in_a_session("after all");
    in_a_session("after all, again");
    return check_failures != 0;
}
