/* unlike FOLDER: collective calls on a file with arguments that differ between the ranks, though MPI wants the same at all, or
 * that are wrong at one rank alone. Each rank says of each call its class of error and the text; the file goes on after it. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, last;
static char path[4096], other[4096];
static MPI_File file;

/* What the last rank gives, and what all others give. */
#define MIXED(theirs, its) (last ? (its) : (theirs))

static void say(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, class = MPI_SUCCESS;
    const char *name = "other";
    MPI_Error_class(code, &class);
    if (code != MPI_SUCCESS)
        MPI_Error_string(code, text, &length);
#define NAME(of) if (class == of) name = #of
    NAME(MPI_SUCCESS);
    NAME(MPI_ERR_NOT_SAME);
    NAME(MPI_ERR_ARG);
    NAME(MPI_ERR_AMODE);
    NAME(MPI_ERR_TYPE);
    NAME(MPI_ERR_BAD_FILE);
    NAME(MPI_ERR_NO_SUCH_FILE);
    NAME(MPI_ERR_UNSUPPORTED_DATAREP);
    for (char *at = text; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    printf("%s|%d|%s|%s\n", what, rank, name, text);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody has stayed behind */
}

static void opening(void)
{
    MPI_File none;
    const int read_only = MPI_MODE_RDONLY, both = MPI_MODE_RDWR, nonsense = MPI_MODE_RDWR | MPI_MODE_RDONLY;
#define OPEN(name, amode) MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &none)
    say("open amode", OPEN(path, MIXED(both, read_only)));
    say("open wrong amode", OPEN(path, MIXED(both, nonsense)));
    say("open no name", OPEN(MIXED(path, ""), both));
    say("open other file", OPEN(MIXED(path, other), both));
}

static void sizes(void)
{
    say("set_size", MPI_File_set_size(file, MIXED(100, 101)));
    say("set_size negative", MPI_File_set_size(file, MIXED(100, -1)));
    say("preallocate", MPI_File_preallocate(file, MIXED(100, 99)));
    say("preallocate negative", MPI_File_preallocate(file, MIXED(100, -5)));
    say("set_atomicity", MPI_File_set_atomicity(file, MIXED(0, 1)));
    say("seek_shared", MPI_File_seek_shared(file, MIXED(4, 5), MPI_SEEK_SET));
    say("seek_shared whence", MPI_File_seek_shared(file, 4, MIXED(MPI_SEEK_SET, MPI_SEEK_CUR)));
    say("seek_shared wrong whence", MPI_File_seek_shared(file, 4, MIXED(MPI_SEEK_SET, 12345)));
    say("set_size again", MPI_File_set_size(file, 100));
}

static void views(void)
{
#define VIEW(disp, etype, datarep) MPI_File_set_view(file, disp, etype, etype, datarep, MPI_INFO_NULL)
    say("view disp", VIEW(MIXED(0, 8), MPI_INT, "native"));
    say("view etype", VIEW(0, MIXED(MPI_INT, MPI_DOUBLE), "native"));
    say("view datarep", VIEW(0, MPI_INT, MIXED("native", "external32")));
    say("view no datarep", VIEW(0, MPI_INT, MIXED("native", "foreign")));
    say("view negative", VIEW(MIXED(0, -9), MPI_INT, "native"));
    say("view back", MPI_File_set_view(file, 0, MPI_INT, MIXED(MPI_INT, MPI_SHORT), "native", MPI_INFO_NULL));
    say("view type", VIEW(0, MIXED(MPI_INT, MPI_FLOAT), "native")); /* another type of the same extent */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = rank == size - 1;
    snprintf(path, sizeof path, "%s/unlike", argc > 1 ? argv[1] : "/tmp");
    snprintf(other, sizeof other, "%s.other", path);
    MPI_File_open(MPI_COMM_WORLD, other, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    MPI_File_close(&file);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    opening();
    sizes();
    if (argc > 2)
        views();
    /* The file is as good as before. */
    int mine = 7 + rank, read = 0;
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_ordered(file, &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, rank, &read, 1, MPI_INT, MPI_STATUS_IGNORE);
    printf("end|%d|%s|\n", rank, read == mine ? "right" : "wrong");
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
