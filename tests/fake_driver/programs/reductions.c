/* ranks: 2 3 4 7
 * Reductions by all ranks whose buffers lie on the device of all have the bits of the processor, and are computed there: nothing
 * crosses to the host. Where one of the ranks has its buffer elsewhere, or may not map those of others, all is as right. */
#include "counted.h"

static int computes;
static long combined, copied;

enum { ALLREDUCE, ALLREDUCE_IN_PLACE, REDUCE, REDUCE_IN_PLACE, SCATTER, SCATTER_BLOCK, SCATTER_IN_PLACE, SCAN, SCAN_IN_PLACE, EXSCAN, EXSCAN_IN_PLACE,
       SCATTER_UNLIKE_IN_PLACE, FORMS };
static const char *names[] = {"allreduce", "allreduce in place", "reduce", "reduce in place", "reduce_scatter",
                              "reduce_scatter_block", "reduce_scatter_block in place", "scan", "scan in place", "exscan", "exscan in place",
                              "reduce_scatter in place"};

static struct {
    MPI_Datatype type;
    int bytes;
    MPI_Op op;
} kinds[] = {{MPI_FLOAT, 4, MPI_SUM},  {MPI_DOUBLE, 8, MPI_PROD}, {MPI_INT, 4, MPI_SUM},          {MPI_INT8_T, 1, MPI_MIN},
             {MPI_DOUBLE, 8, MPI_MAX}, {MPI_LONG, 8, MPI_BXOR},   {MPI_C_FLOAT_COMPLEX, 8, MPI_SUM}};

/* The items of each rank's block in a reduce_scatter: one of them has none. */
static void blocks(int count, int *counts)
{
    for (int which = 0; which < size; which++)
        counts[which] = which == 1 ? 0 : count / size;
    counts[size - 1] += count - count / size * (size - 1);
}

static int operate_on(int form, int kind, int count, int root, void *send, void *receive)
{
    MPI_Datatype type = kinds[kind].type;
    MPI_Op op = kinds[kind].op;
    MPI_Comm comm = MPI_COMM_WORLD;
    int counts[64];
    blocks(count, counts);
    switch (form) {
    case ALLREDUCE:
        return MPI_Allreduce(send, receive, count, type, op, comm);
    case ALLREDUCE_IN_PLACE:
        return MPI_Allreduce(MPI_IN_PLACE, receive, count, type, op, comm);
    case REDUCE:
        return MPI_Reduce(send, receive, count, type, op, root, comm);
    case REDUCE_IN_PLACE:
        return MPI_Reduce(rank == root ? MPI_IN_PLACE : send, receive, count, type, op, root, comm);
    case SCATTER:
        return MPI_Reduce_scatter(send, receive, counts, type, op, comm);
    case SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(send, receive, count / size, type, op, comm);
    case SCATTER_IN_PLACE:
        return MPI_Reduce_scatter_block(MPI_IN_PLACE, receive, count / size, type, op, comm);
    case SCAN:
        return MPI_Scan(send, receive, count, type, op, comm);
    case SCAN_IN_PLACE:
        return MPI_Scan(MPI_IN_PLACE, receive, count, type, op, comm);
    case EXSCAN:
        return MPI_Exscan(send, receive, count, type, op, comm);
    case EXSCAN_IN_PLACE:
        return MPI_Exscan(MPI_IN_PLACE, receive, count, type, op, comm);
    default: /* rank 0 gets the least */
        return MPI_Reduce_scatter(MPI_IN_PLACE, receive, counts, type, op, comm);
    }
}

/* Numbers between -2 and 2, of all bits, and some that are none. */
static void numbers(int kind, char *to, size_t count)
{
    for (size_t place = 0; place < count * kinds[kind].bytes / (kinds[kind].bytes > 3 ? 4 : 1); place++) {
        int is_odd = rank_draw(50) == 0;
        if (kinds[kind].type == MPI_DOUBLE && place % 2 == 0)
            ((double *)to)[place / 2] = is_odd ? 0.0 / (place % 3) : rank_draw(1 << 30) / 268435456.0 - 2;
        else if (kinds[kind].type == MPI_FLOAT || kinds[kind].type == MPI_C_FLOAT_COMPLEX)
            ((float *)to)[place] = is_odd ? 0.0f / (place % 3) : rank_draw(1 << 30) / 268435456.0f - 2;
        else if (kinds[kind].type != MPI_DOUBLE && kinds[kind].bytes > 1)
            ((int *)to)[place] = rank_draw(1 << 30) * 3;
        else if (kinds[kind].bytes == 1)
            to[place] = rank_draw(256);
    }
}

