/* writes NAME CLASS KIND: writes a file, and reads it back. With CLASS 0 all must go well, with another one the writing
 * (KIND apart, interleaved, rows, nonblocking, sync) or the reading (KIND read) must give an error of that class: on all ranks
 * where one writes for others, and nowhere a hang. KIND killed: rank 1 dies between collective writes. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 512, PIECES = 3000, BYTES = PIECE * PIECES };
static int rank, size, wrong;
static unsigned char data[BYTES], back[BYTES];

static void expect(const char *what, int code, int wanted)
{
    int class = 0;
    MPI_Error_class(code, &class);
    if (class != wanted) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, text, &length);
        fprintf(stderr, "rank %d: %s gives class %d, not %d: %s\n", rank, what, class, wanted, text);
        wrong = 1;
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const char *name = argv[1], *kind = argv[3];
    int class = atoi(argv[2]), reads = !strcmp(kind, "read"), syncs = !strcmp(kind, "sync");
    int writing = reads || syncs ? MPI_SUCCESS : class;
    MPI_File file;
    MPI_Datatype piece, tile;
    for (int i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 13 + rank * 101 + (i >> 9));
    expect("open", MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
    if (!strcmp(kind, "interleaved") || !strcmp(kind, "killed")) {
        MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
        MPI_Type_create_resized(piece, 0, PIECE * size, &tile);
        MPI_Type_commit(&tile);
        MPI_File_set_view(file, rank * PIECE, MPI_BYTE, tile, "native", MPI_INFO_NULL);
        MPI_Type_free(&piece);
        MPI_Type_free(&tile);
        for (int i = 0; !strcmp(kind, "killed") && i < 1000; i++) {
            if (i == 7 && rank == 1)
                raise(SIGKILL);
            MPI_File_write_at_all(file, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
        }
        expect("write_all", MPI_File_write_all(file, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), writing);
    } else if (!strcmp(kind, "rows")) { /* kept and written together: told by sync at the latest */
        MPI_File_set_view(file, (MPI_Offset)rank * BYTES, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        int code = MPI_SUCCESS, other = MPI_SUCCESS;
        for (int i = 0; i < PIECES && code == MPI_SUCCESS; i++)
            code = MPI_File_write(file, data + i * PIECE, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
        other = MPI_File_sync(file);
        expect("write or sync", code == MPI_SUCCESS ? other : code, writing);
    } else if (!strcmp(kind, "nonblocking")) {
        MPI_Request request;
        MPI_File_set_view(file, (MPI_Offset)rank * BYTES, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        expect("iwrite_at", MPI_File_iwrite_at(file, 0, data, BYTES, MPI_BYTE, &request), MPI_SUCCESS);
        expect("wait", MPI_Wait(&request, MPI_STATUS_IGNORE), writing);
    } else {
        MPI_File_set_view(file, (MPI_Offset)rank * BYTES, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        expect("write_at_all", MPI_File_write_at_all(file, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), writing);
    }
    expect("sync", MPI_File_sync(file), syncs ? class : MPI_SUCCESS);
    if (writing == MPI_SUCCESS) {
        MPI_Status status;
        int count;
        expect("read", MPI_File_read_at(file, 0, back, BYTES, MPI_BYTE, &status), reads ? class : MPI_SUCCESS);
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (!(reads && class) && (count != BYTES || memcmp(data, back, BYTES))) {
            fprintf(stderr, "rank %d: reads %d bytes, which are not what it has written\n", rank, count);
            wrong = 1;
        }
    }
    expect("close", MPI_File_close(&file), MPI_SUCCESS);
    MPI_Finalize();
    return wrong;
}
