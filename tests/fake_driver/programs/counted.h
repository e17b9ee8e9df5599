/* What devices have computed, and drivers have copied: in all, and straight from or to memory of another rank. */
#ifndef COUNTED_H
#define COUNTED_H

#include "fake_cuda.h"

enum { COMBINED, MAPPED, ALL, VARIABLES };

/* Bytes from the first call on, which comes after MPI_T_init_thread. */
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
