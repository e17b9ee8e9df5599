/* The blocks of a rank: made, placed in memory as FLASH has them, and packed. */
#include "blocks.h"
#include <stdlib.h>
#include <string.h>

const char *const names[VARIABLES] = {"dens", "velx", "vely", "velz", "pres", "ener", "temp", "gamc",
                                      "game", "enuc", "gpot", "f1  ", "f2  ", "f3  ", "f4  ", "f5  ",
                                      "f6  ", "f7  ", "f8  ", "f9  ", "f10 ", "f11 ", "f12 ", "f13 "};
const int plotted[PLOTTED] = {0, 6, 4, 11}; /* dens temp pres f1 */
int blocks, first_block, all_blocks;
double *unk, *guarded;
int *refine_level, *node_type, *gid;
double *coordinates, *block_size, *bounding_box;
static void *packed;

double value(int variable, int block, int cell)
{
    return ((double)variable * 1e6 + block) * 65536.0 + cell;
}

/* Where a cell lies; indices count guard cells. */
static double *cell_at(int variable, int block, int x, int y, int z)
{
    size_t cell = (((size_t)block * wide() + z) * wide() + y) * wide() + x;
    size_t in_block = (size_t)wide() * wide() * wide();
    return unk ? unk + cell * VARIABLES + variable : guarded + variable * in_block * blocks + cell;
}

static int clamped(int index) { return index < 0 ? 0 : index < options.cells ? index : options.cells - 1; }

static void fill(void)
{
    for (int v = 0; v < VARIABLES; v++)
        for (int b = 0; b < blocks; b++)
            for (int z = 0; z < wide(); z++)
                for (int y = 0; y < wide(); y++)
                    for (int x = 0; x < wide(); x++) { /* guard cells repeat the border */
                        int cell = (clamped(z - GUARD) * options.cells + clamped(y - GUARD)) * options.cells + clamped(x - GUARD);
                        *cell_at(v, b, x, y, z) = value(v, first_block + b, cell);
                    }
}

static void make_tree(void)
{
    refine_level = malloc(blocks * sizeof(int));
    node_type = malloc(blocks * sizeof(int));
    gid = malloc(blocks * NEIGHBOURS * sizeof(int));
    coordinates = malloc(blocks * AXES * sizeof(double));
    block_size = malloc(blocks * AXES * sizeof(double));
    bounding_box = calloc(blocks * AXES * 2, sizeof(double));
    for (int b = 0; b < blocks; b++) {
        refine_level[b] = node_type[b] = 1;
        for (int n = 0; n < NEIGHBOURS; n++)
            gid[b * NEIGHBOURS + n] = -1;
        for (int axis = 0; axis < AXES; axis++) {
            coordinates[b * AXES + axis] = 0.25;
            block_size[b * AXES + axis] = 0.5;
        }
    }
}

void make_blocks(void)
{
    size_t cells = (size_t)wide() * wide() * wide() * VARIABLES, corners = (size_t)side_of(CORNER) * side_of(CORNER) * side_of(CORNER);
    blocks = options.base_blocks + rank % 3;
    find_offsets();
    if (options.memory == GUARDED)
        guarded = malloc(cells * blocks * sizeof(double));
    else
        unk = malloc(cells * blocks * sizeof(double));
    packed = malloc(corners * blocks * sizeof(double));
    make_tree();
    fill();
}

void find_offsets(void)
{
    int *each = malloc(ranks * sizeof(int));
    MPI_Allgather(&blocks, 1, MPI_INT, each, 1, MPI_INT, MPI_COMM_WORLD);
    first_block = all_blocks = 0;
    for (int i = 0; i < ranks; i++) {
        first_block += i < rank ? each[i] : 0;
        all_blocks += each[i];
    }
    free(each);
}

/* The value at the corner before a cell: the mean of the eight cells around it. */
static double corner_at(int variable, int block, int x, int y, int z)
{
    double sum = 0;
    for (int near = 0; near < 8; near++)
        sum += *cell_at(variable, block, x - (near & 1), y - (near >> 1 & 1), z - (near >> 2));
    return sum / 8;
}

void *pack(int variable, enum kind kind)
{
    double *doubles = packed;
    float *floats = packed;
    int side = side_of(kind);
    for (int b = 0; b < blocks; b++)
        for (int z = GUARD; z < GUARD + side; z++)
            for (int y = GUARD; y < GUARD + side; y++)
                for (int x = GUARD; x < GUARD + side; x++)
                    if (kind == CHECKPOINT)
                        *doubles++ = *cell_at(variable, b, x, y, z);
                    else
                        *floats++ = (float)(kind == CORNER ? corner_at(variable, b, x, y, z) : *cell_at(variable, b, x, y, z));
    return packed;
}

void *place_of(int variable) { return cell_at(variable, 0, 0, 0, 0); }

MPI_Datatype interior_type(void)
{
    MPI_Datatype type, cell = MPI_DOUBLE;
    int sizes[] = {blocks, wide(), wide(), wide()}, parts[] = {blocks, options.cells, options.cells, options.cells};
    int starts[] = {0, GUARD, GUARD, GUARD};
    if (unk)
        MPI_Type_create_resized(MPI_DOUBLE, 0, VARIABLES * sizeof(double), &cell);
    MPI_Type_create_subarray(4, sizes, parts, starts, MPI_ORDER_C, cell, &type);
    MPI_Type_commit(&type);
    if (unk)
        MPI_Type_free(&cell);
    return type;
}
