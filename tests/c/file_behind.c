/* ranks: 1 2 3
 * Many short writes one after another: whoever hears of them by a message, a barrier or a file call finds all. */
#include "file.h"

enum { ROW = 128, ROWS = 5000 };
static unsigned char row[ROW];

static unsigned char value(int writer, int number, int place)
{
    return (unsigned char)(writer * 50 + number * 3 + place);
}

static void write_rows(MPI_File file, int first, int rows)
{
    MPI_Status status;
    int count;
    for (int i = first; i < first + rows; i++) {
        for (int j = 0; j < ROW; j++)
            row[j] = value(rank, i, j);
        CHECK_CLASS(MPI_File_write_at(file, ((MPI_Offset)rank * ROWS + i) * ROW, row, ROW, MPI_BYTE, &status), MPI_SUCCESS);
        MPI_Get_elements(&status, MPI_BYTE, &count);
        if (count != ROW)
            CHECK_EQUAL(count, ROW);
        memset(row, 0, ROW); /* the buffer is the program's again */
    }
}

static void check_row(MPI_File file, int writer, int number)
{
    MPI_Status status;
    int count;
    MPI_File_read_at(file, ((MPI_Offset)writer * ROWS + number) * ROW, row, ROW, MPI_BYTE, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQUAL(count, ROW);
    for (int j = 0; j < ROW; j++)
        if (row[j] != value(writer, number, j)) {
            CHECK_EQUAL(row[j], value(writer, number, j));
            return;
        }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    const char *name = file_name("behind");
    MPI_File file, other;
    MPI_Offset bytes;
    int token = 0, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &other);
    /* By a barrier. */
    write_rows(file, 0, 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    check_row(file, next, 999);
    check_row(file, next, 3);
    /* By a message round the ring. */
    write_rows(file, 1000, 77);
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 0, &token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_row(file, before, 1076);
    /* By calls on the same file, and on another handle of it. */
    write_rows(file, 1077, 50);
    check_row(file, rank, 1126);
    write_rows(file, 1127, 50);
    check_row(other, rank, 1176);
    write_rows(file, 1177, 50);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &bytes);
    CHECK(bytes >= ((MPI_Offset)rank * ROWS + 1227) * ROW);
    write_rows(file, 1227, 10);
    MPI_File_get_size(other, &bytes);
    CHECK(bytes >= ((MPI_Offset)rank * ROWS + 1237) * ROW);
    /* Over what has just been written, and by turns with another handle. */
    write_rows(file, 1237, 20);
    write_rows(file, 1240, 20);
    write_rows(other, 1260, 5);
    write_rows(file, 1265, 5);
    write_rows(file, 1270, ROWS - 1270);
    MPI_File_close(&file);
    for (int i = 0; i < ROWS; i += 7)
        check_row(other, next, i);
    check_row(other, next, 1262);
    check_row(other, next, 1266);
    MPI_File_close(&other);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    return check_end();
}
