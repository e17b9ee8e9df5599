/* The files over MPI-IO alone: a record of the tree for each block, then the variables one after the other. */
#include "blocks.h"
#include <stdlib.h>
#include <string.h>

enum { TREE_BYTES = (2 + NEIGHBOURS) * 4 + 4 * AXES * 8 };
static MPI_File file;
static MPI_Datatype memory;
static enum kind kind;

static void create(enum kind of, const char *path)
{
    kind = of;
    MPI_MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    MPI_MUST(MPI_File_set_size(file, 0));
    memory = MPI_DATATYPE_NULL;
    if (kind == CHECKPOINT && options.memory != PACKED)
        memory = interior_type();
}

static void write_header(void)
{
    char *tree = malloc((size_t)blocks * TREE_BYTES);
    for (int b = 0; b < blocks; b++) {
        char *to = tree + (size_t)b * TREE_BYTES;
        memcpy(to, &refine_level[b], 4);
        memcpy(to + 4, &node_type[b], 4);
        memcpy(to + 8, gid + b * NEIGHBOURS, NEIGHBOURS * 4);
        memcpy(to + 8 + NEIGHBOURS * 4, coordinates + b * AXES, AXES * 8);
        memcpy(to + 8 + NEIGHBOURS * 4 + AXES * 8, block_size + b * AXES, AXES * 8);
        memcpy(to + 8 + NEIGHBOURS * 4 + AXES * 16, bounding_box + b * AXES * 2, AXES * 16);
    }
    MPI_MUST(MPI_File_write_at(file, (MPI_Offset)first_block * TREE_BYTES, tree, blocks * TREE_BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    free(tree);
}

/* Where a variable of the blocks of this rank begins. */
static MPI_Offset offset_of(enum kind of, int number)
{
    MPI_Offset side = side_of(of), record = side * side * side * (of == CHECKPOINT ? 8 : 4);
    return (MPI_Offset)all_blocks * TREE_BYTES + number * record * all_blocks + first_block * record;
}

static void write_variable(int number, const void *packed)
{
    int side = side_of(kind), count = packed ? side * side * side * blocks : 1;
    MPI_Datatype type = !packed ? memory : kind == CHECKPOINT ? MPI_DOUBLE : MPI_FLOAT;
    const void *from = packed ? packed : place_of(number);
    MPI_Offset offset = offset_of(kind, number);
    if (options.independent)
        MPI_MUST(MPI_File_write_at(file, offset, from, count, type, MPI_STATUS_IGNORE));
    else
        MPI_MUST(MPI_File_write_at_all(file, offset, from, count, type, MPI_STATUS_IGNORE));
}

static void close_file(void)
{
    if (memory != MPI_DATATYPE_NULL)
        MPI_Type_free(&memory);
    if (options.sync)
        MPI_MUST(MPI_File_sync(file));
    MPI_MUST(MPI_File_close(&file));
}

static void read_variable(const char *path, int number, double *back)
{
    int count, wanted = options.cells * options.cells * options.cells * blocks;
    MPI_Status status;
    MPI_MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    if (options.independent)
        MPI_MUST(MPI_File_read_at(file, offset_of(CHECKPOINT, number), back, wanted, MPI_DOUBLE, &status));
    else
        MPI_MUST(MPI_File_read_at_all(file, offset_of(CHECKPOINT, number), back, wanted, MPI_DOUBLE, &status));
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    if (count != wanted)
        fail("reading", "fewer values than were written");
    MPI_MUST(MPI_File_close(&file));
}

const struct library mpi_io = {"mpi-io", create, write_header, write_variable, close_file, read_variable, ""};
