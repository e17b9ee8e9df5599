/* ranks: 2
 * Large messages between ranks of one node: the receiver maps the sender's device memory and copies straight to where they go.
 * Every size, order and kind of buffer; and what happens where the memory cannot be mapped, or a driver fails. */
#include "twice.h"

#define LONGS 40000 /* beyond what goes at once */
#define CALLS(name) ((long)fake_cuda_calls(name))

static int lends;

static void numbers(struct buffer *buffer, long seed)
{
    long *bytes = malloc(buffer->bytes);
    for (size_t item = 0; item < buffer->bytes / 8; item++)
        bytes[item] = item * 7 + seed;
    buffer_put(buffer, (char *)bytes);
    explicit_bzero(bytes, buffer->bytes); /* memory that is used again shall not have the right data */
    free(bytes);
}

/* The first `count` are those of the sender, the others are as they were. */
static void check_numbers(struct buffer *buffer, long count, long sent, long before)
{
    long *bytes = malloc(buffer->bytes);
    buffer_get(buffer, (char *)bytes);
    for (long item = 0; item < (long)(buffer->bytes / 8); item++)
        if (bytes[item] != item * 7 + (item < count ? sent : before)) {
            check_failed(__FILE__, __LINE__, "item %ld of %ld, kind %d, is %ld", item, count, buffer->kind, bytes[item]);
            break;
        }
    free(bytes);
}

