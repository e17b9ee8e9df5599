/* ranks: 2 4 5
 * Long blocks (MPI-5.0 §12.3): of odd lengths, at odd places, in windows of every kind, in every mode of access. What was got is
 * there afterwards, the origin of a put may be written again, and nothing beside a block is touched. Long accumulates keep their
 * place among others. */
#include "windows.h"

#define LONGEST 2500003
#define ROOM (LONGEST + 4096)

static unsigned char *sent, *got;
static const int lengths[] = {32768, 32769, 65537, 131072, 400001, (1 << 20) + 1, LONGEST};
#define LENGTHS ((int)(sizeof lengths / sizeof lengths[0]))

/* How a rank knows, within a lock_all, that it may use its memory again. */
enum use { AT_THE_END, FLUSH, FLUSH_LOCAL, REQUEST, USES };

static unsigned char byte(int who, int round, long offset)
{
    return (unsigned char)(offset * 7 + offset / 251 + who * 31 + round * 13);
}

static void write_bytes(unsigned char *bytes, long length, int who, int round)
{
    for (long offset = 0; offset < length; offset++)
        bytes[offset] = byte(who, round, offset);
}

static long wrong_bytes(const void *bytes, long length, int who, int round)
{
    long wrong = 0;
    for (long offset = 0; offset < length; offset++)
        wrong += ((const unsigned char *)bytes)[offset] != byte(who, round, offset);
    return wrong;
}

static void end_use(const struct window *w, enum use use, int target, MPI_Request *request)
{
    if (use == FLUSH)
        MPI_Win_flush(target, w->win);
    else if (use == FLUSH_LOCAL)
        MPI_Win_flush_local(target, w->win);
    else if (use == REQUEST)
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void there_and_back(const struct window *w, int length, enum mode mode, enum use use)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, round = length + 5 * mode + use;
    MPI_Aint offset = 64 + length % 37, there = at(w, to, offset);
    MPI_Request request = MPI_REQUEST_NULL;
    memset(w->memory, 0x6e, offset + length + 64);
    write_bytes(sent, length, rank, round);
    settle(w);
    MPI_Barrier(W);
    open_access(w, mode, to);
    if (use == REQUEST)
        MPI_Rput(sent, length, MPI_BYTE, to, there, length, MPI_BYTE, w->win, &request);
    else
        MPI_Put(sent, length, MPI_BYTE, to, there, length, MPI_BYTE, w->win);
    end_use(w, use, to, &request);
    if (use != AT_THE_END)
        memset(sent, 0x55, length);
    close_access(w, mode, to);
    settle(w);
    CHECK_EQUAL(wrong_bytes(w->memory + offset, length, from, round), 0);
    CHECK_EQUAL(w->memory[offset - 1], 0x6e);
    CHECK_EQUAL(w->memory[offset + length], 0x6e);
    MPI_Barrier(W);
    memset(got, 0x77, length + 64);
    open_access(w, mode, to);
    if (use == REQUEST)
        MPI_Rget(got, length, MPI_BYTE, to, there, length, MPI_BYTE, w->win, &request);
    else
        MPI_Get(got, length, MPI_BYTE, to, there, length, MPI_BYTE, w->win);
    end_use(w, use, to, &request);
    if (use != AT_THE_END)
        CHECK_EQUAL(wrong_bytes(got, length, rank, round), 0);
    close_access(w, mode, to);
    CHECK_EQUAL(wrong_bytes(got, length, rank, round), 0);
    CHECK_EQUAL(got[length], 0x77);
    MPI_Barrier(W);
}

/* Long and short ones of all ranks, many under way at once. */
static void all_to_the_first(const struct window *w)
{
    enum { EACH = 100001, PARTS = 3, NEXT = EACH + 15 };
    int value = rank + 5, back = -1;
    write_bytes(sent, EACH, rank, 99);
    settle(w);
    MPI_Barrier(W);
    MPI_Win_lock_all(0, w->win);
    for (int part = 0; part < PARTS; part++) {
        MPI_Aint there = at(w, 0, ((MPI_Aint)rank * PARTS + part) * NEXT);
        MPI_Put(sent, EACH, MPI_BYTE, 0, there, EACH, MPI_BYTE, w->win);
        MPI_Put(&value, 1, MPI_INT, 0, MPI_Aint_add(there, EACH), 1, MPI_INT, w->win);
    }
    MPI_Win_flush_all(w->win);
    MPI_Aint last = at(w, 0, ((MPI_Aint)rank * PARTS + PARTS - 1) * NEXT);
    MPI_Get(got, EACH, MPI_BYTE, 0, last, EACH, MPI_BYTE, w->win);
    MPI_Get(&back, 1, MPI_INT, 0, MPI_Aint_add(last, EACH), 1, MPI_INT, w->win);
    MPI_Win_unlock_all(w->win);
    CHECK_EQUAL(wrong_bytes(got, EACH, rank, 99), 0);
    CHECK_EQUAL(back, value);
    settle(w);
    for (int who = 0; rank == 0 && who < size; who++)
        for (int part = 0; part < PARTS; part++)
            CHECK_EQUAL(wrong_bytes(w->memory + (who * PARTS + part) * NEXT, EACH, who, 99), 0);
    MPI_Barrier(W);
}

