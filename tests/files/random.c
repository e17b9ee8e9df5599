/* random FOLDER SEED OPERATIONS: random operations on a file, compared with a model that every rank keeps.
 *
 * All ranks throw the same dice, so each knows what all do: the model is the file's bytes, changed one operation after the
 * other. A view deals the bytes of a tile out to ranks and to nobody, so that what ranks write at once does not overlap; for
 * shared pointers all have the same view. Values depend on operation, rank and place. What is read is compared, also its
 * length at the end of the file and the gaps in memory. The file is closed and opened again with other hints and in other
 * modes. At the end every rank compares the whole file. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, RANKS = 16, PIECES = 24, BUFFER = 4096, ROOM = 6 * BUFFER };
struct view {
    int number, size, extent, at[PIECES], length[PIECES];
};
static int rank, size, is_common, unit, displacement;
static struct view views[RANKS];
static unsigned char model[MOST], memory[ROOM], packed[BUFFER];
static long end, pointer[RANKS], shared, operation;
static uint64_t dice;
static MPI_File file;
static char path[4096];

static long below(long limit)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (long)((dice >> 33) % (uint64_t)limit);
}

static void wrong(const char *what, long found, long wanted)
{
    fprintf(stderr, "rank %d, operation %ld: %s is %ld, not %ld\n", rank, operation, what, found, wanted);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void must(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d, operation %ld: %s: %s\n", rank, operation, what, text);
    MPI_Abort(MPI_COMM_WORLD, 3);
}
#define MUST(call) must(call, #call)

/* Where a byte of a rank's view lies in the file. */
static long offset_of(int who, long position)
{
    const struct view *view = &views[who];
    long tile = position / view->size, inside = position % view->size;
    int piece = 0;
    while (inside >= view->length[piece])
        inside -= view->length[piece++];
    return displacement + tile * view->extent + view->at[piece] + inside;
}

static unsigned char value(int who, long place) { return (unsigned char)(operation * 31 + who * 67 + place * 7 + 1); }

static void add(struct view *view, int at, int length)
{
    int last = view->number - 1;
    if (last >= 0 && view->at[last] + view->length[last] == at) {
        view->length[last] += length;
    } else if (view->number < PIECES) {
        view->at[view->number] = at;
        view->length[view->number++] = length;
    } else {
        return;
    }
    view->size += length;
}

/* Deals a tile out. */
static void deal(void)
{
    int at = 0, owners = size + (below(2) == 0);
    memset(views, 0, sizeof views);
    unit = below(3) ? 1 : 4;
    displacement = (int)below(300);
    is_common = below(3) == 0;
    for (int left = 1 + (int)below(20); left > 0; left--) {
        int length = unit * (1 + (int)below(below(10) ? 9 : 200)), owner = (int)below(owners);
        for (int who = 0; who < size; who++)
            if (is_common ? owner == 0 : owner == who)
                add(&views[who], at, length);
        at += length;
    }
    for (int who = 0; who < size; who++) /* nobody has nothing */
        if (views[who].size == 0)
            add(&views[who], at, unit), at += is_common ? 0 : unit;
    at += is_common ? unit : 0;
    at += unit * (int)below(4);
    for (int who = 0; who < size; who++) {
        views[who].extent = at;
        pointer[who] = 0;
    }
    shared = 0;
}

static void set_view(void)
{
    const struct view *view = &views[rank];
    MPI_Datatype pieces, tile, etype = unit == 1 ? MPI_BYTE : MPI_INT;
    int at[PIECES], length[PIECES];
    for (int i = 0; i < view->number; i++) {
        at[i] = view->at[i];
        length[i] = view->length[i] / unit;
    }
    MPI_Aint places[PIECES];
    for (int i = 0; i < view->number; i++)
        places[i] = at[i];
    MPI_Type_create_hindexed(view->number, length, places, etype, &pieces);
    MPI_Type_create_resized(pieces, 0, view->extent, &tile);
    MPI_Type_commit(&tile);
    MUST(MPI_File_set_view(file, displacement, etype, tile, "native", MPI_INFO_NULL));
    MPI_Type_free(&pieces);
    MPI_Type_free(&tile);
}

