/* ranks: 2 3 4
 * A rank that cannot fetch its buffer of a collective is waited for by nobody for ever: each rank whose result has data of it gets an
 * error that names the rank and the call, and all others are right. Blocking, nonblocking and persistent, at each call of the driver. */
#include "twice.h"

enum { BCAST, SCATTER, GATHER, REDUCE, SCAN, ALLREDUCE, ALLGATHER, ALLTOALLV, REDUCE_SCATTER, OPERATIONS };
static const char *names[] = {"Bcast", "Scatter", "Gather", "Reduce", "Scan", "Allreduce", "Allgather", "Alltoallv", "Reduce_scatter_block"};
enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* The rank whose driver fails, the root, and after how many calls. */
static int failing, root, after;
static int counts[16], places[16];
static MPI_Request request;

/* One call of each form; a persistent one has been made, and is started. */
#define DO(NAME, LOWER, ...)                                                                         \
    (form == BLOCKING ? MPI_##NAME(__VA_ARGS__, MPI_COMM_WORLD)                                      \
     : form == NONBLOCKING ? MPI_I##LOWER(__VA_ARGS__, MPI_COMM_WORLD, &request)                     \
                           : MPI_##NAME##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request))

static int call(int operation, int form, int count, void *send, void *receive)
{
    /* Alltoallv: to the last rank goes nothing, but from itself. */
    for (int peer = 0; peer < size; peer++) {
        counts[peer] = (peer == size - 1) == (rank == size - 1) || rank == size - 1 ? count : 0;
        places[peer] = peer * count;
    }
    static int from[16];
    for (int peer = 0; peer < size; peer++)
        from[peer] = peer == size - 1 || rank != size - 1 ? count : 0;
    switch (operation) {
    case BCAST:
        return DO(Bcast, bcast, rank == root ? send : receive, count, MPI_LONG, root);
    case SCATTER:
        return DO(Scatter, scatter, send, count, MPI_LONG, receive, count, MPI_LONG, root);
    case GATHER:
        return DO(Gather, gather, send, count, MPI_LONG, receive, count, MPI_LONG, root);
    case REDUCE:
        return DO(Reduce, reduce, send, receive, count, MPI_LONG, MPI_SUM, root);
    case SCAN:
        return DO(Scan, scan, send, receive, count, MPI_LONG, MPI_SUM);
    case ALLREDUCE:
        return DO(Allreduce, allreduce, send, receive, count, MPI_LONG, MPI_SUM);
    case ALLGATHER:
        return DO(Allgather, allgather, send, count, MPI_LONG, receive, count, MPI_LONG);
    case ALLTOALLV:
        return DO(Alltoallv, alltoallv, send, counts, places, MPI_LONG, receive, from, places, MPI_LONG);
    default:
        return DO(Reduce_scatter_block, reduce_scatter_block, send, receive, count, MPI_LONG, MPI_SUM);
    }
}

/* Whether a result has data of the failing rank. */
static int reads(int operation)
{
    switch (operation) {
    case BCAST:
    case SCATTER:
        return failing == root;
    case GATHER:
    case REDUCE:
        return rank == root;
    case SCAN:
        return rank > failing;
    case ALLTOALLV:
        return rank != size - 1;
    default:
        return 1;
    }
}

static void fails_from_now_on(int so)
{
    if (rank == failing)
        fake_cuda_fail(NULL, so ? after : -1);
}

/* The answer of the call, or of what completes it. */
static int answer_of(int operation, int form, int count, void *send, void *receive)
{
    int at_start = draw(&chance_of_all, 2);
    if (form != PERSISTENT || !at_start)
        fails_from_now_on(1);
    int answer = call(operation, form, count, send, receive);
    if (form == BLOCKING)
        return answer;
    CHECK_CLASS(answer, MPI_SUCCESS);
    if (form == PERSISTENT) {
        if (at_start)
            fails_from_now_on(1);
        CHECK_CLASS(MPI_Start(&request), MPI_SUCCESS);
    }
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void try_one(int operation, int form, int count)
{
    size_t bytes = sizeof(long) * count * size;
    struct buffer buffers[2] = {buffer_of(rank == failing ? DEVICE : rank_draw(KINDS), bytes),
                                buffer_of(rank_draw(KINDS), bytes)};
    char *hosts[2] = {malloc(bytes), malloc(bytes)};
    for (int which = 0; which < 2; which++) {
        for (size_t place = 0; place < bytes / sizeof(long); place++)
            ((long *)hosts[which])[place] = rank_draw(1000);
        buffer_put(&buffers[which], hosts[which]);
    }
    WORKS(call(operation, BLOCKING, count, hosts[0], hosts[1]));
    int answer = answer_of(operation, form, count, buffers[0].at, buffers[1].at);
    fails_from_now_on(0);
    CHECK_EQUAL(fake_cuda_pending(), 0);
    int failed = answer != MPI_SUCCESS, all[16];
    MPI_Allgather(&failed, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    if (rank != failing && failed) {
        char text[MPI_MAX_ERROR_STRING], whose[64];
        int length;
        CHECK_CLASS(answer, MPI_ERR_OTHER);
        MPI_Error_string(answer, text, &length);
        snprintf(whose, sizeof whose, "rank %d of the communicator could not fetch its buffer of MPI_", failing);
        if (!strstr(text, whose) || !strstr(text, names[operation] + 1))
            check_failed(__FILE__, __LINE__, "%s", text);
        if (!all[failing] || !reads(operation))
            check_failed(__FILE__, __LINE__, "%s %d: an error at a rank that has no data of the failing one", names[operation], form);
    }
    /* All who read its data hear the same. */
    int hears = rank == failing || !reads(operation) ? -1 : failed, heard[16], most = 0;
    MPI_Allgather(&hears, 1, MPI_INT, heard, 1, MPI_INT, MPI_COMM_WORLD);
    for (int peer = 0; peer < size; peer++)
        most = heard[peer] > most ? heard[peer] : most;
    CHECK(hears < 0 || hears == most);
    /* The driver is asked about its buffer first; of a long operation that blocks, whether devices can do it. */
    int is_moved = operation == BCAST || operation == ALLGATHER;
    int is_short = bytes < 65536 || (is_moved && (sizeof(long) * count <= 65536 || form == NONBLOCKING));
    int is_asked = after == 0 && form != PERSISTENT && is_short;
    CHECK(hears < 0 || !is_asked || most == 1);
    for (int which = 0; which < 2 && !failed; which++) {
        long long place = buffer_differs(&buffers[which], hosts[which]);
        if (place >= 0)
            check_failed(__FILE__, __LINE__, "%s %d after %d calls: byte %lld of buffer %d", names[operation], form, after, place, which);
    }
    if (form == PERSISTENT) {
        /* It goes on as if nothing had been. */
        WORKS(MPI_Start(&request));
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        WORKS(MPI_Request_free(&request));
    } else
        WORKS(call(operation, BLOCKING, count, buffers[0].at, buffers[1].at));
    for (int which = 0; which < 2; which++) {
        long long place = buffer_differs(&buffers[which], hosts[which]);
        if (place >= 0)
            check_failed(__FILE__, __LINE__, "%s %d once more after %d: byte %lld of buffer %d", names[operation], form, after, place, which);
        buffer_free(&buffers[which]);
        free(hosts[which]);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (after = 0; after < 12; after++)
        for (int operation = 0; operation < OPERATIONS; operation++)
            for (int form = 0; form < FORMS; form++) {
                failing = all_draw(size);
                root = all_draw(2) ? failing : (int)all_draw(size);
                try_one(operation, form, all_draw(2) ? 1 + all_draw(300) : 1 + all_draw(20000));
            }
    return check_end();
}
