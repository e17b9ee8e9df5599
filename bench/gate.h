/* The gate: all libraries' jobs are alive at once, and the runner lets one of them through at a time.
 *
 * A rank that waits at the gate sleeps in read(2), in no call of MPI, so it takes nothing from the job that is
 * measured. BENCH_GATE names the runner's socket. Without it the gate is open and the figures go to the screen.
 * Lines to the runner: "hello RANK", "ready", "figure NAME BYTES VALUE UNIT", "round". An answer is one byte: g(o),
 * s(kip) or q(uit).
 */
#ifndef GATE_H
#define GATE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int gate = -1;

static void tell_runner(const char *line)
{
    size_t length = strlen(line);
    if (gate >= 0 && write(gate, line, length) != (ssize_t)length)
        _exit(3);
}

static void open_gate(int rank)
{
    const char *path = getenv("BENCH_GATE");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char line[32];

    if (!path)
        return;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    gate = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(gate, (struct sockaddr *)&address, sizeof address)) {
        perror("bench: the runner's socket");
        _exit(3);
    }
    snprintf(line, sizeof line, "hello %d\n", rank);
    tell_runner(line);
}

/* Sleeps until the runner answers; whether it says go. */
static int wait_at_gate(const char *line)
{
    char answer = 'q';
    if (gate < 0)
        return strcmp(line, "round\n");
    tell_runner(line);
    if (read(gate, &answer, 1) != 1)
        _exit(3);
    return answer == 'g';
}

#endif
