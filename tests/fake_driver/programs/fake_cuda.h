/* The part of CUDA's driver interface that our tests use, with what the fake driver adds, and
 * buffers of every kind of memory that are filled and read by the driver. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "../../c/check.h"
#include <stdint.h>

typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(CUcontext *context, int device);
int cuCtxCreate_v2(CUcontext *context, unsigned flags, int device);
int cuCtxDestroy_v2(CUcontext context);
int cuCtxSetCurrent(CUcontext context);
int cuCtxGetCurrent(CUcontext *context);
int cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
int cuMemAllocAsync(CUdeviceptr *address, size_t bytes, void *stream);
int cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags);
int cuMemFree_v2(CUdeviceptr address);
int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);

uint64_t fake_cuda_calls(const char *of);
void fake_cuda_fail(const char *of, int before);
int fake_cuda_is_failing(void);
uint64_t fake_cuda_pending(void);
/* Whether calls are passed on to a GPU (passing/). */
int fake_cuda_is_real(void);
CUdeviceptr fake_cuda_virtual(size_t bytes);
int fake_cuda_virtual_free(CUdeviceptr address, size_t bytes);

/* The last one is memory that the program has mapped by itself, in pieces. */
enum kind { HOST, DEVICE, POOL, MANAGED, VIRTUAL, KINDS };

/* A buffer of one kind of memory. */
struct buffer {
    enum kind kind;
    size_t bytes;
    char *at;
};

static inline void cuda_begin(void)
{
    CUcontext context;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        abort();
}

static inline struct buffer buffer_of(enum kind kind, size_t bytes)
{
    struct buffer made = {kind, bytes, NULL};
    CUdeviceptr address = 0;
    int answer = 0;
    size_t room = bytes ? bytes : 1;
    if (kind == HOST)
        made.at = malloc(room);
    else if (kind == DEVICE)
        answer = cuMemAlloc_v2(&address, room);
    else if (kind == POOL)
        answer = cuMemAllocAsync(&address, room, NULL);
    else if (kind == MANAGED)
        answer = cuMemAllocManaged(&address, room, 1);
    else
        address = fake_cuda_virtual(room);
    if (answer || (kind == VIRTUAL && !address))
        abort();
    if (address)
        made.at = (char *)(uintptr_t)address;
    return made;
}

static inline void buffer_free(struct buffer *buffer)
{
    if (buffer->kind == HOST)
        free(buffer->at);
    else if (buffer->kind == VIRTUAL) {
        if (fake_cuda_virtual_free((uintptr_t)buffer->at, buffer->bytes ? buffer->bytes : 1))
            abort();
    } else if (cuMemFree_v2((uintptr_t)buffer->at))
        abort();
}

/* In pieces that a driver may copy after it has returned. */
static inline void buffer_put(struct buffer *buffer, const char *from)
{
    size_t piece = 60000;
    if (buffer->kind == HOST)
        memcpy(buffer->at, from, buffer->bytes);
    for (size_t at = 0; buffer->kind != HOST && at < buffer->bytes; at += piece) {
        size_t bytes = buffer->bytes - at < piece ? buffer->bytes - at : piece;
        if (cuMemcpyHtoD_v2((uintptr_t)buffer->at + at, from + at, bytes))
            abort();
    }
}

static inline void buffer_get(struct buffer *buffer, char *to)
{
    if (buffer->kind == HOST)
        memcpy(to, buffer->at, buffer->bytes);
    else if (cuMemcpyDtoH_v2(to, (uintptr_t)buffer->at, buffer->bytes))
        abort();
}

/* The first byte in which a buffer differs; -1 if none does. */
static inline long long buffer_differs(struct buffer *buffer, const char *expected)
{
    char *found = malloc(buffer->bytes + 1);
    long long place = -1;
    buffer_get(buffer, found);
    for (size_t byte = 0; byte < buffer->bytes && place < 0; byte++)
        if (found[byte] != expected[byte])
            place = byte;
    free(found);
    return place;
}

#endif