static void open_file(int create)
{
    static const char *const together[] = {"automatic", "enable", "disable"}, *const windows[] = {"4096", "65536", "1048576"};
    static const char *const units[] = {"1000", "4096", "65536"}, *const numbers[] = {"1", "3", "8"};
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", together[below(3)]);
    MPI_Info_set(info, "cb_buffer_size", windows[below(3)]);
    if (below(2))
        MPI_Info_set(info, "striping_unit", units[below(3)]);
    MPI_Info_set(info, "striping_factor", numbers[below(3)]);
    if (below(3) == 0)
        MPI_Info_set(info, "cb_nodes", numbers[below(2)]);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | (create ? MPI_MODE_CREATE : 0), info, &file));
    MPI_Info_free(&info);
    MUST(MPI_File_set_atomicity(file, below(8) == 0));
    deal();
    set_view();
}

/* A type of memory: items of some bytes, with or without gaps. */
static MPI_Datatype memory_type(int *item, int *stride)
{
    MPI_Datatype dense, type;
    *item = unit * (1 + (int)below(3));
    *stride = below(2) ? *item : *item + (int)below(5);
    MPI_Type_contiguous(*item, MPI_BYTE, &dense);
    MPI_Type_create_resized(dense, 0, *stride, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&dense);
    return type;
}

/* The ways to move data; those from IN_ORDER on need a common view. */
enum way { AT, ALL_AT, OWN, ALL, NONBLOCKING_AT, NONBLOCKING_ALL, SPLIT_AT, SPLIT, IN_ORDER, SPLIT_IN_ORDER, SHARED, WAYS };

static void move(int writes, enum way way, long offset, int count, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request;
    void *b = memory;
    switch (way) {
    case AT: MUST(writes ? MPI_File_write_at(file, offset, b, count, type, status) : MPI_File_read_at(file, offset, b, count, type, status)); break;
    case ALL_AT: MUST(writes ? MPI_File_write_at_all(file, offset, b, count, type, status) : MPI_File_read_at_all(file, offset, b, count, type, status)); break;
    case OWN: MUST(writes ? MPI_File_write(file, b, count, type, status) : MPI_File_read(file, b, count, type, status)); break;
    case ALL: MUST(writes ? MPI_File_write_all(file, b, count, type, status) : MPI_File_read_all(file, b, count, type, status)); break;
    case SHARED: MUST(writes ? MPI_File_write_shared(file, b, count, type, status) : MPI_File_read_shared(file, b, count, type, status)); break;
    case IN_ORDER: MUST(writes ? MPI_File_write_ordered(file, b, count, type, status) : MPI_File_read_ordered(file, b, count, type, status)); break;
    case NONBLOCKING_AT:
        MUST(writes ? MPI_File_iwrite_at(file, offset, b, count, type, &request) : MPI_File_iread_at(file, offset, b, count, type, &request));
        MUST(MPI_Wait(&request, status));
        break;
    case NONBLOCKING_ALL:
        MUST(writes ? MPI_File_iwrite_at_all(file, offset, b, count, type, &request) : MPI_File_iread_at_all(file, offset, b, count, type, &request));
        MUST(MPI_Wait(&request, status));
        break;
    case SPLIT_AT:
        MUST(writes ? MPI_File_write_at_all_begin(file, offset, b, count, type) : MPI_File_read_at_all_begin(file, offset, b, count, type));
        MUST(writes ? MPI_File_write_at_all_end(file, b, status) : MPI_File_read_at_all_end(file, b, status));
        break;
    case SPLIT:
        MUST(writes ? MPI_File_write_all_begin(file, b, count, type) : MPI_File_read_all_begin(file, b, count, type));
        MUST(writes ? MPI_File_write_all_end(file, b, status) : MPI_File_read_all_end(file, b, status));
        break;
    default:
        MUST(writes ? MPI_File_write_ordered_begin(file, b, count, type) : MPI_File_read_ordered_begin(file, b, count, type));
        MUST(writes ? MPI_File_write_ordered_end(file, b, status) : MPI_File_read_ordered_end(file, b, status));
    }
}

/* What one rank moves: where it begins in bytes of its view, and how many bytes. */
struct part {
    long position, bytes;
};

/* Settles the parts of all ranks, and moves the pointers on. Reading by pointers may go beyond the end. */
static void settle(enum way way, int item, struct part parts[RANKS])
{
    long most = (BUFFER / item) / (way == SHARED ? 8 : 1), same = below(1 + below(most));
    for (int who = 0; who < size; who++) {
        struct part *part = &parts[who];
        part->bytes = item * (way == SHARED ? same : below(1 + below(most)));
        if (way == OWN || way == ALL || way == SPLIT) {
            part->position = pointer[who];
            pointer[who] += part->bytes;
        } else if (way >= IN_ORDER) {
            part->position = shared;
            shared += part->bytes;
        } else {
            part->position = unit * below(60);
        }
    }
}

