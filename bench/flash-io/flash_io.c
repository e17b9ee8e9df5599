/* FLASH-IO over MPI-IO: the checkpoint and the two plot files of the astrophysics code FLASH, with standard calls only,
 * so that every MPI can run it. Values are unique, and are read back and compared.
 *
 *     mpiexec -n 4 flash_io [options]
 *       --cells N         cells of a block along each axis (8)
 *       --blocks B        blocks of rank 0; rank r has r % 3 more (80)
 *       --memory KIND     packed: into a buffer first; guard: each variable with its guard cells;
 *                         unk: all variables of a cell side by side, as FLASH keeps them (packed)
 *       --independent     each rank by itself, not collectively
 *       --sync            MPI_File_sync before each close
 *       --interleave P    instead: ranks write pieces of P bytes in turn, 48 MiB each
 *       --repeat R        so often, of which the median counts (5)
 *       --file NAME       beginning of the names of the files (flash_io)
 *       --keep            leave the files
 *
 * One line: what, bytes of all ranks, seconds from open to close, MiB/s, and whether what was read back is right. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 4, VARIABLES = 24, PLOTTED = 4, NEIGHBOURS = 15, TREE_BYTES = 164 };
static const int plotted[PLOTTED] = {0, 5, 4, 11}; /* dens temp pres f1 */

static int rank, ranks, cells = 8, base_blocks = 80, repeats = 5;
static int independent, sync_files, keep, interleave;
static const char *memory = "packed", *name = "flash_io";
static int blocks, first_block, all_blocks;
static double *unk, *guarded, *packed, *back;
static float *plot;

static int wide(void) { return cells + 2 * GUARD; }

/* A value that occurs once in the whole file. */
static double value(int variable, int block, int cell)
{
    return (((double)variable * 1e6) + first_block + block) * 65536.0 + cell;
}

