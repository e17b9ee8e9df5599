/* Reading and writing of the random tester, in every way: one operation of each rank, or several nonblocking ones at once. What
 * is read is compared, also its length at the end of the file and the gaps in memory. */
#include "random.h"

/* Items in memory: some etypes, with or without gaps. */
struct items {
    MPI_Datatype type;
    int bytes, stride;
};

static struct items make_items(const struct handle *h)
{
    struct items items = {.bytes = h->unit * (1 + (int)below(3))};
    MPI_Datatype dense;
    int is_plain = !h->is_external && below(2);
    items.stride = below(2) ? items.bytes : items.bytes + (int)below(5);
    MPI_Type_contiguous(is_plain ? items.bytes : items.bytes / h->unit, is_plain ? MPI_BYTE : h->etype, &dense);
    MPI_Type_create_resized(dense, 0, items.stride, &items.type);
    MPI_Type_commit(&items.type);
    MPI_Type_free(&dense);
    return items;
}

static int is_large; /* whether counts are MPI_Count */
#define CALL(name, ...) (is_large ? MPI_File_##name##_c(__VA_ARGS__) : MPI_File_##name(__VA_ARGS__))
#define BOTH(suffix, ...) MUST(writes ? CALL(write##suffix, __VA_ARGS__) : CALL(read##suffix, __VA_ARGS__))
#define BOTH_AT_ONCE(suffix, ...) MUST(writes ? CALL(iwrite##suffix, __VA_ARGS__) : CALL(iread##suffix, __VA_ARGS__))
#define END(suffix) MUST(writes ? MPI_File_write##suffix##_end(f, b, status) : MPI_File_read##suffix##_end(f, b, status))

/* Begins what can be begun. */
static void begin(MPI_File f, int writes, enum way way, long offset, void *b, int count, MPI_Datatype type, MPI_Request *request)
{
    switch (way) {
    case I_AT: BOTH_AT_ONCE(_at, f, offset, b, count, type, request); break;
    case I_ALL_AT: BOTH_AT_ONCE(_at_all, f, offset, b, count, type, request); break;
    case I_OWN: BOTH_AT_ONCE(, f, b, count, type, request); break;
    case I_ALL: BOTH_AT_ONCE(_all, f, b, count, type, request); break;
    default: BOTH_AT_ONCE(_shared, f, b, count, type, request);
    }
}

static void move(MPI_File f, int writes, enum way way, long offset, int count, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request;
    void *b = memory;
    is_large = below(4) == 0;
    switch (way) {
    case AT: BOTH(_at, f, offset, b, count, type, status); break;
    case ALL_AT: BOTH(_at_all, f, offset, b, count, type, status); break;
    case OWN: BOTH(, f, b, count, type, status); break;
    case ALL: BOTH(_all, f, b, count, type, status); break;
    case SHARED: BOTH(_shared, f, b, count, type, status); break;
    case IN_ORDER: BOTH(_ordered, f, b, count, type, status); break;
    case SPLIT_AT:
        BOTH(_at_all_begin, f, offset, b, count, type);
        END(_at_all);
        break;
    case SPLIT:
        BOTH(_all_begin, f, b, count, type);
        END(_all);
        break;
    case SPLIT_IN_ORDER:
        BOTH(_ordered_begin, f, b, count, type);
        END(_ordered);
        break;
    default:
        begin(f, writes, way, offset, b, count, type, &request);
        MUST(MPI_Wait(&request, status));
    }
}

static int is_unordered(enum way way) { return way == SHARED || way == I_SHARED; }

/* Settles the parts of all ranks, and moves the pointers on. Reading by pointers may go beyond the end. */
static void settle(struct handle *h, enum way way, int item, struct part parts[RANKS])
{
    long most = (BUFFER / item) / (is_unordered(way) ? 8 : 1), same = below(1 + below(most));
    for (int who = 0; who < size; who++) {
        struct part *part = &parts[who];
        part->bytes = item * (is_unordered(way) ? same : below(1 + below(most)));
        if (way >= OWN && way < IN_ORDER) {
            part->position = h->pointer[who];
            h->pointer[who] += part->bytes;
        } else if (way >= IN_ORDER) {
            part->position = h->shared;
            h->shared += part->bytes;
        } else {
            part->position = h->unit * below(60);
        }
    }
}