static int fits(const struct part parts[RANKS])
{
    for (int who = 0; who < size; who++)
        if (offset_of(who, parts[who].position + parts[who].bytes) >= MOST)
            return 0;
    return 1;
}

/* Pointers that went too far begin anew. */
static void rewind_all(void)
{
    deal();
    set_view();
}

static void write_something(enum way way, MPI_Datatype type, int item, int stride, const struct part parts[RANKS])
{
    MPI_Status status;
    int moved, count = (int)(parts[rank].bytes / item);
    for (int who = 0; who < size; who++)
        for (long i = 0; i < parts[who].bytes; i++) {
            long offset = offset_of(who, parts[who].position + i);
            /* in any order: all write the same */
            model[offset] = way == SHARED ? value(0, i) : value(who, i);
            end = offset + 1 > end ? offset + 1 : end;
        }
    for (long i = 0; i < parts[rank].bytes; i++)
        memory[i / item * stride + i % item] = way == SHARED ? value(0, i) : value(rank, i);
    move(1, way, parts[rank].position / unit, count, type, &status);
    MPI_Get_count(&status, MPI_BYTE, &moved);
    if (moved != parts[rank].bytes)
        wrong("bytes written", moved, parts[rank].bytes);
}

static void read_something(enum way way, MPI_Datatype type, int item, int stride, const struct part parts[RANKS])
{
    MPI_Status status;
    long there = 0, bytes = parts[rank].bytes;
    int moved, position;
    while (there < bytes && offset_of(rank, parts[rank].position + there) < end)
        there++;
    memset(memory, 0xee, sizeof memory);
    move(0, way, parts[rank].position / unit, (int)(bytes / item), type, &status);
    MPI_Get_count(&status, MPI_BYTE, &moved);
    if (way != SHARED && moved != there)
        wrong("bytes read", moved, there);
    for (position = 0; position < bytes / item * stride; position++) {
        long i = (long)position / stride * item + position % stride;
        int wanted = position % stride < item && i < there ? model[offset_of(rank, parts[rank].position + i)] : 0xee;
        if (way != SHARED && memory[position] != wanted)
            wrong("a byte read", memory[position], wanted);
    }
}

static void transfer(void)
{
    struct part parts[RANKS];
    int item, stride;
    MPI_Datatype type = memory_type(&item, &stride);
    enum way way = (enum way)below(is_common ? WAYS : IN_ORDER);
    /* With a common view the ranks' own writes would overlap. */
    int writes = below(2) && (!is_common || way >= IN_ORDER);
    settle(way, item, parts);
    if (!fits(parts))
        rewind_all();
    else if (writes)
        write_something(way, type, item, stride, parts);
    else
        read_something(way, type, item, stride, parts);
    MPI_Type_free(&type);
}

static void other(void)
{
    MPI_Offset found;
    long new_size = below(end + 1000);
    switch (below(6)) {
    case 0:
        MUST(MPI_File_set_size(file, new_size));
        if (new_size < end)
            memset(model + new_size, 0, end - new_size);
        end = new_size;
        break;
    case 1:
        MUST(MPI_File_preallocate(file, new_size));
        end = new_size > end ? new_size : end;
        break;
    case 2:
        MUST(MPI_File_close(&file));
        open_file(0);
        break;
    case 3:
        MUST(MPI_File_seek(file, shared = below(40), MPI_SEEK_SET));
        for (int who = 0; who < size; who++)
            pointer[who] = shared * unit;
        MUST(MPI_File_seek_shared(file, shared, MPI_SEEK_SET));
        shared *= unit;
        break;
    default:
        deal();
        set_view();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_get_size(file, &found));
    if (found != end)
        wrong("the size", found, end);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4 || size > RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(path, sizeof path, "%s/random-%s-%d", argv[1], argv[2], size);
    dice = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    long operations = atol(argv[3]);
    open_file(1);
    MUST(MPI_File_set_size(file, 0));
    for (; operation < operations; operation++) {
        if (below(12) == 0)
            other();
        else
            transfer();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    for (long at = 0; at < end; at += BUFFER) {
        MPI_Status status;
        int moved, wanted = (int)(end - at < BUFFER ? end - at : BUFFER);
        MUST(MPI_File_read_at(file, at, packed, BUFFER, MPI_BYTE, &status));
        MPI_Get_count(&status, MPI_BYTE, &moved);
        if (moved != wanted || memcmp(packed, model + at, wanted))
            wrong("the file from here on", moved, at);
    }
    MUST(MPI_File_close(&file));
    if (rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL), printf("%ld operations of %d ranks: nothing differs\n", operations, size);
    MPI_Finalize();
    return 0;
}
