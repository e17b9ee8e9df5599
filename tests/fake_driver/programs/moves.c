/* ranks: 2 3 4
 * Collectives that move long blocks between buffers on the device of all: whoever gets data copies them straight from who gives
 * them, so nothing crosses to the host; what comes may go to any memory. Where a rank gives other memory, or nobody may map that of
 * others, all is as right. A copy that fails is an error of that rank alone. */
#include "counted.h"

static int lends;

enum { BCAST, SCATTER, SCATTER_IN_PLACE, GATHER, GATHER_IN_PLACE, ALLGATHER, ALLGATHER_IN_PLACE, ALLTOALL, FORMS };
static const char *names[] = {"bcast",     "scatter",            "scatter in place", "gather", "gather in place",
                              "allgather", "allgather in place", "alltoall"};

/* The first buffer has a block for each rank; so has the second one. */
static int operate_on(int form, int count, int root, void *first, void *second)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int is_root = rank == root;
    switch (form) {
    case BCAST:
        return MPI_Bcast(is_root ? first : second, count, MPI_INT, root, comm);
    case SCATTER:
        return MPI_Scatter(first, count, MPI_INT, second, count, MPI_INT, root, comm);
    case SCATTER_IN_PLACE:
        return MPI_Scatter(first, count, MPI_INT, is_root ? MPI_IN_PLACE : second, count, MPI_INT, root, comm);
    case GATHER:
        return MPI_Gather(first, count, MPI_INT, second, count, MPI_INT, root, comm);
    case GATHER_IN_PLACE:
        return MPI_Gather(is_root ? MPI_IN_PLACE : first, count, MPI_INT, second, count, MPI_INT, root, comm);
    case ALLGATHER:
        return MPI_Allgather(first, count, MPI_INT, second, count, MPI_INT, comm);
    case ALLGATHER_IN_PLACE:
        return MPI_Allgather(MPI_IN_PLACE, count, MPI_INT, second, count, MPI_INT, comm);
    default:
        return MPI_Alltoall(first, count, MPI_INT, second, count, MPI_INT, comm);
    }
}

/* Bytes that this rank copies within its own memory. */
static long own_bytes(int form, int count, int root)
{
    int is_own = form == ALLGATHER || form == ALLTOALL || (rank == root && (form == SCATTER || form == GATHER));
    return is_own ? 4L * count : 0;
}

static struct buffer buffers[2];
static char *hosts[2];

static void make(int count, enum kind first, enum kind second)
{
    size_t bytes = 4 * (size_t)count * size;
    enum kind kinds[] = {first, second};
    for (int which = 0; which < 2; which++) {
        buffers[which] = buffer_of(kinds[which], bytes);
        hosts[which] = malloc(bytes);
        for (size_t place = 0; place < bytes / 4; place++)
            ((int *)hosts[which])[place] = rank_draw(1 << 30);
        buffer_put(&buffers[which], hosts[which]);
    }
}

static void check_and_free(int form, int count)
{
    for (int which = 0; which < 2; which++) {
        long long place = buffer_differs(&buffers[which], hosts[which]);
        if (place >= 0)
            check_failed(__FILE__, __LINE__, "%s of %d items: byte %lld of buffer %d of kind %d", names[form], count, place, which,
                         buffers[which].kind);
        buffer_free(&buffers[which]);
        free(hosts[which]);
    }
}

/* What this rank's driver has copied beside what came straight from others. */
static long move(int form, int count, enum kind first, enum kind second)
{
    int root = all_draw(size);
    make(count, first, second);
    WORKS(operate_on(form, count, root, hosts[0], hosts[1]));
    long before = bytes_of(ALL) - bytes_of(MAPPED);
    WORKS(operate_on(form, count, root, buffers[0].at, buffers[1].at));
    long copied = bytes_of(ALL) - bytes_of(MAPPED) - before - own_bytes(form, count, root);
    check_and_free(form, count);
    return copied;
}

/* The last rank's driver fails where it copies: only what comes to it may be wrong, and the next operation is right. */
static void failing(int form, int count)
{
    int root = all_draw(size), taker = form == BCAST || form == SCATTER ? (root + 1) % size : form == GATHER ? root : size - 1;
    make(count, DEVICE, DEVICE);
    WORKS(operate_on(form, count, root, hosts[0], hosts[1]));
    WORKS(operate_on(form, count, root, buffers[0].at, buffers[1].at)); /* all is mapped */
    if (rank == taker)
        fake_cuda_fail("cuMemcpyAsync", 0);
    int answer = operate_on(form, count, root, buffers[0].at, buffers[1].at);
    CHECK_CLASS(answer, rank == taker ? MPI_ERR_OTHER : MPI_SUCCESS);
    CHECK(!fake_cuda_is_failing());
    fake_cuda_fail(NULL, -1);
    CHECK_EQUAL(fake_cuda_pending(), 0);
    WORKS(operate_on(form, count, root, buffers[0].at, buffers[1].at));
    check_and_free(form, count);
}

int main(int argc, char **argv)
{
    counted_begin(&argc, &argv);
    lends = lends_memory();
    for (int form = 0; form < FORMS; form++) {
        move(form, 20000, DEVICE, DEVICE); /* peers are proven */
        for (int round = 0; round < 4; round++) {
            int count = (64 << 8) + 1 + all_draw(5000);
            long copied = move(form, count, DEVICE, DEVICE);
            if (lends && copied != 0)
                check_failed(__FILE__, __LINE__, "%s: %ld bytes have crossed to the host", names[form], copied);
            copied = move(form, count, form == ALLGATHER_IN_PLACE ? HOST : DEVICE, form == ALLGATHER_IN_PLACE ? DEVICE : rank_draw(KINDS));
            if (lends && copied != 0)
                check_failed(__FILE__, __LINE__, "%s: %ld bytes have crossed to the host", names[form], copied);
            move(form, 1 + all_draw(3000), DEVICE, DEVICE);
            move(form, count, rank_draw(KINDS), rank_draw(KINDS));
        }
        if (lends && form != SCATTER_IN_PLACE && form != GATHER_IN_PLACE)
            failing(form, 30000);
    }
    MPI_T_finalize();
    return check_end();
}
