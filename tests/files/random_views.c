/* Handles of the random tester: how a file is opened, which bytes a rank sees of it, and where its pointers are. A view deals
 * the bytes of a tile out to ranks and to nobody, so that what ranks write at once does not overlap; for shared pointers all
 * have the same view. */
#include "random.h"

/* Where a byte of a view lies in the file. */
long offset_of(const struct handle *h, int who, long position)
{
    const struct view *view = &h->views[who];
    long tile = position / view->size, inside = position % view->size;
    int piece = 0;
    while (inside >= view->length[piece])
        inside -= view->length[piece++];
    return h->displacement + tile * view->extent + view->at[piece] + inside;
}

/* The first position in whole etypes at or behind the end of the file. */
long position_at_end(const struct handle *h, int who)
{
    long low = 0, high = end + 1;
    while (low < high) {
        long middle = (low + high) / 2;
        if (offset_of(h, who, middle) < end)
            low = middle + 1;
        else
            high = middle;
    }
    return (low + h->unit - 1) / h->unit * h->unit;
}

/* Where a byte of memory goes, counted from where the access begins: external32 turns each element round. */
long mirrored(const struct handle *h, long place)
{
    return h->is_external ? place / h->unit * h->unit + h->unit - 1 - place % h->unit : place;
}

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
static void deal(struct handle *h)
{
    int at = 0, owners = size + (below(2) == 0);
    memset(h->views, 0, sizeof h->views);
    h->displacement = (int)below(300);
    h->is_common = below(3) == 0;
    for (int left = 1 + (int)below(20); left > 0; left--) {
        int length = h->unit * (1 + (int)below(below(10) ? 9 : 200)), owner = (int)below(owners);
        for (int who = 0; who < size; who++)
            if (h->is_common ? owner == 0 : owner == who)
                add(&h->views[who], at, length);
        at += length;
    }
    for (int who = 0; who < size; who++) /* nobody has nothing */
        if (h->views[who].size == 0)
            add(&h->views[who], at, h->unit), at += h->is_common ? 0 : h->unit;
    at += h->is_common ? h->unit : 0;
    at += h->unit * (int)below(4);
    for (int who = 0; who < size; who++) {
        h->views[who].extent = at;
        h->pointer[who] = 0;
    }
    h->shared = 0;
}

/* Deals a tile out and sets the view. */
void deal_view(struct handle *h)
{
    static const int units[] = {1, 1, 2, 4, 4, 8};
    h->unit = units[below(6)];
    h->etype = h->unit == 1 ? MPI_BYTE : h->unit == 2 ? MPI_SHORT : h->unit == 4 ? MPI_INT : MPI_DOUBLE;
    h->is_external = below(3) == 0;
    deal(h);
    const struct view *view = &h->views[h->me];
    MPI_Datatype pieces, tile;
    int length[PIECES];
    MPI_Aint places[PIECES];
    for (int i = 0; i < view->number; i++) {
        places[i] = view->at[i];
        length[i] = view->length[i] / h->unit;
    }
    MPI_Type_create_hindexed(view->number, length, places, h->etype, &pieces);
    MPI_Type_create_resized(pieces, 0, view->extent, &tile);
    MPI_Type_commit(&tile);
    const char *representation = h->is_external ? "external32" : below(4) ? "native" : "internal";
    MUST(MPI_File_set_view(h->file, h->displacement, h->etype, tile, representation, MPI_INFO_NULL));
    MPI_Type_free(&pieces);
    MPI_Type_free(&tile);
}

static MPI_Info hints(void)
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
    return info;
}

/* The communicator of a handle: the world, the world with its ranks mixed, or each rank alone. */
static void choose_members(struct handle *h, int first)
{
    int key = 0;
    for (int who = 0; who < size; who++) {
        int drawn = (int)below(100);
        key = who == rank ? drawn : key;
    }
    h->is_alone = !first && below(4) == 0;
    if (h->is_alone) {
        h->comm = MPI_COMM_SELF;
        h->me = rank;
    } else {
        MPI_Comm_split(MPI_COMM_WORLD, 0, below(2) ? key : rank, &h->comm);
        MPI_Comm_rank(h->comm, &h->me);
    }
}

/* The first handle reads and writes, and makes the file. */
void open_handle(struct handle *h, int first)
{
    int way = first ? 0 : (int)below(5), appends = below(4) == 0;
    int amode = way == 3 ? MPI_MODE_RDONLY : way == 4 ? MPI_MODE_WRONLY : MPI_MODE_RDWR;
    MPI_Offset at;
    h->reads = way != 4;
    h->writes = way != 3;
    choose_members(h, first);
    MPI_Info info = hints();
    MUST(MPI_File_open(h->comm, path, amode | (first ? MPI_MODE_CREATE : 0) | (appends ? MPI_MODE_APPEND : 0), info, &h->file));
    MPI_Info_free(&info);
    if (first)
        MUST(MPI_File_set_size(h->file, end = 0));
    MUST(MPI_File_get_position(h->file, &at));
    if (!first && at != (appends ? end : 0))
        wrong("the pointer of a new handle", at, appends ? end : 0);
    h->is_atomic = below(4) == 0;
    MUST(MPI_File_set_atomicity(h->file, h->is_atomic));
    deal_view(h);
}

void close_handle(struct handle *h)
{
    MUST(MPI_File_close(&h->file));
    if (!h->is_alone)
        MPI_Comm_free(&h->comm);
}

/* A place to seek to, as an argument; the same at all ranks. Gives where the pointer is then, in etypes, or a negative one. */
static long seek_from(const struct handle *h, int who, int whence, long current, long offset)
{
    long from = whence == MPI_SEEK_SET ? 0 : whence == MPI_SEEK_CUR ? current / h->unit : position_at_end(h, who) / h->unit;
    return from + offset;
}

/* Asks where pointers are, moves them, and asks where bytes lie. */
void look_at_pointers(struct handle *h)
{
    static const int whences[] = {MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END};
    MPI_Offset found;
    MUST(MPI_File_get_position(h->file, &found));
    if (found * h->unit != h->pointer[h->me])
        wrong("the own pointer", found * h->unit, h->pointer[h->me]);
    long place = below(1000);
    MUST(MPI_File_get_byte_offset(h->file, place, &found));
    if (found != offset_of(h, h->me, place * h->unit))
        wrong("a byte's offset", found, offset_of(h, h->me, place * h->unit));
    int whence = whences[below(3)];
    long offset = below(60) - (whence == MPI_SEEK_SET ? 0 : 30);
    for (int who = 0; who < size; who++) {
        long to = seek_from(h, who, whence, h->pointer[who], offset);
        if (who == h->me && to < 0 && MPI_File_seek(h->file, offset, whence) == MPI_SUCCESS)
            wrong("a seek to before the view", offset, 0);
        if (who == h->me && to >= 0)
            MUST(MPI_File_seek(h->file, offset, whence));
        h->pointer[who] = to < 0 ? h->pointer[who] : to * h->unit;
    }
    if (h->is_alone || !h->is_common)
        return;
    MUST(MPI_File_get_position_shared(h->file, &found));
    if (found * h->unit != h->shared)
        wrong("the shared pointer", found * h->unit, h->shared);
    MPI_Barrier(MPI_COMM_WORLD);
    long to = seek_from(h, 0, whence, h->shared, offset);
    int code = MPI_File_seek_shared(h->file, offset, whence);
    if ((code == MPI_SUCCESS) != (to >= 0))
        wrong("a shared seek", code, to);
    h->shared = to < 0 ? h->shared : to * h->unit;
}
