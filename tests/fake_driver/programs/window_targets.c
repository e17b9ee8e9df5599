/* ranks: 2 3
 * What a target does for others in a window of device memory: while it computes, for all of them at once, and
 * when its driver fails, which is told to the origin; what is no memory of one device is refused. */
#include "twice.h"
#include <time.h>

#define LONGS 2000
/* More bytes than the device has, so the last one is no memory of it, whatever else is there. */
#define BEYOND ((MPI_Aint)1 << 34)

static struct buffer memory;
static MPI_Win window;

static void create(enum kind kind)
{
    long *zeros = calloc(LONGS, 8);
    memory = buffer_of(kind, LONGS * 8);
    buffer_put(&memory, (char *)zeros);
    free(zeros);
    WORKS(MPI_Win_create(memory.at, LONGS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    void *base;
    int flag;
    WORKS(MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == memory.at);
}

static void end(void)
{
    WORKS(MPI_Win_free(&window));
    buffer_free(&memory);
}

static long word_at(int place)
{
    long words[LONGS];
    buffer_get(&memory, (char *)words);
    return words[place];
}

/* Rank 0 waits for a word in its memory, and calls nothing of MPI meanwhile. */
static void while_it_computes(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        time_t begun = time(NULL);
        while (word_at(7) != 42 && time(NULL) - begun < 60)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        CHECK_EQUAL(word_at(7), 42);
        CHECK_EQUAL(word_at(8), 5);
    } else if (rank == 1) {
        long word = 42, found = 0, five = 5;
        WORKS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
        WORKS(MPI_Accumulate(&five, 1, MPI_LONG, 0, 8, 1, MPI_LONG, MPI_SUM, window));
        WORKS(MPI_Put(&word, 1, MPI_LONG, 0, 7, 1, MPI_LONG, window));
        WORKS(MPI_Win_flush(0, window));
        WORKS(MPI_Get(&found, 1, MPI_LONG, 0, 7, 1, MPI_LONG, window));
        CHECK_EQUAL(found, 42);
        WORKS(MPI_Win_unlock(0, window));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each element is changed as a whole, whoever does it: sums are right, and no ticket is given twice. */
static void all_at_once(void)
{
    enum { TIMES = 40, FIRST = 100 };
    long *ones = malloc(LONGS * 8), *seen = calloc((size_t)TIMES * size, 8), one = 1;
    for (int item = 0; item < LONGS; item++)
        ones[item] = 1;
    WORKS(MPI_Win_fence(0, window));
    WORKS(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    WORKS(MPI_Win_lock_all(0, window));
    for (int round = 0; round < TIMES; round++) {
        long ticket = -1;
        WORKS(MPI_Accumulate(ones, LONGS - FIRST, MPI_LONG, 0, FIRST, LONGS - FIRST, MPI_LONG, MPI_SUM, window));
        WORKS(MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, window));
        CHECK(ticket >= 0 && ticket < TIMES * size);
        if (ticket >= 0 && ticket < TIMES * size)
            seen[ticket]++;
    }
    WORKS(MPI_Win_unlock_all(window));
    WORKS(MPI_Allreduce(MPI_IN_PLACE, seen, TIMES * size, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    for (int ticket = 0; ticket < TIMES * size; ticket++)
        CHECK_EQUAL(seen[ticket], 1);
    if (rank == 0)
        for (int item = FIRST; item < LONGS; item += 133)
            CHECK_EQUAL(word_at(item), (long)TIMES * size);
    free(ones);
    free(seen);
}

/* The functions that a target calls for others. */
static const char *called[] = {"cuCtxPushCurrent", "cuMemcpyAsync", "cuStreamSynchronize"};

static int operation_of(int which, long *from, long *to, int target)
{
    switch (which) {
    case 0:
        return MPI_Put(from, 100, MPI_LONG, target, 0, 100, MPI_LONG, window);
    case 1:
        return MPI_Get(to, 100, MPI_LONG, target, 0, 100, MPI_LONG, window);
    case 2:
        return MPI_Accumulate(from, 100, MPI_LONG, target, 0, 100, MPI_LONG, MPI_SUM, window);
    case 3:
        return MPI_Fetch_and_op(from, to, MPI_LONG, target, 3, MPI_SUM, window);
    default:
        return MPI_Compare_and_swap(from, from + 1, to, MPI_LONG, target, 3, window);
    }
}

/* Origin is the rank whose driver fails, too: its own operation tells the same. An origin that has mapped the memory
 * asks the target for nothing. */
static void target_fails(int origin, enum kind kind)
{
    long from[128], to[128];
    for (int item = 0; item < 128; item++)
        from[item] = item;
    for (unsigned function = 0; function < sizeof called / sizeof *called; function++)
        for (int which = 0; which < 5; which++) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0)
                fake_cuda_fail(called[function], 0);
            MPI_Barrier(MPI_COMM_WORLD);
            int code = MPI_SUCCESS;
            if (rank == origin) {
                WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
                code = operation_of(which, from, to, 0);
                WORKS(MPI_Win_unlock(0, window));
            }
            MPI_Barrier(MPI_COMM_WORLD);
            int is_failing = rank == 0 ? fake_cuda_is_failing() : 0;
            MPI_Bcast(&is_failing, 1, MPI_INT, 0, MPI_COMM_WORLD);
            CHECK(!is_failing || ((kind == DEVICE || kind == VIRTUAL) && origin == 1));
            fake_cuda_fail(NULL, -1);
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == origin) {
                char text[MPI_MAX_ERROR_STRING] = "";
                int length;
                CHECK_CLASS(code, is_failing ? MPI_SUCCESS : MPI_ERR_OTHER);
                MPI_Error_string(code, text, &length);
                CHECK(is_failing || (strstr(text, "CUDA_ERROR_LAUNCH_FAILED") && strstr(text, called[function])));
                CHECK(is_failing || origin == 0 || strstr(text, "rank 0"));
                WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
                WORKS(operation_of(which, from, to, 0));
                memset(to, 0, sizeof to);
                WORKS(operation_of(1, from, to, 0));
                CHECK(which != 0 || memcmp(from, to, 800) == 0);
                WORKS(MPI_Win_unlock(0, window));
            }
        }
}

/* A driver that cannot answer makes no window, for nobody; nor does memory that is not all of one device. */
static void not_made(void)
{
    struct buffer small = buffer_of(DEVICE, 64);
    MPI_Win made;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0)
        fake_cuda_fail("cuPointerGetAttributes", 0);
    int code = MPI_Win_create(small.at, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    CHECK_CLASS(code, rank == 0 ? MPI_ERR_OTHER : MPI_ERR_ARG);
    MPI_Error_string(code, text, &length);
    CHECK(rank != 0 || strstr(text, "CUDA_ERROR_LAUNCH_FAILED"));
    CHECK_CLASS(MPI_Win_create(small.at, BEYOND, 1, MPI_INFO_NULL, MPI_COMM_SELF, &made), MPI_ERR_BUFFER);
    WORKS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &made));
    MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_attach(made, small.at, BEYOND), MPI_ERR_BUFFER);
    fake_cuda_fail("cuPointerGetAttributes", 0);
    CHECK_CLASS(MPI_Win_attach(made, small.at, 64), MPI_ERR_OTHER);
    WORKS(MPI_Win_attach(made, small.at, 64));
    CHECK_CLASS(MPI_Win_attach(made, small.at + 8, 8), MPI_ERR_RMA_ATTACH);
    WORKS(MPI_Win_free(&made));
    buffer_free(&small);
}

