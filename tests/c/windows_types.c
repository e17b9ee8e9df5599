/* ranks: 2 3
 * Derived datatypes at both sides of put, get and accumulate, also where they differ: what MPI_Unpack makes at the
 * target of what MPI_Pack takes at the origin is what must lie there. */
#include "windows.h"

#define ITEMS 960 /* ints of an operation */
#define ROOM (ITEMS * 3 * (MPI_Aint)sizeof(int))

/* Layouts of ITEMS ints in ROOM bytes. */
#define LAYOUTS 10
static MPI_Datatype layout(int which, int *count)
{
    static int places[ITEMS], lengths[ITEMS];
    static MPI_Aint bytes[ITEMS];
    MPI_Datatype made, inner;
    *count = 1;
    switch (which) {
    case 0:
        *count = ITEMS;
        MPI_Type_dup(MPI_INT, &made);
        break;
    case 1:
        MPI_Type_vector(ITEMS, 1, 2, MPI_INT, &made);
        break;
    case 2: /* more blocks than fit into a packet's head */
        for (int index = 0; index < ITEMS; index++)
            places[index] = index * 3 - index % 2;
        MPI_Type_create_indexed_block(ITEMS, 1, places, MPI_INT, &made);
        break;
    case 3: /* from the end to the beginning */
        for (int index = 0; index < ITEMS; index++)
            bytes[index] = (ITEMS - 1 - index) * 12, lengths[index] = 1;
        MPI_Type_create_hindexed(ITEMS, lengths, bytes, MPI_INT, &made);
        break;
    case 4: {
        int sizes[] = {48, 60}, part[] = {24, 40}, from[] = {7, 11};
        MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_INT, &made);
        break;
    }
    case 5: {
        int blocks[] = {1, 2};
        MPI_Aint where[] = {4, 16};
        MPI_Datatype two[] = {MPI_INT, MPI_INT};
        MPI_Type_create_struct(2, blocks, where, two, &made);
        *count = ITEMS / 3;
        break;
    }
    case 6:
        MPI_Type_contiguous(3, MPI_INT, &inner);
        MPI_Type_create_resized(inner, 0, 20, &made);
        MPI_Type_free(&inner);
        *count = ITEMS / 3;
        break;
    case 7: /* one element only in each index */
        places[0] = 2, lengths[0] = 1;
        MPI_Type_indexed(1, lengths, places, MPI_INT, &inner);
        MPI_Type_create_resized(inner, 0, 12, &made);
        MPI_Type_free(&inner);
        *count = ITEMS;
        break;
    case 8:
        for (int index = 0; index < 30; index++)
            places[index] = index * 90, lengths[index] = 2 + index % 2 * 60; /* 2, 62, 2, 62 … */
        MPI_Type_indexed(30, lengths, places, MPI_INT, &made);
        break;
    default:
        MPI_Type_vector(4, 3, 5, MPI_INT, &inner);
        MPI_Type_create_hvector(ITEMS / 12, 1, 100, inner, &made);
        MPI_Type_free(&inner);
    }
    MPI_Type_commit(&made);
    return made;
}

static int *origin, *expected, *result, *packed;
static int to;

/* `expected` is `before`, with what is in `data` laid out by a type. */
static void unpack(const int *data, MPI_Datatype type, int count)
{
    int place = 0;
    MPI_Unpack(data, ITEMS * sizeof(int), &place, expected, count, type, W);
    CHECK_EQUAL(place, ITEMS * sizeof(int));
}

static void pack(const void *from, MPI_Datatype type, int count)
{
    int place = 0;
    MPI_Pack(from, count, type, packed, ITEMS * sizeof(int), &place, W);
    CHECK_EQUAL(place, ITEMS * sizeof(int));
}

static void start_over(struct window *w)
{
    MPI_Barrier(W);
    for (int index = 0; index < (int)(ROOM / sizeof(int)); index++) {
        ((int *)w->memory)[index] = index * 2 + rank;
        expected[index] = index * 2 + rank;
        origin[index] = 1000000 + index * 3 + to;
    }
    memset(result, 0, ROOM);
    MPI_Barrier(W);
}

static void compare(struct window *w, const char *what, int here, int there)
{
    settle(w);
    if (memcmp(w->memory, expected, ROOM))
        check_failed(__FILE__, __LINE__, "%s with layouts %d and %d: wrong data (%s memory)", what, here, there, kind_names[w->kind]);
}

/* What my left neighbour has in `origin`, packed, is what it writes to me. */
static void from_left(int here, int count, MPI_Datatype type)
{
    (void)here;
    for (int index = 0; index < (int)(ROOM / sizeof(int)); index++)
        result[index] = 1000000 + index * 3 + rank;
    pack(result, type, count);
    memset(result, 0, ROOM);
}

