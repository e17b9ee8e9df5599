/* Operations of the sweep on windows. A call is a whole epoch: the program writes its data, opens access, moves data,
 * closes access, and the target reads what has come.
 *
 * The runner writes such a cell as a line `OPERATION BYTES WINDOW TOUCHED SYNCHRONISATION LAYOUT PARTS WHERE`. With an
 * active epoch the target knows from the epoch when it may read. With a passive one a barrier tells it, if the data are
 * touched at all. Calls use two halves of the window in turn, so nobody writes where somebody still reads.
 */
#ifndef SWEEP_WINDOWS_H
#define SWEEP_WINDOWS_H

#include "sweep.h"

#define WORLD MPI_COMM_WORLD
#define MOST_PARTS 8

/* Where the memory of a window comes from. */
enum window_kind { CREATE, CREATE_STATIC, ALLOCATE, SHARED, DYNAMIC };
/* How access to it is opened and closed. With a flush the locks of all are held for the whole batch. */
enum synchronisation { FENCE, LOCK, LOCK_SHARED, FLUSH, FLUSH_LOCAL, POST };
/* How elements lie at the target; with VECTOR_BOTH and INDEXED_BOTH at the origin, too. */
enum layout { BYTES, INTS, DOUBLES, VECTOR, VECTOR_BOTH, INDEXED, INDEXED_BOTH };
/* Whom a rank accesses: the next one, or all the first one at the same place. */
enum where { NEXT, ALL_FIRST };

static const char *const kind_names[] = {"create", "static", "allocate", "shared", "dynamic", NULL};
static const char *const synchronisation_names[] = {"fence", "lock", "lock_shared", "flush", "flush_local", "post", NULL};
static const char *const layout_names[] = {"bytes", "ints", "doubles", "vector", "vector_both", "indexed", "indexed_both", NULL};
static const char *const where_names[] = {"next", "first", NULL};

static struct {
    MPI_Win win;
    char *memory;
    MPI_Aint *addresses; /* of each rank's memory, for dynamic windows */
    MPI_Group origins, targets;
    MPI_Datatype element, origin_type, target_type;
    int origin_count, target_count; /* of a part */
    int size;                       /* bytes of an element */
    long elements;                  /* of a part */
    long span;                      /* elements of a part, with gaps */
    long half;                      /* bytes of all parts, with gaps */
    int target;
    char *out, *in, *comparand;
} window;

static int is_spread(void) { return cell.layout >= VECTOR; }
static int is_spread_at_origin(void) { return cell.layout == VECTOR_BOTH || cell.layout == INDEXED_BOTH; }
static int is_passive(void) { return cell.synchronisation != FENCE && cell.synchronisation != POST; }

/* Blocks of a vector. They are as far from each other as they are long. */
static long block_of_vector(void) { return 1 + cell.bytes % 61; }

/* Blocks of 1, 2 and 3 elements in turn, at places that repeat every ten elements. */
static const int index_lengths[] = {1, 2, 3}, index_places[] = {0, 2, 6};

/* Where an element of a part lies, in elements. */
static long place_of(long element, int spread)
{
    static const int places[] = {0, 2, 3, 6, 7, 8};
    long block = block_of_vector();
    if (!spread)
        return element;
    if (cell.layout <= VECTOR_BOTH)
        return element / block * 2 * block + element % block;
    return element / 6 * 10 + places[element % 6];
}

static MPI_Datatype spread_elements(void)
{
    MPI_Datatype type;
    long block = block_of_vector();
    if (cell.layout <= VECTOR_BOTH) {
        MPI_Type_vector(window.elements / block, block, 2 * block, window.element, &type);
    } else {
        long blocks = window.elements / 2;
        int *lengths = malloc(2 * blocks * sizeof *lengths), *places = lengths + blocks;
        for (long i = 0; i < blocks; i++)
            lengths[i] = index_lengths[i % 3], places[i] = i / 3 * 10 + index_places[i % 3];
        MPI_Type_indexed(blocks, lengths, places, window.element, &type);
        free(lengths);
    }
    MPI_Type_commit(&type);
    return type;
}

/* How many elements a part has, of which type, and how they lie. */
static void lay_out(int is_integer, int is_one)
{
    int is_double = cell.layout == DOUBLES || cell.layout == VECTOR || cell.layout == VECTOR_BOTH;
    long unit = !is_spread() ? 1 : cell.layout <= VECTOR_BOTH ? block_of_vector() : 6;
    window.size = cell.layout == BYTES ? 1 : is_double ? 8 : 4;
    window.element = cell.layout == BYTES ? MPI_SIGNED_CHAR : !is_double ? MPI_INT : is_integer ? MPI_INT64_T : MPI_DOUBLE;
    window.elements = is_one ? 1 : cell.bytes / window.size / cell.parts / unit * unit;
    if (window.elements < unit)
        window.elements = unit;
    window.span = place_of(window.elements - 1, is_spread()) + 1;
    window.span = (window.span + 7) & ~7L; /* parts begin as aligned as a program's own arrays */
    window.half = window.span * window.size * cell.parts;
    window.origin_type = window.target_type = window.element;
    window.origin_count = window.target_count = window.elements;
    if (is_spread())
        window.target_type = spread_elements(), window.target_count = 1;
    if (is_spread_at_origin())
        window.origin_type = window.target_type, window.origin_count = 1;
}

