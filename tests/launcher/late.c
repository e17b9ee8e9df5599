/* Preloaded: a file system that says only when a file is closed that it had no room, as NFS does. Files whose names
 * begin with "late" are on it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int close(int descriptor)
{
    char link[64], name[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int late = readlink(link, name, sizeof name - 1) > 0 && strstr(name, "/late") != 0;
    int result = (int)syscall(SYS_close, descriptor);
    if (late && result == 0) {
        errno = EDQUOT;
        return -1;
    }
    return result;
}
