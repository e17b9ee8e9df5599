/* The files over PnetCDF: nonblocking puts and one wait for all, or a put for each variable where each rank is by itself. */
#include "blocks.h"
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TREE = 6, MOST = TREE + VARIABLES };
static int file, ids[MOST];
static enum kind kind;
static void *kept[MOST]; /* packed data that a nonblocking put still needs */
static int number_kept;

static void must(int code, const char *what)
{
    if (code != NC_NOERR)
        fail(what, ncmpi_strerror(code));
}

static void define_dimensions(int dimensions[7])
{
    int side = side_of(kind);
    const char *of[] = {"dim_tot_blocks", "dim_nzb", "dim_nyb", "dim_nxb", "dim_NGID", "dim_NDIM", "dim_2"};
    int sizes[] = {all_blocks, side, side, side, NEIGHBOURS, AXES, 2};
    for (int i = 0; i < 7; i++)
        must(ncmpi_def_dim(file, of[i], sizes[i], &dimensions[i]), "ncmpi_def_dim");
}

static void define_variables(void)
{
    int d[7];
    define_dimensions(d);
    nc_type real = kind == CHECKPOINT ? NC_DOUBLE : NC_FLOAT;
    must(ncmpi_def_var(file, "lrefine", NC_INT, 1, d, &ids[0]), "ncmpi_def_var");
    must(ncmpi_def_var(file, "nodetype", NC_INT, 1, d, &ids[1]), "ncmpi_def_var");
    must(ncmpi_def_var(file, "gid", NC_INT, 2, (int[]){d[0], d[4]}, &ids[2]), "ncmpi_def_var");
    must(ncmpi_def_var(file, "coordinates", real, 2, (int[]){d[0], d[5]}, &ids[3]), "ncmpi_def_var");
    must(ncmpi_def_var(file, "blocksize", real, 2, (int[]){d[0], d[5]}, &ids[4]), "ncmpi_def_var");
    must(ncmpi_def_var(file, "bndbox", real, 3, (int[]){d[0], d[5], d[6]}, &ids[5]), "ncmpi_def_var");
    for (int number = 0; number < variables_of(kind); number++) {
        char name[5] = {0};
        memcpy(name, names[variable_of(kind, number)], 4);
        for (char *letter = name; *letter; letter++)
            *letter = *letter == ' ' ? '_' : *letter;
        must(ncmpi_def_var(file, name, real, 4, d, &ids[TREE + number]), "ncmpi_def_var");
    }
}

static void define_attributes(void)
{
    const char *cells[] = {"nxb", "nyb", "nzb"};
    int side = side_of(kind), zero = 0;
    double time = 0;
    must(ncmpi_put_att_text(file, NC_GLOBAL, "file_creation_time", 3, "now"), "ncmpi_put_att_text");
    must(ncmpi_put_att_text(file, NC_GLOBAL, "flash_version", 19, "FLASH-IO of Serried"), "ncmpi_put_att_text");
    must(ncmpi_put_att_int(file, NC_GLOBAL, "total_blocks", NC_INT, 1, &all_blocks), "ncmpi_put_att_int");
    must(ncmpi_put_att_int(file, NC_GLOBAL, "nsteps", NC_INT, 1, &zero), "ncmpi_put_att_int");
    for (int axis = 0; axis < AXES; axis++)
        must(ncmpi_put_att_int(file, NC_GLOBAL, cells[axis], NC_INT, 1, &side), "ncmpi_put_att_int");
    must(ncmpi_put_att_double(file, NC_GLOBAL, "time", NC_DOUBLE, 1, &time), "ncmpi_put_att_double");
}

static void create(enum kind of, const char *path)
{
    MPI_Info hints;
    kind = of;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "romio_no_indep_rw", options.independent ? "false" : "true");
    MPI_Info_set(hints, "romio_ds_write", "disable");
    MPI_Info_set(hints, "nc_var_align_size", "1");
    must(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, hints, &file), "ncmpi_create");
    MPI_Info_free(&hints);
    define_variables();
    define_attributes();
    must(ncmpi_enddef(file), "ncmpi_enddef");
    number_kept = 0;
    if (options.independent)
        must(ncmpi_begin_indep_data(file), "ncmpi_begin_indep_data");
}

/* Puts the part of this rank: now, if each rank is by itself, else with all others at the end. */
static void put(int id, int dimensions, MPI_Offset side, const void *data, MPI_Offset count, MPI_Datatype type)
{
    MPI_Offset start[4] = {first_block}, counts[4] = {blocks, side, side, side};
    if (id < TREE)
        counts[1] = id == 2 ? NEIGHBOURS : AXES, counts[2] = 2;
    (void)dimensions;
    if (options.independent)
        must(ncmpi_put_vara(file, ids[id], start, counts, data, count, type), "ncmpi_put_vara");
    else
        must(ncmpi_iput_vara(file, ids[id], start, counts, data, count, type, NULL), "ncmpi_iput_vara");
}

static void write_header(void)
{
    put(0, 1, 0, refine_level, blocks, MPI_INT);
    put(1, 1, 0, node_type, blocks, MPI_INT);
    put(2, 2, 0, gid, (MPI_Offset)blocks * NEIGHBOURS, MPI_INT);
    put(3, 2, 0, coordinates, (MPI_Offset)blocks * AXES, MPI_DOUBLE);
    put(4, 2, 0, block_size, (MPI_Offset)blocks * AXES, MPI_DOUBLE);
    put(5, 3, 0, bounding_box, (MPI_Offset)blocks * AXES * 2, MPI_DOUBLE);
}

static void write_variable(int number, const void *packed)
{
    MPI_Offset side = side_of(kind), count = side * side * side * blocks;
    MPI_Datatype type = kind == CHECKPOINT ? MPI_DOUBLE : MPI_FLOAT;
    if (!packed) {
        MPI_Datatype interior = interior_type();
        put(TREE + number, 4, side, place_of(number), 1, interior);
        MPI_Type_free(&interior);
        return;
    }
    if (!options.independent) { /* the buffer is packed anew before all is written */
        size_t bytes = count * (kind == CHECKPOINT ? sizeof(double) : sizeof(float));
        packed = memcpy(kept[number_kept++] = malloc(bytes), packed, bytes);
    }
    put(TREE + number, 4, side, packed, count, type);
}

static void close_file(void)
{
    if (options.independent)
        must(ncmpi_end_indep_data(file), "ncmpi_end_indep_data");
    else
        must(ncmpi_wait_all(file, NC_REQ_ALL, NULL, NULL), "ncmpi_wait_all");
    while (number_kept > 0)
        free(kept[--number_kept]);
    if (options.sync)
        must(ncmpi_sync(file), "ncmpi_sync");
    must(ncmpi_close(file), "ncmpi_close");
}

static void read_variable(const char *path, int number, double *back)
{
    MPI_Offset n = options.cells, start[4] = {first_block}, counts[4] = {blocks, n, n, n};
    must(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), "ncmpi_open");
    must(ncmpi_get_vara_double_all(file, TREE + number, start, counts, back), "ncmpi_get_vara_double_all");
    must(ncmpi_close(file), "ncmpi_close");
}

const struct library pnetcdf = {"pnetcdf", create, write_header, write_variable, close_file, read_variable, "ncmpi_"};
