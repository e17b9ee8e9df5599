/* The ten functions of CUDA's runtime that Intel's benchmarks for GPUs open, over the fake driver: built as libcudart.so. */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(CUcontext *context, int device);
int cuCtxSetCurrent(CUcontext context);
int cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
int cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **address, size_t bytes, unsigned flags);
int cuMemFree_v2(CUdeviceptr address);
int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, void *stream);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);

/* The first call begins with the driver, as that of NVIDIA's runtime does. */
static int begin(void)
{
    static CUcontext context;
    int answer = 0;
    if (!context)
        answer = cuInit(0) ? 3 : cuDevicePrimaryCtxRetain(&context, 0);
    return answer ? answer : cuCtxSetCurrent(context);
}

/* The driver refuses stream 0, which ours never use; the runtime has one in its place. */
static void *stream_for(void *stream)
{
    static void *made;
    if (!stream && !made)
        cuStreamCreate(&made, 1);
    return stream ? stream : made;
}

int cudaGetDeviceCount(int *count)
{
    *count = 1;
    return begin();
}

int cudaMalloc(void **address, size_t bytes)
{
    int answer = begin();
    return answer ? answer : cuMemAlloc_v2((CUdeviceptr *)address, bytes);
}

int cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
    int answer = begin();
    return answer ? answer : cuMemAllocManaged((CUdeviceptr *)address, bytes, flags);
}

int cudaMallocHost(void **address, size_t bytes)
{
    int answer = begin();
    return answer ? answer : cuMemHostAlloc(address, bytes, 0);
}

int cudaFree(void *address)
{
    return address ? cuMemFree_v2((CUdeviceptr)(uintptr_t)address) : 0;
}

/* The driver keeps pinned memory to its end. */
int cudaFreeHost(void *address)
{
    (void)address;
    return 0;
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    (void)kind;
    int answer = begin();
    return answer ? answer : cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, bytes, stream_for(stream));
}

int cudaStreamCreate(void **stream)
{
    int answer = begin();
    return answer ? answer : cuStreamCreate(stream, 1);
}

int cudaStreamSynchronize(void *stream)
{
    return cuStreamSynchronize(stream_for(stream));
}

int cudaStreamDestroy(void *stream)
{
    return cuStreamSynchronize(stream_for(stream));
}