static void both(struct window *w, int here, int there)
{
    int count, count_there;
    MPI_Datatype type = layout(here, &count), type_there = layout(there, &count_there);
    if (here == there) { /* the very same type */
        MPI_Type_free(&type_there);
        type_there = type;
    }
    MPI_Aint base = at(w, to, 0);
    start_over(w);
    from_left(here, count, type);
    unpack(packed, type_there, count_there);
    MPI_Win_lock_all(0, w->win);
    MPI_Put(origin, count, type, to, base, count_there, type_there, w->win);
    MPI_Win_unlock_all(w->win);
    compare(w, "MPI_Put", here, there);

    /* The sum: what lies there is added to what comes. */
    start_over(w);
    from_left(here, count, type);
    int *sum = malloc(ITEMS * sizeof *sum), *came = malloc(ITEMS * sizeof *came);
    memcpy(came, packed, ITEMS * sizeof *came);
    pack(expected, type_there, count_there);
    for (int index = 0; index < ITEMS; index++)
        sum[index] = packed[index] + came[index];
    unpack(sum, type_there, count_there);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
    MPI_Accumulate(origin, count, type, to, base, count_there, type_there, MPI_SUM, w->win);
    MPI_Win_unlock(to, w->win);
    compare(w, "MPI_Accumulate", here, there);

    /* The same once more, and what was there comes home in the layout of the origin. */
    start_over(w);
    unpack(sum, type_there, count_there);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
    MPI_Get_accumulate(origin, count, type, result, count, type, to, base, count_there, type_there, MPI_SUM, w->win);
    MPI_Win_unlock(to, w->win);
    compare(w, "MPI_Get_accumulate", here, there);
    for (int way = 0; way < 2; way++) {
        for (int index = 0; index < (int)(ROOM / sizeof(int)); index++)
            expected[index] = index * 2 + to;
        pack(expected, type_there, count_there);
        memset(expected, 0, ROOM);
        unpack(packed, type, count);
        if (memcmp(result, expected, ROOM))
            check_failed(__FILE__, __LINE__, "%s with layouts %d and %d: wrong result (%s memory)", way ? "MPI_Get" : "MPI_Get_accumulate", here, there, kind_names[w->kind]);
        start_over(w);
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
        MPI_Get(result, count, type, to, base, count_there, type_there, w->win);
        MPI_Win_unlock(to, w->win);
        MPI_Barrier(W);
    }
    free(sum);
    free(came);
    if (type_there != type)
        MPI_Type_free(&type_there);
    MPI_Type_free(&type);
}

/* The origin of a put and of an accumulate may have the same entry twice. */
static void overlapping(struct window *w)
{
    int places[] = {0, 0, 1, 1, 1}, *mine = (int *)w->memory, two[] = {5, 6};
    MPI_Datatype twice;
    MPI_Type_create_indexed_block(5, 1, places, MPI_INT, &twice);
    MPI_Type_commit(&twice);
    memset(mine, 0, 40);
    MPI_Barrier(W);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
    MPI_Put(two, 1, twice, to, at(w, to, 0), 5, MPI_INT, w->win);
    MPI_Win_flush(to, w->win);
    MPI_Accumulate(two, 1, twice, to, at(w, to, 0), 5, MPI_INT, MPI_SUM, w->win);
    MPI_Win_unlock(to, w->win);
    settle(w);
    for (int index = 0; index < 5; index++)
        CHECK_EQUAL(mine[index], index < 2 ? 10 : 12);
    MPI_Type_free(&twice);
    MPI_Barrier(W);
}

/* Absolute addresses at the origin, and at the target of a dynamic window. */
static void absolute(struct window *w)
{
    int *mine = (int *)w->memory, apart[2][3] = {{1, 2, 3}, {4, 5, 6}}, lengths[] = {2, 1};
    MPI_Aint where[2];
    MPI_Datatype here;
    MPI_Get_address(&apart[1][1], &where[0]);
    MPI_Get_address(&apart[0][0], &where[1]);
    MPI_Type_create_hindexed(2, lengths, where, MPI_INT, &here);
    MPI_Type_commit(&here);
    memset(mine, 0, 40);
    MPI_Barrier(W);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w->win);
    MPI_Put(MPI_BOTTOM, 1, here, to, at(w, to, 4), 3, MPI_INT, w->win);
    MPI_Win_unlock(to, w->win);
    settle(w);
    CHECK(mine[0] == 0 && mine[1] == 5 && mine[2] == 6 && mine[3] == 1 && mine[4] == 0);
    MPI_Type_free(&here);
    MPI_Barrier(W);
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    check_begin(&argc, &argv);
    to = (rank + 1) % size;
    origin = malloc(ROOM), expected = malloc(ROOM), result = malloc(ROOM), packed = malloc(ROOM);
    enum kind kinds[] = {OF_HEAP, ALLOCATED, DYNAMIC};
    for (int index = 0; index < 3; index++) {
        struct window w = make_window(kinds[index], ROOM);
        for (int here = 0; here < LAYOUTS; here++)
            for (int there = 0; there < LAYOUTS; there++)
                both(&w, here, there);
        overlapping(&w);
        absolute(&w);
        free_window(&w);
    }
    free(origin), free(expected), free(result), free(packed);
    return check_end();
}
