/* A flood of messages that nobody has asked for: unexpected WAY ORDER COUNT
 *
 * Every rank but 0 sends messages of 1 KiB to rank 0, COUNT in all, and one more with another tag. WAY is
 *   isend    all at once, each from the one buffer, and waits for them in the end
 *   send     one after the other; rank 0 looks for messages that never come, meanwhile
 *   unsafe   one after the other; rank 0 waits for the last message first, so that MPI may deadlock
 * ORDER is how rank 0 receives: as they come (any), rank by rank (source), or by tags from the last (tag).
 * Each rank says what memory it has before, at its highest, and after. */
#include <mpi.h>
#include "footprint.h"

enum { BYTES = 1024, DATA = 1, LAST = 2, TAGS = 3 };

static int rank, size, wrong;

static int is(const char *what, const char *name)
{
    return strcmp(what, name) == 0;
}

/* Tags differ from message to message only if rank 0 receives by tags. */
static int tag_of(const char *order, int number)
{
    return is(order, "tag") ? TAGS + number : DATA;
}

static void send_all(const char *way, const char *order, int count)
{
    static int message[BYTES / sizeof(int)];
    MPI_Request *requests = malloc((count + 1) * sizeof *requests);
    for (int number = 0; number < count; number++) {
        message[0] = is(way, "isend") ? 0 : number;
        if (is(way, "isend"))
            MPI_Isend(message, BYTES, MPI_BYTE, 0, tag_of(order, number), MPI_COMM_WORLD, &requests[number]);
        else
            MPI_Send(message, BYTES, MPI_BYTE, 0, tag_of(order, number), MPI_COMM_WORLD);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 0, LAST, MPI_COMM_WORLD);
    if (is(way, "isend"))
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    free(requests);
}

/* So that what has arrived is taken in, and nothing else happens. */
static void look_for_nothing(double seconds)
{
    int found;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

static void receive(const char *way, int source, int tag, int expected)
{
    int message[BYTES / sizeof(int)], bytes;
    MPI_Status status;
    MPI_Recv(message, BYTES, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    wrong += bytes != BYTES || (expected >= 0 && message[0] != (is(way, "isend") ? 0 : expected));
}

static void receive_all(const char *way, const char *order, int count)
{
    if (is(way, "send"))
        look_for_nothing(1);
    else
        for (int source = 1; source < size; source++)
            MPI_Recv(NULL, 0, MPI_BYTE, source, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int number = 0; is(order, "any") && number < count * (size - 1); number++)
        receive(way, MPI_ANY_SOURCE, DATA, -1);
    for (int source = 1; is(order, "source") && source < size; source++)
        for (int number = 0; number < count; number++)
            receive(way, source, DATA, number);
    for (int number = count - 1; is(order, "tag") && number >= 0; number--)
        for (int source = 1; source < size; source++)
            receive(way, source, TAGS + number, number);
    if (is(way, "send"))
        for (int source = 1; source < size; source++)
            MPI_Recv(NULL, 0, MPI_BYTE, source, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int count = atoi(argv[3]) / (size - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    long before = resident_now();
    double began = MPI_Wtime();
    if (rank == 0)
        receive_all(argv[1], argv[2], count);
    else
        send_all(argv[1], argv[2], count);
    double took = MPI_Wtime() - began;
    look_for_nothing(0.2); /* so that senders hear of what was received */
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d memory before %ld peak %ld after %ld segment %ld wrong %d milliseconds %.0f\n", rank, before,
           resident_peak(), resident_now(), segment_memory(), wrong, took * 1e3);
    MPI_Finalize();
    return 0;
}
