/* The limit between two hosts: a ping-pong over one TCP connection, both ends looking all the time, and a stream.
 *
 *     raw_tcp listen PORT                      on one host
 *     raw_tcp ADDRESS PORT BYTES ROUNDS        on the other: us one way, the median over ROUNDS
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LARGEST (8 << 20)

static char memory[LARGEST];

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Sends or receives all of it without a sleep; 0 at the end of the connection. */
static int move(int connection, long bytes, int is_sent)
{
    for (long done = 0; done < bytes;) {
        long part = is_sent ? send(connection, memory + done, bytes - done, MSG_DONTWAIT | MSG_NOSIGNAL)
                            : recv(connection, memory + done, bytes - done, MSG_DONTWAIT);
        if (part == 0)
            return 0;
        if (part < 0 && errno != EAGAIN)
            return 0;
        done += part > 0 ? part : 0;
    }
    return 1;
}

static void without_delay(int connection)
{
    int yes = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static void serve(int port)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&own, sizeof own) || listen(listener, 8))
        fail("raw_tcp: listen");
    puts("up");
    fflush(stdout);
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        long bytes = 0;
        without_delay(connection);
        if (read(connection, &bytes, sizeof bytes) == sizeof bytes && bytes <= LARGEST)
            while (move(connection, bytes, 0) && move(connection, bytes, 1)) {
            }
        close(connection);
    }
}

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

static void ask(const char *address, int port, long bytes, int rounds)
{
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(port)};
    double *took = calloc(rounds, sizeof *took);
    inet_pton(AF_INET, address, &peer.sin_addr);
    if (connect(connection, (struct sockaddr *)&peer, sizeof peer))
        fail("raw_tcp: connect");
    without_delay(connection);
    if (write(connection, &bytes, sizeof bytes) != sizeof bytes)
        fail("raw_tcp: write");
    for (int round = -rounds / 10; round < rounds; round++) {
        double began = microseconds();
        if (!move(connection, bytes, 1) || !move(connection, bytes, 0))
            fail("raw_tcp: the other end has gone");
        if (round >= 0)
            took[round] = (microseconds() - began) / 2;
    }
    qsort(took, rounds, sizeof *took, compare);
    printf("%.3f\n", took[rounds / 2]);
}

int main(int count, char **words)
{
    if (count == 3)
        serve(atoi(words[2]));
    else if (count == 5 && atol(words[3]) <= LARGEST)
        ask(words[1], atoi(words[2]), atol(words[3]), atoi(words[4]));
    else
        fprintf(stderr, "usage: raw_tcp listen PORT | raw_tcp ADDRESS PORT BYTES ROUNDS\n");
    return 2 * (count != 3 && count != 5);
}