static int fits(const struct handle *h, const struct part parts[RANKS])
{
    for (int who = 0; who < size; who++)
        if (offset_of(h, who, parts[who].position + parts[who].bytes) >= MOST)
            return 0;
    return 1;
}

/* The model of a write: values of `said[who]`. */
static void write_model(const struct handle *h, int who, struct part part, int said)
{
    for (long i = 0; i < part.bytes; i++) {
        long offset = offset_of(h, who, part.position + mirrored(h, i));
        model[offset] = value(said, i);
    }
    long last = part.bytes ? offset_of(h, who, part.position + part.bytes - 1) + 1 : 0;
    end = last > end ? last : end;
}

static void fill(unsigned char *to, struct items items, long bytes, int said)
{
    for (long i = 0; i < bytes; i++)
        to[i / items.bytes * items.stride + i % items.bytes] = value(said, i);
}

static void compare_count(const char *what, MPI_Status *status, long wanted)
{
    MPI_Count moved;
    MPI_Get_elements_c(status, MPI_BYTE, &moved);
    if (moved != wanted)
        wrong(what, moved, wanted);
}

/* Compares what this rank has read with the model. */
static void compare(const struct handle *h, struct part part, struct items items, const unsigned char *found, MPI_Status *status)
{
    long there = 0, least = 0, stride = items.stride;
    if (part.bytes && offset_of(h, h->me, part.position + part.bytes - 1) < end)
        there = part.bytes;
    while (there < part.bytes && offset_of(h, h->me, part.position + there) < end)
        there++;
    /* Of another representation there are whole items only; of the one behind them nothing is said. */
    least = h->is_external ? there / items.bytes * items.bytes : there;
    compare_count("bytes read", status, least);
    for (long place = 0; place < part.bytes / items.bytes * stride; place++) {
        long i = place / stride * items.bytes + place % stride;
        int is_data = place % stride < items.bytes;
        if (is_data && i >= least && i < there)
            continue;
        int wanted = is_data && i < least ? model[offset_of(h, h->me, part.position + mirrored(h, i))] : 0xee;
        if (found[place] != wanted)
            wrong("a byte read", found[place], wanted);
    }
}

static void write_once(struct handle *h, enum way way, struct items items, const struct part parts[RANKS])
{
    MPI_Status status;
    struct part mine = parts[h->me];
    /* in any order: all write the same */
    for (int who = 0; who < size; who++)
        write_model(h, who, parts[who], is_unordered(way) ? 0 : who);
    fill(memory, items, mine.bytes, is_unordered(way) ? 0 : h->me);
    move(h->file, 1, way, mine.position / h->unit, (int)(mine.bytes / items.bytes), items.type, &status);
    compare_count("bytes written", &status, mine.bytes);
}

static void read_once(struct handle *h, enum way way, struct items items, const struct part parts[RANKS])
{
    MPI_Status status;
    struct part mine = parts[h->me];
    memset(memory, 0xee, 2 * BUFFER * (size_t)items.stride / items.bytes);
    move(h->file, 0, way, mine.position / h->unit, (int)(mine.bytes / items.bytes), items.type, &status);
    if (!is_unordered(way))
        compare(h, mine, items, memory, &status);
}

/* Whether ranks write; with a common view their writes would overlap, but for those by the shared pointer. */
static int do_write(const struct handle *h, enum way way)
{
    int coin = (int)below(2), may = h->writes && (!h->is_common || way >= IN_ORDER);
    return may && (coin || !h->reads);
}

