/* ranks: 2
 * Kinds of memory, once the program uses a device: a session that asks for some is told those that are there, and every object
 * says the same. A program that was started with a list has asked already. Bytes that the driver copies are counted. */
#include "twice.h"

static void told(MPI_Info info, const char *key, char *value, int room)
{
    int flag;
    WORKS(MPI_Info_get_string(info, key, &room, value, &flag));
    if (!flag)
        strcpy(value, "nothing");
    WORKS(MPI_Info_free(&info));
}

#define CHECK_TOLD(value, expected)                                                                  \
    do {                                                                                             \
        if (strcmp(value, expected))                                                                 \
            check_failed(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #value, value, expected);   \
    } while (0)

/* A buffer of 800 bytes to and from host memory, and as many straight to the other's memory. */
static void bytes_by_device(void)
{
    static const char *names[] = {"bytes_device", "bytes_device_mapped"};
    struct buffer memory = buffer_of(DEVICE, 800), own = buffer_of(DEVICE, 800);
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handles[2];
    unsigned long long bytes[2];
    int index, provided, count;
    MPI_Win window;
    WORKS(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    WORKS(MPI_T_pvar_session_create(&session));
    for (int which = 0; which < 2; which++) {
        WORKS(MPI_T_pvar_get_index(names[which], MPI_T_PVAR_CLASS_AGGREGATE, &index));
        WORKS(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[which], &count));
        WORKS(MPI_T_pvar_start(session, handles[which]));
    }
    WORKS(MPI_Win_create(memory.at, 800, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    WORKS(MPI_Win_lock_all(0, window));
    WORKS(MPI_Put(own.at, 100, MPI_LONG, 1 - rank, 0, 100, MPI_LONG, window));
    WORKS(MPI_Win_unlock_all(window));
    WORKS(MPI_Win_free(&window));
    for (int which = 0; which < 2; which++)
        WORKS(MPI_T_pvar_read(session, handles[which], &bytes[which]));
    /* Beside these the secrets, of which each is short. */
    CHECK_EQUAL(bytes[1], 800);
    CHECK(bytes[0] >= 1600 && bytes[0] < 1700);
    WORKS(MPI_T_pvar_session_free(&session));
    MPI_T_finalize();
    buffer_free(&memory);
    buffer_free(&own);
}

int main(int argc, char **argv)
{
    char value[200];
    MPI_Info info;
    MPI_Session session;
    check_begin(&argc, &argv);
    const char *given = getenv("SERRIED_MEMORY_KINDS");
    const char *first = given ? "mpi,system,cuda,cuda:host" : "mpi,system,cuda";
    twice_begin();
    WORKS(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    told(info, "mpi_memory_alloc_kinds", value, sizeof value);
    CHECK_TOLD(value, first);
    char all[200];
    snprintf(all, sizeof all, "%s,cuda:device,cuda:managed", first);
    WORKS(MPI_Info_create(&info));
    WORKS(MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,cuda:device,rocm:device,cuda:shared,cuda:managed"));
    WORKS(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    WORKS(MPI_Info_free(&info));
    WORKS(MPI_Session_get_info(session, &info));
    told(info, "mpi_memory_alloc_kinds", value, sizeof value);
    CHECK_TOLD(value, all);
    WORKS(MPI_Session_finalize(&session));
    WORKS(MPI_Info_create(&info));
    WORKS(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system,cuda:device"));
    WORKS(MPI_Comm_set_info(MPI_COMM_WORLD, info));
    WORKS(MPI_Info_free(&info));
    WORKS(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    told(info, "mpi_assert_memory_alloc_kinds", value, sizeof value);
    CHECK_TOLD(value, "system,cuda:device");
    bytes_by_device();
    return check_end();
}
