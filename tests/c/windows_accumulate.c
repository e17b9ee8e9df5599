/* ranks: 2 4
 * Every operator on every type that MPI lets it take, at a target: what MPI_Reduce_local makes of the same operands is
 * what must lie there; and what lay there before is what must come back. */
#include "windows.h"
#include <complex.h>

#define MANY 37
#define MOST_BYTES 32

struct type {
    MPI_Datatype type;
    const char *class; /* i: integer, a: address, f: floating point, c: complex, l: logical, b: byte, p: pair */
};

static void types(struct type *out, int *count)
{
    struct type all[] = {
        {MPI_SIGNED_CHAR, "i"}, {MPI_UNSIGNED_CHAR, "i"}, {MPI_SHORT, "i"}, {MPI_UNSIGNED_SHORT, "i"}, {MPI_INT, "i"},
        {MPI_UNSIGNED, "i"}, {MPI_LONG, "i"}, {MPI_UNSIGNED_LONG, "i"}, {MPI_LONG_LONG, "i"},
        {MPI_UNSIGNED_LONG_LONG, "i"}, {MPI_INT8_T, "i"}, {MPI_INT16_T, "i"}, {MPI_INT32_T, "i"}, {MPI_INT64_T, "i"},
        {MPI_UINT8_T, "i"}, {MPI_UINT16_T, "i"}, {MPI_UINT32_T, "i"}, {MPI_UINT64_T, "i"}, {MPI_AINT, "a"},
        {MPI_OFFSET, "a"}, {MPI_COUNT, "a"}, {MPI_FLOAT, "f"}, {MPI_DOUBLE, "f"}, {MPI_LONG_DOUBLE, "f"},
        {MPI_C_FLOAT_COMPLEX, "c"}, {MPI_C_DOUBLE_COMPLEX, "c"}, {MPI_C_LONG_DOUBLE_COMPLEX, "c"}, {MPI_C_BOOL, "l"},
        {MPI_BYTE, "b"}, {MPI_2INT, "p"}, {MPI_FLOAT_INT, "p"}, {MPI_DOUBLE_INT, "p"}, {MPI_LONG_INT, "p"},
        {MPI_SHORT_INT, "p"}, {MPI_LONG_DOUBLE_INT, "p"},
    };
    *count = sizeof all / sizeof *all;
    memcpy(out, all, sizeof all);
}

struct op {
    MPI_Op op;
    const char *name, *classes;
};

#define OPS 14
static void operators(struct op *out)
{
    struct op all[OPS] = {
        {MPI_SUM, "sum", "iafc"}, {MPI_PROD, "product", "iafc"}, {MPI_MAX, "max", "iaf"}, {MPI_MIN, "min", "iaf"},
        {MPI_LAND, "logical and", "il"}, {MPI_LOR, "logical or", "il"}, {MPI_LXOR, "logical xor", "il"},
        {MPI_BAND, "and", "iab"}, {MPI_BOR, "or", "iab"}, {MPI_BXOR, "xor", "iab"}, {MPI_MINLOC, "minloc", "p"},
        {MPI_MAXLOC, "maxloc", "p"}, {MPI_REPLACE, "replace", "iafclbp"}, {MPI_NO_OP, "no op", "iafclbp"},
    };
    memcpy(out, all, sizeof all);
}

/* Small values of a type, so that sums are exact and truth values are such. */
static void values(void *place, struct type type, int count, int seed)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type.type, &lower, &extent);
    memset(place, 0, extent * count);
    for (int index = 0; index < count; index++) {
        char *item = (char *)place + index * extent;
        int value = (index * 7 + seed * 5) % 11 + 1;
        if (type.class[0] == 'l')
            *(_Bool *)item = value & 1;
        else if (type.type == MPI_FLOAT || type.type == MPI_FLOAT_INT || type.type == MPI_C_FLOAT_COMPLEX)
            *(float *)item = value;
        else if (type.type == MPI_DOUBLE || type.type == MPI_DOUBLE_INT || type.type == MPI_C_DOUBLE_COMPLEX)
            *(double *)item = value;
        else if (type.type == MPI_LONG_DOUBLE || type.type == MPI_LONG_DOUBLE_INT || type.type == MPI_C_LONG_DOUBLE_COMPLEX)
            *(long double *)item = value;
        else
            *item = value;
        if (type.class[0] == 'p') /* the location is the last int */
            *(int *)(item + (type.type == MPI_2INT ? 4 : type.type == MPI_SHORT_INT || type.type == MPI_FLOAT_INT ? 4 : type.type == MPI_LONG_DOUBLE_INT ? 16 : 8)) = value % 3;
        if (type.type == MPI_C_DOUBLE_COMPLEX)
            ((double *)item)[1] = -value;
    }
}

/* Whether two arrays are the same where the type has data (and not gaps). */
static int same(struct type type, const void *one, const void *other, int count)
{
    static char packed[2][MANY * MOST_BYTES];
    int place[2] = {0, 0};
    MPI_Pack(one, count, type.type, packed[0], sizeof packed[0], &place[0], W);
    MPI_Pack(other, count, type.type, packed[1], sizeof packed[1], &place[1], W);
    if (type.class[0] == 'f' && place[0] == 16 * count) { /* of a long double 10 bytes are the value */
        for (int index = 0; index < count; index++)
            if (((long double *)one)[index] != ((long double *)other)[index])
                return 0;
        return 1;
    }
    if (type.type == MPI_LONG_DOUBLE_INT) {
        for (int index = 0; index < count; index++)
            if (((long double *)one)[2 * index] != ((long double *)other)[2 * index] || ((int *)one)[8 * index + 4] != ((int *)other)[8 * index + 4])
                return 0;
        return 1;
    }
    if (type.type == MPI_C_LONG_DOUBLE_COMPLEX) {
        for (int index = 0; index < 2 * count; index++)
            if (((long double *)one)[index] != ((long double *)other)[index])
                return 0;
        return 1;
    }
    return !memcmp(packed[0], packed[1], place[0]);
}

