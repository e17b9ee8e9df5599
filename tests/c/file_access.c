/* ranks: 1 2 3 5
 * Files: views, pointers, every way of reading and writing, exact counts (MPI-5.0 chapter 14). */
#include "file.h"

enum { COUNT = 1000 };

/* Explicit offsets in etypes, and how much is there at the end of the file. */
static void explicit_offsets(MPI_File file)
{
    int numbers[COUNT], found[COUNT + 10], count;
    MPI_Status status;
    MPI_File_set_view(file, 40, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = rank * 100000 + i;
    CHECK_CLASS(MPI_File_write_at(file, (MPI_Offset)rank * COUNT, numbers, COUNT, MPI_INT, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, COUNT);
    together(file);
    int other = (rank + 1) % size;
    CHECK_CLASS(MPI_File_read_at(file, (MPI_Offset)other * COUNT + 10, found, 20, MPI_INT, &status), MPI_SUCCESS);
    for (int i = 0; i < 20; i++)
        CHECK_EQUAL(found[i], other * 100000 + 10 + i);
    memset(found, 0x55, sizeof found);
    CHECK_CLASS(MPI_File_read_at(file, (MPI_Offset)size * COUNT - 7, found, 20, MPI_INT, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 7);
    MPI_Get_elements(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 7);
    CHECK_EQUAL(found[6], (size - 1) * 100000 + COUNT - 1);
    CHECK_EQUAL(found[7], 0x55555555);
    MPI_Offset bytes;
    MPI_File_get_size(file, &bytes);
    CHECK_EQUAL(bytes, 40 + (MPI_Offset)size * COUNT * 4);
    MPI_File_get_byte_offset(file, 3, &bytes);
    CHECK_EQUAL(bytes, 52);
    together(file);
}

/* Each rank sees every size-th block of three numbers, from a buffer with gaps. */
static void strided_views(MPI_File file, int collective)
{
    MPI_Datatype tile, gaps;
    int blocks = 50, count;
    int numbers[300];
    MPI_Status status;
    MPI_Offset at;
    int lengths[] = {3}, places[] = {3 * rank};
    MPI_Type_indexed(1, lengths, places, MPI_INT, &tile);
    MPI_Datatype resized;
    MPI_Type_create_resized(tile, 0, 3 * size * sizeof(int), &resized);
    MPI_Type_commit(&resized);
    MPI_Type_vector(3 * blocks, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    CHECK_CLASS(MPI_File_set_view(file, 8, MPI_INT, resized, "native", MPI_INFO_NULL), MPI_SUCCESS);
    for (int i = 0; i < 300; i++)
        numbers[i] = i % 2 ? -1 : rank * 1000 + i / 2;
    if (collective)
        CHECK_CLASS(MPI_File_write_all(file, numbers, 1, gaps, &status), MPI_SUCCESS);
    else
        CHECK_CLASS(MPI_File_write(file, numbers, 1, gaps, &status), MPI_SUCCESS);
    MPI_Get_count(&status, gaps, &count);
    CHECK_EQUAL(count, 1);
    MPI_File_get_position(file, &at);
    CHECK_EQUAL(at, 3 * blocks);
    together(file);
    memset(numbers, 0, sizeof numbers);
    MPI_File_seek(file, -3 * blocks, MPI_SEEK_CUR);
    if (collective)
        CHECK_CLASS(MPI_File_read_all(file, numbers, 1, gaps, &status), MPI_SUCCESS);
    else
        CHECK_CLASS(MPI_File_read(file, numbers, 1, gaps, &status), MPI_SUCCESS);
    for (int i = 0; i < 300; i++)
        CHECK_EQUAL(numbers[i], i % 2 ? 0 : rank * 1000 + i / 2);
    /* As bytes: whose numbers lie where. */
    MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (int block = 0; block < blocks; block++) {
        int other = (rank + block) % size, three[3];
        MPI_File_read_at(file, 3 * (block * size + other), three, 3, MPI_INT, &status);
        CHECK_EQUAL(three[1], other * 1000 + 3 * block + 1);
    }
    MPI_Type_free(&tile);
    MPI_Type_free(&resized);
    MPI_Type_free(&gaps);
    together(file);
}

/* The end of the file in a view with holes, and pointers beyond it. */
static void ends(MPI_File file)
{
    MPI_Datatype tile;
    MPI_Offset at;
    MPI_File_set_size(file, 100);
    MPI_Type_vector(2, 1, 4, MPI_INT, &tile); /* 0..4 and 16..20 of 20 bytes */
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &at);
    CHECK_EQUAL(at, 10);
    MPI_File_seek(file, -1, MPI_SEEK_END);
    MPI_File_get_position(file, &at);
    CHECK_EQUAL(at, 9);
    CHECK(MPI_File_seek(file, -11, MPI_SEEK_END) != MPI_SUCCESS);
    int found[4], count;
    MPI_Status status;
    CHECK_CLASS(MPI_File_read(file, found, 4, MPI_INT, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 1);
    MPI_Type_free(&tile);
    together(file);
}

/* Pointers of all: nothing is lost, and ordered access keeps the order of ranks. */
static void shared_pointers(MPI_File file)
{
    enum { TIMES = 20 };
    int pair[2], count;
    MPI_Status status;
    MPI_Offset at;
    MPI_File_set_size(file, 0);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (int i = 0; i < TIMES; i++) {
        pair[0] = rank, pair[1] = i;
        CHECK_CLASS(MPI_File_write_shared(file, pair, 2, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    together(file);
    MPI_File_get_position_shared(file, &at);
    CHECK_EQUAL(at, 2 * TIMES * size);
    int *all = malloc(2 * TIMES * size * sizeof(int)), seen[16] = {0};
    MPI_File_read_at(file, 0, all, 2 * TIMES * size, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 2 * TIMES * size);
    for (int i = 0; i < TIMES * size; i++)
        CHECK(all[2 * i] < size && all[2 * i + 1] == seen[all[2 * i]]++);
    free(all);
    MPI_File_seek_shared(file, 3, MPI_SEEK_SET);
    for (int i = 0; i < rank + 1; i++)
        pair[i % 2] = rank;
    int mine[16];
    for (int i = 0; i < 16; i++)
        mine[i] = 100 * rank + i;
    CHECK_CLASS(MPI_File_write_ordered(file, mine, rank + 1, MPI_INT, &status), MPI_SUCCESS);
    MPI_File_seek_shared(file, 3, MPI_SEEK_SET);
    memset(mine, 0, sizeof mine);
    CHECK_CLASS(MPI_File_read_ordered(file, mine, rank + 1, MPI_INT, &status), MPI_SUCCESS);
    for (int i = 0; i < rank + 1; i++)
        CHECK_EQUAL(mine[i], 100 * rank + i);
    MPI_File_read_at(file, 3 + rank * (rank + 1) / 2, mine, 1, MPI_INT, &status);
    CHECK_EQUAL(mine[0], 100 * rank);
    MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_get_position_shared(file, &at);
    CHECK_EQUAL(at, 0);
    together(file);
}

/* Nonblocking and split forms. */
static void others(MPI_File file)
{
    enum { LONG = 700000 };
    int *numbers = malloc(LONG * sizeof(int)), count;
    MPI_Request request;
    MPI_Status status;
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (int i = 0; i < LONG; i++)
        numbers[i] = rank + i;
    CHECK_CLASS(MPI_File_iwrite_at(file, (MPI_Offset)rank * LONG, numbers, LONG, MPI_INT, &request), MPI_SUCCESS);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, LONG);
    memset(numbers, 0, LONG * sizeof(int));
    MPI_File_seek(file, (MPI_Offset)rank * LONG, MPI_SEEK_SET);
    CHECK_CLASS(MPI_File_iread_all(file, numbers, LONG, MPI_INT, &request), MPI_SUCCESS);
    int flag = 0;
    while (!flag)
        MPI_Test(&request, &flag, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, LONG);
    for (int i = 0; i < LONG; i += 997)
        CHECK_EQUAL(numbers[i], rank + i);
    CHECK_CLASS(MPI_File_write_at_all_begin(file, rank * 10, numbers, 10, MPI_INT), MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_begin(file, rank * 10, numbers, 10, MPI_INT) != MPI_SUCCESS);
    CHECK(MPI_File_read_all_end(file, numbers, &status) != MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write_at_all_end(file, numbers, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 10);
    free(numbers);
    together(file);
}

/* Collective calls are in one order at all ranks: what was written together is read together with nothing between. */
static void one_after_the_other(MPI_File file)
{
    int numbers[300];
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (int turn = 0; turn < 100; turn++) {
        for (int i = 0; i < 300; i++)
            numbers[i] = 1000 * turn + 300 * rank + i;
        if (rank == turn % size && turn % 10 == 0)
            usleep(1000);
        MPI_File_write_at_all(file, 300 * rank, numbers, 300, MPI_INT, MPI_STATUS_IGNORE);
        int other = (rank + turn) % size;
        MPI_File_read_at_all(file, 300 * other, numbers, 300, MPI_INT, MPI_STATUS_IGNORE);
        CHECK_EQUAL(numbers[299], 1000 * turn + 300 * other + 299);
    }
    together(file);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_File file;
    const char *name = file_name("access");
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file), MPI_SUCCESS);
    explicit_offsets(file);
    strided_views(file, 0);
    strided_views(file, 1);
    ends(file);
    shared_pointers(file);
    others(file);
    one_after_the_other(file);
    MPI_File_set_atomicity(file, 1);
    strided_views(file, 0);
    strided_views(file, 1);
    CHECK_CLASS(MPI_File_close(&file), MPI_SUCCESS);
    CHECK(file == MPI_FILE_NULL);
    CHECK_CLASS(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
    return check_end();
}
