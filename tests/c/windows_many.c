/* ranks: 2 4
 * Many operations in one epoch. Each rank has a part of the memory of every rank to itself, and a model of it: it puts, gets,
 * accumulates, fetches and swaps there at random, many at a time, and looks at results and memory when an epoch or a flush
 * has ended. Between nodes such operations go together and end late, so this tells whether their order stands, whether
 * results go where they belong, and whether flushes and requests wait for them. */
#include "check.h"

#define W MPI_COMM_WORLD
#define PART 512 /* words of a part */
#define MOST 300 /* operations in an epoch */
#define ROUNDS 24

static unsigned long long state;

static unsigned below(unsigned limit)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % limit;
}

static MPI_Win win;
static long *model;                                /* of the own part of each rank */
static long origins[MOST][PART], compares[MOST], results[MOST][PART], expected[MOST][PART];
static int lengths[MOST];                          /* of results; 0: none */
static MPI_Datatype every_other;                   /* of two words the first, with the extent of two */
static MPI_Datatype ragged;                        /* blocks of 1 to 7 words with gaps of 1 to 3 */
static int ragged_places[PART], ragged_words;      /* where its words lie */

/* Words of the own part of a target in the model. */
static long *part_of(int target)
{
    return model + (size_t)target * PART;
}

/* One operation on a target; with a request where `request` is not null. */
static void operate(int number, int target, MPI_Request *request)
{
    long *from = origins[number], *words = part_of(target);
    int length = below(4) ? 1 + below(8) : 1 + below(PART), at = below(PART - length + 1), layout = below(5);
    int kind = below(8);
    MPI_Datatype there = layout == 1 ? every_other : MPI_LONG;
    if (layout == 1)
        length = (length + 1) / 2;
    if (kind > 4 && !request)
        length = 1;
    int items = length;
    if (layout == 2 && (kind <= 4 || request)) {
        there = ragged;
        at = 0;
        length = ragged_words;
        items = 1;
    }
    MPI_Aint place = (MPI_Aint)rank * PART + at;
    static int places[PART];
    for (int index = 0; index < length; index++)
        places[index] = there == ragged ? ragged_places[index] : at + index * (layout == 1 ? 2 : 1);
    long *result = results[number], *old = expected[number];
    for (int index = 0; index < length; index++)
        from[index] = (long)below(1000) - 500;
    lengths[number] = 0;
    for (int index = 0; index < length; index++)
        old[index] = words[places[index]];
    switch (kind) {
    case 0:
    case 1:
        for (int index = 0; index < length; index++)
            words[places[index]] = from[index];
        if (request)
            MPI_Rput(from, length, MPI_LONG, target, place, items, there, win, request);
        else
            MPI_Accumulate(from, length, MPI_LONG, target, place, items, there, MPI_REPLACE, win);
        break;
    case 2:
        for (int index = 0; index < length; index++)
            words[places[index]] += from[index];
        if (request)
            MPI_Raccumulate(from, length, MPI_LONG, target, place, items, there, MPI_SUM, win, request);
        else
            MPI_Accumulate(from, length, MPI_LONG, target, place, items, there, MPI_SUM, win);
        break;
    case 3:
        lengths[number] = length;
        for (int index = 0; index < length; index++)
            words[places[index]] += from[index];
        if (request)
            MPI_Rget_accumulate(from, length, MPI_LONG, result, length, MPI_LONG, target, place, items, there, MPI_SUM,
                                win, request);
        else
            MPI_Get_accumulate(from, length, MPI_LONG, result, length, MPI_LONG, target, place, items, there, MPI_SUM,
                               win);
        break;
    case 4:
        lengths[number] = length;
        MPI_Get_accumulate(NULL, 0, MPI_LONG, result, length, MPI_LONG, target, place, items, there, MPI_NO_OP, win);
        if (request)
            *request = MPI_REQUEST_NULL;
        break;
    case 5:
    case 6:
        if (request) {
            lengths[number] = length;
            MPI_Rget_accumulate(NULL, 0, MPI_LONG, result, length, MPI_LONG, target, place, items, there, MPI_NO_OP, win,
                                request);
            break;
        }
        lengths[number] = 1;
        words[at] += from[0];
        MPI_Fetch_and_op(from, result, MPI_LONG, target, place, MPI_SUM, win);
        break;
    default: {
        compares[number] = below(2) ? words[at] : words[at] + 1;
        lengths[number] = 1;
        if (compares[number] == words[at])
            words[at] = from[0];
        MPI_Compare_and_swap(from, &compares[number], result, MPI_LONG, target, place, win);
        if (request)
            *request = MPI_REQUEST_NULL;
    }
    }
}

