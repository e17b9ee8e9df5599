/* ranks: 1 2
 * Device memory with gaps: a program on the device packs and unpacks it, so few copies cross to the host, whatever the
 * datatype, the length of its words and where it begins. Where the driver refuses the program, or it does something else, all
 * is as right, piece by piece. */
#include "twice.h"

#define CALLS(name) ((long)fake_cuda_calls(name))
#define SLAB (4 << 20)

static int packs;
static MPI_Status statuses[2];

/* Types of several shapes over an element. */
enum { VECTOR, BACKWARDS, CUBE, BLOCKS, INDEXED, ITEMS, UNLIKE, FEW, LONG, SHAPES };

static MPI_Datatype shape(int which, MPI_Datatype element)
{
    MPI_Datatype made, within;
    int sizes[] = {9, 8, 7}, subsizes[] = {4, 5, 3}, starts[] = {2, 1, 3};
    int places[] = {40, 3, 90, 7, 61, 20}, lengths[] = {1, 2, 1, 3, 1, 2};
    MPI_Aint lower, extent;
    MPI_Type_get_extent(element, &lower, &extent);
    switch (which) {
    case VECTOR:
        MPI_Type_vector(100, 1, 2, element, &made);
        break;
    case BACKWARDS:
        MPI_Type_vector(5, 3, -7, element, &within);
        MPI_Type_create_hvector(4, 1, 200 * extent, within, &made);
        MPI_Type_free(&within);
        break;
    case CUBE:
        MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, element, &made);
        break;
    case BLOCKS:
        MPI_Type_vector(10, 5, 9, element, &made);
        break;
    case INDEXED:
        MPI_Type_create_indexed_block(6, 2, places, element, &made);
        break;
    case ITEMS:
        MPI_Type_create_indexed_block(6, 1, places, element, &within);
        MPI_Type_create_resized(within, 0, 101 * extent, &made);
        MPI_Type_free(&within);
        break;
    case UNLIKE:
        MPI_Type_indexed(6, lengths, places, element, &made);
        break;
    case FEW:
        MPI_Type_vector(3, 4, 6, element, &made);
        break;
    default:
        MPI_Type_vector(6, 20000, 30000, element, &made);
    }
    MPI_Type_commit(&made);
    return made;
}

/* An element of 1, 2, 4, 8, 16 bytes, and of 3, 12 and 32. */
static MPI_Datatype element_of(int bytes)
{
    MPI_Datatype made;
    MPI_Type_contiguous(bytes, MPI_BYTE, &made);
    return made;
}

/* Packs and unpacks a buffer of the device and one of the host, and counts copies and launches. */
static void pass(int which, int bytes, int count, int shift)
{
    MPI_Datatype element = element_of(bytes), type = shape(which, element);
    MPI_Aint lower, extent, first, span;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &first, &span);
    int size_of_item;
    MPI_Type_size(type, &size_of_item);
    size_t before = first < 0 ? -first : 0, room = before + count * (size_t)extent + span + first + 64 + shift;
    struct buffer device = buffer_of(rank % 2 ? POOL : DEVICE, room), host = buffer_of(HOST, room);
    struct buffer other = buffer_of(DEVICE, room);
    char *bytes_of = malloc(room), *blank = calloc(1, room), *packed[2];
    size_t length = (size_t)size_of_item * count;
    for (size_t byte = 0; byte < room; byte++)
        bytes_of[byte] = byte * 31 + byte / 255 + which;
    buffer_put(&device, bytes_of);
    buffer_put(&host, bytes_of);
    struct buffer targets[2] = {other, buffer_of(HOST, room)};
    for (int side = 0; side < 2; side++) {
        packed[side] = malloc(length + 1);
        int position = 0;
        long copies = CALLS("cuMemcpyAsync"), launches = CALLS("cuLaunchKernel");
        char *from = (side ? host.at : device.at) + before + shift;
        WORKS(MPI_Pack(from, count, type, packed[side], (int)length, &position, MPI_COMM_SELF));
        copies = CALLS("cuMemcpyAsync") - copies, launches = CALLS("cuLaunchKernel") - launches;
        if (side == 0 && packs && which != UNLIKE && !(which == FEW && count == 1) && which != LONG) {
            int table = which == INDEXED || which == ITEMS;
            if (copies != launches + table || launches != (long)((length + SLAB - 1) / SLAB))
                check_failed(__FILE__, __LINE__, "shape %d of %d bytes, %d items: %ld copies, %ld launches", which, bytes, count,
                             copies, launches);
        } else if (side == 0)
            CHECK_EQUAL(launches, 0);
        buffer_put(&targets[side], blank);
        position = 0;
        WORKS(MPI_Unpack(packed[side], (int)length, &position, targets[side].at + before + shift, count, type, MPI_COMM_SELF));
    }
    CHECK(memcmp(packed[0], packed[1], length) == 0);
    if (buffer_differs(&targets[0], targets[1].at) >= 0)
        check_failed(__FILE__, __LINE__, "shape %d of %d bytes, %d items, is unpacked wrong", which, bytes, count);
    for (int side = 0; side < 2; side++) {
        buffer_free(&targets[side]);
        free(packed[side]);
    }
    buffer_free(&device);
    buffer_free(&host);
    free(bytes_of);
    free(blank);
    MPI_Type_free(&type);
    MPI_Type_free(&element);
}