/* Rank 0 sends, rank 1 receives, in one of several ways; what calls of copies each rank made. */
static long pass(enum kind from, enum kind to, int way, int count, int room, long seed)
{
    struct buffer buffer = buffer_of(rank ? to : from, 8L * (rank ? room : count));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    numbers(&buffer, rank ? -1 : seed);
    MPI_Barrier(MPI_COMM_WORLD);
    long copies = CALLS("cuMemcpyAsync");
    if (rank == 0) {
        if (way == 1)
            WORKS(MPI_Isend(buffer.at, count, MPI_LONG, 1, 5, MPI_COMM_WORLD, &request));
        else if (way == 2)
            WORKS(MPI_Ssend(buffer.at, count, MPI_LONG, 1, 5, MPI_COMM_WORLD));
        else
            WORKS(MPI_Send(buffer.at, count, MPI_LONG, 1, 5, MPI_COMM_WORLD));
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        if (way == 3) { /* it is there before it is wanted */
            WORKS(MPI_Probe(0, 5, MPI_COMM_WORLD, &status));
            WORKS(MPI_Recv(buffer.at, room, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        } else {
            WORKS(MPI_Irecv(buffer.at, room, MPI_LONG, 0, 5, MPI_COMM_WORLD, &request));
            WORKS(MPI_Wait(&request, &status));
        }
        int got;
        MPI_Get_count(&status, MPI_LONG, &got);
        CHECK_EQUAL(got, count);
        check_numbers(&buffer, count, seed, -1);
    }
    copies = CALLS("cuMemcpyAsync") - copies;
    MPI_Barrier(MPI_COMM_WORLD);
    buffer_free(&buffer);
    return copies;
}

static void all_ways(void)
{
    for (int from = 0; from < KINDS; from++)
        for (int to = 0; to < KINDS; to++)
            for (int way = 0; way < 4; way++) {
                pass(from, to, way, LONGS, LONGS, 3 + way);
                pass(from, to, way, LONGS, LONGS + 1000, 30 + way);
            }
    /* Once all is known of each other the sender copies nothing, and the receiver once. */
    long copies = pass(DEVICE, DEVICE, 0, LONGS, LONGS, 9);
    CHECK(!lends || copies == (rank ? 1 : 0));
    copies = pass(DEVICE, DEVICE, 3, LONGS, LONGS + 9000, 9);
    CHECK(!lends || copies == (rank ? 1 : 0));
    /* What comes through the host goes to the device once. */
    copies = pass(HOST, DEVICE, 0, LONGS, LONGS + 9000, 9);
    CHECK(copies == (rank ? 1 : 0));
    copies = pass(HOST, DEVICE, 3, 100, LONGS, 9);
    CHECK(copies == (rank ? 1 : 0));
    copies = pass(HOST, DEVICE, 1, 3000, LONGS, 9);
    CHECK(copies == (rank ? 1 : 0));
    copies = pass(DEVICE, HOST, 1, LONGS, LONGS, 9);
    CHECK(!lends || copies == (rank ? 1 : 0));
}

/* Too long a message fills the buffer and is an error; the rest of the memory is as it was. */
static void truncated(void)
{
    struct buffer buffer = buffer_of(DEVICE, 8L * LONGS);
    numbers(&buffer, rank ? -1 : 4);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        WORKS(MPI_Send(buffer.at, LONGS, MPI_LONG, 1, 0, MPI_COMM_WORLD));
    else {
        CHECK_CLASS(MPI_Recv(buffer.at, LONGS - 10, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        check_numbers(&buffer, LONGS - 10, 4, -1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    buffer_free(&buffer);
}

/* Memory at the same address again is another allocation: nobody looks into the old one. */
static void used_again(void)
{
    for (int round = 0; round < 40; round++)
        pass(DEVICE, DEVICE, round % 4, LONGS + 512 * (round % 2), LONGS + 512, 100 + round);
}

/* A message that nobody has taken is withdrawn. */
static void withdrawn(void)
{
    struct buffer buffer = buffer_of(DEVICE, 8L * LONGS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Request request;
        MPI_Status status;
        int is_cancelled;
        WORKS(MPI_Isend(buffer.at, LONGS, MPI_LONG, 1, 77, MPI_COMM_WORLD, &request));
        WORKS(MPI_Cancel(&request));
        WORKS(MPI_Wait(&request, &status));
        MPI_Test_cancelled(&status, &is_cancelled);
        CHECK(is_cancelled);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    pass(DEVICE, DEVICE, 0, LONGS, LONGS, 55);
    buffer_free(&buffer);
}

/* More memory than a rank keeps described at once: what is described at a place by then is not taken for another. */
static void many_at_once(void)
{
    enum { MANY = 40 };
    struct buffer buffers[MANY];
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    for (int which = 0; which < MANY; which++) {
        buffers[which] = buffer_of(DEVICE, 8L * (LONGS + which));
        numbers(&buffers[which], rank ? -1 : 1000 * which);
    }
    if (rank == 0)
        for (int which = 0; which < MANY; which++)
            WORKS(MPI_Isend(buffers[which].at, LONGS + which, MPI_LONG, 1, which, MPI_COMM_WORLD, &requests[which]));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        for (int which = 0; which < MANY; which++)
            WORKS(MPI_Irecv(buffers[which].at, LONGS + which, MPI_LONG, 0, which, MPI_COMM_WORLD, &requests[which]));
    WORKS(MPI_Waitall(MANY, requests, statuses));
    for (int which = 0; which < MANY; which++) {
        check_numbers(&buffers[which], LONGS + which, 1000 * which, -1);
        buffer_free(&buffers[which]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each function fails once, at each rank: an error of the call with the driver's words, or all is well by another way;
 * a call that works has the right data, and afterwards everything works. */
static const char *called[] = {"cuPointerGetAttributes", "cuCtxPushCurrent", "cuMemcpyAsync", "cuStreamSynchronize",
                               "cuIpcGetMemHandle", "cuIpcOpenMemHandle", "cuDeviceGetUuid", "cuIpcCloseMemHandle"};

static void functions_fail(void)
{
    for (unsigned which = 0; which < sizeof called / sizeof *called; which++)
        for (int failing = 0; failing < 2; failing++)
            for (int before = 0; before < 3; before++) {
                struct buffer buffer = buffer_of(DEVICE, 8L * LONGS);
                numbers(&buffer, rank ? -1 : 6);
                MPI_Barrier(MPI_COMM_WORLD);
                if (rank == failing)
                    fake_cuda_fail(called[which], before);
                MPI_Request request;
                int code;
                if (rank == 0) {
                    code = MPI_Isend(buffer.at, LONGS, MPI_LONG, 1, 1, MPI_COMM_WORLD, &request);
                    if (!code)
                        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
                    else /* it did not go */
                        WORKS(MPI_Send(NULL, 0, MPI_LONG, 1, 1, MPI_COMM_WORLD));
                    WORKS(MPI_Send(NULL, 0, MPI_LONG, 1, 2, MPI_COMM_WORLD));
                } else {
                    code = MPI_Irecv(buffer.at, LONGS, MPI_LONG, 0, 1, MPI_COMM_WORLD, &request);
                    if (!code)
                        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
                    else { /* the message may have come, and only its way to the device have failed */
                        int is_last, is_there;
                        fake_cuda_fail(NULL, -1);
                        struct buffer host = buffer_of(HOST, 8L * LONGS);
                        do { /* the last message tells that the first is here, or was taken */
                            WORKS(MPI_Iprobe(0, 2, MPI_COMM_WORLD, &is_last, MPI_STATUS_IGNORE));
                            WORKS(MPI_Iprobe(0, 1, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE));
                            if (is_there)
                                WORKS(MPI_Recv(host.at, LONGS, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                        } while (!is_last);
                        buffer_free(&host);
                    }
                    WORKS(MPI_Recv(NULL, 0, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                }
                if (code) {
                    char text[MPI_MAX_ERROR_STRING];
                    int length;
                    MPI_Error_string(code, text, &length);
                    CHECK(strstr(text, "CUDA_ERROR_LAUNCH_FAILED") || strstr(text, "the driver of the sender's device"));
                }
                fake_cuda_fail(NULL, -1);
                int codes[2];
                MPI_Allgather(&code, 1, MPI_INT, codes, 1, MPI_INT, MPI_COMM_WORLD);
                if (rank == 1 && !codes[0] && !codes[1])
                    check_numbers(&buffer, LONGS, 6, -1);
                MPI_Barrier(MPI_COMM_WORLD);
                buffer_free(&buffer);
                pass(DEVICE, DEVICE, before, LONGS, LONGS, 60 + before);
            }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    lends = lends_memory();
    all_ways();
    truncated();
    used_again();
    withdrawn();
    many_at_once();
    functions_fail();
    return check_end();
}
