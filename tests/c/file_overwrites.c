/* ranks: 2 3
 * Files: a collective write goes on when all ranks have written. A rank that has given nothing to it may write its own data
 * over the others' at once. HDF5 relies on that where it fills chunks. */
#include "file.h"

enum { PART = 2 << 20, ROUNDS = 10 };

static void round_of(MPI_File file, char *fill, char *own)
{
    MPI_Offset mine = (MPI_Offset)rank * PART;
    MPI_File_write_at_all(file, 0, fill, rank == 0 ? size * PART : 0, MPI_BYTE, MPI_STATUS_IGNORE);
    if (rank > 0)
        MPI_File_write_at(file, mine, own, PART, MPI_BYTE, MPI_STATUS_IGNORE);
    together(file);
    memset(own, 0, PART);
    MPI_File_read_at(file, mine, own, PART, MPI_BYTE, MPI_STATUS_IGNORE);
    for (int at = 0; at < PART; at += 4093)
        CHECK_EQUAL(own[at], rank == 0 ? 'f' : 'o');
    together(file);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, file_name("overwrites"), MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    char *fill = malloc((size_t)size * PART), *own = malloc(PART);
    memset(fill, 'f', (size_t)size * PART);
    for (int round = 0; round < ROUNDS; round++) {
        memset(own, 'o', PART);
        round_of(file, fill, own);
    }
    MPI_File_close(&file);
    free(fill);
    free(own);
    return check_end();
}