/* Its first use may take more: the program is loaded and tried, a table is put on the device. */
static void warm_up(int which)
{
    int was = packs;
    packs = 0;
    struct buffer buffer = buffer_of(rank % 2 ? POOL : DEVICE, 1 << 16);
    MPI_Datatype type = shape(which, MPI_INT);
    char out[1 << 12];
    int position = 0;
    WORKS(MPI_Pack(buffer.at, 1, type, out, sizeof out, &position, MPI_COMM_SELF));
    MPI_Type_free(&type);
    buffer_free(&buffer);
    packs = was;
}

/* A table of offsets is put on the device once, and again for another datatype at the same place. */
static void tables(void)
{
    struct buffer buffer = buffer_of(DEVICE, 1 << 16);
    int numbers[1 << 14], out[64], places[16];
    for (int item = 0; item < 1 << 14; item++)
        numbers[item] = item;
    buffer_put(&buffer, (char *)numbers);
    for (int round = 0; round < 30; round++) {
        MPI_Datatype type;
        for (int place = 0; place < 16; place++)
            places[place] = (place * place + round) * 3;
        MPI_Type_create_indexed_block(16, 1, places, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int again = 0; again < 2; again++) {
            int position = 0;
            long allocated = CALLS("cuMemAlloc");
            WORKS(MPI_Pack(buffer.at, 1, type, out, sizeof out, &position, MPI_COMM_SELF));
            CHECK_EQUAL(CALLS("cuMemAlloc") - allocated, packs && !again);
            for (int place = 0; place < 16; place++)
                CHECK_EQUAL(out[place], places[place]);
        }
        MPI_Type_free(&type);
    }
    if (packs)
        CHECK(CALLS("cuMemFree") >= 20);
    buffer_free(&buffer);
}

