/* Loaded before the C library: makes calls to a file fail or do less than they were asked.
 *
 *   FAIL_CALL=pwrite|pread|fdatasync   which call (only on descriptors of files whose path has FAIL_PATH in it)
 *   FAIL_AFTER=N                       that many go well first
 *   FAIL_ERRNO=N                       all others fail so; without it, they move at most FAIL_SHORT bytes, and every
 *                                      second one is interrupted
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long calls;

static int is_ours(int descriptor)
{
    const char *part = getenv("FAIL_PATH");
    char link[64], path[1024];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || !part)
        return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

/* Whether the call goes on, with how many bytes. */
static int goes_on(const char *call, int descriptor, size_t *bytes)
{
    const char *which = getenv("FAIL_CALL"), *after = getenv("FAIL_AFTER"), *code = getenv("FAIL_ERRNO");
    const char *most = getenv("FAIL_SHORT");
    if (!which || strcmp(which, call) || !is_ours(descriptor))
        return 1;
    long number = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (number < (after ? atol(after) : 0))
        return 1;
    if (code) {
        errno = atoi(code);
        return 0;
    }
    if (number % 2) {
        errno = EINTR;
        return 0;
    }
    if (most && bytes && *bytes > (size_t)atol(most))
        *bytes = atol(most);
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int descriptor, const void *from, size_t bytes, off64_t offset)
{
    return goes_on("pwrite", descriptor, &bytes) ? REAL(pwrite64)(descriptor, from, bytes, offset) : -1;
}

ssize_t pread64(int descriptor, void *to, size_t bytes, off64_t offset)
{
    return goes_on("pread", descriptor, &bytes) ? REAL(pread64)(descriptor, to, bytes, offset) : -1;
}

int fdatasync(int descriptor)
{
    return goes_on("fdatasync", descriptor, NULL) ? REAL(fdatasync)(descriptor) : -1;
}
