/* What devices have computed, and drivers have copied: in all, and straight from or to memory of another rank. */
#ifndef COUNTED_H
#define COUNTED_H

#include "twice.h"

enum { COMBINED, MAPPED, ALL, VARIABLES };

/* The beginning of a program that counts what collectives do. */
static inline void counted_begin(int *argc, char ***argv)
{
    int provided;
    check_begin(argc, argv);
    twice_begin();
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* A communicator has its first operations by messages. */
    for (int which = 0; which < 4; which++)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* Bytes from the first call on. */
static inline long bytes_of(int which)
{
    static const char *names[] = {"bytes_device_combined", "bytes_device_mapped", "bytes_device"};
    static MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    static MPI_T_pvar_handle handles[VARIABLES];
    unsigned long long bytes;
    int index, count;
    for (int one = 0; session == MPI_T_PVAR_SESSION_NULL || (one && one < VARIABLES); one++) {
        if (one == 0)
            MPI_T_pvar_session_create(&session);
        MPI_T_pvar_get_index(names[one], MPI_T_PVAR_CLASS_AGGREGATE, &index);
        MPI_T_pvar_handle_alloc(session, index, NULL, &handles[one], &count);
        MPI_T_pvar_start(session, handles[one]);
    }
    MPI_T_pvar_read(session, handles[which], &bytes);
    return bytes;
}

#endif
