/* What our test programs of files share. */
#ifndef FILE_H
#define FILE_H

#include "check.h"
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* The name of a file of this job: the same at all ranks, in TMPDIR. */
static inline const char *file_name(const char *what)
{
    static char name[512];
    if (rank == 0) {
        const char *folder = getenv("TMPDIR");
        snprintf(name, sizeof name, "%s/file_%s_XXXXXX", folder ? folder : "/tmp", what);
        close(mkstemp(name));
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    return name;
}

/* What ranks have written, all can read from now on. */
static inline void together(MPI_File file)
{
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
}

#endif
