/* ranks: 2
 * Every call of the driver that fails becomes an error of the call of MPI, with CUDA's name for it;
 * afterwards everything works. A context that goes, with its streams, and memory that is used again. */
#include "fake_cuda.h"

/* The functions that MPI calls for an exchange of device memory. */
static const char *called[] = {"cuPointerGetAttributes", "cuCtxGetFlags", "cuCtxSetFlags", "cuCtxPushCurrent", "cuStreamCreate",
                               "cuMemcpyAsync", "cuStreamSynchronize", "cuDevicePrimaryCtxRetain"};

static int to_oneself(struct buffer *send, struct buffer *receive)
{
    MPI_Request request;
    int code = MPI_Irecv(receive->at, 512, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    if (code)
        return code;
    int sent = MPI_Send(send->at, 512, MPI_INT, 0, 0, MPI_COMM_SELF);
    if (sent)
        MPI_Cancel(&request);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return sent ? sent : code;
}

static void right(struct buffer *send, struct buffer *receive, int number)
{
    char bytes[2048];
    memset(bytes, number, sizeof bytes);
    buffer_put(send, bytes);
    CHECK_CLASS(to_oneself(send, receive), MPI_SUCCESS);
    CHECK_EQUAL(buffer_differs(receive, bytes), -1);
}

static void each_call_fails(enum kind kind, CUcontext primary)
{
    for (unsigned which = 0; which < sizeof called / sizeof *called; which++)
        for (int before = 0; before < 4; before++) {
            struct buffer send = buffer_of(kind, 2048), receive = buffer_of(kind, 2048);
            fake_cuda_fail(called[which], before);
            int code = to_oneself(&send, &receive);
            CHECK_EQUAL(fake_cuda_pending(), 0); /* nothing goes on in memory that was given back */
            /* What was never called has not failed. */
            CHECK(code || fake_cuda_is_failing());
            if (code) {
                char text[MPI_MAX_ERROR_STRING];
                int length;
                MPI_Error_string(code, text, &length);
                CHECK(strstr(text, "CUDA_ERROR_LAUNCH_FAILED"));
                CHECK(strstr(text, called[which]));
            }
            fake_cuda_fail(NULL, -1);
            CUcontext now;
            cuCtxGetCurrent(&now);
            CHECK(now == primary);
            CHECK_CLASS(to_oneself(&send, &receive), MPI_SUCCESS); /* from now on copies of the program are ordered */
            right(&send, &receive, 10 + before);
            buffer_free(&send);
            buffer_free(&receive);
        }
}

/* Of data in many pieces some are on their way when one fails: they have ended too. */
static void some_pieces_fail(void)
{
    static const char *copies[] = {"cuMemcpyAsync", "cuStreamSynchronize"};
    struct buffer data = buffer_of(MANAGED, 4096);
    MPI_Datatype gaps;
    char packed[2048];
    MPI_Type_vector(16, 16, 32, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    for (int which = 0; which < 2; which++)
        for (int before = 0; before < (which ? 1 : 16); before++)
            for (int unpacks = 0; unpacks < 2; unpacks++) {
                int place = 0;
                fake_cuda_fail(copies[which], unpacks && which ? before + 1 : before);
                int code = unpacks ? MPI_Unpack(packed, 2048, &place, data.at, 1, gaps, MPI_COMM_SELF)
                                   : MPI_Pack(data.at, 1, gaps, packed, 2048, &place, MPI_COMM_SELF);
                CHECK(code != MPI_SUCCESS && !fake_cuda_is_failing());
                CHECK_EQUAL(fake_cuda_pending(), 0);
                fake_cuda_fail(NULL, -1);
            }
    MPI_Type_free(&gaps);
    buffer_free(&data);
}

/* What the program has copied just before is sent, also where the driver had not done it yet when it said so. */
static void copies_of_the_program(void)
{
    struct buffer send[2] = {buffer_of(DEVICE, 2048), buffer_of(DEVICE, 2048)}, receive = buffer_of(DEVICE, 2048);
    for (int round = 0; round < 20; round++)
        right(&send[round % 3 % 2], &receive, 60 + round);
    for (int which = 0; which < 2; which++)
        buffer_free(&send[which]);
    buffer_free(&receive);
}

/* Data that begin in the host and end on the device: they are packed, or there is no room for all that lies between. */
static void of_both(void)
{
    static int first[4] = {1, 2, 3, 4};
    int numbers[4] = {5, 6, 7, 8}, packed[8], lengths[2] = {4, 4}, place = 0;
    struct buffer device = buffer_of(DEVICE, sizeof numbers);
    MPI_Aint here, places[2] = {0, 0};
    MPI_Datatype type;
    buffer_put(&device, (char *)numbers);
    MPI_Get_address(first, &here);
    MPI_Get_address(device.at, &places[1]);
    CHECK(here < places[1]);
    places[1] -= here;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    int code = MPI_Pack(first, 1, type, packed, sizeof packed, &place, MPI_COMM_SELF);
    for (int item = 0; item < 8 && !code; item++)
        CHECK_EQUAL(packed[item], item + 1);
    if (code)
        CHECK_CLASS(code, MPI_ERR_NO_MEM);
    MPI_Type_free(&type);
    buffer_free(&device);
}

static void contexts_go(CUcontext primary)
{
    for (int round = 0; round < 3; round++) {
        CUcontext own;
        CHECK_EQUAL(cuCtxCreate_v2(&own, 0, 0), 0);
        struct buffer send = buffer_of(DEVICE, 2048), receive = buffer_of(round % 2 ? HOST : DEVICE, 2048);
        right(&send, &receive, 40 + round);
        if (receive.kind == HOST)
            buffer_free(&receive);
        cuCtxDestroy_v2(own);
        cuCtxSetCurrent(primary);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    cuda_begin();
    CUcontext primary;
    cuCtxGetCurrent(&primary);
    each_call_fails(DEVICE, primary);
    each_call_fails(POOL, primary);
    each_call_fails(MANAGED, primary);
    some_pieces_fail();
    copies_of_the_program();
    of_both();
    contexts_go(primary);
    /* An address beyond the end of an allocation is found out by the driver. */
    struct buffer small = buffer_of(DEVICE, 64);
    CHECK(MPI_Send(small.at, 512, MPI_INT, 0, 0, MPI_COMM_SELF) != MPI_SUCCESS);
    buffer_free(&small);
    int there = 0;
#ifdef MPIX_GPU_SUPPORT_CUDA
    MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &there);
    CHECK_EQUAL(there, 1);
    CHECK_EQUAL(MPIX_Query_cuda_support(), 1);
#endif
    (void)there;
    return check_end();
}