/* One operation of each rank. */
void transfer(struct handle *h)
{
    struct part parts[RANKS];
    struct items items = make_items(h);
    enum way way = (enum way)below(h->is_common && !h->is_alone ? WAYS : IN_ORDER);
    int writes = do_write(h, way);
    if (writes || h->reads) {
        settle(h, way, items.bytes, parts);
        if (!fits(h, parts))
            deal_view(h); /* pointers that went too far begin anew */
        else if (writes)
            write_once(h, way, items, parts);
        else
            read_once(h, way, items, parts);
    }
    MPI_Type_free(&items.type);
}

/* Completes requests in one of several ways; each rank chooses for itself. */
static void complete(int number, MPI_Request requests[], MPI_Status statuses[])
{
    int way = (int)below_of_mine(4), is_done = 0, place;
    switch (way) {
    case 0: MUST(MPI_Waitall(number, requests, statuses)); break;
    case 1:
        for (int left = number; left > 0; left--) {
            MPI_Status status;
            MUST(MPI_Waitany(number, requests, &place, &status));
            statuses[place] = status;
        }
        break;
    case 2:
        while (!is_done)
            MUST(MPI_Testall(number, requests, &is_done, statuses));
        break;
    default:
        for (int i = number - 1; i >= 0; i--)
            MUST(MPI_Wait(&requests[i], &statuses[i]));
    }
}

enum { AT_ONCE = 4 };

/* Several nonblocking operations of each rank, which are under way together. None touches what another one does. */
void several_at_once(struct handle *h)
{
    static const enum way ways[] = {I_OWN, I_ALL, I_AT, I_ALL_AT};
    int number = 2 + (int)below(AT_ONCE - 1), is_long = below(80) == 0;
    struct items items = make_items(h);
    struct part parts[AT_ONCE][RANKS];
    enum way chosen[AT_ONCE];
    long most = BUFFER / items.bytes, own[RANKS], behind[RANKS];
    int writes = do_write(h, AT), all_fit = 1;
    memcpy(own, h->pointer, sizeof own);
    memcpy(behind, own, sizeof behind); /* where those by offsets begin: behind those by the pointer */
    for (int i = 0; i < number; i++) {
        chosen[i] = ways[below(4)];
        for (int who = 0; who < size; who++) {
            long all = i == 0 && is_long ? (LARGE - below(LARGE / 4)) / items.bytes : below(1 + below(most));
            parts[i][who].bytes = items.bytes * all;
            behind[who] += chosen[i] < OWN ? 0 : parts[i][who].bytes;
        }
    }
    for (int i = 0; i < number; i++) {
        for (int who = 0; who < size; who++) {
            long *from = chosen[i] < OWN ? behind : own;
            parts[i][who].position = from[who];
            from[who] += parts[i][who].bytes;
        }
        all_fit = all_fit && fits(h, parts[i]);
    }
    if (!all_fit) {
        deal_view(h);
    } else if (writes || h->reads) {
        MPI_Request requests[AT_ONCE];
        MPI_Status statuses[AT_ONCE];
        MPI_Offset found;
        unsigned char *at[AT_ONCE], *next = memory;
        is_large = below(4) == 0;
        memcpy(h->pointer, own, sizeof own);
        for (int i = 0; i < number; i++) {
            struct part mine = parts[i][h->me];
            long room = mine.bytes / items.bytes * items.stride;
            at[i] = next;
            next += room;
            memset(at[i], 0xee, room);
            if (writes)
                fill(at[i], items, mine.bytes, i * RANKS + h->me);
            begin(h->file, writes, chosen[i], mine.position / h->unit, at[i], (int)(mine.bytes / items.bytes), items.type, &requests[i]);
        }
        MUST(MPI_File_get_position(h->file, &found));
        if (found * h->unit != own[h->me])
            wrong("the pointer behind requests", found * h->unit, own[h->me]);
        complete(number, requests, statuses);
        for (int i = 0; i < number; i++) {
            for (int who = 0; who < size && writes; who++)
                write_model(h, who, parts[i][who], i * RANKS + who);
            if (writes)
                compare_count("bytes written at once", &statuses[i], parts[i][h->me].bytes);
            else
                compare(h, parts[i][h->me], items, at[i], &statuses[i]);
        }
    }
    MPI_Type_free(&items.type);
}
