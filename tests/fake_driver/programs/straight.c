/* ranks: 2
 * Large messages of every form go straight between device memories: persistent ones, Sendrecv, partitions, matched ones; also
 * where the program has mapped the memory by itself, in pieces. Copies are counted; then each function of the driver fails
 * once. */
#include "twice.h"

#define LONGS 40000 /* beyond what goes at once */
#define PARTS 4
#define CALLS(name) ((long)fake_cuda_calls(name))
#define OTHER (1 - rank)

static int lends;
static long *numbers, *found;

static void put(struct buffer *buffer, long seed)
{
    for (long item = 0; item < (long)(buffer->bytes / 8); item++)
        numbers[item] = item * 11 + seed;
    buffer_put(buffer, (char *)numbers);
}

static void check(struct buffer *buffer, long seed, const char *form)
{
    buffer_get(buffer, (char *)found);
    for (long item = 0; item < (long)(buffer->bytes / 8); item++)
        if (found[item] != item * 11 + seed) {
            check_failed(__FILE__, __LINE__, "%s: item %ld is %ld, not %ld", form, item, found[item], item * 11 + seed);
            return;
        }
}

/* Both ranks send and receive; a second request is for those that need one. */
typedef void exchange(struct buffer *send, struct buffer *receive, MPI_Request *requests);
static MPI_Status statuses[2];

static void make_persistent(struct buffer *send, struct buffer *receive, MPI_Request *requests)
{
    WORKS(MPI_Recv_init(receive->at, LONGS, MPI_LONG, OTHER, 1, MPI_COMM_WORLD, &requests[0]));
    WORKS(MPI_Send_init(send->at, LONGS, MPI_LONG, OTHER, 1, MPI_COMM_WORLD, &requests[1]));
}

