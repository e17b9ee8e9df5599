/* ranks: 2 3
 * Long messages out of device memory and into it that no rank can map go part by part, through slabs: of all lengths, several at once,
 * with too little room, cancelled; each function of the driver fails once. A long one takes no host memory of its length. */
#include "twice.h"

#include "../../memory/footprint.h"

#define LONGEST 700000L /* numbers of 8 bytes: ten slabs and a bit */
#define AT_ONCE 6
#define RIGHT ((rank + 1) % size)
#define LAST (size - 1)
#define LEFT ((rank + size - 1) % size)

static long numbers[LONGEST], found[LONGEST];
static MPI_Status statuses[2 * AT_ONCE];

static void put(struct buffer *buffer, long seed)
{
    for (long item = 0; item < (long)(buffer->bytes / 8); item++)
        numbers[item] = item * 13 + seed;
    buffer_put(buffer, (char *)numbers);
}

/* So many numbers have come, and the rest is what it was. */
static void check(struct buffer *buffer, long count, long seed, long before, const char *what)
{
    buffer_get(buffer, (char *)found);
    for (long item = 0; item < (long)(buffer->bytes / 8); item++) {
        long expected = item * 13 + (item < count ? seed : before);
        if (found[item] != expected) {
            check_failed(__FILE__, __LINE__, "%s: number %ld of %ld in memory %d is %ld, not %ld", what, item, count, buffer->kind,
                         found[item], expected);
            return;
        }
    }
}

/* Several messages of other lengths at once; each rank has other kinds of memory. */
static void many_at_once(void)
{
    long lengths[] = {8193, 65536, 65537, 100000, 131072, 300001, LONGEST};
    for (int round = 0; round < 12; round++) {
        struct buffer sent[AT_ONCE], received[AT_ONCE];
        MPI_Request requests[2 * AT_ONCE];
        long counts[AT_ONCE];
        int number = round < 4 ? 1 : 1 + all_draw(AT_ONCE);
        for (int one = 0; one < number; one++) {
            counts[one] = lengths[all_draw(7)];
            int kinds = round < 4 ? round : (int)rank_draw(4);
            sent[one] = buffer_of(kinds & 1 ? HOST : DEVICE + rank_draw(KINDS - 1), counts[one] * 8);
            received[one] = buffer_of(kinds & 2 ? HOST : DEVICE + rank_draw(KINDS - 1), counts[one] * 8);
            put(&sent[one], 1000 * rank + one);
            put(&received[one], -1);
            WORKS(MPI_Irecv(received[one].at, counts[one], MPI_LONG, LEFT, one, MPI_COMM_WORLD, &requests[2 * one]));
        }
        for (int one = 0; one < number; one++)
            WORKS(MPI_Isend(sent[one].at, counts[one], MPI_LONG, RIGHT, one, MPI_COMM_WORLD, &requests[2 * one + 1]));
        WORKS(MPI_Waitall(2 * number, requests, statuses));
        for (int one = 0; one < number; one++) {
            check(&received[one], counts[one], 1000 * LEFT + one, -1, "at once");
            check(&sent[one], counts[one], 1000 * rank + one, 0, "sent");
            buffer_free(&sent[one]);
            buffer_free(&received[one]);
        }
    }
}

/* A receive with too little room, and one with too much. */
static void other_rooms(void)
{
    for (int more = -1; more < 2; more += 2) {
        struct buffer sent = buffer_of(DEVICE, 200000 * 8), received = buffer_of(DEVICE, (200000 + more * 77777) * 8);
        MPI_Request request;
        put(&sent, rank);
        put(&received, -5);
        WORKS(MPI_Irecv(received.at, received.bytes / 8, MPI_LONG, LEFT, 0, MPI_COMM_WORLD, &request));
        WORKS(MPI_Send(sent.at, 200000, MPI_LONG, RIGHT, 0, MPI_COMM_WORLD));
        CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), more < 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        check(&received, 200000, LEFT, -5, "other room");
        buffer_free(&sent);
        buffer_free(&received);
    }
}

