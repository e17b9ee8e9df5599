/* FLASH-IO: the checkpoint and the two plot files of the astrophysics code FLASH, over MPI-IO, HDF5 and PnetCDF, with
 * standard calls only, so that every MPI can run it. Values are unique, and are read back and compared.
 *
 *     mpiexec -n 4 flash_io [options]
 *       --library NAME    mpi-io, and, if they were compiled in, hdf5 and pnetcdf (mpi-io)
 *       --cells N         cells of a block along each axis: 8, 16, 32 (8)
 *       --blocks B        blocks of rank 0; rank r has r % 3 more (80)
 *       --memory KIND     packed: into a buffer first; guard: each variable with its guard cells;
 *                         unk: all variables of a cell side by side, as FLASH keeps them (packed)
 *       --independent     each rank by itself, not collectively
 *       --sync            brings each file to the device before it is closed
 *       --interleave P    instead: ranks write pieces of P bytes in turn, 48 MiB each (MPI-IO)
 *       --repeat R        so often, of which the median counts (5)
 *       --file NAME       beginning of the names of the files (flash_io)
 *       --csv NAME        adds a line for each file to a table (report.py draws it)
 *       --keep            leave the files
 *       --quiet           no progress bar
 *
 * One line for each file: what, bytes of all ranks, seconds from open to close, and of them for header, variables and
 * close (each the longest of all ranks), MiB/s, and whether what was read back is right. */
#include "blocks.h"
#include "interleaved.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PHASES = 3, MOST_TURNS = 100 };
struct options options = {.cells = 8, .base_blocks = 80, .repeats = 5, .library = "mpi-io", .name = "flash_io"};
int rank, ranks;
static const struct library *library;
static const char *const kinds[] = {"checkpoint", "centred", "corner"}, *const memories[] = {"packed", "guard", "unk"};
static const char *const endings[] = {"chk_0000", "plt_cnt_0000", "plt_crn_0000"};

