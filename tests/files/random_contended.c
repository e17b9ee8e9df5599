/* What ranks of the random tester do at once where only MPI keeps it in order: writes in atomic mode that overlap, and a shared
 * pointer that all use without waiting for each other. Afterwards the file is what some order of the calls makes of it. */
#include "random.h"

/* A common view, of which the own bytes of ranks are the same. */
int can_contend(const struct handle *h) { return h->is_common && !h->is_alone && h->reads && h->writes; }

/* Takes over what now lies at positions of the common view, read into memory. */
static void take_over(struct handle *h, struct part all)
{
    MPI_Status status;
    MPI_Count moved;
    MUST(MPI_File_read_at(h->file, all.position / h->unit, memory, (int)(all.bytes / h->unit), h->etype, &status));
    MPI_Get_elements_c(&status, MPI_BYTE, &moved);
    if (moved != all.bytes)
        wrong("bytes that ranks have written at once", moved, all.bytes);
    for (long i = 0; i < all.bytes; i++)
        model[offset_of(h, 0, all.position + mirrored(h, i))] = memory[i];
    long last = all.bytes ? offset_of(h, 0, all.position + all.bytes - 1) + 1 : 0;
    end = last > end ? last : end;
}

/* What a rank writes everywhere: who, and part of the number of the operation. */
static unsigned char mark(int who) { return (unsigned char)((operation % 15 + 1) << 4 | who); }

/* Some order of the writes must explain who was last at each byte. */
static void find_an_order(const struct part parts[RANKS], const char writes[RANKS], struct part all)
{
    char before[RANKS][RANKS] = {0};
    for (long i = 0; i < all.bytes; i++) {
        int winner = memory[i] & 15, covers = 0;
        for (int who = 0; who < size; who++) {
            long inside = all.position + i - parts[who].position;
            if (!writes[who] || inside < 0 || inside >= parts[who].bytes)
                continue;
            covers = covers || who == winner;
            before[who][winner] = 1;
        }
        if (!covers || memory[i] != mark(winner))
            wrong("a byte of atomic writes", memory[i], i);
    }
    for (int by = 0; by < size; by++)
        for (int from = 0; from < size; from++)
            for (int to = 0; to < size; to++)
                before[from][to] |= by != from && by != to && before[from][by] && before[by][to];
    for (int one = 0; one < size; one++)
        for (int two = 0; two < one; two++)
            if (before[one][two] && before[two][one])
                wrong("writes in no order, of rank", one, two);
}

/* A reader sees all of a write or nothing of it: here all write the same place. */
static void compare_with_all(const struct handle *h, struct part part, const unsigned char *found, long moved)
{
    long old = 0, there = 0;
    for (long i = 0; i < part.bytes; i++) {
        long offset = offset_of(h, 0, part.position + mirrored(h, i));
        old += i < moved && offset < end && found[i] == model[offset];
        there += offset < end;
    }
    there = h->is_external ? there / h->unit * h->unit : there; /* of another representation there are whole items only */
    for (long i = 0; i < moved; i++)
        if (found[i] != found[0] && !(old == moved && moved == there))
            wrong("part of an atomic write, at", i, moved);
    if (moved != part.bytes && moved != there)
        wrong("bytes read beside atomic writes", moved, part.bytes);
}