static void replaced(void)
{
    struct buffer buffer = buffer_of(DEVICE, 300000 * 8);
    put(&buffer, rank);
    WORKS(MPI_Sendrecv_replace(buffer.at, 300000, MPI_LONG, RIGHT, 0, LEFT, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check(&buffer, 300000, LEFT, 0, "replaced");
    buffer_free(&buffer);
}

/* A send that is cancelled while it goes, or before: it has come whole, or nothing of it. */
static void cancelled(void)
{
    for (int round = 0; round < 10; round++) {
        struct buffer buffer = buffer_of(DEVICE, LONGEST * 8);
        MPI_Request request;
        MPI_Status status;
        int gone = 0;
        put(&buffer, rank ? -1 : round);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            WORKS(MPI_Isend(buffer.at, LONGEST, MPI_LONG, LAST, 0, MPI_COMM_WORLD, &request));
            for (double begun = MPI_Wtime(); MPI_Wtime() < begun + round * 4e-4;)
                WORKS(MPI_Request_get_status(request, &(int){0}, MPI_STATUS_IGNORE));
            WORKS(MPI_Cancel(&request));
            WORKS(MPI_Wait(&request, &status));
            WORKS(MPI_Test_cancelled(&status, &gone));
            put(&buffer, 77); /* it is the program's again */
            WORKS(MPI_Send(&gone, 1, MPI_INT, LAST, 1, MPI_COMM_WORLD));
        } else if (rank == LAST) {
            WORKS(MPI_Irecv(buffer.at, LONGEST, MPI_LONG, 0, 0, MPI_COMM_WORLD, &request));
            WORKS(MPI_Recv(&gone, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            if (gone)
                WORKS(MPI_Cancel(&request));
            WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
            check(&buffer, gone ? 0 : LONGEST, round, -1, "cancelled");
        }
        buffer_free(&buffer);
    }
}

static int failure; /* of the send, as its rank has told */

/* A receive, of a message that has been sent, or not. */
static int end(MPI_Request request, int code)
{
    int flag = 0, is_told = 0;
    if (code)
        return code;
    while (!flag && !is_told) {
        code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        WORKS(MPI_Iprobe(0, 2, MPI_COMM_WORLD, &is_told, MPI_STATUS_IGNORE));
    }
    WORKS(MPI_Recv(&failure, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (failure && !flag)
        WORKS(MPI_Cancel(&request));
    return flag ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A message from the first rank to the last one, while a function fails at one of them, or none does. */
static void pass(struct buffer *buffer, long seed, const char *called, int may_fail)
{
    int code = MPI_SUCCESS;
    MPI_Request request;
    if (rank == 0)
        code = MPI_Send(buffer->at, 200000, MPI_LONG, LAST, 0, MPI_COMM_WORLD);
    else if (rank == LAST) {
        code = MPI_Irecv(buffer->at, 200000, MPI_LONG, 0, 0, MPI_COMM_WORLD, &request);
        code = end(request, code);
    }
    CHECK_EQUAL(fake_cuda_pending(), 0);
    CHECK(!code || may_fail);
    if (code) {
        char text[MPI_MAX_ERROR_STRING];
        MPI_Error_string(code, text, &(int){0});
        CHECK(strstr(text, "CUDA_ERROR_LAUNCH_FAILED") || strstr(text, "the driver of the sender's device"));
    }
    fake_cuda_fail(NULL, -1);
    if (rank == 0)
        WORKS(MPI_Send(&code, 1, MPI_INT, LAST, 2, MPI_COMM_WORLD));
    if (rank == LAST && !code && !failure)
        check(buffer, 200000, seed, 0, called);
}

/* What fails is an error of a call, or all goes another way; the next message is right again. */
static void functions_fail(void)
{
    static const char *called[] = {"cuCtxPushCurrent", "cuStreamCreate", "cuMemHostRegister", "cuMemcpyAsync", "cuStreamSynchronize"};
    for (unsigned which = 0; which < sizeof called / sizeof *called; which++)
        for (int failing = 0; failing < 2; failing++)
            for (int before = 0; before < 5; before++)
                for (int host = 0; host < 3; host++) {
                    struct buffer buffer = buffer_of(host == 1 + (rank > 0) ? HOST : DEVICE, 200000 * 8);
                    for (int round = 0; round < 2; round++) {
                        put(&buffer, rank ? -1 : round);
                        MPI_Barrier(MPI_COMM_WORLD);
                        if (rank == failing * LAST && round == 0)
                            fake_cuda_fail(called[which], before);
                        pass(&buffer, round, called[which], round == 0);
                    }
                    buffer_free(&buffer);
                }
}

/* From node to node: no host memory as long as the message. */
static void flat(void)
{
    long count = 32 << 20;
    struct buffer buffer = buffer_of(DEVICE, count);
    for (int round = 0; round < 2; round++) {
        if (round == 1) { /* the fake driver's memory has been touched */
            FILE *clear = fopen("/proc/self/clear_refs", "w");
            fputs("5", clear);
            fclose(clear);
        }
        long before = resident_peak();
        if (rank == 0)
            WORKS(MPI_Send(buffer.at, count, MPI_CHAR, LAST, 0, MPI_COMM_WORLD));
        else if (rank == LAST)
            WORKS(MPI_Recv(buffer.at, count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (round == 1 && resident_peak() - before > 16 << 10)
            check_failed(__FILE__, __LINE__, "a message of 32 MiB has taken %ld KiB", resident_peak() - before);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    buffer_free(&buffer);
    if (rank == 0 || rank == LAST)
        CHECK_EQUAL(fake_cuda_calls("cuMemHostRegister"), 2);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (getenv("SERRIED_TRANSPORT"))
        flat();
    many_at_once();
    other_rooms();
    replaced();
    cancelled();
    functions_fail();
    return check_end();
}
