/* ranks: 2 3 5
 * The pointer of all (MPI-5.0 §14.4.4): nothing is lost or written over under contention, nonblocking and split forms, views,
 * files for sequential access, many files one after another; and nobody waits for a rank that computes. */
#include "file.h"
#include <sys/stat.h>

enum { RECORDS = 60, RECORD = 24, FILES = 40 };

/* All write records at once, in every form; in the end each record is there once, and no byte belongs to two. */
static void contention(MPI_File file)
{
    static char seen[64][RECORDS];
    char record[RECORD], *all;
    MPI_Request request;
    MPI_Offset at, bytes;
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int number = 0; number < RECORDS; number++) {
        memset(record, '.', sizeof record);
        snprintf(record, sizeof record, "%d %d %s", rank, number, "of all");
        if (number % 3 == 1) {
            CHECK_CLASS(MPI_File_iwrite_shared(file, record, RECORD, MPI_BYTE, &request), MPI_SUCCESS);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            CHECK_CLASS(MPI_File_write_shared(file, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    }
    together(file);
    MPI_File_get_position_shared(file, &at);
    MPI_File_get_size(file, &bytes);
    CHECK_EQUAL(at, (MPI_Offset)size * RECORDS * RECORD);
    CHECK_EQUAL(bytes, at);
    all = malloc(bytes);
    MPI_File_read_at(file, 0, all, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    memset(seen, 0, sizeof seen);
    for (char *one = all; one < all + bytes; one += RECORD) {
        int who = -1, number = -1;
        CHECK_EQUAL(sscanf(one, "%d %d of all", &who, &number), 2);
        if (who >= 0 && who < 64 && number >= 0 && number < RECORDS)
            seen[who][number]++;
    }
    for (int who = 0; who < size; who++)
        for (int number = 0; number < RECORDS; number++)
            CHECK_EQUAL(seen[who][number], 1);
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All read at once: each record comes to exactly one of them. */
static void reading(MPI_File file)
{
    char record[RECORD];
    long mine = 0, sum, wanted = (long)size * RECORDS;
    int count = RECORD;
    MPI_Status status;
    MPI_Request request;
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    for (int turn = 0; count == RECORD; turn++) {
        if (turn % 2) {
            CHECK_CLASS(MPI_File_iread_shared(file, record, RECORD, MPI_BYTE, &request), MPI_SUCCESS);
            MPI_Wait(&request, &status);
        } else {
            CHECK_CLASS(MPI_File_read_shared(file, record, RECORD, MPI_BYTE, &status), MPI_SUCCESS);
        }
        MPI_Get_count(&status, MPI_BYTE, &count);
        mine += count == RECORD;
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(sum, wanted);
}

/* In the order of ranks, whole and split, under a view of its own. */
static void ordered(MPI_File file)
{
    int mine[8], back[8];
    MPI_Offset at;
    MPI_Status status;
    CHECK_CLASS(MPI_File_set_view(file, 16, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
    MPI_File_get_position_shared(file, &at);
    CHECK_EQUAL(at, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 8; i++)
        mine[i] = rank * 10 + i;
    CHECK_CLASS(MPI_File_write_ordered(file, mine, 1 + rank % 8, MPI_INT, &status), MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write_ordered_begin(file, mine, 2, MPI_INT), MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write_ordered_end(file, mine, &status), MPI_SUCCESS);
    together(file);
    MPI_File_seek_shared(file, -2 * size, MPI_SEEK_CUR);
    CHECK_CLASS(MPI_File_read_ordered_begin(file, back, 2, MPI_INT), MPI_SUCCESS);
    CHECK_CLASS(MPI_File_read_ordered_end(file, back, &status), MPI_SUCCESS);
    CHECK_EQUAL(back[0], mine[0]);
    CHECK_EQUAL(back[1], mine[1]);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    CHECK_CLASS(MPI_File_read_ordered(file, back, 1 + rank % 8, MPI_INT, &status), MPI_SUCCESS);
    for (int i = 0; i < 1 + rank % 8; i++)
        CHECK_EQUAL(back[i], mine[i]);
    CHECK_CLASS(MPI_File_seek_shared(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
}

/* Rank 0 makes no call of MPI until the others have written, each after the other. */
static void computing(const char *name)
{
    MPI_File file;
    struct stat found;
    char byte = 'x';
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
    MPI_File_set_size(file, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double limit = MPI_Wtime() + 60;
        do
            stat(name, &found);
        while (found.st_size < (size - 1) * RECORDS && MPI_Wtime() < limit);
        CHECK_EQUAL(found.st_size, (size - 1) * RECORDS);
    } else {
        for (int number = 0; number < RECORDS; number++)
            CHECK_CLASS(MPI_File_write_shared(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&file);
}

/* There is no other pointer for such files, and a view goes on where it is. */
static void sequential(const char *name)
{
    MPI_File file;
    int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND;
    MPI_Offset before, bytes;
    long mine = rank;
    struct stat found;
    stat(name, &found);
    before = found.st_size;
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file), MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write_ordered(file, "abc", 3, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CHECK_CLASS(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_LONG, MPI_LONG, "native", MPI_INFO_NULL), MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write_shared(file, &mine, 1, MPI_LONG, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(file, &bytes);
    CHECK_EQUAL(bytes, before + (MPI_Offset)size * (3 + (MPI_Offset)sizeof mine));
    MPI_File_close(&file);
}

/* What a file needs for its pointer is given back when it is closed. */
static void many_files(const char *name)
{
    MPI_File one, other;
    MPI_Offset at;
    for (int number = 0; number < FILES; number++) {
        int color = (rank + number) % 2;
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, color, -rank, &half);
        CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &one), MPI_SUCCESS);
        CHECK_CLASS(MPI_File_open(half, name, MPI_MODE_RDWR, MPI_INFO_NULL, &other), MPI_SUCCESS);
        MPI_File_seek_shared(one, 5, MPI_SEEK_SET);
        MPI_File_seek_shared(other, 7 + color, MPI_SEEK_SET);
        MPI_File_get_position_shared(one, &at);
        CHECK_EQUAL(at, 5);
        MPI_File_get_position_shared(other, &at);
        CHECK_EQUAL(at, 7 + color);
        MPI_File_close(&one);
        MPI_File_close(&other);
        MPI_Comm_free(&half);
    }
}

int main(int argc, char **argv)
{
    MPI_File file;
    char name[512];
    check_begin(&argc, &argv);
    snprintf(name, sizeof name, "%s", file_name("shared"));
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
    contention(file);
    reading(file);
    ordered(file);
    MPI_File_close(&file);
    computing(name);
    sequential(name);
    many_files(name);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    return check_end();
}