/* Ranks write to common places in atomic mode. If these are the same place, some read there meanwhile. */
void overlap(struct handle *h)
{
    struct part parts[RANKS], all = {.position = LARGE};
    char writes[RANKS];
    long most = BUFFER / h->unit, from = below(60), same = 1 + below(most);
    int is_same = (int)below(2), way = (int)below(4), last = 0;
    for (int who = 0; who < size; who++) {
        parts[who].position = h->unit * (is_same ? from : from + below(40));
        parts[who].bytes = h->unit * (is_same ? same : 1 + below(most));
        writes[who] = who == 0 || !is_same || below(3) > 0;
    }
    /* The places are one range: all begin before the shortest one can end, or it is looked at in part. */
    for (int who = 0; who < size; who++)
        all.position = writes[who] && parts[who].position < all.position ? parts[who].position : all.position;
    for (int is_longer = 1; is_longer;) {
        is_longer = 0;
        for (int who = 0; who < size; who++) {
            long reach = parts[who].position + parts[who].bytes - all.position;
            if (writes[who] && parts[who].position <= all.position + all.bytes && reach > all.bytes)
                all.bytes = reach, is_longer = 1;
        }
    }
    for (int who = 0; who < size; who++) /* what lies apart does not overlap */
        writes[who] = writes[who] && parts[who].position <= all.position + all.bytes, last |= !writes[who];
    MUST(MPI_File_set_atomicity(h->file, 1));
    struct part mine = parts[h->me];
    int count = (int)(mine.bytes / h->unit), collective = way == 1 && !last;
    long offset = mine.position / h->unit;
    MPI_Status status;
    MPI_Request request;
    memset(memory, mark(h->me), mine.bytes);
    if (!writes[h->me] && is_same) {
        MPI_Count moved;
        MUST(MPI_File_read_at(h->file, offset, memory, count, h->etype, &status));
        MPI_Get_elements_c(&status, MPI_BYTE, &moved);
        compare_with_all(h, mine, memory, moved);
    } else if (writes[h->me] && collective) {
        MUST(MPI_File_write_at_all(h->file, offset, memory, count, h->etype, &status));
    } else if (writes[h->me] && way == 2) {
        MUST(MPI_File_iwrite_at(h->file, offset, memory, count, h->etype, &request));
        MUST(MPI_Wait(&request, &status));
    } else if (writes[h->me]) {
        MUST(MPI_File_write_at(h->file, offset, memory, count, h->etype, &status));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    take_over(h, all);
    find_an_order(parts, writes, all);
    MUST(MPI_File_set_atomicity(h->file, h->is_atomic));
}

enum { RECORDS = 6, HEAD = 8 };

/* A byte that tells the record that it is of. */
static unsigned char content(int who, int number, long place)
{
    uint64_t mixed = (uint64_t)operation * 1000003 + (uint64_t)(who * RECORDS + number) * 4099 + (uint64_t)place;
    mixed = (mixed ^ mixed >> 31) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u; /* so that no two pieces are alike */
    return (unsigned char)(mixed >> 56);
}

/* Writes the records of this rank by the shared pointer, some of them all at once. */
static void write_records(struct handle *h, int number, const long bytes[RECORDS])
{
    MPI_Request requests[RECORDS];
    unsigned char *next = memory;
    int open = 0;
    for (int k = 0; k < number; k++) {
        for (long i = 0; i < bytes[k]; i++)
            next[i] = i == 0 ? (unsigned char)h->me : i == 1 ? (unsigned char)k : content(h->me, k, i);
        int count = (int)(bytes[k] / h->unit);
        if (below_of_mine(2))
            MUST(MPI_File_write_shared(h->file, next, count, h->etype, MPI_STATUS_IGNORE));
        else
            MUST(MPI_File_iwrite_shared(h->file, next, count, h->etype, &requests[open++]));
        next += bytes[k];
    }
    MUST(MPI_Waitall(open, requests, MPI_STATUSES_IGNORE));
}

/* In memory lie all records, each whole and once, those of a rank in its order. */
static void find_records(const int number[RANKS], long bytes[RANKS][RECORDS], long all)
{
    int found[RANKS] = {0};
    for (long at = 0; at < all;) {
        int who = memory[at], k = memory[at + 1];
        if (who >= size || k != found[who] || k >= number[who])
            wrong("a record by the shared pointer", who * 1000 + k, at);
        for (long i = 2; i < bytes[who][k]; i++)
            if (memory[at + i] != content(who, k, i))
                wrong("a byte of a record", memory[at + i], content(who, k, i));
        found[who]++;
        at += bytes[who][k];
    }
}

/* Ranks read pieces by the shared pointer without waiting for each other: each piece comes to one of them. */
static void read_pieces(struct handle *h, struct part all)
{
    static unsigned char whole[RANKS * RECORDS * 256];
    enum { MOST_PIECES = sizeof whole / 16 };
    static int seen[MOST_PIECES], together[MOST_PIECES];
    long etypes = 16 / h->unit + below(8), piece = etypes * h->unit, pieces = all.bytes / piece, mine = 0;
    memcpy(whole, memory, all.bytes);
    memset(seen, 0, sizeof seen);
    for (long i = 0; i < pieces; i++)
        mine += below(size) == h->me;
    MUST(MPI_File_seek_shared(h->file, all.position / h->unit, MPI_SEEK_SET));
    for (; mine > 0; mine--) {
        MPI_Request request;
        if (below_of_mine(2)) {
            MUST(MPI_File_read_shared(h->file, memory, (int)etypes, h->etype, MPI_STATUS_IGNORE));
        } else {
            MUST(MPI_File_iread_shared(h->file, memory, (int)etypes, h->etype, &request));
            MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        long place = 0;
        while (place < pieces && memcmp(whole + place * piece, memory, piece))
            place++;
        if (place == pieces)
            wrong("a piece by the shared pointer", memory[0], pieces);
        seen[place]++;
    }
    MPI_Allreduce(seen, together, (int)pieces, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (long place = 0; place < pieces; place++)
        if (together[place] != 1)
            wrong("how often a piece was read", together[place], place);
    h->shared = all.position + pieces * piece;
}

/* All write and read by the shared pointer at once. */
void contend_for_the_pointer(struct handle *h)
{
    int number[RANKS];
    long bytes[RANKS][RECORDS];
    struct part all = {.position = h->shared};
    MPI_Offset found;
    for (int who = 0; who < size; who++) {
        number[who] = (int)below(RECORDS + 1);
        for (int k = 0; k < number[who]; k++)
            all.bytes += bytes[who][k] = HEAD + h->unit * below(200 / h->unit);
    }
    if (offset_of(h, 0, all.position + all.bytes) >= MOST) {
        deal_view(h);
        return;
    }
    write_records(h, number[h->me], bytes[h->me]);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_get_position_shared(h->file, &found));
    h->shared += all.bytes;
    if (found * h->unit != h->shared)
        wrong("the shared pointer after all have written", found * h->unit, h->shared);
    take_over(h, all);
    find_records(number, bytes, all.bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    read_pieces(h, all);
}
