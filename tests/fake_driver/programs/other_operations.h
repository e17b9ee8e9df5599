/* One-sided operations and files with what they send and receive in any memory, packing, MPI_Reduce_local. */
#ifndef OTHER_OPERATIONS_H
#define OTHER_OPERATIONS_H

#include "twice.h"

static MPI_Win window;
static long *exposed;
static MPI_File file;
#define RIGHT ((rank + 1) % size)
#define ELEMENTS 4096
/* Ranks are not in step: each has a part of the file. */
#define OWN_PART ((MPI_Offset)rank << 20)

static void begin_epoch(void)
{
    for (int item = 0; item < ELEMENTS; item++)
        exposed[item] = item * 3 + rank;
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
    WORKS(MPI_Win_lock_all(0, window));
}

static void end_epoch(void)
{
    WORKS(MPI_Win_unlock_all(window));
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
}

static void put_and_get(struct operation *o)
{
    MPI_Request requests[2];
    begin_epoch();
    if (o->form) {
        WORKS(MPI_Rput(o->send, o->count, o->type, RIGHT, 0, o->count, o->type, window, &requests[0]));
        WORKS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        WORKS(MPI_Win_flush(RIGHT, window));
        WORKS(MPI_Rget(o->receive, o->count, o->type, RIGHT, 0, o->count, o->type, window, &requests[1]));
        WORKS(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    } else {
        WORKS(MPI_Put(o->send, o->count, o->type, RIGHT, 0, o->count, o->type, window));
        WORKS(MPI_Win_flush(RIGHT, window));
        WORKS(MPI_Get(o->receive, o->count, o->type, RIGHT, 0, o->count, o->type, window));
    }
    end_epoch();
}

static void accumulate(struct operation *o)
{
    begin_epoch();
    if (o->form)
        WORKS(MPI_Accumulate(o->send, o->count, MPI_LONG, RIGHT, 0, o->count, MPI_LONG, MPI_SUM, window));
    else
        WORKS(MPI_Get_accumulate(o->send, o->count, MPI_LONG, o->receive, o->count, MPI_LONG, RIGHT, 0, o->count,
                                 MPI_LONG, MPI_SUM, window));
    WORKS(MPI_Win_flush(RIGHT, window));
    WORKS(MPI_Get(o->receive + o->count * 8, o->count, MPI_LONG, RIGHT, 0, o->count, MPI_LONG, window));
    end_epoch();
}

static void single(struct operation *o)
{
    begin_epoch();
    WORKS(MPI_Fetch_and_op(o->send, o->receive, MPI_LONG, RIGHT, 5, MPI_SUM, window));
    WORKS(MPI_Compare_and_swap(o->send, o->send + 8, o->receive + 8, MPI_LONG, RIGHT, 6, window));
    end_epoch();
}

static void written_and_read(struct operation *o)
{
    MPI_Request request;
    MPI_Offset at = OWN_PART;
    switch (o->form) {
    case 0:
        WORKS(MPI_File_write_at(file, at, o->send, o->count, MPI_LONG, MPI_STATUS_IGNORE));
        WORKS(MPI_File_read_at(file, at, o->receive, o->count, MPI_LONG, MPI_STATUS_IGNORE));
        break;
    case 1:
        WORKS(MPI_File_write_at_all(file, at, o->send, o->count, o->type, MPI_STATUS_IGNORE));
        WORKS(MPI_File_read_at_all(file, at, o->receive, o->count, o->type, MPI_STATUS_IGNORE));
        break;
    case 2:
        WORKS(MPI_File_iwrite_at(file, at, o->send, o->count, MPI_LONG, &request));
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        WORKS(MPI_File_iread_at_all(file, at, o->receive, o->count, MPI_LONG, &request));
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    default:
        WORKS(MPI_File_write_at_all_begin(file, at, o->send, o->count, MPI_LONG));
        WORKS(MPI_File_write_at_all_end(file, o->send, MPI_STATUS_IGNORE));
        WORKS(MPI_File_read_at_all_begin(file, at, o->receive, o->count, MPI_LONG));
        WORKS(MPI_File_read_at_all_end(file, o->receive, MPI_STATUS_IGNORE));
    }
}

/* Short writes one after the other, which are kept and written together. */
static void written_in_rows(struct operation *o)
{
    WORKS(MPI_File_seek(file, OWN_PART, MPI_SEEK_SET));
    for (int row = 0; row < 8; row++)
        WORKS(MPI_File_write(file, o->send + row * 8, 1, MPI_LONG, MPI_STATUS_IGNORE));
    WORKS(MPI_File_read_at(file, OWN_PART, o->receive, 8, MPI_LONG, MPI_STATUS_IGNORE));
}

static void packed(struct operation *o)
{
    int position = 0;
    MPI_Aint place = 0;
    if (o->form) {
        WORKS(MPI_Pack_external("external32", o->send, o->count, o->type, o->receive, o->count * 16, &place));
        place = 0;
        WORKS(MPI_Unpack_external("external32", o->receive, o->count * 16, &place, o->send, o->count, o->type));
        return;
    }
    WORKS(MPI_Pack(o->send, o->count, o->type, o->receive, o->count * 16, &position, MPI_COMM_WORLD));
    position = 0;
    WORKS(MPI_Unpack(o->receive, o->count * 16, &position, o->send, o->count, o->type, MPI_COMM_WORLD));
}

static void reduced(struct operation *o) { WORKS(MPI_Reduce_local(o->send, o->receive, o->count, MPI_LONG, MPI_SUM)); }

static struct listed other_operations[] = {{"put and get", put_and_get, 2, 0, 0}, {"accumulate", accumulate, 2, 0, 0}, {"single", single, 1, 0, 0},
           {"files", written_and_read, 4, 0, 0}, {"rows", written_in_rows, 1, 0, 0}, {"packed", packed, 2, 0, 0}, {"reduced", reduced, 1, 0, 0}};

#endif
