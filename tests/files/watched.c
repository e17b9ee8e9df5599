/* watched NAME [die]: each rank writes 3 MiB in calls of 1 MiB and reads 1 MiB, says what MPI_T has counted, and then waits
 * until there is a file NAME.go, or dies. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static unsigned long long counted(const char *name, const char *own)
{
    int index, count;
    unsigned long long value = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index) != MPI_SUCCESS)
        return 0;
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_read(session, handle, &value); /* a handle counts from its start: nothing yet */
    MPI_T_pvar_start(session, handle);
    static char data[MIB];
    MPI_File file;
    char path[1000];
    snprintf(path, sizeof path, "%s.%d", own, (int)getpid());
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 0, data, 5000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_T_pvar_stop(session, handle);
    MPI_T_pvar_read(session, handle, &value);
    MPI_T_pvar_session_free(&session);
    return value;
}

int main(int argc, char **argv)
{
    int rank, provided;
    static char data[MIB];
    char go[1000];
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < 3; i++)
        MPI_File_write_at(file, (MPI_Offset)(3 * rank + i) * MIB, data, MIB, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, (MPI_Offset)3 * rank * MIB, data, MIB, MPI_BYTE, MPI_STATUS_IGNORE);
    if (argc > 2) {
        MPI_Barrier(MPI_COMM_WORLD);
        raise(rank == 1 ? SIGKILL : SIGSTOP);
    }
    printf("MPI_T has counted %llu\n", counted("file_bytes_written", argv[1]));
    fflush(stdout);
    snprintf(go, sizeof go, "%s.go", argv[1]);
    while (access(go, F_OK) != 0)
        usleep(10000);
    MPI_File_close(&file);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
