/* ranks: 2
 * Every call of the driver that fails becomes an error of the call of MPI, with CUDA's name for it;
 * afterwards everything works. A context that goes, with its streams, and memory that is used again. */
#include "fake_cuda.h"

/* The functions that MPI calls for an exchange of device memory. */
static const char *called[] = {"cuPointerGetAttributes", "cuPointerSetAttribute", "cuCtxPushCurrent", "cuStreamCreate",
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
            right(&send, &receive, 10 + before);
            buffer_free(&send);
            buffer_free(&receive);
        }
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
