/* A driver for tests with a GPU: it is built as libcuda.so.1, passes each call on to NVIDIA's, and does beside that what the
 * fake driver does for tests: calls are counted, and the n-th call of a function can be made to fail.
 *
 *   REAL_CUDA       where NVIDIA's libcuda.so.1 lies
 *   FAKE_CUDA_IPC=off, FAKE_CUDA_KERNELS=refused       as in the fake driver
 *
 * All arguments of the driver's functions are whole numbers or addresses, and there are at most twelve. So one C function with
 * twelve of them stands for each: what the caller has not given is read from its stack, and the driver does not look at it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCH_FAILED = 719, NO_BINARY_FOR_GPU = 209, NOT_SUPPORTED = 801, NOT_READY = 600 };
enum { MOST_STREAMS = 4096 };
typedef long word;
typedef int function(word, word, word, word, word, word, word, word, word, word, word, word);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char failing[64];
static int before = -1; /* calls that come before the one that fails; below zero none fails */
static void *streams[MOST_STREAMS];
static int stream_count;

/* NVIDIA's function of a name. */
static void *real(const char *name)
{
    static void *library;
    if (!library) {
        const char *path = getenv("REAL_CUDA");
        library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
        if (!library) {
            fprintf(stderr, "passing driver: REAL_CUDA is to name NVIDIA's libcuda.so.1: %s\n", path ? dlerror() : "it is not set");
            abort();
        }
    }
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "passing driver: NVIDIA's has no %s\n", name);
        abort();
    }
    return found;
}

/* What fails by order of a test's environment. */
static int refusal(const char *name)
{
    const char *ipc = getenv("FAKE_CUDA_IPC"), *kernels = getenv("FAKE_CUDA_KERNELS");
    if (ipc && strcmp(ipc, "off") == 0 && strncmp(name, "cuIpcGet", 8) == 0)
        return NOT_SUPPORTED;
    if (kernels && strcmp(name, "cuModuleLoadData") == 0)
        return NO_BINARY_FOR_GPU;
    return 0;
}

/* Whether this call is the one that a test wants to fail. */
static int fails(const char *name)
{
    pthread_mutex_lock(&lock);
    int is_meant = before >= 0 && (!*failing || strcmp(failing, name) == 0);
    int answer = is_meant && before == 0 ? LAUNCH_FAILED : 0;
    before -= is_meant;
    pthread_mutex_unlock(&lock);
    return answer ? answer : refusal(name);
}

/* Functions by the names that tests count them by, and those of their present interfaces. */
#define FUNCTIONS(DO)                                                                                                       \
    DO(cuInit, cuInit) DO(cuDeviceGet, cuDeviceGet) DO(cuDeviceGetCount, cuDeviceGetCount)                                  \
    DO(cuDeviceGetUuid, cuDeviceGetUuid_v2) DO(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState)                      \
    DO(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain) DO(cuCtxCreate, cuCtxCreate_v2)                                  \
    DO(cuCtxDestroy, cuCtxDestroy_v2) DO(cuCtxSetCurrent, cuCtxSetCurrent) DO(cuCtxGetCurrent, cuCtxGetCurrent)             \
    DO(cuCtxPushCurrent, cuCtxPushCurrent_v2) DO(cuCtxPopCurrent, cuCtxPopCurrent_v2)                                       \
    DO(cuMemAlloc, cuMemAlloc_v2) DO(cuMemAllocAsync, cuMemAllocAsync) DO(cuMemAllocManaged, cuMemAllocManaged)             \
    DO(cuMemFree, cuMemFree_v2) DO(cuMemHostAlloc, cuMemHostAlloc) DO(cuMemcpyAsync, cuMemcpyAsync)                         \
    DO(cuMemcpyHtoD, cuMemcpyHtoD_v2) DO(cuMemcpyDtoH, cuMemcpyDtoH_v2) DO(cuStreamSynchronize, cuStreamSynchronize)        \
    DO(cuPointerGetAttributes, cuPointerGetAttributes) DO(cuMemHostRegister, cuMemHostRegister_v2)                          \
    DO(cuModuleLoadData, cuModuleLoadData) DO(cuModuleGetFunction, cuModuleGetFunction) DO(cuLaunchKernel, cuLaunchKernel)  \
    DO(cuIpcGetMemHandle, cuIpcGetMemHandle) DO(cuIpcCloseMemHandle, cuIpcCloseMemHandle)                                   \
    DO(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle) DO(cuMemRelease, cuMemRelease)                             \
    DO(cuMemExportToShareableHandle, cuMemExportToShareableHandle)                                                          \
    DO(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle) DO(cuMemAddressReserve, cuMemAddressReserve)         \
    DO(cuMemAddressFree, cuMemAddressFree) DO(cuMemMap, cuMemMap) DO(cuMemUnmap, cuMemUnmap)                                \
    DO(cuMemSetAccess, cuMemSetAccess) DO(cuCtxGetFlags, cuCtxGetFlags) DO(cuCtxSetFlags, cuCtxSetFlags)

#define NUMBER(name, real_name) number_of_##name,
enum { FUNCTIONS(NUMBER) number_of_cuIpcOpenMemHandle, number_of_cuStreamCreate, NUMBER_OF_FUNCTIONS };
#define NAME(name, real_name) #name,
static const char *names[] = {FUNCTIONS(NAME) "cuIpcOpenMemHandle", "cuStreamCreate"};
static uint64_t counts[NUMBER_OF_FUNCTIONS];

