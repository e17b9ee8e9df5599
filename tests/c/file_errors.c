/* ranks: 1 2
 * Wrong calls on files: each gives its class, and nothing hangs (MPI-5.0 §14.9). */
#include "file.h"
#include <sys/stat.h>

static const char *name;

static MPI_File opened(int amode)
{
    MPI_File file = MPI_FILE_NULL;
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file), MPI_SUCCESS);
    return file;
}

static void opening(void)
{
    MPI_File file = MPI_FILE_NULL;
    char missing[600], below[600];
    snprintf(missing, sizeof missing, "%s.missing", name);
    snprintf(below, sizeof below, "%s/below", name);
#define OPEN(name, amode) MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file)
    CHECK_CLASS(OPEN(missing, MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
    CHECK_CLASS(OPEN(name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL), MPI_ERR_FILE_EXISTS);
    CHECK_CLASS(OPEN(below, MPI_MODE_RDWR | MPI_MODE_CREATE), MPI_ERR_BAD_FILE);
    CHECK_CLASS(OPEN("/", MPI_MODE_RDONLY), MPI_ERR_BAD_FILE);
    CHECK_CLASS(OPEN("", MPI_MODE_RDONLY), MPI_ERR_BAD_FILE);
    CHECK_CLASS(OPEN(name, 0), MPI_ERR_AMODE);
    CHECK_CLASS(OPEN(name, MPI_MODE_RDONLY | MPI_MODE_RDWR), MPI_ERR_AMODE);
    CHECK_CLASS(OPEN(name, MPI_MODE_RDONLY | MPI_MODE_CREATE), MPI_ERR_AMODE);
    CHECK_CLASS(OPEN(name, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL), MPI_ERR_AMODE);
    CHECK_CLASS(OPEN(name, MPI_MODE_RDWR | 1 << 20), MPI_ERR_AMODE);
    CHECK_CLASS(MPI_File_delete(missing, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    CHECK(file == MPI_FILE_NULL);
    if (size > 1) { /* the modes differ */
        int amode = rank ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
        CHECK_CLASS(OPEN(name, amode), MPI_ERR_NOT_SAME);
        /* One rank cannot open what the first can. */
        CHECK_CLASS(OPEN(rank == 1 ? missing : name, MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE);
    }
}

static void ways(void)
{
    int number = 7;
    MPI_Offset at;
    MPI_File file = opened(MPI_MODE_RDONLY);
    CHECK_CLASS(MPI_File_write(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_write_at_all(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_set_size(file, 5), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_preallocate(file, 5), MPI_ERR_READ_ONLY);
    MPI_File_close(&file);
    file = opened(MPI_MODE_WRONLY);
    CHECK_CLASS(MPI_File_read(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    CHECK_CLASS(MPI_File_read_shared(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    MPI_File_close(&file);
    file = opened(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    CHECK_CLASS(MPI_File_write(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_get_position(file, &at), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_write_shared(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
    MPI_File_get_view(file, &at, &(MPI_Datatype){0}, &(MPI_Datatype){0}, (char[MPI_MAX_DATAREP_STRING]){0});
    CHECK_EQUAL(at, 4 * size);
    MPI_File_close(&file);
}

static void arguments(void)
{
    int numbers[4] = {0};
    MPI_Offset at;
    MPI_Datatype back, open_type;
    MPI_File file = opened(MPI_MODE_RDWR);
#define VIEW(disp, etype, filetype, rep) MPI_File_set_view(file, disp, etype, filetype, rep, MPI_INFO_NULL)
    CHECK_CLASS(MPI_File_read_at(file, -1, numbers, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_read_at(file, 0, numbers, -1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_File_read_at(file, 0, NULL, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_File_read_at(file, 0, numbers, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_File_read_at(file, INT64_MAX, numbers, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_get_byte_offset(file, -1, &at), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
    CHECK_CLASS(VIEW(-2000, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
    CHECK_CLASS(VIEW(0, MPI_INT, MPI_INT, "foreign"), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_CLASS(VIEW(0, MPI_INT, MPI_SHORT, "native"), MPI_ERR_TYPE);
    MPI_Type_vector(2, 1, -3, MPI_INT, &back);
    CHECK_CLASS(VIEW(0, MPI_INT, back, "native"), MPI_ERR_TYPE); /* not committed */
    MPI_Type_commit(&back);
    CHECK_CLASS(VIEW(0, MPI_INT, back, "native"), MPI_ERR_TYPE); /* goes back */
    MPI_Type_contiguous(3, MPI_BYTE, &open_type);
    MPI_Type_commit(&open_type);
    CHECK_CLASS(VIEW(0, MPI_INT, MPI_INT, "native"), MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write(file, numbers, 1, open_type, MPI_STATUS_IGNORE), MPI_ERR_IO); /* part of an etype */
    MPI_Type_free(&back);
    MPI_Type_free(&open_type);
    if (size > 1)
        CHECK_CLASS(MPI_File_set_size(file, 10 + rank), MPI_ERR_NOT_SAME);
    MPI_File_close(&file);
    CHECK_CLASS(MPI_File_close(&file), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_read(MPI_FILE_NULL, numbers, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_sync(MPI_FILE_NULL), MPI_ERR_FILE);
}

/* Error handlers: a file has that of MPI_FILE_NULL when it is opened. */
static int called;
static MPI_File told;

static void handler(MPI_File *file, int *code, ...)
{
    called += class_of(*code) == MPI_ERR_READ_ONLY;
    told = *file;
}

static void handlers(void)
{
    MPI_Errhandler mine, found;
    MPI_File_create_errhandler(handler, &mine);
    MPI_File_get_errhandler(MPI_FILE_NULL, &found);
    CHECK(found == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&found);
    MPI_File_set_errhandler(MPI_FILE_NULL, mine);
    MPI_File file = opened(MPI_MODE_RDONLY);
    MPI_File_write(file, &called, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(called == 1 && told == file);
    MPI_Request request;
    MPI_File_iwrite(file, &called, 1, MPI_INT, &request);
    CHECK_EQUAL(called, 2);
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_File_write(file, &called, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    CHECK_EQUAL(called, 2);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&mine);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    name = file_name("bad");
    opening();
    ways();
    arguments();
    handlers();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK_CLASS(MPI_File_delete(name, MPI_INFO_NULL), MPI_SUCCESS);
    return check_end();
}
