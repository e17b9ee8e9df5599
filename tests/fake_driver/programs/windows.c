/* ranks: 2 3
 * Windows of every kind of memory, drawn by chance for each rank, created and attached: each operation is done in
 * such a window and in one of the host, with buffers of every kind. Afterwards both windows and all buffers are
 * the same, byte for byte. */
#include "twice.h"

#define BYTES (192 << 10)
#define WINDOWS 8
#define ROUNDS 16

/* A window with the memory of this rank, and where that begins at each rank as displacement. */
struct exposed {
    MPI_Win window;
    struct buffer buffer;
    MPI_Aint bases[16];
};

/* What one round does: the same at all ranks but for buffers. */
struct round {
    int operation, target, origins_count, count;
    MPI_Aint place;
    MPI_Datatype element, origin, there;
    MPI_Op op;
    MPI_Aint span;
};

static MPI_Datatype elements[] = {MPI_SHORT, MPI_INT, MPI_LONG, MPI_DOUBLE, MPI_INT8_T, MPI_FLOAT};
static MPI_Op operators[] = {MPI_SUM, MPI_MAX, MPI_REPLACE, MPI_NO_OP, MPI_MIN};
enum { PUT, GET, RPUT, RGET, ACCUMULATE, GET_ACCUMULATE, RACCUMULATE, RGET_ACCUMULATE, FETCH, SWAP, PAIRS, OPERATIONS };

static struct exposed expose(enum kind kind, int attached)
{
    struct exposed made = {.buffer = buffer_of(kind, BYTES)};
    MPI_Aint base = 0;
    if (attached) {
        WORKS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made.window));
        WORKS(MPI_Win_attach(made.window, made.buffer.at, BYTES));
        MPI_Get_address(made.buffer.at, &base);
    } else
        WORKS(MPI_Win_create(made.buffer.at, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made.window));
    WORKS(MPI_Allgather(&base, 1, MPI_AINT, made.bases, 1, MPI_AINT, MPI_COMM_WORLD));
    return made;
}

static void conceal(struct exposed *made, int attached)
{
    if (attached)
        WORKS(MPI_Win_detach(made->window, made->buffer.at));
    WORKS(MPI_Win_free(&made->window));
    buffer_free(&made->buffer);
}

static struct round draw_round(void)
{
    struct round what = {.operation = all_draw(OPERATIONS), .op = operators[all_draw(5)]};
    int counts[] = {1, 7, 300, 3000}, gaps_here = all_draw(2), gaps_there = all_draw(2), number = counts[all_draw(4)];
    what.element = elements[all_draw(6)];
    what.target = (rank + all_draw(size)) % size;
    if (what.operation == FETCH || what.operation == SWAP || what.operation == PAIRS) {
        gaps_here = gaps_there = 0;
        number = what.operation == PAIRS ? 1 + number % 299 : 1;
        what.element = what.operation == PAIRS ? MPI_DOUBLE_INT : what.operation == SWAP ? MPI_LONG : what.element;
        what.op = what.operation == PAIRS ? MPI_MAXLOC : what.op;
    }
    what.count = gaps_there ? (number + 1) / 2 : number;
    what.origins_count = gaps_here ? what.count : number;
    if (gaps_here && !gaps_there)
        what.count = 2 * (what.origins_count = (number + 1) / 2);
    else if (gaps_there && !gaps_here)
        what.origins_count = 2 * what.count;
    MPI_Type_vector(gaps_here ? 2 : 1, 1, 3, what.element, &what.origin);
    MPI_Type_vector(gaps_there ? 2 : 1, 1, 2, what.element, &what.there);
    MPI_Type_commit(&what.origin);
    MPI_Type_commit(&what.there);
    what.place = 16 * (1 + all_draw(100));
    return what;
}

