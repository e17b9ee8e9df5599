/* ranks: 2
 * What a program does with a buffer of the device between the calls of one operation: persistent requests send what is there when
 * they are started, partitions what is there when they are ready, and those that have come are there at once. */
#include "twice.h"

#define LONGS 30000
#define PARTS 6
#define EACH (LONGS / PARTS)

static long numbers[LONGS], found[LONGS];

/* Numbers of a range of a buffer. */
static void put(struct buffer *buffer, int first, int count, long seed)
{
    for (int item = 0; item < count; item++)
        numbers[item] = (first + item) * 3 + seed;
    struct buffer part = {buffer->kind, 8L * count, buffer->at + 8L * first};
    buffer_put(&part, (char *)numbers);
}

static void check(struct buffer *buffer, int first, int count, long seed)
{
    struct buffer part = {buffer->kind, 8L * count, buffer->at + 8L * first};
    buffer_get(&part, (char *)found);
    for (int item = 0; item < count; item++)
        if (found[item] != (first + item) * 3 + seed) {
            check_failed(__FILE__, __LINE__, "item %d of kind %d is %ld, not %ld", first + item, buffer->kind, found[item],
                         (first + item) * 3 + seed);
            return;
        }
}

static void persistent(enum kind kind, int longs)
{
    struct buffer buffer = buffer_of(kind, 8L * LONGS);
    MPI_Request request;
    put(&buffer, 0, LONGS, -7);
    WORKS(rank ? MPI_Recv_init(buffer.at, longs, MPI_LONG, 0, 3, MPI_COMM_WORLD, &request)
               : MPI_Send_init(buffer.at, longs, MPI_LONG, 1, 3, MPI_COMM_WORLD, &request));
    for (int round = 0; round < 4; round++) {
        put(&buffer, 0, LONGS, rank ? -round : round);
        WORKS(MPI_Start(&request));
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check(&buffer, 0, longs, round);
        if (longs < LONGS)
            check(&buffer, longs, LONGS - longs, rank ? -round : round);
    }
    WORKS(MPI_Request_free(&request));
    buffer_free(&buffer);
}

static void partitioned(enum kind kind)
{
    struct buffer buffer = buffer_of(kind, 8L * LONGS);
    MPI_Request request;
    put(&buffer, 0, LONGS, -7);
    WORKS(rank ? MPI_Precv_init(buffer.at, PARTS, EACH, MPI_LONG, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request)
               : MPI_Psend_init(buffer.at, PARTS, EACH, MPI_LONG, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (int round = 0; round < 3; round++) {
        WORKS(MPI_Start(&request));
        for (int part = 0; part < PARTS; part++) {
            int there = 0, which = (part * 5 + round) % PARTS;
            if (rank == 0) {
                put(&buffer, which * EACH, EACH, 100 * round);
                WORKS(MPI_Pready(which, request));
            } else {
                while (!there)
                    WORKS(MPI_Parrived(request, which, &there));
                check(&buffer, which * EACH, EACH, 100 * round);
                put(&buffer, which * EACH, EACH, 55); /* it is the program's again */
            }
        }
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check(&buffer, 0, LONGS, rank ? 55 : 100 * round);
    }
    WORKS(MPI_Request_free(&request));
    buffer_free(&buffer);
}

static void collective(enum kind kind, int longs)
{
    struct buffer buffer = buffer_of(kind, 8L * LONGS);
    MPI_Request request;
    WORKS(MPI_Bcast_init(buffer.at, longs, MPI_LONG, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (int round = 0; round < 3; round++) {
        put(&buffer, 0, LONGS, rank ? round : -1 - round);
        WORKS(MPI_Start(&request));
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check(&buffer, 0, longs, round);
    }
    WORKS(MPI_Request_free(&request));
    buffer_free(&buffer);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    static const int lengths[] = {10, 5000, LONGS - 100, LONGS};
    for (int round = 0; round < 4; round++)
        for (int length = 0; length < 4; length++) {
            persistent(round ? rank_draw(KINDS) : DEVICE, lengths[length]);
            collective(round ? rank_draw(KINDS) : DEVICE, lengths[length]);
            partitioned(round ? rank_draw(KINDS) : DEVICE);
        }
    return check_end();
}
