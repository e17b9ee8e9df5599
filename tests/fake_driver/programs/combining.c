/* ranks: 2 1 4
 * Reductions of device memory have the bits of the processor, whatever the numbers are: zeros with signs, infinities, numbers
 * that are none. The device computes them where it has a program that does so; else the processor does, and all is as right. */
#include "twice.h"

#define CALLS(name) ((long)fake_cuda_calls(name))
#define MOST (64 << 10)

static int computes;

static struct {
    const char *name;
    MPI_Datatype type;
    int bytes;
    int device; /* for it there are programs, beside those for products if it is 2 */
} types[] = {
    {"int8", MPI_INT8_T, 1, 1},      {"int16", MPI_INT16_T, 2, 1},   {"int32", MPI_INT32_T, 4, 1},
    {"int64", MPI_INT64_T, 8, 1},    {"uint8", MPI_UINT8_T, 1, 1},   {"uint16", MPI_UINT16_T, 2, 1},
    {"uint32", MPI_UINT32_T, 4, 1},  {"uint64", MPI_UINT64_T, 8, 1}, {"float", MPI_FLOAT, 4, 1},
    {"double", MPI_DOUBLE, 8, 1},    {"bool", MPI_C_BOOL, 1, 1},     {"byte", MPI_BYTE, 1, 1},
    {"complex", MPI_C_FLOAT_COMPLEX, 8, 2}, {"double complex", MPI_C_DOUBLE_COMPLEX, 16, 2},
    {"long double", MPI_LONG_DOUBLE, sizeof(long double), 0}, {"double int", MPI_DOUBLE_INT, 16, 0},
};

static struct {
    const char *name;
    MPI_Op op;
} ops[] = {
    {"sum", MPI_SUM},   {"product", MPI_PROD}, {"max", MPI_MAX},   {"min", MPI_MIN},   {"land", MPI_LAND},
    {"lor", MPI_LOR},   {"lxor", MPI_LXOR},    {"band", MPI_BAND}, {"bor", MPI_BOR},   {"bxor", MPI_BXOR},
    {"maxloc", MPI_MAXLOC},
};
#define EACH(list, place) for (unsigned place = 0; place < sizeof list / sizeof *list; place++)

/* Words that are worth trying, in all lengths, and some by chance. */
static void words(char *to, size_t bytes)
{
    static const uint64_t known[] = {
        0, 1, 2, 0x7f, 0x80, 0xff, 0x8000, 0x3f800000, 0xff7fffff, 0x00400000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc12345,
        0x7f800001, 0x80000000, 0x3ff0000000000000, 0x7fefffffffffffff, 0x0008000000000000, 0x7ff0000000000000,
        0xfff0000000000000, 0x7ff8000000000123, 0xfff8000000000321, 0x7ff0000000000001, 0x8000000000000000, ~0ull};
    size_t length = 1 << rank_draw(4);
    for (size_t place = 0; place < bytes; place += length) {
        uint64_t word = rank_draw(2) ? known[rank_draw(sizeof known / sizeof *known)]
                                     : (uint64_t)rank_draw(1 << 30) << 34 ^ rank_draw(1 << 30);
        memcpy(to + place, &word, length < bytes - place ? length : bytes - place);
    }
}

/* Numbers of a type: long doubles, pairs with their gaps, and logical values are no bits by chance. */
static void numbers(int type, char *to, size_t count)
{
    if (types[type].type == MPI_LONG_DOUBLE)
        for (size_t place = 0; place < count; place++)
            ((long double *)to)[place] = (int)rank_draw(1000);
    else if (types[type].type == MPI_DOUBLE_INT)
        for (size_t place = 0; place < 2 * count; place++)
            ((int64_t *)to)[place] = rank_draw(5);
    else
        words(to, count * types[type].bytes);
    if (types[type].type == MPI_C_BOOL)
        for (size_t place = 0; place < count; place++)
            to[place] &= 1;
}

static int is_taken(int type, int op)
{
    char in[64] = {0}, inout[64] = {0};
    return MPI_Reduce_local(in, inout, 1, types[type].type, ops[op].op) == MPI_SUCCESS;
}

static int is_of_device(int type, int op)
{
    return computes && (types[type].device == 1 || (types[type].device == 2 && ops[op].op == MPI_SUM));
}

/* A buffer with so many bytes before what is used. */
static struct buffer given(enum kind kind, const char *bytes, size_t number, size_t before)
{
    struct buffer made = buffer_of(kind, number + before);
    char *all = calloc(1, number + before);
    memcpy(all + before, bytes, number);
    buffer_put(&made, all);
    free(all);
    return made;
}

static void check_bits(const char *what, int type, int op, struct buffer *buffer, const char *expected, size_t before)
{
    char *all = calloc(1, buffer->bytes);
    memcpy(all + before, expected, buffer->bytes - before);
    long long place = buffer_differs(buffer, all);
    if (place >= 0)
        check_failed(__FILE__, __LINE__, "%s of %s, %s: byte %lld of memory of kind %d", ops[op].name, types[type].name, what,
                     place, buffer->kind);
    free(all);
}

