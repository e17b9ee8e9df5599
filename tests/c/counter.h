/* A counter of this rank, as the tool interface tells it; a program reads one only. */
#ifndef COUNTER_H
#define COUNTER_H

#include "check.h"

/* Whether a variable has to be started: a level is always up to date. */
static int starts(int index)
{
    int none = 0, nothing = 0, verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype datatype;
    MPI_T_enum names;
    CHECK(MPI_T_pvar_get_info(index, NULL, &none, &verbosity, &class, &datatype, &names, NULL, &nothing, &bind, &readonly,
                              &continuous, &atomic) == MPI_SUCCESS);
    return !continuous;
}

static unsigned long long counter(const char *name, int class)
{
    static MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    static MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    if (session == MPI_T_PVAR_SESSION_NULL) {
        int provided, index, count;
        CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
        if (starts(index))
            CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
    }
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    return value;
}

#endif