static void expect(struct type type, struct op op, const void *origin, void *target, int count)
{
    if (op.op == MPI_REPLACE)
        values(target, type, count, 1);
    else if (op.op != MPI_NO_OP)
        MPI_Reduce_local(origin, target, count, type.type, op.op);
}

/* One operator on one type: at the rank to the right, which is the only one that I work on. */
static void one(struct window *w, struct type type, struct op op)
{
    static long double mine[2 * MANY], before[2 * MANY], result[2 * MANY], expected[2 * MANY];
    int to = (rank + 1) % size, counts[] = {1, MANY};
    for (int step = 0; step < 2; step++) {
        int count = counts[step];
        MPI_Aint lower, extent;
        MPI_Type_get_extent(type.type, &lower, &extent);
        values(mine, type, count, 1);
        values(before, type, count, 2);
        memcpy(expected, before, extent * count);
        expect(type, op, mine, expected, count);
        for (int way = 0; way < (count == 1 ? 3 : 2); way++) {
            MPI_Barrier(W);
            values(w->memory, type, count, 2);
            memset(result, 0, sizeof result);
            MPI_Barrier(W);
            MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
            if (way == 0) {
                if (op.op != MPI_NO_OP)
                    MPI_Accumulate(mine, count, type.type, to, at(w, to, 0), count, type.type, op.op, w->win);
            } else if (way == 1)
                MPI_Get_accumulate(mine, count, type.type, result, count, type.type, to, at(w, to, 0), count, type.type, op.op, w->win);
            else
                MPI_Fetch_and_op(mine, result, type.type, to, at(w, to, 0), op.op, w->win);
            MPI_Win_unlock(to, w->win);
            settle(w);
            if (way > 0 && !same(type, result, before, count))
                check_failed(__FILE__, __LINE__, "%s: what was there comes back wrong (way %d, %d items of class %s)", op.name, way, count, type.class);
            if ((way > 0 || op.op != MPI_NO_OP) && !same(type, w->memory, expected, count))
                check_failed(__FILE__, __LINE__, "%s: wrong values (way %d, %d items of class %s, %ld bytes each)", op.name, way, count, type.class, (long)extent);
        }
    }
}

/* Compare and swap takes integers, logicals and bytes. */
static void swaps(struct window *w, struct type type)
{
    static long double mine[2], compared[2], result[2], old[2];
    int to = (rank + 1) % size;
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type.type, &lower, &extent);
    for (int hit = 0; hit < 2; hit++) {
        values(mine, type, 1, 1);
        values(old, type, 1, 2);
        values(compared, type, 1, hit ? 2 : 1);
        MPI_Barrier(W);
        values(w->memory, type, 1, 2);
        memset(w->memory + extent, 77, 8);
        MPI_Barrier(W);
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
        MPI_Compare_and_swap(mine, compared, result, type.type, to, at(w, to, 0), w->win);
        MPI_Win_unlock(to, w->win);
        settle(w);
        int differ = memcmp(compared, old, extent);
        CHECK(!memcmp(result, old, extent));
        CHECK(!memcmp(w->memory, differ ? old : mine, extent));
        CHECK_EQUAL(w->memory[extent], 77);
    }
}

/* Accumulates of one rank to one place are done in order. */
static void in_order(struct window *w)
{
    long *mine = (long *)w->memory;
    int to = (rank + 1) % size;
    MPI_Datatype strided;
    MPI_Type_vector(4, 1, 2, MPI_LONG, &strided);
    MPI_Type_commit(&strided);
    memset(w->memory, 0, 64);
    MPI_Barrier(W);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
    long values[64][4], got[64][4];
    for (int step = 0; step < 64; step++) {
        for (int index = 0; index < 4; index++)
            values[step][index] = step * 10 + index;
        if (step % 2)
            MPI_Accumulate(values[step], 4, MPI_LONG, to, at(w, to, 0), 1, strided, MPI_REPLACE, w->win);
        else
            for (int index = 0; index < 4; index++)
                MPI_Accumulate(&values[step][index], 1, MPI_LONG, to, at(w, to, 16 * index), 1, MPI_LONG, MPI_REPLACE, w->win);
        MPI_Get_accumulate(NULL, 0, MPI_LONG, got[step], 4, MPI_LONG, to, at(w, to, 0), 1, strided, MPI_NO_OP, w->win);
    }
    MPI_Win_unlock(to, w->win);
    for (int step = 0; step < 64; step++)
        for (int index = 0; index < 4; index++)
            CHECK_EQUAL(got[step][index], values[step][index]);
    settle(w);
    for (int index = 0; index < 4; index++)
        CHECK_EQUAL(mine[2 * index], 630 + index);
    MPI_Type_free(&strided);
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    struct type type[64];
    struct op op[OPS];
    int types_count;
    check_begin(&argc, &argv);
    types(type, &types_count);
    operators(op);
    enum kind kinds[] = {OF_HEAP, ALLOCATED, DYNAMIC};
    for (int index = 0; index < 3; index++) {
        struct window w = make_window(kinds[index], MANY * MOST_BYTES + 64);
        for (int t = 0; t < types_count; t++) {
            for (int o = 0; o < OPS; o++)
                if (strchr(op[o].classes, type[t].class[0]))
                    one(&w, type[t], op[o]);
            if (strchr("ialb", type[t].class[0]))
                swaps(&w, type[t]);
        }
        in_order(&w);
        free_window(&w);
    }
    return check_end();
}