/* Memory is attached, detached, and another kind of memory attached, perhaps where it was. */
static void attached_again(void)
{
    WORKS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    int next = (rank + 1) % size;
    for (int round = 0; round < 8; round++) {
        struct buffer piece = buffer_of((round + rank) % KINDS, 4096);
        MPI_Aint place, there;
        long word = 100 * rank + round;
        WORKS(MPI_Win_attach(window, piece.at, 4096));
        MPI_Get_address(piece.at, &place);
        MPI_Sendrecv(&place, 1, MPI_AINT, (rank + size - 1) % size, 0, &there, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        WORKS(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window));
        WORKS(MPI_Put(&word, 1, MPI_LONG, next, there + 64, 1, MPI_LONG, window));
        CHECK_CLASS(MPI_Put(&word, 1, MPI_LONG, next, there + 4092, 1, MPI_LONG, window), MPI_ERR_RMA_RANGE);
        WORKS(MPI_Win_unlock(next, window));
        MPI_Barrier(MPI_COMM_WORLD);
        long words[512];
        buffer_get(&piece, (char *)words);
        CHECK_EQUAL(words[8], 100 * ((rank + size - 1) % size) + round);
        WORKS(MPI_Win_detach(window, piece.at));
        MPI_Barrier(MPI_COMM_WORLD);
        WORKS(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window));
        CHECK_CLASS(MPI_Put(&word, 1, MPI_LONG, next, there + 64, 1, MPI_LONG, window), MPI_ERR_RMA_RANGE);
        WORKS(MPI_Win_unlock(next, window));
        MPI_Barrier(MPI_COMM_WORLD);
        buffer_free(&piece);
    }
    WORKS(MPI_Win_free(&window));
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    for (enum kind kind = DEVICE; kind < KINDS; kind++) {
        create(kind);
        while_it_computes();
        all_at_once();
        target_fails(1, kind);
        target_fails(0, kind);
        end();
    }
    not_made();
    attached_again();
    return check_end();
}
