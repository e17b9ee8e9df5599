/* Buffers in the memory of a GPU, by 2 or 4 ranks that share it. First what one process gets from the driver, with no MPI:
 * that is the limit. Then messages, data with gaps, collectives and windows; what came is checked once for each.
 * The driver is opened at run time, so this compiles everywhere. */
#define MOST_POINTS 256
#include "measure.h"

#include <dlfcn.h>

#define LARGEST (64 << 20)
#define GAPPED (4 << 20) /* bytes of data with gaps */

typedef uint64_t address;
static int (*copy_async)(address, address, size_t, void *), (*synchronize)(void *), (*launch)(
    void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static int (*record)(void *, void *), (*event_wait)(void *);
static void *stream, *event, *empty;
static int kernels_there;

static void *function_of(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        printf("no CUDA driver: %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return found;
}

static void must(int answer, const char *what)
{
    if (answer) {
        printf("rank %d: %s: error %d of the driver\n", rank, what, answer);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void open_driver(void)
{
    int (*init)(unsigned) = function_of("cuInit"), (*retain)(void **, int) = function_of("cuDevicePrimaryCtxRetain");
    int (*set)(void *) = function_of("cuCtxSetCurrent"), (*make)(void **, unsigned) = function_of("cuStreamCreate");
    void *context;
    copy_async = function_of("cuMemcpyAsync"), synchronize = function_of("cuStreamSynchronize");
    must(init(0), "cuInit");
    must(retain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(set(context), "cuCtxSetCurrent");
    must(make(&stream, 1), "cuStreamCreate");
}

/* What only the limits need. */
static void open_more(void)
{
    int (*make_event)(void **, unsigned) = function_of("cuEventCreate");
    int (*load)(void **, const char *) = function_of("cuModuleLoadData");
    int (*find)(void **, void *, const char *) = function_of("cuModuleGetFunction");
    void *module;
    launch = function_of("cuLaunchKernel"), record = function_of("cuEventRecord"), event_wait = function_of("cuEventSynchronize");
    must(make_event(&event, 2), "cuEventCreate");
    kernels_there = !load(&module, ".version 6.3\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n") &&
                    !find(&empty, module, "empty");
}

static char *device_memory(size_t bytes)
{
    int (*allocate)(address *, size_t) = function_of("cuMemAlloc_v2");
    address made;
    must(allocate(&made, bytes), "cuMemAlloc");
    return (char *)(uintptr_t)made;
}

static char *pinned_memory(size_t bytes)
{
    int (*allocate)(void **, size_t, unsigned) = function_of("cuMemHostAlloc");
    void *made;
    must(allocate(&made, bytes, 0), "cuMemHostAlloc");
    return made;
}

static void copy(char *to, char *from, size_t bytes)
{
    must(copy_async((address)(uintptr_t)to, (address)(uintptr_t)from, bytes, stream), "cuMemcpyAsync");
    must(synchronize(stream), "cuStreamSynchronize");
}

/* The limits: rank 0 alone; the others wait for it. */
static void copied(char *out, char *in, int bytes)
{
    if (rank == 0)
        copy(in, out, bytes);
}

static void launched(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
    if (rank || !kernels_there)
        return;
    must(launch(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
    must(synchronize(stream), "cuStreamSynchronize");
}

static void event_passed(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
    if (rank)
        return;
    must(record(event, stream), "cuEventRecord");
    must(event_wait(event), "cuEventSynchronize");
}

/* Ranks 0 and 1; the others wait. */
static void there_and_back(char *out, char *in, int count, MPI_Datatype type)
{
    if (rank == 0) {
        MPI_Send(out, count, type, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(in, count, type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(in, count, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, count, type, 0, 1, MPI_COMM_WORLD);
    }
}

static void ping_pong(char *out, char *in, int bytes) { there_and_back(out, in, bytes, MPI_BYTE); }

static MPI_Datatype gapped;
static void ping_pong_gapped(char *out, char *in, int bytes) { (void)bytes, there_and_back(out, in, 1, gapped); }

static void allreduce(char *out, char *in, int bytes) { MPI_Allreduce(out, in, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void reduce(char *out, char *in, int bytes) { MPI_Reduce(out, in, bytes / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); }
static void broadcast(char *out, char *in, int bytes) { (void)in; MPI_Bcast(out, bytes, MPI_BYTE, call % ranks, MPI_COMM_WORLD); }
static void alltoall(char *out, char *in, int bytes)
{
    MPI_Alltoall(out, bytes / ranks, MPI_BYTE, in, bytes / ranks, MPI_BYTE, MPI_COMM_WORLD);
}
static void allgather(char *out, char *in, int bytes)
{
    MPI_Allgather(out, bytes / ranks, MPI_BYTE, in, bytes / ranks, MPI_BYTE, MPI_COMM_WORLD);
}

static MPI_Win window;
static void put(char *out, char *in, int bytes)
{
    (void)in;
    if (rank == 0) {
        MPI_Put(out, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
        MPI_Win_flush(1, window);
    }
}

static void get(char *out, char *in, int bytes)
{
    (void)out;
    if (rank == 0) {
        MPI_Get(in, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
        MPI_Win_flush(1, window);
    }
}

/* Buffers of the device are written through the host. Floats, so that sums are exact. */
static float *numbers;
static void fill(char *buffer, float value)
{
    for (int item = 0; item < LARGEST / 4; item++)
        numbers[item] = value + item % 100;
    copy(buffer, (char *)numbers, LARGEST);
}

static void check(const char *name, char *buffer, int bytes, float factor, float value)
{
    copy((char *)numbers, buffer, LARGEST);
    for (int item = 0; item < bytes / 4; item++)
        if (numbers[item] != factor * (item % 100) + value) {
            printf("wrong: rank %d, %s of %d bytes: item %d is %g\n", rank, name, bytes, item, numbers[item]);
            return;
        }
}

static int point;
static void time_of(const char *name, operation run, char *out, char *in, int bytes, double parts)
{
    show_time(name, bytes, seconds_for(point++, run, out, in, bytes), parts);
}

#define EACH_LENGTH(first, factor) for (long bytes = first; bytes <= LARGEST; bytes *= factor)

static void limits(char *device[2], char *pinned, char *plain)
{
    open_more();
    time_of("limit-event", event_passed, NULL, NULL, 0, 1);
    time_of("limit-launch", launched, NULL, NULL, 0, 1);
    EACH_LENGTH(8, 8) {
        time_of("limit-device-device", copied, device[0], device[1], bytes, 1);
        time_of("limit-device-pinned", copied, device[0], pinned, bytes, 1);
        time_of("limit-pinned-device", copied, pinned, device[0], bytes, 1);
        time_of("limit-device-host", copied, device[0], plain, bytes, 1);
        time_of("limit-host-device", copied, plain, device[0], bytes, 1);
    }
}

static void messages(char *device[2], char *host[2])
{
    EACH_LENGTH(8, 8) {
        char **mixed = rank ? host : device;
        time_of("device-device", ping_pong, device[0], device[1], bytes, 2);
        time_of("device-host", ping_pong, mixed[0], mixed[1], bytes, 2);
        time_of("host-host", ping_pong, host[0], host[1], bytes, 2);
    }
    fill(device[0], rank), fill(device[1], -1);
    ping_pong(device[0], device[1], LARGEST);
    if (rank < 2)
        check("device-device", device[1], LARGEST, 1, 1 - rank);
}

/* Half of the bytes of a buffer, in words or rows. */
static void gaps(char *device[2])
{
    static const struct {
        const char *name;
        int bytes;
    } rows[] = {{"words-of-8", 8}, {"rows-of-64", 64}, {"rows-of-4096", 4096}};
    for (int which = 0; which < 3; which++) {
        MPI_Type_vector(GAPPED / rows[which].bytes, rows[which].bytes, 2 * rows[which].bytes, MPI_BYTE, &gapped);
        MPI_Type_commit(&gapped);
        time_of(rows[which].name, ping_pong_gapped, device[0], device[1], GAPPED, 2);
        MPI_Type_free(&gapped);
    }
}

static void collectives(char *device[2])
{
    float sum = 0;
    for (int which = 0; which < ranks; which++)
        sum += which;
    EACH_LENGTH(64, 32) {
        time_of("allreduce", allreduce, device[0], device[1], bytes, 1);
        time_of("reduce", reduce, device[0], device[1], bytes, 1);
        time_of("bcast", broadcast, device[0], device[1], bytes, 1);
        time_of("alltoall", alltoall, device[0], device[1], bytes, 1);
        time_of("allgather", allgather, device[0], device[1], bytes, 1);
    }
    fill(device[0], rank), fill(device[1], -1);
    allreduce(device[0], device[1], LARGEST);
    check("allreduce", device[1], LARGEST, ranks, sum);
}

static void windows(char *device[2])
{
    MPI_Win_create(device[1], LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
    EACH_LENGTH(64, 32) {
        time_of("put", put, device[0], NULL, bytes, 1);
        time_of("get", get, NULL, device[0], bytes, 1);
    }
    fill(device[0], rank), fill(device[1], -1);
    MPI_Barrier(MPI_COMM_WORLD);
    put(device[0], NULL, 2 << 20);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        check("put", device[1], 2 << 20, 1, 0);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    start(&argc, &argv);
    seconds_per_batch = 0.004;
    open_driver();
    char *device[2] = {device_memory(LARGEST), device_memory(LARGEST)}, *host[2] = {buffer_of(LARGEST), buffer_of(LARGEST)};
    numbers = (float *)pinned_memory(LARGEST);
    if (ranks == 2 && argc > 1)
        limits(device, (char *)numbers, host[0]);
    messages(device, host);
    collectives(device);
    windows(device);
    gaps(device);
    MPI_Finalize();
    return 0;
}