/* More than a slab, a range of which other ranks get partitions. */
static void long_ones(void)
{
    long count = 1 << 20;
    struct buffer send = buffer_of(DEVICE, 16 * count), receive = buffer_of(DEVICE, 16 * count);
    long *numbers = malloc(16 * count), *found = malloc(16 * count);
    MPI_Datatype type;
    MPI_Request requests[2];
    for (long item = 0; item < 2 * count; item++)
        numbers[item] = item * 5, found[item] = -item;
    buffer_put(&send, (char *)numbers);
    buffer_put(&receive, (char *)found);
    MPI_Type_vector(count, 1, 2, MPI_LONG, &type);
    MPI_Type_commit(&type);
    long launches = CALLS("cuLaunchKernel");
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    WORKS(MPI_Irecv(receive.at, 1, type, left, 0, MPI_COMM_WORLD, &requests[0]));
    WORKS(MPI_Isend(send.at, 1, type, right, 0, MPI_COMM_WORLD, &requests[1]));
    WORKS(MPI_Waitall(2, requests, statuses));
    if (packs)
        CHECK_EQUAL(CALLS("cuLaunchKernel") - launches, 6); /* both are fetched, one is stored, in two slabs each */
    buffer_get(&receive, (char *)found);
    for (long item = 0; item < 2 * count; item++)
        if (found[item] != (item % 2 ? -item : item * 5)) {
            check_failed(__FILE__, __LINE__, "item %ld is %ld", item, found[item]);
            break;
        }
    MPI_Type_free(&type);
    MPI_Type_vector(1 << 12, 1, 2, MPI_LONG, &type);
    MPI_Type_commit(&type);
    WORKS(MPI_Psend_init(send.at, 16, 16, type, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    WORKS(MPI_Precv_init(receive.at, 16, 16, type, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    WORKS(MPI_Startall(2, requests));
    for (int part = 0; part < 16; part++)
        WORKS(MPI_Pready(15 - part, requests[0]));
    WORKS(MPI_Waitall(2, requests, statuses));
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    buffer_get(&receive, (char *)found);
    for (long item = 0; item < 256 * 8191; item++)
        if (found[item] != (item % 8191 % 2 && item % 2 ? -item : item * 5)) {
            check_failed(__FILE__, __LINE__, "after partitions item %ld is %ld", item, found[item]);
            break;
        }
    MPI_Type_free(&type);
    buffer_free(&send);
    buffer_free(&receive);
    free(numbers);
    free(found);
}

/* An address beyond the allocation never comes to a program on the device, which would end the context; a context that goes
 * takes the programs with it. */
static void beyond_and_again(void)
{
    struct buffer small = buffer_of(DEVICE, 1000);
    MPI_Datatype type;
    char out[400];
    int position = 0;
    long launches = CALLS("cuLaunchKernel");
    MPI_Type_vector(100, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_Pack(small.at, 1, type, out, sizeof out, &position, MPI_COMM_SELF) != MPI_SUCCESS);
    CHECK_EQUAL(CALLS("cuLaunchKernel"), launches);
    buffer_free(&small);
    CUcontext own, primary;
    cuCtxGetCurrent(&primary);
    for (int round = 0; round < 3; round++) {
        CHECK_EQUAL(cuCtxCreate_v2(&own, 0, 0), 0);
        small = buffer_of(DEVICE, 1200);
        int numbers[300], *found = (int *)out;
        for (int item = 0; item < 300; item++)
            numbers[item] = item * round;
        buffer_put(&small, (char *)numbers);
        position = 0;
        WORKS(MPI_Pack(small.at, 1, type, out, sizeof out, &position, MPI_COMM_SELF));
        for (int item = 0; item < 100; item++)
            CHECK_EQUAL(found[item], numbers[3 * item]);
        CHECK(!packs || CALLS("cuLaunchKernel") > launches);
        launches = CALLS("cuLaunchKernel");
        cuCtxDestroy_v2(own);
        cuCtxSetCurrent(primary);
    }
    MPI_Type_free(&type);
}

/* What fails on the way is an error with the driver's words, and afterwards all is right. */
static void functions_fail(void)
{
    static const char *called[] = {"cuLaunchKernel", "cuMemcpyAsync", "cuStreamSynchronize"};
    struct buffer buffer = buffer_of(DEVICE, 1200);
    MPI_Datatype type;
    char out[400], text[MPI_MAX_ERROR_STRING];
    int length, position;
    MPI_Type_vector(100, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (unsigned which = 0; packs && which < sizeof called / sizeof *called; which++) {
        position = 0;
        fake_cuda_fail(called[which], which == 2);
        int code = MPI_Pack(buffer.at, 1, type, out, sizeof out, &position, MPI_COMM_SELF);
        CHECK(code != MPI_SUCCESS && !fake_cuda_is_failing());
        MPI_Error_string(code, text, &length);
        CHECK(strstr(text, called[which]) && strstr(text, "CUDA_ERROR_LAUNCH_FAILED"));
        fake_cuda_fail(NULL, -1);
        position = 0;
        WORKS(MPI_Pack(buffer.at, 1, type, out, sizeof out, &position, MPI_COMM_SELF));
    }
    MPI_Type_free(&type);
    buffer_free(&buffer);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    packs = !getenv("FAKE_CUDA_KERNELS");
    warm_up(VECTOR);
    tables();
    static const int sizes[] = {1, 2, 4, 8, 16, 3, 12, 32};
    for (int which = 0; which < SHAPES; which++)
        for (unsigned size_of = 0; size_of < sizeof sizes / sizeof *sizes; size_of++)
            for (int count = 1; count < 4; count += 2) {
                if (which == LONG && sizes[size_of] != 4 && sizes[size_of] != 12)
                    continue;
                pass(which, sizes[size_of], count, 0);
                pass(which, sizes[size_of], count, 1 + rank_draw(20));
            }
    long_ones();
    beyond_and_again();
    functions_fail();
    return check_end();
}