static void operate_on(struct round *o, struct exposed *made, char *send, char *receive)
{
    MPI_Aint at = made->bases[o->target] + o->place;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win window = made->window;
    switch (o->operation) {
    case PUT:
        WORKS(MPI_Put(send, o->origins_count, o->origin, o->target, at, o->count, o->there, window));
        break;
    case GET:
        WORKS(MPI_Get(receive, o->origins_count, o->origin, o->target, at, o->count, o->there, window));
        break;
    case RPUT:
        WORKS(MPI_Rput(send, o->origins_count, o->origin, o->target, at, o->count, o->there, window, &request));
        break;
    case RGET:
        WORKS(MPI_Rget(receive, o->origins_count, o->origin, o->target, at, o->count, o->there, window, &request));
        break;
    case ACCUMULATE:
    case PAIRS:
        WORKS(MPI_Accumulate(send, o->origins_count, o->origin, o->target, at, o->count, o->there, o->op, window));
        break;
    case GET_ACCUMULATE:
        WORKS(MPI_Get_accumulate(send, o->origins_count, o->origin, receive, o->origins_count, o->origin, o->target, at,
                                 o->count, o->there, o->op, window));
        break;
    case RACCUMULATE:
        WORKS(MPI_Raccumulate(send, o->origins_count, o->origin, o->target, at, o->count, o->there, o->op, window,
                              &request));
        break;
    case RGET_ACCUMULATE:
        WORKS(MPI_Rget_accumulate(send, o->origins_count, o->origin, receive, o->origins_count, o->origin, o->target,
                                  at, o->count, o->there, o->op, window, &request));
        break;
    case FETCH:
        WORKS(MPI_Fetch_and_op(send, receive, o->element, o->target, at, o->op, window));
        break;
    default:
        WORKS(MPI_Compare_and_swap(send, receive + 64, receive, o->element, o->target, at, window));
    }
    if (request != MPI_REQUEST_NULL)
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* An operation within an epoch, of a sort that it may be in. */
static void within_epoch(struct round *o, struct exposed *made, char *send, char *receive, int sort)
{
    int with_request = o->operation == RPUT || o->operation == RGET || o->operation == RACCUMULATE ||
                       o->operation == RGET_ACCUMULATE;
    MPI_Group all;
    switch (with_request ? 2 + sort % 2 : sort) {
    case 0:
        WORKS(MPI_Win_fence(0, made->window));
        operate_on(o, made, send, receive);
        WORKS(MPI_Win_fence(MPI_MODE_NOSUCCEED, made->window));
        break;
    case 1:
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        WORKS(MPI_Win_post(all, 0, made->window));
        WORKS(MPI_Win_start(all, 0, made->window));
        operate_on(o, made, send, receive);
        WORKS(MPI_Win_complete(made->window));
        WORKS(MPI_Win_wait(made->window));
        MPI_Group_free(&all);
        break;
    case 2:
        WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, o->target, 0, made->window));
        operate_on(o, made, send, receive);
        WORKS(MPI_Win_unlock(o->target, made->window));
        break;
    default:
        WORKS(MPI_Win_lock_all(0, made->window));
        operate_on(o, made, send, receive);
        WORKS(MPI_Win_flush_all(made->window));
        WORKS(MPI_Win_unlock_all(made->window));
    }
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
}

static void fill_small(char *bytes, size_t length)
{
    for (size_t byte = 0; byte < length; byte++) /* numbers whose sums are exact, as integers and as floating point */
        bytes[byte] = byte % 8 ? 0 : rank_draw(100);
}

static void compare(const char *what, struct buffer *real, struct buffer *model, struct round *o)
{
    char *expected = malloc(model->bytes);
    buffer_get(model, expected);
    long long place = buffer_differs(real, expected);
    if (place >= 0 && twice_failed++ < 5)
        check_failed(__FILE__, __LINE__, "operation %d, %d items at %ld of rank %d: byte %lld of the %s of kind %d",
                     o->operation, o->count, (long)o->place, o->target, place, what, real->kind);
    free(expected);
}

static void one_round(struct exposed *real, struct exposed *model)
{
    struct round what = draw_round();
    int sort = all_draw(4);
    /* Real ones first, then those of the host. */
    struct buffer sends[2] = {buffer_of(rank_draw(KINDS), BYTES), buffer_of(HOST, BYTES)};
    struct buffer receives[2] = {buffer_of(rank_draw(KINDS), BYTES), buffer_of(HOST, BYTES)};
    char *bytes = malloc(BYTES);
    for (int which = 0; which < 2; which++) {
        fill_small(bytes, BYTES);
        for (int side = 0; side < 2; side++)
            buffer_put(which ? &receives[side] : &sends[side], bytes);
    }
    within_epoch(&what, real, sends[0].at, receives[0].at, sort);
    within_epoch(&what, model, sends[1].at, receives[1].at, sort);
    compare("window", &real->buffer, &model->buffer, &what);
    compare("origin", &sends[0], &sends[1], &what);
    compare("result", &receives[0], &receives[1], &what);
    for (int side = 0; side < 2; side++) {
        buffer_free(&sends[side]);
        buffer_free(&receives[side]);
    }
    free(bytes);
    MPI_Type_free(&what.origin);
    MPI_Type_free(&what.there);
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
}

static void one_window(int attached)
{
    struct exposed real = expose(rank_draw(KINDS), attached), model = expose(HOST, attached);
    char *bytes = malloc(BYTES);
    fill_small(bytes, BYTES);
    buffer_put(&real.buffer, bytes);
    buffer_put(&model.buffer, bytes);
    free(bytes);
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++)
        one_round(&real, &model);
    conceal(&real, attached);
    conceal(&model, attached);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    for (int number = 0; number < WINDOWS; number++)
        one_window(number % 2);
    return check_end();
}
