/* Ranks write pieces of some bytes in turn, 48 MiB each: the plainest case in which they interleave. */
#include "interleaved.h"
#include "blocks.h"
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 48 << 20, STEP = 97 };
static MPI_File file;
static char path[1000];
static unsigned char *data;

static unsigned char byte_of(int writer, size_t place) { return (unsigned char)(place * 7 + writer * 31 + (place >> 9)); }

static double write_once(void)
{
    MPI_Datatype piece, tile;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    MPI_MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    MPI_MUST(MPI_File_set_size(file, 0));
    MPI_Type_contiguous(options.interleave, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)options.interleave * ranks, &tile);
    MPI_Type_commit(&tile);
    MPI_MUST(MPI_File_set_view(file, (MPI_Offset)rank * options.interleave, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    if (options.independent)
        MPI_MUST(MPI_File_write_at(file, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    else
        MPI_MUST(MPI_File_write_at_all(file, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    if (options.sync)
        MPI_MUST(MPI_File_sync(file));
    MPI_MUST(MPI_File_close(&file));
    double mine = MPI_Wtime() - begin, longest;
    MPI_Type_free(&piece);
    MPI_Type_free(&tile);
    MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

/* Reads some of what another rank has written. */
static int is_right(void)
{
    int other = (rank + 1) % ranks, right = 1;
    unsigned char *found = malloc(options.interleave);
    MPI_MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    for (size_t i = 0; i < BYTES / (size_t)options.interleave; i += STEP) {
        MPI_File_read_at(file, (MPI_Offset)(i * ranks + other) * options.interleave, found, options.interleave, MPI_BYTE, MPI_STATUS_IGNORE);
        for (int j = 0; j < options.interleave; j++)
            right &= found[j] == byte_of(other, i * options.interleave + j);
    }
    MPI_File_close(&file);
    free(found);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return right;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int measure_interleaved(void)
{
    double times[100];
    data = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = byte_of(rank, i);
    snprintf(path, sizeof path, "%s_interleaved", options.name);
    for (int turn = -1; turn < options.repeats; turn++) {
        double took = write_once();
        if (turn >= 0)
            times[turn] = took;
    }
    int right = is_right();
    qsort(times, options.repeats, sizeof(double), ascending);
    double took = times[options.repeats / 2], bytes = (double)BYTES * ranks;
    if (rank == 0)
        printf("interleaved mpi-io %d %s %s ranks %d: %.0f bytes %.6f s %.0f MiB/s %s\n", options.interleave,
               options.independent ? "independent" : "collective", options.sync ? "sync" : "-", ranks, bytes, took,
               bytes / took / (1 << 20), right ? "right" : "WRONG");
    if (rank == 0 && !options.keep)
        remove(path);
    free(data);
    return right;
}
