/* ranks: 2
 * Memory that ranks of one node lend to each other: an origin copies it by itself, without its owner. It is mapped at first use,
 * once for all windows, and given back with the last; memory that is used again is mapped again. Each function that
 * fails, and each driver that does not lend, leaves a window that works. */
#include "twice.h"
#include <time.h>

#define LONGS 1000
#define CALLS(name) ((long)fake_cuda_calls(name))

static int lends, passes;

static MPI_Win window_of(struct buffer *memory)
{
    MPI_Win window;
    WORKS(MPI_Win_create(memory->at, memory->bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    return window;
}

/* Rank 1 writes and reads the memory of rank 0. */
static void exchange(MPI_Win window, struct buffer *memory, long seed)
{
    long out[LONGS], in[LONGS] = {0}, sum[LONGS];
    for (int item = 0; item < LONGS; item++)
        out[item] = item * seed, sum[item] = 2 * out[item];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        WORKS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
        WORKS(MPI_Put(out, LONGS, MPI_LONG, 0, 0, LONGS, MPI_LONG, window));
        WORKS(MPI_Get_accumulate(out, LONGS, MPI_LONG, in, LONGS, MPI_LONG, 0, 0, LONGS, MPI_LONG, MPI_SUM, window));
        WORKS(MPI_Win_unlock(0, window));
        CHECK(memcmp(out, in, sizeof out) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK_EQUAL(buffer_differs(memory, (char *)sum), -1);
}

static void without_its_owner(void)
{
    struct buffer memory = buffer_of(DEVICE, LONGS * 8);
    long opened = CALLS("cuIpcOpenMemHandle"), closed = CALLS("cuIpcCloseMemHandle");
    MPI_Win first = window_of(&memory), second = window_of(&memory);
    CHECK_EQUAL(CALLS("cuIpcOpenMemHandle"), opened); /* only at first use */
    MPI_Barrier(MPI_COMM_WORLD);
    long copied = CALLS("cuMemcpyAsync");
    exchange(first, &memory, 3);
    exchange(second, &memory, 5);
    if (rank == 0)
        CHECK(lends == (CALLS("cuMemcpyAsync") == copied));
    else if (lends)
        CHECK_EQUAL(CALLS("cuIpcOpenMemHandle"), opened + 2); /* the secret of the other, and this */
    MPI_Barrier(MPI_COMM_WORLD);
    WORKS(MPI_Win_free(&first));
    exchange(second, &memory, 7);
    WORKS(MPI_Win_free(&second));
    if (rank == 1)
        CHECK_EQUAL(CALLS("cuIpcCloseMemHandle") - closed, lends ? 2 : CALLS("cuIpcCloseMemHandle") - closed);
    buffer_free(&memory);
}

/* Memory at the same address is another allocation. */
static void used_again(void)
{
    char *at = NULL;
    for (int round = 1; round < 6; round++) {
        struct buffer memory = buffer_of(DEVICE, LONGS * 8);
        CHECK(!at || at == memory.at);
        at = memory.at;
        MPI_Win window = window_of(&memory);
        long opened = CALLS("cuIpcOpenMemHandle");
        exchange(window, &memory, round);
        CHECK(!lends || CALLS("cuIpcOpenMemHandle") - opened == (rank == 1));
        WORKS(MPI_Win_free(&window));
        buffer_free(&memory);
    }
    if (!lends) /* the secret is looked for a few times, and nothing else */
        CHECK(CALLS("cuIpcOpenMemHandle") <= 3);
}

/* Memory that is attached stays mapped from one operation to the next. */
static void attached(void)
{
    struct buffer memory = buffer_of(DEVICE, LONGS * 8);
    MPI_Aint place;
    MPI_Win window;
    WORKS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    WORKS(MPI_Win_attach(window, memory.at, LONGS * 8));
    MPI_Get_address(memory.at, &place);
    MPI_Bcast(&place, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    long opened = CALLS("cuIpcOpenMemHandle");
    if (rank == 1) {
        WORKS(MPI_Win_lock_all(0, window));
        for (long item = 0; item < 50; item++)
            WORKS(MPI_Put(&item, 1, MPI_LONG, 0, place + 8 * item, 1, MPI_LONG, window));
        WORKS(MPI_Win_unlock_all(window));
        CHECK(!lends || CALLS("cuIpcOpenMemHandle") - opened == 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        long items[LONGS];
        buffer_get(&memory, (char *)items);
        for (long item = 0; item < 50; item++)
            CHECK_EQUAL(items[item], item);
    }
    WORKS(MPI_Win_detach(window, memory.at));
    WORKS(MPI_Win_free(&window));
    buffer_free(&memory);
}

/* Memory that the program has mapped, in two pieces: its owner passes descriptors, and no more. */
static void in_pieces(void)
{
    struct buffer memory = buffer_of(VIRTUAL, LONGS * 8);
    long imported = CALLS("cuMemImportFromShareableHandle"), unmapped = CALLS("cuMemUnmap");
    MPI_Win first = window_of(&memory), second = window_of(&memory), dynamic;
    CHECK_EQUAL(CALLS("cuMemImportFromShareableHandle"), imported); /* only at first use */
    MPI_Barrier(MPI_COMM_WORLD);
    long copied = CALLS("cuMemcpyAsync");
    exchange(first, &memory, 3);
    exchange(first, &memory, 4);
    exchange(second, &memory, 5);
    if (rank == 0)
        CHECK(passes == (CALLS("cuMemcpyAsync") == copied));
    else if (passes)
        CHECK_EQUAL(CALLS("cuMemImportFromShareableHandle"), imported + 4);
    WORKS(MPI_Win_free(&first));
    exchange(second, &memory, 7);
    WORKS(MPI_Win_free(&second));
    if (rank == 1)
        CHECK_EQUAL(CALLS("cuMemUnmap") - unmapped, passes ? 2 : CALLS("cuMemUnmap") - unmapped);
    /* Attached, and in the middle of the memory. */
    MPI_Aint place;
    long item = 77;
    WORKS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
    WORKS(MPI_Win_attach(dynamic, memory.at + 800, LONGS * 8 - 800));
    MPI_Get_address(memory.at + 4000, &place);
    MPI_Bcast(&place, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        imported = CALLS("cuMemImportFromShareableHandle");
        WORKS(MPI_Win_lock_all(0, dynamic));
        for (int which = 0; which < 20; which++)
            WORKS(MPI_Put(&item, 1, MPI_LONG, 0, place + 8 * which, 1, MPI_LONG, dynamic));
        WORKS(MPI_Win_unlock_all(dynamic));
        if (passes)
            CHECK_EQUAL(CALLS("cuMemImportFromShareableHandle"), imported + 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        long items[LONGS];
        buffer_get(&memory, (char *)items);
        for (int which = 0; which < 20; which++)
            CHECK_EQUAL(items[500 + which], item);
        CHECK_EQUAL(items[520], 2 * 520 * 7);
    }
    WORKS(MPI_Win_detach(dynamic, memory.at + 800));
    WORKS(MPI_Win_free(&dynamic));
    buffer_free(&memory);
}

/* A failure here is one of lending, not of the call. */
static const char *called[] = {"cuIpcGetMemHandle", "cuDeviceGet", "cuDeviceGetUuid", "cuMemAlloc", "cuDeviceGetCount",
                               "cuDevicePrimaryCtxGetState", "cuIpcOpenMemHandle", "cuIpcCloseMemHandle",
                               "cuMemRetainAllocationHandle", "cuMemExportToShareableHandle", "cuMemAddressReserve",
                               "cuMemImportFromShareableHandle", "cuMemMap", "cuMemSetAccess"};

static void lending_fails(void)
{
    for (unsigned which = 0; which < sizeof called / sizeof *called; which++)
        for (int failing = 0; failing < 2; failing++) {
            struct buffer memory = buffer_of(which < 8 ? DEVICE : VIRTUAL, LONGS * 8);
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == failing)
                fake_cuda_fail(called[which], 0);
            MPI_Win window = window_of(&memory);
            exchange(window, &memory, which + 2);
            exchange(window, &memory, which + 3);
            WORKS(MPI_Win_free(&window));
            fake_cuda_fail(NULL, -1);
            MPI_Barrier(MPI_COMM_WORLD);
            buffer_free(&memory);
        }
}

/* What the origin's own driver says is its error. */
static void copying_fails(void)
{
    static const char *copies[] = {"cuCtxPushCurrent", "cuMemcpyAsync", "cuStreamSynchronize"};
    struct buffer memory = buffer_of(DEVICE, LONGS * 8);
    MPI_Win window = window_of(&memory);
    exchange(window, &memory, 11);
    MPI_Barrier(MPI_COMM_WORLD); /* rank 0 has looked at it */
    if (rank == 1 && lends)
        for (int which = 0; which < 3; which++) {
            long word = 9, found = 0;
            char text[MPI_MAX_ERROR_STRING] = "";
            int length;
            WORKS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
            fake_cuda_fail(copies[which], 0);
            int code = MPI_Accumulate(&word, 1, MPI_LONG, 0, 3, 1, MPI_LONG, MPI_REPLACE, window);
            CHECK_CLASS(code, MPI_ERR_OTHER);
            MPI_Error_string(code, text, &length);
            CHECK(strstr(text, copies[which]) && strstr(text, "CUDA_ERROR_LAUNCH_FAILED"));
            WORKS(MPI_Accumulate(&word, 1, MPI_LONG, 0, 3, 1, MPI_LONG, MPI_REPLACE, window));
            WORKS(MPI_Get(&found, 1, MPI_LONG, 0, 3, 1, MPI_LONG, window));
            CHECK_EQUAL(found, 9);
            WORKS(MPI_Win_unlock(0, window));
        }
    MPI_Barrier(MPI_COMM_WORLD);
    WORKS(MPI_Win_free(&window));
    buffer_free(&memory);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    const char *nodes = getenv("SERRIED_NODES"), *wire = getenv("SERRIED_TRANSPORT");
    const char *ipc = getenv("FAKE_CUDA_IPC");
    lends = !ipc && !nodes && !wire;
    /* A descriptor is no handle, and needs no secret; but both have to use one device. */
    passes = (!ipc || strcmp(ipc, "apart")) && !nodes && !wire;
    without_its_owner();
    used_again();
    attached();
    in_pieces();
    lending_fails();
    copying_fails();
    return check_end();
}