static int begin(int number)
{
    __atomic_fetch_add(&counts[number], 1, __ATOMIC_RELAXED);
    return fails(names[number]);
}

#define PASS(name, real_name)                                                                               \
    int real_name(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l) \
    {                                                                                                       \
        static function *next;                                                                              \
        int answer = begin(number_of_##name);                                                               \
        if (!next)                                                                                          \
            next = (function *)real(#real_name);                                                            \
        return answer ? answer : next(a, b, c, d, e, f, g, h, i, j, k, l);                                  \
    }
FUNCTIONS(PASS)

/* A handle is 64 bytes that are passed by value, so they lie on the stack. */
struct handle {
    char bytes[64];
};

int cuIpcOpenMemHandle_v2(uint64_t *address, struct handle handle, unsigned flags)
{
    int (*next)(uint64_t *, struct handle, unsigned) = real("cuIpcOpenMemHandle_v2");
    int answer = begin(number_of_cuIpcOpenMemHandle);
    return answer ? answer : next(address, handle, flags);
}

/* Streams are kept in mind: a test asks whether something goes on in them. */
int cuStreamCreate(void **stream, unsigned flags)
{
    int (*next)(void **, unsigned) = real("cuStreamCreate");
    int answer = begin(number_of_cuStreamCreate);
    if (answer || (answer = next(stream, flags)))
        return answer;
    pthread_mutex_lock(&lock);
    if (stream_count < MOST_STREAMS)
        streams[stream_count++] = *stream;
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuGetErrorName(int code, const char **name) { return ((int (*)(int, const char **))real("cuGetErrorName"))(code, name); }
int cuGetErrorString(int code, const char **text) { return ((int (*)(int, const char **))real("cuGetErrorString"))(code, text); }

uint64_t fake_cuda_calls(const char *of)
{
    uint64_t sum = 0;
    for (int which = 0; which < NUMBER_OF_FUNCTIONS; which++)
        if (!of || strcmp(of, names[which]) == 0)
            sum += counts[which];
    return sum;
}

void fake_cuda_fail(const char *of, int calls_before)
{
    pthread_mutex_lock(&lock);
    snprintf(failing, sizeof failing, "%s", of ? of : "");
    before = calls_before;
    pthread_mutex_unlock(&lock);
}

int fake_cuda_is_failing(void) { return before >= 0; }

uint64_t fake_cuda_pending(void)
{
    int (*query)(void *) = real("cuStreamQuery");
    uint64_t pending = 0;
    pthread_mutex_lock(&lock);
    for (int which = 0; which < stream_count; which++)
        pending += query(streams[which]) == NOT_READY;
    pthread_mutex_unlock(&lock);
    return pending;
}

int fake_cuda_is_real(void) { return 1; }

/* A buffer over several pieces, as a pool of a program has it: it begins within the first one. */
enum { GRANULARITY = 2 << 20 };
struct properties {
    int sort, handles, location[2];
    word spare[2];
};

static size_t before_end(size_t bytes)
{
    size_t third = (bytes / 3 < GRANULARITY / 2 ? bytes / 3 : GRANULARITY / 2) / 16 * 16;
    return third ? third : 16;
}

static size_t whole(size_t bytes) { return (GRANULARITY + bytes + GRANULARITY - 1) / GRANULARITY * GRANULARITY; }

uint64_t fake_cuda_virtual(size_t bytes)
{
    int (*reserve)(uint64_t *, size_t, size_t, uint64_t, uint64_t) = real("cuMemAddressReserve");
    int (*create)(uint64_t *, size_t, struct properties *, uint64_t) = real("cuMemCreate");
    int (*map)(uint64_t, size_t, size_t, uint64_t, uint64_t) = real("cuMemMap");
    int (*release)(uint64_t) = real("cuMemRelease");
    int (*give_access)(uint64_t, size_t, int *, size_t) = real("cuMemSetAccess");
    struct properties properties = {1, 1, {1, 0}, {0, 0}}; /* pinned, POSIX descriptors, device 0 */
    int access[] = {1, 0, 3};                              /* device 0, reads and writes */
    size_t all = whole(bytes), done = 0;
    uint64_t first = 0, handle = 0;
    int answer = reserve(&first, all, 0, 0, 0);
    for (size_t piece = GRANULARITY; !answer && done < all; piece *= 2) {
        size_t length = piece < all - done ? piece : all - done;
        answer = create(&handle, length, &properties, 0);
        if (!answer)
            answer = map(first + done, length, 0, handle, 0);
        release(handle);
        done += length;
    }
    if (!answer)
        answer = give_access(first, all, access, 1);
    return answer ? 0 : first + GRANULARITY - before_end(bytes);
}

int fake_cuda_virtual_free(uint64_t address, size_t bytes)
{
    int (*unmap)(uint64_t, size_t) = real("cuMemUnmap");
    int (*free_range)(uint64_t, size_t) = real("cuMemAddressFree");
    uint64_t first = address + before_end(bytes) - GRANULARITY;
    int answer = unmap(first, whole(bytes));
    return answer ? answer : free_range(first, whole(bytes));
}