static void fail(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "flash_io: rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define MUST(call)                 \
    do {                           \
        int code_ = (call);        \
        if (code_ != MPI_SUCCESS)  \
            fail(#call, code_);    \
    } while (0)

/* Where a cell of a variable lies in `unk` and in `guarded`; indices with guards. */
static size_t in_unk(int variable, int block, int x, int y, int z)
{
    return ((((size_t)block * wide() + z) * wide() + y) * wide() + x) * VARIABLES + variable;
}

static size_t in_guarded(int variable, int block, int x, int y, int z)
{
    return ((((size_t)variable * blocks + block) * wide() + z) * wide() + y) * wide() + x;
}

static int is_unk(void) { return !strcmp(memory, "unk"); }
static int is_guard(void) { return !strcmp(memory, "guard"); }
/* Packing reads from what FLASH has. */
static double at(int variable, int block, int x, int y, int z)
{
    return is_guard() ? guarded[in_guarded(variable, block, x, y, z)] : unk[in_unk(variable, block, x, y, z)];
}

static void allocate(void)
{
    size_t block_cells = (size_t)wide() * wide() * wide(), own = (size_t)cells * cells * cells * blocks;
    size_t corners = (size_t)(cells + 1) * (cells + 1) * (cells + 1) * blocks;
    if (is_guard())
        guarded = calloc(block_cells * blocks * VARIABLES, sizeof(double));
    else
        unk = calloc(block_cells * blocks * VARIABLES, sizeof(double));
    packed = malloc(own * sizeof(double));
    back = malloc(own * sizeof(double));
    plot = malloc(corners * sizeof(float));
    for (int v = 0; v < VARIABLES; v++)
        for (int b = 0; b < blocks; b++)
            for (int z = 0; z < cells; z++)
                for (int y = 0; y < cells; y++)
                    for (int x = 0; x < cells; x++) {
                        double number = value(v, b, (z * cells + y) * cells + x);
                        size_t place = is_guard() ? in_guarded(v, b, x + GUARD, y + GUARD, z + GUARD)
                                                  : in_unk(v, b, x + GUARD, y + GUARD, z + GUARD);
                        (is_guard() ? guarded : unk)[place] = number;
                    }
}

/* The interior of one variable in one piece. */
static void pack(int variable)
{
    size_t to = 0;
    for (int b = 0; b < blocks; b++)
        for (int z = 0; z < cells; z++)
            for (int y = 0; y < cells; y++)
                for (int x = 0; x < cells; x++)
                    packed[to++] = at(variable, b, x + GUARD, y + GUARD, z + GUARD);
}

static void pack_plot(int variable, int corner)
{
    size_t to = 0;
    int side = cells + corner;
    for (int b = 0; b < blocks; b++)
        for (int z = 0; z < side; z++)
            for (int y = 0; y < side; y++)
                for (int x = 0; x < side; x++) {
                    double sum = 0;
                    if (!corner)
                        sum = at(variable, b, x + GUARD, y + GUARD, z + GUARD);
                    for (int near = 0; corner && near < 8; near++)
                        sum += at(variable, b, x + GUARD - (near & 1), y + GUARD - (near >> 1 & 1), z + GUARD - (near >> 2)) / 8;
                    plot[to++] = (float)sum;
                }
}

/* The interior of a variable where it lies. */
static MPI_Datatype interior(int variable)
{
    MPI_Datatype type, cell = MPI_DOUBLE;
    int sizes[] = {blocks, wide(), wide(), wide()}, parts[] = {blocks, cells, cells, cells};
    int starts[] = {0, GUARD, GUARD, GUARD};
    if (is_unk())
        MPI_Type_create_resized(MPI_DOUBLE, 0, VARIABLES * sizeof(double), &cell);
    MPI_Type_create_subarray(4, sizes, parts, starts, MPI_ORDER_C, cell, &type);
    MPI_Type_commit(&type);
    if (is_unk())
        MPI_Type_free(&cell);
    (void)variable;
    return type;
}

static void put(MPI_File file, MPI_Offset offset, const void *data, int count, MPI_Datatype type)
{
    if (independent)
        MUST(MPI_File_write_at(file, offset, data, count, type, MPI_STATUS_IGNORE));
    else
        MUST(MPI_File_write_at_all(file, offset, data, count, type, MPI_STATUS_IGNORE));
}

static MPI_File create(const char *ending)
{
    char path[1000];
    MPI_File file;
    snprintf(path, sizeof path, "%s_%s", name, ending);
    if (rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    return file;
}

static void finish(MPI_File file)
{
    if (sync_files)
        MUST(MPI_File_sync(file));
    MUST(MPI_File_close(&file));
}

/* Offsets by an allgather inside the time, as FLASH does it. */
static void find_offsets(void)
{
    int *each = malloc(ranks * sizeof(int));
    MPI_Allgather(&blocks, 1, MPI_INT, each, 1, MPI_INT, MPI_COMM_WORLD);
    first_block = all_blocks = 0;
    for (int i = 0; i < ranks; i++) {
        if (i < rank)
            first_block += each[i];
        all_blocks += each[i];
    }
    free(each);
}

static void write_tree(MPI_File file)
{
    char *tree = calloc(blocks, TREE_BYTES);
    MUST(MPI_File_write_at(file, (MPI_Offset)first_block * TREE_BYTES, tree, blocks * TREE_BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    free(tree);
}

static MPI_Offset record(int variable, int side, size_t bytes)
{
    MPI_Offset one = (MPI_Offset)side * side * side * bytes;
    return (MPI_Offset)all_blocks * TREE_BYTES + variable * one * all_blocks + first_block * one;
}

static double checkpoint(void)
{
    int own = cells * cells * cells * blocks;
    MPI_File file = create("chk_0000");
    find_offsets();
    write_tree(file);
    MPI_Datatype type = interior(0);
    for (int v = 0; v < VARIABLES; v++) {
        MPI_Offset offset = record(v, cells, sizeof(double));
        if (is_guard())
            put(file, offset, guarded + in_guarded(v, 0, 0, 0, 0), 1, type);
        else if (is_unk())
            put(file, offset, unk + v, 1, type);
        else {
            pack(v);
            put(file, offset, packed, own, MPI_DOUBLE);
        }
    }
    MPI_Type_free(&type);
    finish(file);
    return (double)VARIABLES * own * sizeof(double) + (double)blocks * TREE_BYTES;
}

static double plot_file(int corner)
{
    int side = cells + corner, own = side * side * side * blocks;
    MPI_File file = create(corner ? "plt_crn_0000" : "plt_cnt_0000");
    find_offsets();
    write_tree(file);
    for (int p = 0; p < PLOTTED; p++) {
        pack_plot(plotted[p], corner);
        put(file, record(p, side, sizeof(float)), plot, own, MPI_FLOAT);
    }
    finish(file);
    return (double)PLOTTED * own * sizeof(float);
}

/* Reads the checkpoint back. */
static int is_right(void)
{
    char path[1000];
    MPI_File file;
    long wrong = 0, all;
    int own = cells * cells * cells * blocks, count;
    MPI_Status status;
    snprintf(path, sizeof path, "%s_chk_0000", name);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    for (int v = 0; v < VARIABLES; v++) {
        MUST(MPI_File_read_at_all(file, record(v, cells, sizeof(double)), back, own, MPI_DOUBLE, &status));
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        wrong += count != own;
        for (int i = 0, cube = cells * cells * cells; i < own; i++) /* values were made when the first block was 0 */
            wrong += back[i] != value(v, i / cube, i % cube) - (double)first_block * 65536.0;
    }
    MPI_File_close(&file);
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all == 0;
}

/* Pieces of all ranks in turn: 48 MiB of each. */
static double interleaved(int *right)
{
    size_t bytes = (size_t)48 << 20;
    static unsigned char *data;
    int pieces = bytes / interleave;
    MPI_Datatype piece, tile;
    MPI_File file;
    char path[1000];
    if (!data) {
        data = malloc(bytes);
        for (size_t i = 0; i < bytes; i++)
            data[i] = (unsigned char)(i * 7 + rank * 31 + (i >> 9));
    }
    snprintf(path, sizeof path, "%s_interleaved", name);
    MPI_Type_contiguous(interleave, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)interleave * ranks, &tile);
    MPI_Type_commit(&tile);
    if (right) { /* what another rank has written */
        int other = (rank + 1) % ranks;
        unsigned char *found = malloc(interleave);
        MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
        *right = 1;
        for (int i = 0; i < pieces; i += 97) {
            MPI_File_read_at(file, ((MPI_Offset)i * ranks + other) * interleave, found, interleave, MPI_BYTE, MPI_STATUS_IGNORE);
            for (size_t j = 0, k = (size_t)i * interleave; j < (size_t)interleave; j++, k++)
                *right &= found[j] == (unsigned char)(k * 7 + other * 31 + (k >> 9));
        }
        free(found);
        MPI_Allreduce(MPI_IN_PLACE, right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    } else {
        file = create("interleaved");
        MUST(MPI_File_set_view(file, (MPI_Offset)rank * interleave, MPI_BYTE, tile, "native", MPI_INFO_NULL));
        put(file, 0, data, (int)bytes, MPI_BYTE);
        if (sync_files)
            MPI_File_sync(file);
    }
    MPI_File_close(&file);
    MPI_Type_free(&piece);
    MPI_Type_free(&tile);
    return (double)bytes;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs one kind of file often, and tells the median. */
static void measure(const char *what, int kind)
{
    double times[100], mine = 0, all = 0;
    int right = 1;
    for (int turn = -1; turn < repeats && turn < 100; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        mine = kind == 3 ? interleaved(NULL) : kind == 0 ? checkpoint() : plot_file(kind - 1);
        double took = MPI_Wtime() - begin, longest;
        MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (turn >= 0)
            times[turn] = longest;
    }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (kind == 3)
        interleaved(&right);
    else if (kind == 0)
        right = is_right();
    qsort(times, repeats, sizeof(double), ascending);
    double median = times[repeats / 2];
    if (rank == 0)
        printf("%-12s %-8s %s%s ranks %d cells %d: %.0f bytes %.6f s %.0f MiB/s %s\n", what, kind == 3 ? "-" : memory,
               independent ? "independent" : "collective", sync_files ? " sync" : "", ranks, cells, all, median,
               all / median / (1 << 20), right ? "right" : "WRONG");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--independent")) independent = 1;
        else if (!strcmp(argv[i], "--sync")) sync_files = 1;
        else if (!strcmp(argv[i], "--keep")) keep = 1;
        else if (!strcmp(argv[i], "--cells")) cells = atoi(next), i++;
        else if (!strcmp(argv[i], "--blocks")) base_blocks = atoi(next), i++;
        else if (!strcmp(argv[i], "--memory")) memory = next, i++;
        else if (!strcmp(argv[i], "--interleave")) interleave = atoi(next), i++;
        else if (!strcmp(argv[i], "--repeat")) repeats = atoi(next), i++;
        else if (!strcmp(argv[i], "--file")) name = next, i++;
        else {
            if (rank == 0)
                fprintf(stderr, "flash_io: unknown option %s; they are explained at the top of flash_io.c\n", argv[i]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    if (interleave) {
        measure("interleaved", 3);
    } else {
        blocks = base_blocks + rank % 3;
        allocate();
        measure("checkpoint", 0);
        measure("centred", 1);
        measure("corner", 2);
    }
    const char *endings[] = {"chk_0000", "plt_cnt_0000", "plt_crn_0000", "interleaved"};
    for (int i = 0; !keep && rank == 0 && i < 4; i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s_%s", name, endings[i]);
        remove(path);
    }
    MPI_Finalize();
    return 0;
}
