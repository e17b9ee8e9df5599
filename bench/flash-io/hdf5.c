/* The files over parallel HDF5, dataset by dataset, as FLASH 2 and 3 write them. */
#include "blocks.h"
#include <hdf5.h>
#include <string.h>

static hid_t file, access_list, independent, collective;
static enum kind kind;

static hid_t must(hid_t id, const char *what)
{
    if (id < 0)
        fail(what, "HDF5 says why above");
    return id;
}

static void create(enum kind of, const char *path)
{
    kind = of;
    access_list = must(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
    must(H5Pset_fapl_mpio(access_list, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    must(H5Pset_alignment(access_list, 524288, 262144), "H5Pset_alignment");
    independent = must(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
    collective = must(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
    if (!options.independent)
        must(H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
    file = must(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access_list), "H5Fcreate");
}

/* A dataset of all ranks, of which each writes its part; `sizes[0]` counts the blocks of all. */
static void write_part(const char *name, hid_t type, int rank_of, const hsize_t *sizes, hid_t in_memory, hid_t memory_type, hid_t how, const void *data)
{
    hsize_t start[4] = {first_block}, count[4];
    memcpy(count, sizes, rank_of * sizeof *sizes);
    count[0] = blocks;
    hid_t space = must(H5Screate_simple(rank_of, sizes, NULL), "H5Screate_simple");
    hid_t set = must(H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Dcreate");
    hid_t part = in_memory >= 0 ? in_memory : must(H5Screate_simple(rank_of, count, NULL), "H5Screate_simple");
    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL), "H5Sselect_hyperslab");
    must(H5Dwrite(set, memory_type, part, space, how, data), "H5Dwrite");
    if (in_memory < 0)
        H5Sclose(part);
    H5Dclose(set);
    H5Sclose(space);
}

/* A dataset that rank 0 writes. */
static void write_alone(const char *name, hid_t type, int rank_of, const hsize_t *sizes, const void *data)
{
    hid_t space = must(H5Screate_simple(rank_of, sizes, NULL), "H5Screate_simple");
    hid_t set = must(H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Dcreate");
    if (rank == 0)
        must(H5Dwrite(set, type, H5S_ALL, H5S_ALL, independent, data), "H5Dwrite");
    H5Dclose(set);
    H5Sclose(space);
}

static hid_t text_type(size_t length)
{
    hid_t type = must(H5Tcopy(H5T_C_S1), "H5Tcopy");
    H5Tset_size(type, length);
    return type;
}

struct parameters {
    int total_blocks;
    double time, timestep;
    int steps, cells[3];
};

static void write_parameters(void)
{
    struct parameters parameters = {all_blocks, 0.0, 0.0, 0, {side_of(kind), side_of(kind), side_of(kind)}};
    hid_t real = kind == CHECKPOINT ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    hid_t type = must(H5Tcreate(H5T_COMPOUND, sizeof parameters), "H5Tcreate");
    const char *cells[] = {"nxb", "nyb", "nzb"};
    H5Tinsert(type, "total blocks", offsetof(struct parameters, total_blocks), H5T_NATIVE_INT);
    H5Tinsert(type, "time", offsetof(struct parameters, time), real);
    H5Tinsert(type, "timestep", offsetof(struct parameters, timestep), real);
    H5Tinsert(type, "number of steps", offsetof(struct parameters, steps), H5T_NATIVE_INT);
    for (int axis = 0; axis < AXES; axis++)
        H5Tinsert(type, cells[axis], offsetof(struct parameters, cells) + axis * sizeof(int), H5T_NATIVE_INT);
    write_alone("simulation parameters", type, 1, (hsize_t[]){1}, &parameters);
    H5Tclose(type);
}

static void write_texts(void)
{
    char when[40] = "now", version[20] = "FLASH-IO of Serried", text[VARIABLES][4];
    hid_t type = text_type(sizeof when);
    write_alone("file creation time", type, 1, (hsize_t[]){1}, when);
    H5Tclose(type);
    type = text_type(sizeof version);
    write_alone("FLASH version", type, 1, (hsize_t[]){1}, version);
    H5Tclose(type);
    write_parameters();
    for (int number = 0; number < variables_of(kind); number++)
        memcpy(text[number], names[variable_of(kind, number)], 4);
    type = text_type(4);
    write_alone("unknown names", type, 2, (hsize_t[]){variables_of(kind), 1}, text);
    H5Tclose(type);
}

static void write_header(void)
{
    hsize_t all = all_blocks;
    hid_t real = kind == CHECKPOINT ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    write_texts();
    write_part("refine level", H5T_NATIVE_INT, 1, (hsize_t[]){all}, -1, H5T_NATIVE_INT, independent, refine_level);
    write_part("node type", H5T_NATIVE_INT, 1, (hsize_t[]){all}, -1, H5T_NATIVE_INT, independent, node_type);
    write_part("gid", H5T_NATIVE_INT, 2, (hsize_t[]){all, NEIGHBOURS}, -1, H5T_NATIVE_INT, independent, gid);
    write_part("coordinates", real, 2, (hsize_t[]){all, AXES}, -1, H5T_NATIVE_DOUBLE, independent, coordinates);
    write_part("block size", real, 2, (hsize_t[]){all, AXES}, -1, H5T_NATIVE_DOUBLE, independent, block_size);
    write_part("bounding box", real, 3, (hsize_t[]){all, AXES, 2}, -1, H5T_NATIVE_DOUBLE, independent, bounding_box);
}

/* The interior of a variable in memory, as a hyperslab; for `unk` the variables of a cell are a dimension of their own. */
static hid_t interior(int number)
{
    hsize_t w = wide(), n = options.cells;
    hsize_t sizes[] = {blocks, w, w, w, VARIABLES}, start[] = {0, GUARD, GUARD, GUARD, number}, count[] = {blocks, n, n, n, 1};
    hid_t space = must(H5Screate_simple(unk ? 5 : 4, sizes, NULL), "H5Screate_simple");
    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL), "H5Sselect_hyperslab");
    return space;
}

static void write_variable(int number, const void *packed)
{
    hsize_t side = side_of(kind), sizes[] = {all_blocks, side, side, side};
    hid_t type = kind == CHECKPOINT ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    hid_t memory = packed ? -1 : interior(number);
    const void *from = packed ? packed : unk ? (const void *)unk : place_of(number);
    write_part(names[variable_of(kind, number)], type, 4, sizes, memory, type, collective, from);
    if (memory >= 0)
        H5Sclose(memory);
}

static void close_file(void)
{
    if (options.sync)
        must(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
    must(H5Fclose(file), "H5Fclose");
    H5Pclose(access_list);
    H5Pclose(independent);
    H5Pclose(collective);
}

static void read_variable(const char *path, int number, double *back)
{
    hid_t list = must(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate"), how = must(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
    hsize_t n = options.cells, start[] = {first_block, 0, 0, 0}, count[] = {blocks, n, n, n};
    must(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    must(H5Pset_dxpl_mpio(how, options.independent ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
    hid_t from = must(H5Fopen(path, H5F_ACC_RDONLY, list), "H5Fopen");
    hid_t set = must(H5Dopen2(from, names[number], H5P_DEFAULT), "H5Dopen");
    hid_t space = must(H5Dget_space(set), "H5Dget_space"), memory = must(H5Screate_simple(4, count, NULL), "H5Screate_simple");
    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL), "H5Sselect_hyperslab");
    must(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, how, back), "H5Dread");
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(from);
    H5Pclose(how);
    H5Pclose(list);
}

const struct library hdf5 = {"hdf5", create, write_header, write_variable, close_file, read_variable, "hdf5_"};
