/* What a process knows about its own memory, in KiB. */
#ifndef FOOTPRINT_H
#define FOOTPRINT_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The sum of all lines of a /proc file that begin with a name: `Name:   12 kB`. */
static inline long proc_value(const char *path, const char *name)
{
    char line[512];
    long sum = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            sum += atol(line + strlen(name) + 1);
    fclose(file);
    return sum;
}

/* Memory that a process has for itself. Pages of files are left out: Linux calls them private too while only one rank
 * happens to have come to that code, and dirty while they have not reached the disk. The node's segment is counted by
 * itself. */
static inline long private_memory(void) { return proc_value("/proc/self/smaps_rollup", "Anonymous"); }

/* Its part of everything, what is shared divided by those who share it; but for pages of files, as of code. */
static inline long proportional_memory(void)
{
    return proc_value("/proc/self/smaps_rollup", "Pss_Anon") + proc_value("/proc/self/smaps_rollup", "Pss_Shmem");
}

/* Its part of pages of files, nearly all of them code, which a node has once. */
static inline long proportional_files(void) { return proc_value("/proc/self/smaps_rollup", "Pss_File"); }

static inline long resident_now(void) { return proc_value("/proc/self/status", "VmRSS"); }
static inline long resident_peak(void) { return proc_value("/proc/self/status", "VmHWM"); }

/* Memory that stands behind the node's shared segment; -1 if there is none. */
static inline long segment_memory(void)
{
    long found = -1;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[300], target[300];
        struct stat status;
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length <= 0)
            continue;
        target[length] = 0;
        if (strstr(target, "memfd:serried-node") && stat(path, &status) == 0)
            found = status.st_blocks / 2;
    }
    closedir(folder);
    return found;
}

#endif