static void make_partitioned(struct buffer *send, struct buffer *receive, MPI_Request *requests)
{
    WORKS(MPI_Precv_init(receive->at, PARTS, LONGS / PARTS, MPI_LONG, OTHER, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    WORKS(MPI_Psend_init(send->at, PARTS, LONGS / PARTS, MPI_LONG, OTHER, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
}

static void start(struct buffer *send, struct buffer *receive, MPI_Request *requests)
{
    (void)send, (void)receive;
    WORKS(MPI_Startall(2, requests));
    WORKS(MPI_Waitall(2, requests, statuses));
}

static void parts(struct buffer *send, struct buffer *receive, MPI_Request *requests)
{
    (void)send, (void)receive;
    WORKS(MPI_Startall(2, requests));
    for (int part = 0; part < PARTS; part++)
        WORKS(MPI_Pready(part ^ 1, requests[1]));
    WORKS(MPI_Waitall(2, requests, statuses));
}

static void sendrecv(struct buffer *send, struct buffer *receive, MPI_Request *requests)
{
    (void)requests;
    WORKS(MPI_Sendrecv(send->at, LONGS, MPI_LONG, OTHER, 3, receive->at, LONGS, MPI_LONG, OTHER, 3, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
}

static void isendrecv(struct buffer *send, struct buffer *receive, MPI_Request *requests)
{
    WORKS(MPI_Isendrecv(send->at, LONGS, MPI_LONG, OTHER, 3, receive->at, LONGS, MPI_LONG, OTHER, 3, MPI_COMM_WORLD, requests));
    WORKS(MPI_Wait(requests, statuses));
}

static void matched(struct buffer *send, struct buffer *receive, MPI_Request *requests)
{
    MPI_Message message;
    WORKS(MPI_Isend(send->at, LONGS, MPI_LONG, OTHER, 4, MPI_COMM_WORLD, requests));
    WORKS(MPI_Mprobe(OTHER, 4, MPI_COMM_WORLD, &message, statuses));
    WORKS(MPI_Mrecv(receive->at, LONGS, MPI_LONG, &message, statuses));
    WORKS(MPI_Wait(requests, statuses));
}

/* In the buffer that is sent: what comes has to wait in the host until that is gone. */
static void replace(struct buffer *send, struct buffer *receive, MPI_Request *requests)
{
    (void)send, (void)requests;
    WORKS(MPI_Sendrecv_replace(receive->at, LONGS, MPI_LONG, OTHER, 5, OTHER, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void ireplace(struct buffer *send, struct buffer *receive, MPI_Request *requests)
{
    (void)send;
    WORKS(MPI_Isendrecv_replace(receive->at, LONGS, MPI_LONG, OTHER, 5, OTHER, 5, MPI_COMM_WORLD, requests));
    WORKS(MPI_Wait(requests, statuses));
}

static struct {
    const char *name;
    exchange *make, *run;
    int copies, of_pieces, is_replacing;
} forms[] = {{"persistent", make_persistent, start, 1, 3, 0}, {"partitioned", make_partitioned, parts, PARTS, 6, 0},
             {"sendrecv", NULL, sendrecv, 1, 3, 0}, {"isendrecv", NULL, isendrecv, 1, 3, 0},
             {"matched", NULL, matched, 1, 3, 0}, {"replace", NULL, replace, 2, 4, 1}, {"ireplace", NULL, ireplace, 2, 4, 1}};

static void all_forms(void)
{
    for (unsigned which = 0; which < sizeof forms / sizeof *forms; which++)
        for (int kinds = 0; kinds < 8; kinds++) {
            enum kind kind = kinds < 2 ? DEVICE : kinds < 4 ? VIRTUAL : rank_draw(KINDS);
            struct buffer send = buffer_of(kind, 8L * LONGS), receive = buffer_of(kinds < 6 ? kind : DEVICE, 8L * LONGS);
            long imported = CALLS("cuMemImportFromShareableHandle");
            MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            if (forms[which].make)
                forms[which].make(&send, &receive, requests);
            for (int round = 0; round < 3; round++) {
                put(&send, 100 * rank + round);
                put(&receive, forms[which].is_replacing ? 100 * rank + round : -1);
                MPI_Barrier(MPI_COMM_WORLD);
                long copies = CALLS("cuMemcpyAsync");
                forms[which].run(&send, &receive, requests);
                copies = CALLS("cuMemcpyAsync") - copies;
                /* The first time the peer's secret is looked for. */
                int expected = kind == DEVICE ? forms[which].copies : forms[which].of_pieces;
                if (lends && kinds % 2 && kinds < (fake_cuda_is_real() ? 2 : 4) && copies != expected)
                    check_failed(__FILE__, __LINE__, "%s: %ld copies, not %d", forms[which].name, copies, expected);
                check(&receive, 100 * OTHER + round, forms[which].name);
            }
            /* Each piece is passed once; those of a GPU are longer. */
            if (lends && !fake_cuda_is_real() && kind == VIRTUAL && kinds < 4)
                CHECK_EQUAL(CALLS("cuMemImportFromShareableHandle") - imported, 3);
            if (forms[which].make)
                for (int side = 0; side < 2; side++)
                    WORKS(MPI_Request_free(&requests[side]));
            MPI_Barrier(MPI_COMM_WORLD);
            buffer_free(&send);
            buffer_free(&receive);
        }
}

/* Partitions that go straight and such that do not, in one buffer; the sender's are others than the receiver's. */
static void unlike_parts(void)
{
    int counts[][2] = {{2, 40}, {40, 2}, {5, 4}, {1, 40}};
    for (unsigned which = 0; which < sizeof counts / sizeof *counts; which++) {
        struct buffer buffer = buffer_of(DEVICE, 8L * LONGS);
        int number = counts[which][rank], each = LONGS / number, there;
        MPI_Request request;
        WORKS(rank ? MPI_Precv_init(buffer.at, number, each, MPI_LONG, 0, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &request)
                   : MPI_Psend_init(buffer.at, number, each, MPI_LONG, 1, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
        for (int round = 0; round < 3; round++) {
            put(&buffer, rank ? -1 : round);
            WORKS(MPI_Start(&request));
            for (int part = 0; part < number; part++)
                if (rank == 0)
                    WORKS(MPI_Pready(number - 1 - part, request));
                else
                    WORKS(MPI_Parrived(request, part, &there));
            WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
            check(&buffer, round, "unlike parts");
        }
        WORKS(MPI_Request_free(&request));
        buffer_free(&buffer);
    }
}

static void words_of(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (!code)
        return;
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "CUDA_ERROR_LAUNCH_FAILED") || strstr(text, "the driver of the sender's device"));
}

/* What fails is an error of a call, or all goes another way; then the next round is right again. */
static void functions_fail(enum kind kind)
{
    static const char *all[][6] = {{"cuCtxPushCurrent", "cuMemcpyAsync", "cuStreamSynchronize", "cuIpcOpenMemHandle"},
                                   {"cuMemRetainAllocationHandle", "cuMemExportToShareableHandle",
                                    "cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}};
    const char **called = all[kind == VIRTUAL];
    for (int form = 0; form < 2; form++)
        for (unsigned which = 0; which < 6 && called[which]; which++)
            for (int failing = 0; failing < 2; failing++)
                for (int before = 0; before < 3; before++) {
                    struct buffer buffer = buffer_of(kind, 8L * LONGS);
                    MPI_Request request;
                    int number = PARTS, each = LONGS / PARTS, code = 0;
                    if (form == 0)
                        WORKS(rank ? MPI_Recv_init(buffer.at, LONGS, MPI_LONG, 0, 7, MPI_COMM_WORLD, &request)
                                   : MPI_Send_init(buffer.at, LONGS, MPI_LONG, 1, 7, MPI_COMM_WORLD, &request));
                    else
                        WORKS(rank ? MPI_Precv_init(buffer.at, number, each, MPI_LONG, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request)
                                   : MPI_Psend_init(buffer.at, number, each, MPI_LONG, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
                    for (int round = 0; round < 2; round++) {
                        put(&buffer, rank ? -1 : before + round);
                        MPI_Barrier(MPI_COMM_WORLD);
                        if (rank == failing && round == 0)
                            fake_cuda_fail(called[which], before);
                        int started = MPI_Start(&request);
                        if (started) { /* it has not begun */
                            words_of(started);
                            WORKS(MPI_Start(&request));
                        }
                        for (int part = 0; form && rank == 0 && part < PARTS; part++) {
                            int ready = MPI_Pready(part, request);
                            if (ready) {
                                words_of(ready);
                                WORKS(MPI_Pready(part, request));
                            }
                        }
                        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
                        words_of(code);
                        CHECK(!code || round == 0);
                        CHECK_EQUAL(fake_cuda_pending(), 0);
                        fake_cuda_fail(NULL, -1);
                        int codes[2];
                        MPI_Allgather(&code, 1, MPI_INT, codes, 1, MPI_INT, MPI_COMM_WORLD);
                        if (!codes[0] && !codes[1])
                            check(&buffer, before + round, called[which]);
                    }
                    WORKS(MPI_Request_free(&request));
                    buffer_free(&buffer);
                }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    lends = lends_memory();
    numbers = malloc(8L * LONGS), found = malloc(8L * LONGS);
    all_forms();
    unlike_parts();
    functions_fail(DEVICE);
    functions_fail(VIRTUAL);
    free(numbers);
    free(found);
    return check_end();
}
