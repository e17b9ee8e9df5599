/* ranks: 1 2
 * Files: representations, hints, sizes, large counts and offsets, several handles (MPI-5.0 §14.2, §14.5). */
#include "file.h"

static const char *name;

static MPI_File opened(void)
{
    MPI_File file;
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
    MPI_File_set_size(file, 0);
    return file;
}

/* external32: big-endian, a long has 4 bytes; types with displacements are of the sizes there. */
static void external32(void)
{
    MPI_File file = opened();
    struct {
        long number;
        short small[3];
        double real;
    } items[40], back[40];
    int lengths[] = {1, 3, 1}, count;
    MPI_Aint places[] = {0, sizeof(long), offsetof(__typeof__(items[0]), real)}, extent;
    MPI_Datatype types[] = {MPI_LONG, MPI_SHORT, MPI_DOUBLE}, structure, tile;
    MPI_Status status;
    unsigned char bytes[18];
    MPI_Type_create_struct(3, lengths, places, types, &structure);
    MPI_Type_commit(&structure);
    memset(items, 0, sizeof items);
    memset(back, 0, sizeof back);
    for (int i = 0; i < 40; i++) {
        items[i].number = -i - 1;
        items[i].small[0] = i, items[i].small[1] = 300, items[i].small[2] = rank;
        items[i].real = i / 4.0;
    }
    CHECK_CLASS(MPI_File_set_view(file, rank * 720, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL), MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write(file, items, 40, structure, &status), MPI_SUCCESS);
    MPI_Get_count(&status, structure, &count);
    CHECK_EQUAL(count, 40);
    together(file);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    CHECK_CLASS(MPI_File_read_all(file, back, 40, structure, &status), MPI_SUCCESS);
    for (int i = 0; i < 40; i++) {
        CHECK(back[i].number == items[i].number && back[i].real == items[i].real);
        CHECK(!memcmp(back[i].small, items[i].small, sizeof items[i].small));
    }
    MPI_File_get_type_extent(file, MPI_LONG, &extent);
    CHECK_EQUAL(extent, 4);
    MPI_File_set_view(file, rank * 720, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read_at(file, 18, bytes, 18, MPI_BYTE, &status);
    static const unsigned char wanted[] = {255, 255, 255, 254, 0, 1, 1, 44, 0, 0, 0x3f, 0xd0, 0, 0, 0, 0, 0, 0};
    CHECK(!memcmp(bytes, wanted, 8) && !memcmp(bytes + 10, wanted + 10, 8));
    /* Every second long of a view: the extents are those in the file. */
    together(file);
    long longs[10], found[10];
    MPI_Type_create_resized(MPI_LONG, 0, 8, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_size(file, 0);
    CHECK_CLASS(MPI_File_set_view(file, 4 * rank, MPI_LONG, tile, "external32", MPI_INFO_NULL), MPI_SUCCESS);
    for (int i = 0; i < 10; i++)
        longs[i] = 100 * rank + i;
    CHECK_CLASS(MPI_File_write_all(file, longs, 10, MPI_LONG, MPI_STATUS_IGNORE), MPI_SUCCESS);
    together(file);
    MPI_Offset size_now;
    MPI_File_get_size(file, &size_now);
    CHECK_EQUAL(size_now, 72 + 4 * size);
    CHECK_CLASS(MPI_File_read_at(file, 5, found, 10, MPI_LONG, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_LONG, &count);
    CHECK_EQUAL(count, 5);
    CHECK_EQUAL(found[4], 100 * rank + 9);
    longs[0] = 1L << 40;
    CHECK_CLASS(MPI_File_write_at(file, 0, longs, 1, MPI_LONG, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
    MPI_Type_free(&structure);
    MPI_Type_free(&tile);
    MPI_File_close(&file);
}

/* A representation of the program: an int is three bytes. */
static int calls;

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    int bytes;
    CHECK(extra == &calls);
    MPI_Type_size(type, &bytes);
    *extent = type == MPI_INT ? 3 : bytes;
    return MPI_SUCCESS;
}

static int read_ints(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    unsigned char *from = file;
    int *to = (int *)user + position;
    CHECK(type == MPI_INT && extra == &calls);
    for (int i = 0; i < count; i++)
        to[i] = from[3 * i] | from[3 * i + 1] << 8 | from[3 * i + 2] << 16;
    calls++;
    return MPI_SUCCESS;
}

static int write_ints(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    unsigned char *to = file;
    int *from = (int *)user + position;
    CHECK(type == MPI_INT && extra == &calls);
    for (int i = 0; i < count; i++)
        to[3 * i] = from[i], to[3 * i + 1] = from[i] >> 8, to[3 * i + 2] = from[i] >> 16;
    calls++;
    return MPI_SUCCESS;
}

static void of_the_program(void)
{
    enum { MANY = 200000 };
    MPI_File file = opened();
    int *numbers = malloc(2 * MANY * sizeof(int)), count;
    MPI_Status status;
    MPI_Offset bytes;
    CHECK_CLASS(MPI_Register_datarep("three bytes", read_ints, write_ints, extent_of, &calls), MPI_SUCCESS);
    CHECK_CLASS(MPI_Register_datarep("three bytes", read_ints, write_ints, extent_of, &calls), MPI_ERR_DUP_DATAREP);
    CHECK_CLASS(MPI_Register_datarep("native", read_ints, write_ints, extent_of, &calls), MPI_ERR_DUP_DATAREP);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "three bytes", MPI_INFO_NULL), MPI_SUCCESS);
    for (int i = 0; i < MANY; i++)
        numbers[i] = 40 * i + rank;
    CHECK_CLASS(MPI_File_write_at_all(file, (MPI_Offset)rank * MANY, numbers, MANY, MPI_INT, &status), MPI_SUCCESS);
    together(file);
    MPI_File_get_size(file, &bytes);
    CHECK_EQUAL(bytes, 3L * MANY * size);
    MPI_File_read_at(file, (MPI_Offset)(size - 1) * MANY + 50, numbers + MANY, MANY, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, MANY - 50);
    for (int i = 0; i < MANY - 50; i += 111)
        CHECK_EQUAL(numbers[MANY + i], 40 * (i + 50) + size - 1);
    CHECK(calls > 2);
    free(numbers);
    MPI_File_close(&file);
}

/* Hints are taken and told; unknown ones change nothing. */
static void hints(void)
{
    MPI_Info info, found;
    MPI_File file;
    char value[100];
    int flag;
    static const char *const given[][2] = {{"cb_buffer_size", "65536"}, {"romio_cb_write", "enable"}, {"file_perm", "600"},
                                           {"striping_unit", "1048576"}, {"romio_ds_write", "disable"}};
    MPI_Info_create(&info);
    for (int i = 0; i < 5; i++)
        MPI_Info_set(info, given[i][0], given[i][1]);
    MPI_Info_set(info, "not_known_to_anybody", "1");
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, info, &file), MPI_SUCCESS);
    MPI_File_get_info(file, &found);
    for (int i = 0; i < 5; i++) {
        MPI_Info_get(found, given[i][0], 99, value, &flag);
        CHECK(flag && !strcmp(value, given[i][1]));
    }
    MPI_Info_get(found, "not_known_to_anybody", 99, value, &flag);
    CHECK(!flag);
    CHECK_CLASS(MPI_File_set_info(file, found), MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Info_free(&found);
    MPI_File_close(&file);
}

/* Beyond 2^40 bytes, with large counts; a file with nothing in between. */
static void far(void)
{
    MPI_File file = opened();
    char text[] = "far away", found[sizeof text];
    MPI_Status status;
    MPI_Count count;
    MPI_Offset bytes, at = ((MPI_Offset)1 << 40) + 7 + 100 * rank;
    CHECK_CLASS(MPI_File_write_at_c(file, at, text, sizeof text, MPI_CHAR, &status), MPI_SUCCESS);
    MPI_Get_count_c(&status, MPI_CHAR, &count);
    CHECK_EQUAL(count, sizeof text);
    CHECK_CLASS(MPI_File_read_at_all_c(file, at, found, sizeof text, MPI_CHAR, &status), MPI_SUCCESS);
    CHECK(!strcmp(text, found));
    MPI_File_get_size(file, &bytes);
    CHECK(bytes >= at + (MPI_Offset)sizeof text);
    together(file);
    MPI_File_set_size(file, 10);
    CHECK_CLASS(MPI_File_preallocate(file, 5), MPI_SUCCESS);
    MPI_File_get_size(file, &bytes);
    CHECK_EQUAL(bytes, 10);
    CHECK_CLASS(MPI_File_preallocate(file, 5000), MPI_SUCCESS);
    MPI_File_get_size(file, &bytes);
    CHECK_EQUAL(bytes, 5000);
    MPI_File_close(&file);
}

/* Two handles of one file, of all and of each rank. */
static void handles(void)
{
    MPI_File all = opened(), own;
    MPI_Group group, world;
    int number = 10 + rank, found = 0, result, amode;
    CHECK_CLASS(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_APPEND, MPI_INFO_NULL, &own), MPI_SUCCESS);
    MPI_File_get_group(all, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &result);
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_File_get_amode(own, &amode);
    CHECK_EQUAL(amode, MPI_MODE_RDWR | MPI_MODE_APPEND);
    MPI_File_write_at(own, 4 * rank, &number, 4, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(all, 4 * (size - 1 - rank), &found, 4, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK_EQUAL(found, 10 + size - 1 - rank);
    MPI_File_write_shared(own, &number, 1, MPI_BYTE, MPI_STATUS_IGNORE); /* a pointer of its own */
    MPI_Offset at;
    MPI_File_get_position_shared(all, &at);
    CHECK_EQUAL(at, 0);
    CHECK_CLASS(MPI_File_close(&own), MPI_SUCCESS);
    CHECK_CLASS(MPI_File_close(&all), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    name = file_name("representations");
    external32();
    of_the_program();
    hints();
    far();
    handles();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    return check_end();
}