/* Under a lock each finds the whole block of the one before, and leaves its own. */
static void one_after_the_other(const struct window *w)
{
    enum { LENGTH = 200007, TIMES = 6 };
    memset(w->memory, 0, LENGTH);
    settle(w);
    MPI_Barrier(W);
    for (int time = 0; time < TIMES; time++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win);
        MPI_Get(got, LENGTH, MPI_BYTE, 0, at(w, 0, 0), LENGTH, MPI_BYTE, w->win);
        MPI_Win_flush(0, w->win);
        int mixed = 0;
        for (int offset = 1; offset < LENGTH; offset++)
            mixed += got[offset] != got[0];
        CHECK_EQUAL(mixed, 0);
        memset(sent, 1 + rank * TIMES + time, LENGTH);
        MPI_Put(sent, LENGTH, MPI_BYTE, 0, at(w, 0, 0), LENGTH, MPI_BYTE, w->win);
        MPI_Win_unlock(0, w->win);
    }
    MPI_Barrier(W);
}

/* Long and short accumulates of one rank, in one block and in many pieces, are done in the order of its calls (MPI-5.0 §12.7.1),
 * and what is read behind them finds them done; also where the lock goes with them. */
static void in_the_order_of_the_calls(const struct window *w)
{
    enum { ALL = 30000, SOME = ALL / 2, PLACE = 2 * 7000, TURNS = 8 };
    int to = (rank + 1) % size;
    long *values = (long *)sent, *found = (long *)got;
    MPI_Datatype every_other;
    MPI_Type_vector(SOME, 1, 2, MPI_LONG, &every_other);
    MPI_Type_commit(&every_other);
    memset(w->memory, 0, ALL * sizeof(long));
    settle(w);
    MPI_Barrier(W);
    for (long turn = 1; turn <= TURNS; turn++) {
        long wrong = 0, other = -turn, two = 2;
        for (int i = 0; i < SOME; i++)
            values[i] = turn;
        if (turn % 4 < 2)
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w->win);
        else
            MPI_Win_lock_all(0, w->win);
        if (turn % 2)
            MPI_Accumulate(values, SOME, MPI_LONG, to, at(w, to, 0), 1, every_other, MPI_REPLACE, w->win);
        else
            MPI_Accumulate(values, SOME, MPI_LONG, to, at(w, to, 0), SOME, MPI_LONG, MPI_REPLACE, w->win);
        MPI_Aint place = at(w, to, (turn % 2 ? PLACE : PLACE / 2) * sizeof(long));
        MPI_Accumulate(&other, 1, MPI_LONG, to, place, 1, MPI_LONG, MPI_REPLACE, w->win);
        MPI_Accumulate(&two, 1, MPI_LONG, to, place, 1, MPI_LONG, MPI_PROD, w->win);
        if (turn % 2)
            MPI_Get_accumulate(NULL, 0, MPI_LONG, found, SOME, MPI_LONG, to, at(w, to, 0), 1, every_other, MPI_NO_OP, w->win);
        else
            MPI_Get_accumulate(values, SOME, MPI_LONG, found, SOME, MPI_LONG, to, at(w, to, 0), SOME, MPI_LONG, MPI_SUM, w->win);
        if (turn % 4 < 2)
            MPI_Win_unlock(to, w->win);
        else
            MPI_Win_unlock_all(w->win);
        for (int i = 0; i < SOME; i++)
            wrong += found[i] != (i == PLACE / 2 ? -2 * turn : turn);
        CHECK_EQUAL(wrong, 0);
        MPI_Barrier(W);
    }
    MPI_Type_free(&every_other);
}

static void with_windows_of_all_kinds(void)
{
    static const enum kind kinds[] = {ALLOCATED, OF_HEAP, SHARED, DYNAMIC};
    for (int kind = 0; kind < 4; kind++) {
        struct window w = make_window(kinds[kind], ROOM);
        for (int length = 0; length < LENGTHS; length++) {
            there_and_back(&w, lengths[length], (enum mode)(length % MODES), AT_THE_END);
            there_and_back(&w, lengths[length], LOCK_ALL, (enum use)(1 + length % (USES - 1)));
        }
        all_to_the_first(&w);
        one_after_the_other(&w);
        in_the_order_of_the_calls(&w);
        free_window(&w);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    sent = malloc(2 * ROOM);
    got = sent + ROOM;
    with_windows_of_all_kinds();
    free(sent);
    MPI_Alloc_mem(2 * ROOM, MPI_INFO_NULL, &sent);
    got = sent + ROOM;
    with_windows_of_all_kinds();
    MPI_Free_mem(sent);
    return check_end();
}