/* A window of so many bytes, with displacements in bytes. */
static void open_window(long bytes)
{
    static char statics[LARGEST_STATIC] __attribute__((aligned(64))) = {1};
    MPI_Aint mine;
    if (cell.kind == ALLOCATE)
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, WORLD, &window.memory, &window.win);
    else if (cell.kind == SHARED)
        MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, WORLD, &window.memory, &window.win);
    else
        window.memory = cell.kind == CREATE_STATIC && bytes <= LARGEST_STATIC ? statics : malloc(bytes);
    memset(window.memory, 0, bytes);
    if (cell.kind == CREATE || cell.kind == CREATE_STATIC)
        MPI_Win_create(window.memory, bytes, 1, MPI_INFO_NULL, WORLD, &window.win);
    if (cell.kind == DYNAMIC) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &window.win);
        MPI_Win_attach(window.win, window.memory, bytes);
        window.addresses = malloc(ranks * sizeof *window.addresses);
        MPI_Get_address(window.memory, &mine);
        MPI_Allgather(&mine, 1, MPI_AINT, window.addresses, 1, MPI_AINT, WORLD);
    }
}

static void close_window(long bytes)
{
    if (cell.kind == DYNAMIC) {
        MPI_Barrier(WORLD); /* nobody else is at it any more */
        MPI_Win_detach(window.win, window.memory);
        free(window.addresses);
    }
    MPI_Win_free(&window.win);
    if (cell.kind == CREATE || cell.kind == DYNAMIC || (cell.kind == CREATE_STATIC && bytes > LARGEST_STATIC))
        free(window.memory);
}

/* The displacement of a part in the half of this call. */
static MPI_Aint displacement(int part)
{
    MPI_Aint offset = (call & 1) * window.half + part * window.span * window.size;
    return cell.kind == DYNAMIC ? MPI_Aint_add(window.addresses[window.target], offset) : offset;
}

/* The half of the own memory that this call uses. */
static char *own_half(void) { return window.memory + (call & 1) * window.half; }

static void open_access(void)
{
    if (cell.synchronisation == LOCK)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, window.target, 0, window.win);
    else if (cell.synchronisation == LOCK_SHARED)
        MPI_Win_lock(MPI_LOCK_SHARED, window.target, 0, window.win);
    else if (cell.synchronisation == POST) {
        MPI_Win_post(window.origins, 0, window.win);
        MPI_Win_start(window.targets, 0, window.win);
    }
}

static void close_access(void)
{
    if (cell.synchronisation == FENCE)
        MPI_Win_fence(0, window.win);
    else if (cell.synchronisation == POST) {
        MPI_Win_complete(window.win);
        MPI_Win_wait(window.win);
    } else if (cell.synchronisation == FLUSH)
        MPI_Win_flush(window.target, window.win);
    else if (cell.synchronisation == FLUSH_LOCAL)
        MPI_Win_flush_local(window.target, window.win);
    else
        MPI_Win_unlock(window.target, window.win);
}

/* All that ranks did by passive epochs so far can be read, and what they wrote to their own memory can be got. */
static void settle(void)
{
    if (cell.synchronisation == FLUSH_LOCAL)
        MPI_Win_flush(window.target, window.win);
    if (cell.synchronisation == LOCK || cell.synchronisation == LOCK_SHARED) {
        MPI_Barrier(WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window.win);
        MPI_Win_unlock(rank, window.win);
        return;
    }
    MPI_Win_sync(window.win);
    MPI_Barrier(WORLD);
    MPI_Win_sync(window.win);
}

/* The program writes elements: 0 or 1, by the call, whatever their type. */
static void write_elements(char *data, long bytes)
{
    if (cell.touched == ONE_BYTE)
        data[bytes / 2 / window.size * window.size] = 0;
    if (cell.touched != ALL)
        return;
    for (long i = 0; i < bytes / window.size; i++)
        if (window.size == 1)
            data[i] = call & 1;
        else if (window.size == 4)
            ((int *)data)[i] = call & 1;
        else if (window.element == MPI_DOUBLE)
            ((double *)data)[i] = call & 1;
        else
            ((int64_t *)data)[i] = call & 1;
}

#endif