/* Two buffers, each of a kind of memory; `before` is a multiple of the numbers' length or not. */
static void local(int type, int op, enum kind in_kind, enum kind inout_kind, size_t count, size_t before)
{
    size_t bytes = count * types[type].bytes;
    char *in = malloc(bytes), *inout = malloc(bytes);
    numbers(type, in, count);
    numbers(type, inout, count);
    struct buffer first = given(in_kind, in, bytes, before), second = given(inout_kind, inout, bytes, before);
    MPI_Reduce_local(in, inout, count, types[type].type, ops[op].op);
    long launches = CALLS("cuLaunchKernel");
    WORKS(MPI_Reduce_local(first.at + before, second.at + before, count, types[type].type, ops[op].op));
    launches = CALLS("cuLaunchKernel") - launches;
    check_bits("local", type, op, &second, inout, before);
    int is_there = in_kind != MANAGED && inout_kind != MANAGED && inout_kind != HOST;
    int number = types[type].device == 2 ? types[type].bytes / 2 : types[type].bytes;
    if (is_of_device(type, op) && is_there && before % number == 0)
        CHECK(launches > 0);
    else if (!is_there && types[type].device) /* data with gaps are packed by launches */
        CHECK_EQUAL(launches, 0);
    buffer_free(&first);
    buffer_free(&second);
    free(in);
    free(inout);
}

/* Rank 0's window is changed by all, in turn: by who maps it, or by its owner. */
static void accumulate(int type, int op, enum kind kind)
{
    enum { COUNT = 300 };
    size_t bytes = COUNT * types[type].bytes;
    char *target = malloc(bytes), *origin = malloc(bytes);
    numbers(type, target, COUNT);
    numbers(type, origin, COUNT);
    struct buffer memory = given(kind, target, bytes, 0);
    MPI_Win host, device;
    long launches = CALLS("cuLaunchKernel");
    WORKS(MPI_Win_create(target, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &host));
    WORKS(MPI_Win_create(memory.at, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &device));
    for (int turn = 0; turn < size; turn++) {
        MPI_Win windows[] = {host, device};
        for (int which = 0; which < 2; which++) {
            WORKS(MPI_Win_fence(0, windows[which]));
            if (turn == rank)
                WORKS(MPI_Accumulate(origin, COUNT, types[type].type, 0, 0, COUNT, types[type].type, ops[op].op,
                                     windows[which]));
            WORKS(MPI_Win_fence(0, windows[which]));
        }
    }
    WORKS(MPI_Win_free(&host));
    WORKS(MPI_Win_free(&device));
    launches = CALLS("cuLaunchKernel") - launches;
    MPI_Allreduce(MPI_IN_PLACE, &launches, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (is_of_device(type, op) && kind != MANAGED)
        CHECK(launches >= size);
    check_bits("accumulated", type, op, &memory, target, 0);
    buffer_free(&memory);
    free(target);
    free(origin);
}

static void failing(void)
{
    struct buffer first = buffer_of(DEVICE, 800), second = buffer_of(DEVICE, 800);
    char zeros[800] = {0};
    buffer_put(&first, zeros);
    buffer_put(&second, zeros);
    const char *functions[] = {"cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyAsync"};
    EACH(functions, which) {
        struct buffer in = which == 2 ? given(HOST, zeros, 800, 0) : first;
        fake_cuda_fail(functions[which], 0);
        int answer = MPI_Reduce_local(in.at, second.at, 100, MPI_LONG, MPI_SUM);
        if (fake_cuda_is_failing() || class_of(answer) != MPI_ERR_OTHER)
            check_failed(__FILE__, __LINE__, "a failure of %s gives class %d", functions[which], class_of(answer));
        fake_cuda_fail(NULL, -1);
        /* Nothing goes on in the program's memory. */
        CHECK_EQUAL(fake_cuda_pending(), 0);
    }
    WORKS(MPI_Reduce_local(first.at, second.at, 100, MPI_LONG, MPI_SUM));
    CHECK_EQUAL(buffer_differs(&second, zeros), -1);
    buffer_free(&first);
    buffer_free(&second);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    computes = !getenv("FAKE_CUDA_KERNELS");
    EACH(types, type) EACH(ops, op) {
        if (!is_taken(type, op))
            continue;
        local(type, op, DEVICE, DEVICE, 1 + rank_draw(1000), 16 * rank_draw(3));
        local(type, op, rank_draw(KINDS), rank_draw(KINDS), 1 + rank_draw(1000), rank_draw(17));
        if (all_draw(3) == 0)
            accumulate(type, op, DEVICE + all_draw(KINDS - 1));
    }
    /* Longer than what of the host fits the device's slab at once, and an end that is no multiple of anything. */
    local(3, 0, DEVICE, DEVICE, MOST + 17, 0);
    local(9, 0, HOST, DEVICE, (4 << 20) / 8 + 1001, 0);
    if (computes)
        failing();
    return check_end();
}
