/* disks NAME KIND: what happens to files on real file systems. Prints "wrong" and fails if something is not as it must be.
 *   full [interleaved]   writes more than there is room for: each rank's data are there, or it is told MPI_ERR_NO_SPACE
 *   read-only            opening for writing is refused as such, at all ranks
 *   truncated            the file becomes shorter while it is open: reads are short, and it can be written again
 *   removed              the file is removed while it is open: it is written and read on
 *   tiny                 100,000 writes of 16 bytes, each rank in its part: one after the other, and back to front
 *   far                  bytes beyond 2^40, also interleaved ones
 *   big BYTES            so many of all ranks together, interleaved, out of one MiB of memory */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 3 << 20, TINY = 16, TIMES = 100000 };
static int rank, size, failed;
static unsigned char data[PART], back[PART];
static MPI_File file;
static const char *name;

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            printf("wrong: rank %d, line %d: %s\n", rank, __LINE__, #condition);      \
            failed = 1;                                                               \
        }                                                                             \
    } while (0)

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static int open_as(int mode) { return class_of(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file)); }

static int count_of(MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    return count;
}

static void view_of_pieces(int piece, MPI_Offset from)
{
    MPI_Datatype pieces, tile;
    MPI_Type_contiguous(piece, MPI_BYTE, &pieces);
    MPI_Type_create_resized(pieces, 0, (MPI_Aint)piece * size, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, from + rank * piece, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    MPI_Type_free(&pieces);
    MPI_Type_free(&tile);
}

static void full(int interleaved)
{
    MPI_Status status;
    CHECK(open_as(MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_SUCCESS);
    if (interleaved)
        view_of_pieces(512, 0);
    int class = class_of(MPI_File_write_at_all(file, interleaved ? 0 : (MPI_Offset)rank * PART, data, PART, MPI_BYTE, &status));
    int told = class == MPI_ERR_NO_SPACE, sum;
    CHECK(told || class == MPI_SUCCESS);
    MPI_Allreduce(&told, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(interleaved ? sum == size : sum > 0);
    if (!told) {
        CHECK(MPI_File_read_at(file, (MPI_Offset)rank * PART, back, PART, MPI_BYTE, &status) == MPI_SUCCESS);
        CHECK(count_of(&status) == PART && !memcmp(data, back, PART));
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void read_only(void)
{
    int class = open_as(MPI_MODE_CREATE | MPI_MODE_RDWR);
    CHECK(class == MPI_ERR_READ_ONLY);
}

static void changed_under_us(int removed)
{
    MPI_Status status;
    CHECK(open_as(MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, (MPI_Offset)rank * PART, data, PART, MPI_BYTE, &status) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(removed ? unlink(name) == 0 : truncate(name, 1000) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_at_all(file, (MPI_Offset)rank * PART, back, PART, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(count_of(&status) == (removed ? PART : rank == 0 ? 1000 : 0));
    CHECK(!memcmp(data, back, count_of(&status)));
    CHECK(MPI_File_write_at_all(file, (MPI_Offset)rank * PART, data, PART, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, (MPI_Offset)rank * PART, back, PART, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(count_of(&status) == PART && !memcmp(data, back, PART));
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void tiny(void)
{
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset)rank * TIMES * TINY, others = (MPI_Offset)((rank + 1) % size) * TIMES * TINY;
    CHECK(open_as(MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_SUCCESS);
    for (int backwards = 0; backwards < 2; backwards++) {
        for (int i = 0; i < TIMES; i++) {
            int at = (backwards ? TIMES - 1 - i : i) * TINY;
            CHECK(MPI_File_write_at(file, mine + at, data + at + backwards, TINY, MPI_BYTE, &status) == MPI_SUCCESS);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* enough for the others to see it */
        CHECK(MPI_File_read_at(file, others, back, TIMES * TINY, MPI_BYTE, &status) == MPI_SUCCESS);
        CHECK(count_of(&status) == TIMES * TINY);
        for (int i = 0; i < TIMES * TINY; i++)
            if (back[i] != (unsigned char)(data[i + backwards] - rank + (rank + 1) % size)) {
                CHECK(!"what another rank has written is seen");
                break;
            }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void far(void)
{
    MPI_Status status;
    MPI_Offset end, from = ((MPI_Offset)1 << 40) + 12345;
    CHECK(open_as(MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_SUCCESS);
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        if (interleaved)
            view_of_pieces(4096, from);
        MPI_Offset at = interleaved ? 0 : from + (MPI_Offset)rank * PART;
        CHECK(MPI_File_write_at_all(file, at, data, PART, MPI_BYTE, &status) == MPI_SUCCESS);
        CHECK(MPI_File_read_at_all(file, at, back, PART, MPI_BYTE, &status) == MPI_SUCCESS);
        CHECK(count_of(&status) == PART && !memcmp(data, back, PART));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_File_get_size(file, &end) == MPI_SUCCESS && end == from + (MPI_Offset)size * PART);
    }
    /* Ranks that are far from each other. */
    CHECK(MPI_File_set_view(file, (MPI_Offset)rank << 38, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, 7, data, 100, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 7, back, 100, MPI_BYTE, &status) == MPI_SUCCESS && !memcmp(data, back, 100));
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void big(MPI_Offset bytes)
{
    enum { ITEM = 1 << 20 };
    MPI_Datatype dense, item;
    MPI_Status status;
    MPI_Count count;
    MPI_Type_contiguous(ITEM, MPI_BYTE, &dense);
    MPI_Type_create_resized(dense, 0, 0, &item); /* again and again the same */
    MPI_Type_commit(&item);
    CHECK(open_as(MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_SUCCESS);
    view_of_pieces(8192, 0);
    int items = bytes / size / ITEM;
    CHECK(MPI_File_write_at_all(file, 0, data, items, item, &status) == MPI_SUCCESS);
    MPI_Get_elements_x(&status, MPI_BYTE, &count);
    CHECK(count == (MPI_Count)items * ITEM);
    for (int i = 0; i < items; i += items / 4) {
        CHECK(MPI_File_read_at(file, (MPI_Offset)i * ITEM, back, ITEM, MPI_BYTE, &status) == MPI_SUCCESS);
        CHECK(count_of(&status) == ITEM && !memcmp(data, back, ITEM));
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Type_free(&dense);
    MPI_Type_free(&item);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    name = argv[1];
    const char *kind = argv[2];
    for (int i = 0; i < PART; i++)
        data[i] = (unsigned char)(i * 13 + rank + (i >> 9));
    if (!strcmp(kind, "full"))
        full(argc > 3);
    else if (!strcmp(kind, "read-only"))
        read_only();
    else if (!strcmp(kind, "tiny"))
        tiny();
    else if (!strcmp(kind, "far"))
        far();
    else if (!strcmp(kind, "big"))
        big(atoll(argv[3]));
    else
        changed_under_us(!strcmp(kind, "removed"));
    MPI_Finalize();
    return failed;
}
