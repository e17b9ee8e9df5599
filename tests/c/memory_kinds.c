/* ranks: 2
 * Kinds of memory without a device: every object tells those that there are, with what a session has asked for; what a
 * program says it uses with an object is told as it was given, if it is there. */
#include "check.h"

#define WORKS(call) CHECK_CLASS(call, MPI_SUCCESS)

static void told(MPI_Info info, const char *key, const char *expected)
{
    char value[200] = "nothing";
    int room = sizeof value, flag;
    WORKS(MPI_Info_get_string(info, key, &room, value, &flag));
    if (strcmp(value, expected))
        check_failed(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", key, value, expected);
    WORKS(MPI_Info_free(&info));
}

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;
    WORKS(MPI_Info_create(&info));
    WORKS(MPI_Info_set(info, key, value));
    return info;
}

#define KINDS "mpi_memory_alloc_kinds"
#define ASSERTED "mpi_assert_memory_alloc_kinds"

/* All objects tell the same kinds; what was asserted with each is told, or is not there. */
static void objects(const char *kinds, const char *asserted, const char *expected)
{
    MPI_Info given = info_of(ASSERTED, asserted), info;
    MPI_Comm comm, copy;
    MPI_Win window;
    MPI_File file;
    long memory = 0;
    char name[100];
    snprintf(name, sizeof name, "/tmp/memory-kinds-%d", rank ? 0 : (int)(MPI_Wtime() * 1000) % 1000000);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    WORKS(MPI_Comm_dup_with_info(MPI_COMM_WORLD, given, &comm));
    WORKS(MPI_Comm_dup(comm, &copy));
    WORKS(MPI_Win_create(&memory, sizeof memory, 1, given, MPI_COMM_WORLD, &window));
    WORKS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, given, &file));
    for (int which = 0; which < 2; which++) {
        const char *key = which ? ASSERTED : KINDS, *value = which ? expected : kinds;
        WORKS(MPI_Comm_get_info(comm, &info));
        told(info, key, value);
        WORKS(MPI_Comm_get_info(copy, &info));
        told(info, key, which ? "nothing" : value); /* copies get no hints */
        WORKS(MPI_Win_get_info(window, &info));
        told(info, key, value);
        WORKS(MPI_File_get_info(file, &info));
        told(info, key, value);
    }
    WORKS(MPI_Info_free(&given));
    WORKS(MPI_File_close(&file));
    WORKS(MPI_Win_free(&window));
    WORKS(MPI_Comm_free(&copy));
    WORKS(MPI_Comm_free(&comm));
}

static void asked_by_session(const char *kinds, const char *expected)
{
    MPI_Info given = info_of(KINDS, kinds), info;
    MPI_Session session;
    WORKS(MPI_Session_init(given, MPI_ERRORS_RETURN, &session));
    WORKS(MPI_Session_get_info(session, &info));
    told(info, KINDS, expected);
    WORKS(MPI_Session_finalize(&session));
    WORKS(MPI_Info_free(&given));
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    objects("mpi,system", "system,mpi:win_allocate", "system,mpi:win_allocate");
    objects("mpi,system", "system,rocm:device", "nothing");
    objects("mpi,system", "mpi:device", "nothing");
    asked_by_session("system", "mpi,system");
    asked_by_session("rocm,level_zero:shared,nonsense", "mpi,system");
    asked_by_session("system,mpi:alloc_mem,mpi:win_allocate:win_allocate_shared",
                     "mpi,system,mpi:alloc_mem,mpi:win_allocate:win_allocate_shared");
    objects("mpi,system,mpi:alloc_mem,mpi:win_allocate:win_allocate_shared", "mpi", "mpi");
    return check_end();
}
