/* replaces NAME CHECKSUM [KIND]: writes a file with the hint serried_atomic_replace, by all ranks, each its part, and
 * prints "wrong" if something is not as promised.
 *   KIND write   (also without one) writes and closes: the new file is there, and nothing beside it
 *   KIND killed  rank 1 dies in the middle of it
 *   KIND failing a write fails, by failing.so: the old file stays
 *   KIND read    only reads, with checksums: prints the class of the error, 0 for none
 * The argument CHECKSUM is the hint serried_checksum. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 700001, TURNS = 7 };
static unsigned char data[PART];

int main(int argc, char **argv)
{
    int rank, size, class = 0;
    MPI_Info hints, told;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *name = argv[1], *kind = argc > 3 ? argv[3] : "write";
    int reads = !strcmp(kind, "read");
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "serried_checksum", argv[2]);
    if (!reads)
        MPI_Info_set(hints, "serried_atomic_replace", "true");
    int code = MPI_File_open(MPI_COMM_WORLD, name, reads ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_WRONLY, hints, &file);
    if (code == MPI_SUCCESS) {
        char value[10] = "";
        int flag = 0;
        MPI_File_get_info(file, &told);
        MPI_Info_get(told, "serried_atomic_replace", 9, value, &flag);
        if (!flag || strcmp(value, reads ? "false" : "true"))
            printf("wrong: serried_atomic_replace is %s\n", value);
        MPI_Info_free(&told);
    }
    for (int turn = 0; turn < TURNS && code == MPI_SUCCESS; turn++) {
        MPI_Offset offset = ((MPI_Offset)turn * size + rank) * PART;
        if (reads) {
            code = MPI_File_read_at(file, offset, data, PART, MPI_BYTE, MPI_STATUS_IGNORE);
            for (int i = 0; i < PART && code == MPI_SUCCESS; i++)
                if (data[i] != (unsigned char)(i * 7 + turn + rank))
                    code = MPI_ERR_OTHER;
            continue;
        }
        for (int i = 0; i < PART; i++)
            data[i] = (unsigned char)(i * 7 + turn + rank);
        if (!strcmp(kind, "killed") && turn == TURNS / 2 && rank == 1)
            raise(SIGKILL);
        MPI_File_write_at_all(file, offset, data, PART, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    if (reads && code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &length);
        printf("rank %d: class %d: %s\n", rank, class, text);
    }
    if (reads && class)
        MPI_Abort(MPI_COMM_WORLD, 3);
    code = MPI_File_close(&file);
    MPI_Error_class(code, &class);
    if (class != (strcmp(kind, "failing") ? MPI_SUCCESS : MPI_ERR_IO))
        printf("wrong: close gives class %d\n", class);
    MPI_Info_free(&hints);
    MPI_Finalize();
    return 0;
}