void fail(const char *what, const char *why)
{
    fprintf(stderr, "flash_io: rank %d: %s: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static void path_of(enum kind kind, char *path, size_t room)
{
    snprintf(path, room, "%s_%s%s%s", options.name, library->ending, endings[kind], !strcmp(library->name, "pnetcdf") ? ".nc" : "");
}

/* One file, from open to close; the seconds of each phase at this rank. */
static void write_file(enum kind kind, double phases[PHASES])
{
    char path[1000];
    double times[PHASES + 1];
    path_of(kind, path, sizeof path);
    MPI_Barrier(MPI_COMM_WORLD);
    times[0] = MPI_Wtime();
    find_offsets();
    library->create(kind, path);
    library->write_header();
    times[1] = MPI_Wtime();
    for (int number = 0; number < variables_of(kind); number++) {
        int in_place = kind == CHECKPOINT && options.memory != PACKED;
        library->write_variable(number, in_place ? NULL : pack(variable_of(kind, number), kind));
    }
    times[2] = MPI_Wtime();
    library->close();
    times[3] = MPI_Wtime();
    for (int phase = 0; phase < PHASES; phase++)
        phases[phase] = times[phase + 1] - times[phase];
}

static double bytes_of(enum kind kind)
{
    double side = side_of(kind), each = kind == CHECKPOINT ? 8 : 4;
    return variables_of(kind) * side * side * side * each * all_blocks + (68 + 12 * each) * all_blocks;
}

/* Reads the checkpoint back, as often as it was written, and compares. */
static int is_right(double *seconds)
{
    char path[1000];
    long wrong = 0, all;
    int cube = options.cells * options.cells * options.cells;
    double *back = malloc((size_t)cube * blocks * sizeof(double)), mine = 0;
    path_of(CHECKPOINT, path, sizeof path);
    for (int v = 0; v < VARIABLES; v++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        library->read_variable(path, v, back);
        mine += MPI_Wtime() - begin;
        for (int b = 0; b < blocks; b++)
            for (int i = 0; i < cube; i++)
                wrong += back[(size_t)b * cube + i] != value(v, first_block + b, i);
    }
    free(back);
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all == 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times)
{
    qsort(times, options.repeats, sizeof(double), ascending);
    return times[options.repeats / 2];
}

static void show_progress(enum kind kind, int turn)
{
    if (rank || options.quiet || !isatty(2))
        return;
    int done = 30 * (kind * (options.repeats + 1) + turn + 2) / (KINDS * (options.repeats + 1));
    fprintf(stderr, "\r%-12s [%.*s%*s]", kinds[kind], done, "##############################", 30 - done, "");
    if (done >= 30)
        fprintf(stderr, "\r%50s\r", "");
}

static void tell(enum kind kind, const double phases[PHASES], double total, int right)
{
    double rate = bytes_of(kind) / total / (1 << 20);
    const char *how = options.independent ? "independent" : "collective", *sync = options.sync ? "sync" : "-";
    printf("%-10s %-7s %-6s %s %s ranks %d cells %d: %.0f bytes %.6f s (%.6f %.6f %.6f) %.0f MiB/s %s\n", kinds[kind],
           library->name, memories[kind == CHECKPOINT ? options.memory : PACKED], how, sync, ranks, options.cells,
           bytes_of(kind), total, phases[0], phases[1], phases[2], rate, right ? "right" : "WRONG");
    fflush(stdout);
    FILE *table = options.csv ? fopen(options.csv, "a") : NULL;
    if (table) {
        fprintf(table, "%s,%s,%s,%s,%s,%d,%d,%.0f,%.6f\n", kinds[kind], library->name,
                memories[kind == CHECKPOINT ? options.memory : PACKED], how, sync, ranks, options.cells, bytes_of(kind), total);
        fclose(table);
    }
}

/* Writes one kind of file often, and tells the medians; the first turn does not count. */
static int measure(enum kind kind)
{
    double turns[PHASES + 1][MOST_TURNS], medians[PHASES + 1];
    for (int turn = -1; turn < options.repeats; turn++) {
        double mine[PHASES + 1], longest[PHASES + 1];
        write_file(kind, mine);
        mine[PHASES] = mine[0] + mine[1] + mine[2];
        MPI_Allreduce(mine, longest, PHASES + 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        for (int phase = 0; turn >= 0 && phase <= PHASES; phase++)
            turns[phase][turn] = longest[phase];
        show_progress(kind, turn);
    }
    for (int phase = 0; phase <= PHASES; phase++)
        medians[phase] = median(turns[phase]);
    double reading = 0;
    int right = kind != CHECKPOINT || is_right(&reading);
    if (rank == 0)
        tell(kind, medians, medians[PHASES], right);
    if (rank == 0 && kind == CHECKPOINT)
        printf("reading    %-7s ranks %d cells %d: %.6f s %.0f MiB/s %s\n", library->name, ranks, options.cells, reading,
               bytes_of(kind) / reading / (1 << 20), right ? "right" : "WRONG");
    return right;
}

static const struct library *find_library(void)
{
    const struct library *known[] = {
        &mpi_io,
#ifdef WITH_HDF5
        &hdf5,
#endif
#ifdef WITH_PNETCDF
        &pnetcdf,
#endif
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i]->name, options.library))
            return known[i];
    fail("--library", "this program was not compiled with that one");
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        int *flag = !strcmp(argv[i], "--independent") ? &options.independent : !strcmp(argv[i], "--sync") ? &options.sync :
                    !strcmp(argv[i], "--keep") ? &options.keep : !strcmp(argv[i], "--quiet") ? &options.quiet : NULL;
        int *number = !strcmp(argv[i], "--cells") ? &options.cells : !strcmp(argv[i], "--blocks") ? &options.base_blocks :
                      !strcmp(argv[i], "--interleave") ? &options.interleave : !strcmp(argv[i], "--repeat") ? &options.repeats : NULL;
        const char **text = !strcmp(argv[i], "--library") ? &options.library : !strcmp(argv[i], "--file") ? &options.name :
                            !strcmp(argv[i], "--csv") ? &options.csv : NULL;
        if (flag)
            *flag = 1;
        else if (number)
            *number = atoi(next), i++;
        else if (text)
            *text = next, i++;
        else if (!strcmp(argv[i], "--memory") && !strcmp(next, "packed"))
            options.memory = PACKED, i++;
        else if (!strcmp(argv[i], "--memory") && !strcmp(next, "guard"))
            options.memory = GUARDED, i++;
        else if (!strcmp(argv[i], "--memory") && !strcmp(next, "unk"))
            options.memory = UNK, i++;
        else
            fail(argv[i], "no such option; they are explained at the top of flash_io.c");
    }
    if (options.repeats < 1 || options.repeats > MOST_TURNS || options.cells < 1 || options.base_blocks < 1)
        fail("--cells, --blocks, --repeat", "must be at least 1, and --repeat at most 100");
}

int main(int argc, char **argv)
{
    int right = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    read_options(argc, argv);
    library = find_library();
    if (options.interleave) {
        right = measure_interleaved();
    } else {
        make_blocks();
        for (enum kind kind = CHECKPOINT; kind < KINDS; kind++)
            right &= measure(kind);
        for (enum kind kind = CHECKPOINT; kind < KINDS && rank == 0 && !options.keep; kind++) {
            char path[1000];
            path_of(kind, path, sizeof path);
            remove(path);
        }
    }
    MPI_Finalize();
    return !right;
}