static void check_result(int number)
{
    for (int index = 0; index < lengths[number]; index++)
        if (results[number][index] != expected[number][index]) {
            check_failed(__FILE__, __LINE__, "word %d of the result of operation %d is %ld, not %ld", index, number,
                         results[number][index], expected[number][index]);
            return;
        }
}

/* What lies in the own part of all ranks is what the model has; the origin's type has gaps in every other check. */
static void check_parts(int round)
{
    static long got[2 * PART];
    for (int target = 0; target < size; target++) {
        int stride = 1 + (round + target) % 2;
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Get(got, PART, stride == 2 ? every_other : MPI_LONG, target, (MPI_Aint)rank * PART, PART, MPI_LONG, win);
        MPI_Win_unlock(target, win);
        for (int index = 0; index < PART; index++)
            if (got[stride * index] != part_of(target)[index]) {
                check_failed(__FILE__, __LINE__, "round %d: word %d at rank %d is %ld, not %ld", round, index, target,
                             got[stride * index], part_of(target)[index]);
                break;
            }
    }
}

/* Operations on random targets between the calls that begin and end an epoch of one of these kinds. */
enum { FENCE, GROUP, LOCK_ALL, LOCK, WAYS };

static void epoch(int way, MPI_Group group)
{
    int only = below(size), operations = 1 + below(MOST), checked = 0;
    switch (way) {
    case FENCE: MPI_Win_fence(MPI_MODE_NOPRECEDE, win); break;
    case GROUP:
        MPI_Win_post(group, 0, win);
        MPI_Win_start(group, 0, win);
        break;
    case LOCK_ALL: MPI_Win_lock_all(0, win); break;
    default: MPI_Win_lock(below(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, only, 0, win);
    }
    int passive = way == LOCK_ALL || way == LOCK;
    for (int number = 0; number < operations; number++) {
        int target = way == LOCK ? only : (int)below(size);
        if (!passive || below(8)) {
            operate(number, target, NULL);
        } else {
            MPI_Request request;
            operate(number, target, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            memset(origins[number], 0x55, sizeof origins[number]); /* it may be used again */
        }
        if (passive && below(40) == 0) {
            if (below(2))
                MPI_Win_flush_all(win);
            else
                MPI_Win_flush_local_all(win);
            for (; checked <= number; checked++)
                check_result(checked);
        }
    }
    switch (way) {
    case FENCE: MPI_Win_fence(MPI_MODE_NOSUCCEED, win); break;
    case GROUP:
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        break;
    case LOCK_ALL: MPI_Win_unlock_all(win); break;
    default: MPI_Win_unlock(only, win);
    }
    for (; checked < operations; checked++)
        check_result(checked);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    state = 12345 + 77 * rank;
    long *memory;
    MPI_Type_create_resized(MPI_LONG, 0, 2 * sizeof(long), &every_other);
    MPI_Type_commit(&every_other);
    int blocks[PART], gaps[PART], number = 0;
    for (int place = 0; place + 7 <= PART; number++) {
        blocks[number] = 1 + number * 5 % 7;
        gaps[number] = place;
        for (int word = 0; word < blocks[number]; word++)
            ragged_places[ragged_words++] = place + word;
        place += blocks[number] + 1 + number % 3;
    }
    MPI_Type_indexed(number, blocks, gaps, MPI_LONG, &ragged);
    MPI_Type_commit(&ragged);
    model = calloc((size_t)size * PART, sizeof *model);
    MPI_Win_allocate((MPI_Aint)size * PART * sizeof(long), sizeof(long), MPI_INFO_NULL, W, &memory, &win);
    memset(memory, 0, (size_t)size * PART * sizeof(long));
    MPI_Barrier(W);
    MPI_Group group;
    MPI_Win_get_group(win, &group);
    for (int round = 0; round < ROUNDS; round++) {
        epoch(round % WAYS, group);
        check_parts(round);
    }
    MPI_Group_free(&group);
    MPI_Win_free(&win);
    MPI_Type_free(&every_other);
    MPI_Type_free(&ragged);
    free(model);
    return check_end();
}
