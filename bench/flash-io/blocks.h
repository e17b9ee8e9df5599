/* What one rank has of a FLASH run, and how it is packed. */
#ifndef BLOCKS_H
#define BLOCKS_H
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { GUARD = 4, VARIABLES = 24, PLOTTED = 4, NEIGHBOURS = 15, AXES = 3 };
enum kind { CHECKPOINT, CENTRED, CORNER, KINDS };
enum memory { PACKED, GUARDED, UNK };

/* What the command line says. */
struct options {
    int cells, base_blocks, repeats, independent, sync, keep, interleave, quiet;
    enum memory memory;
    const char *library, *name, *csv;
};
extern struct options options;

/* The blocks of this rank. */
extern int rank, ranks, blocks, first_block, all_blocks;
extern double *unk, *guarded;
extern const char *const names[VARIABLES];
extern const int plotted[PLOTTED];

/* The tree, one entry for each block. */
extern int *refine_level, *node_type, *gid;
extern double *coordinates, *block_size, *bounding_box;

static inline int wide(void) { return options.cells + 2 * GUARD; }
static inline int side_of(enum kind kind) { return options.cells + (kind == CORNER); }
/* Variables of a file, and which is the n-th. */
static inline int variables_of(enum kind kind) { return kind == CHECKPOINT ? VARIABLES : PLOTTED; }
static inline int variable_of(enum kind kind, int number) { return kind == CHECKPOINT ? number : plotted[number]; }

void make_blocks(void);
/* Where blocks of this rank begin, by an allgather: part of the time of each file. */
void find_offsets(void);
/* A value that occurs once in a checkpoint; `block` counts those of all ranks. */
double value(int variable, int block, int cell);
/* The interior of a variable in one piece: doubles for a checkpoint, floats for a plot file. */
void *pack(int variable, enum kind kind);
/* Where a variable lies in memory, and the type of the interior of all its blocks there; for other memory than PACKED. */
void *place_of(int variable);
MPI_Datatype interior_type(void);

/* A way to write the files, and to read a variable back. */
struct library {
    const char *name;
    void (*create)(enum kind kind, const char *path);
    void (*write_header)(void);
    void (*write_variable)(int number, const void *packed);
    void (*close)(void);
    /* All blocks of this rank of a variable of a checkpoint. */
    void (*read_variable)(const char *path, int number, double *back);
    const char *ending;
};
extern const struct library mpi_io, hdf5, pnetcdf;

_Noreturn void fail(const char *what, const char *why);
#define MPI_MUST(call)                                   \
    do {                                                 \
        int code_ = (call);                              \
        if (code_ != MPI_SUCCESS) {                      \
            char text_[MPI_MAX_ERROR_STRING];            \
            int length_;                                 \
            MPI_Error_string(code_, text_, &length_);    \
            fail(#call, text_);                          \
        }                                                \
    } while (0)
#endif