static void reduce(int form, int kind, int count, enum kind send_kind, enum kind receive_kind)
{
    size_t bytes = (size_t)count * kinds[kind].bytes;
    int root = all_draw(size);
    char *host[2] = {malloc(bytes), malloc(bytes)};
    struct buffer device[2] = {buffer_of(send_kind, bytes), buffer_of(receive_kind, bytes)};
    for (int which = 0; which < 2; which++) {
        numbers(kind, host[which], count);
        buffer_put(&device[which], host[which]);
    }
    WORKS(operate_on(form, kind, count, root, host[0], host[1]));
    long before = bytes_of(COMBINED), through = bytes_of(ALL) - bytes_of(MAPPED);
    WORKS(operate_on(form, kind, count, root, device[0].at, device[1].at));
    combined = bytes_of(COMBINED) - before;
    copied = bytes_of(ALL) - bytes_of(MAPPED) - through;
    for (int which = 0; which < 2; which++) {
        long long place = buffer_differs(&device[which], host[which]);
        if (place >= 0)
            check_failed(__FILE__, __LINE__, "%s %d of %d items: byte %lld of buffer %d of kinds %d and %d", names[form], kind,
                         count, place, which, send_kind, receive_kind);
        buffer_free(&device[which]);
        free(host[which]);
    }
}

static void failing(void)
{
    enum { COUNT = 20000 };
    struct buffer send = buffer_of(DEVICE, 8 * COUNT), receive = buffer_of(DEVICE, 8 * COUNT);
    char *zeros = calloc(8, COUNT);
    buffer_put(&send, zeros);
    buffer_put(&receive, zeros);
    /* All hear of a part that was not computed or copied; who only cannot begin has all go through the host. */
    const char *functions[] = {"cuLaunchKernel", "cuMemcpyAsync", "cuStreamSynchronize"};
    WORKS(MPI_Allreduce(send.at, receive.at, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    for (int which = 0; which < 3; which++) {
        if (rank == size - 1)
            fake_cuda_fail(functions[which], 0);
        int answer = MPI_Allreduce(send.at, receive.at, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (fake_cuda_is_failing() || class_of(answer) != (which == 2 ? MPI_SUCCESS : MPI_ERR_OTHER))
            check_failed(__FILE__, __LINE__, "a failure of %s gives class %d", functions[which], class_of(answer));
        fake_cuda_fail(NULL, -1);
        CHECK_EQUAL(fake_cuda_pending(), 0);
    }
    WORKS(MPI_Allreduce(send.at, receive.at, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(buffer_differs(&receive, zeros), -1);
    free(zeros);
    buffer_free(&send);
    buffer_free(&receive);
}

int main(int argc, char **argv)
{
    counted_begin(&argc, &argv);
    computes = !getenv("FAKE_CUDA_KERNELS") && lends_memory();
    for (int form = 0; form < FORMS; form++)
        for (int which = 0; which < 3; which++) {
            int kind = all_draw(sizeof kinds / sizeof *kinds);
            int count = (64 << 10) / kinds[kind].bytes + 1 + all_draw(9000);
            reduce(form, kind, count, DEVICE, DEVICE);
            long size_of_mine = combined;
            int is_there = form != SCATTER_UNLIKE_IN_PLACE || (size == 2 && count % 2 == 0);
            if (computes && is_there) {
                /* What comes of one operand alone is copied. */
                int is_exscan = form == EXSCAN || form == EXSCAN_IN_PLACE;
                CHECK(copied == 0 || (form == SCAN && rank == 0) || (is_exscan && rank == 1));
                MPI_Allreduce(MPI_IN_PLACE, &size_of_mine, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
                CHECK(size_of_mine > 0 || (is_exscan && size == 2));
            } else if (!computes || !is_there)
                CHECK_EQUAL(combined, 0);
            /* Short ones, and buffers anywhere. */
            reduce(form, kind, 1 + all_draw(500), DEVICE, DEVICE);
            CHECK_EQUAL(combined, 0);
            reduce(form, kind, count, rank_draw(KINDS), rank_draw(KINDS));
            reduce(form, kind, count, DEVICE, rank_draw(3) ? DEVICE : HOST);
        }
    /* Longer than the places of a slab. */
    if (size < 5)
        reduce(ALLREDUCE, 2, (3 << 20) + 77, DEVICE, DEVICE);
    if (computes)
        failing();
    MPI_T_finalize();
    return check_end();
}
