/* What the sweep does in an epoch, and whether it is right. */
#ifndef SWEEP_EPOCHS_H
#define SWEEP_EPOCHS_H

#include "sweep_windows.h"

/* What an operation does: reads from the target, changes the target, does so to one element, adds. */
enum { READS = 1, CHANGES = 2, ONE_ELEMENT = 4, ADDS = 8, INTEGER = 16 };

#define PLACE(part) window.target, displacement(part), window.target_count, window.target_type
#define ORIGIN(part) part_of(window.out, part), window.origin_count, window.origin_type
#define RESULT(part) part_of(window.in, part), window.origin_count, window.origin_type
#define OF(part) window.target, displacement(part)

static char *part_of(char *data, int part) { return data + part * window.span * window.size; }

#define EACH_PART(name, CALL)                                                                                          \
    static void op_##name(void)                                                                                        \
    {                                                                                                                  \
        for (int i = 0; i < cell.parts; i++)                                                                           \
            CALL;                                                                                                      \
    }
#define WITH_REQUESTS(name, CALL)                                                                                      \
    static void op_##name(void)                                                                                        \
    {                                                                                                                  \
        MPI_Request requests[MOST_PARTS], *request = requests;                                                         \
        for (int i = 0; i < cell.parts; i++, request++)                                                                \
            CALL;                                                                                                      \
        MPI_Waitall(cell.parts, requests, MPI_STATUSES_IGNORE);                                                        \
    }

EACH_PART(put, MPI_Put(ORIGIN(i), PLACE(i), window.win))
EACH_PART(get, MPI_Get(RESULT(i), PLACE(i), window.win))
EACH_PART(accumulate, MPI_Accumulate(ORIGIN(i), PLACE(i), MPI_SUM, window.win))
EACH_PART(replace, MPI_Accumulate(ORIGIN(i), PLACE(i), MPI_REPLACE, window.win))
EACH_PART(get_accumulate, MPI_Get_accumulate(ORIGIN(i), RESULT(i), PLACE(i), MPI_SUM, window.win))
EACH_PART(get_no_op, MPI_Get_accumulate(ORIGIN(i), RESULT(i), PLACE(i), MPI_NO_OP, window.win))
EACH_PART(fetch_and_op, MPI_Fetch_and_op(part_of(window.out, i), part_of(window.in, i), window.element, OF(i), MPI_SUM, window.win))
EACH_PART(fetch, MPI_Fetch_and_op(NULL, part_of(window.in, i), window.element, OF(i), MPI_NO_OP, window.win))
EACH_PART(compare_and_swap, MPI_Compare_and_swap(part_of(window.out, i), part_of(window.comparand, i),
                                                 part_of(window.in, i), window.element, OF(i), window.win))
WITH_REQUESTS(rput, MPI_Rput(ORIGIN(i), PLACE(i), window.win, request))
WITH_REQUESTS(rget, MPI_Rget(RESULT(i), PLACE(i), window.win, request))
WITH_REQUESTS(raccumulate, MPI_Raccumulate(ORIGIN(i), PLACE(i), MPI_SUM, window.win, request))
WITH_REQUESTS(rget_accumulate, MPI_Rget_accumulate(ORIGIN(i), RESULT(i), PLACE(i), MPI_SUM, window.win, request))

#define ON_WINDOW(name, does) {#name, op_##name, does}
static const struct {
    const char *name;
    void (*run)(void);
    int does;
} on_windows[] = {
    ON_WINDOW(put, CHANGES), ON_WINDOW(get, READS), ON_WINDOW(accumulate, CHANGES | ADDS), ON_WINDOW(replace, CHANGES),
    ON_WINDOW(get_accumulate, READS | CHANGES | ADDS), ON_WINDOW(get_no_op, READS),
    ON_WINDOW(fetch_and_op, READS | CHANGES | ADDS | ONE_ELEMENT), ON_WINDOW(fetch, READS | ONE_ELEMENT),
    ON_WINDOW(compare_and_swap, READS | CHANGES | ONE_ELEMENT | INTEGER), ON_WINDOW(rput, CHANGES),
    ON_WINDOW(rget, READS), ON_WINDOW(raccumulate, CHANGES | ADDS), ON_WINDOW(rget_accumulate, READS | CHANGES | ADDS),
};
enum { ON_WINDOWS = sizeof on_windows / sizeof *on_windows };

static int does(int what) { return on_windows[cell.operation].does & what; }

/* A call that is measured. */
static void run_epoch(char *out, char *in, int bytes)
{
    int is_got = does(READS) && !does(CHANGES), is_touched = cell.touched != NOT;
    (void)out, (void)in, (void)bytes;
    write_elements(is_got ? own_half() : window.out, window.half);
    if (is_got && is_touched && is_passive())
        settle();
    if (is_got && is_touched && cell.synchronisation == FENCE)
        MPI_Win_fence(0, window.win);
    open_access();
    on_windows[cell.operation].run();
    close_access();
    if (does(CHANGES) && is_touched && is_passive())
        settle();
    if (does(READS))
        consume(window.in, window.half);
    if (does(CHANGES) && (cell.where == NEXT || rank == 0))
        consume(own_half(), window.half);
}

/* An element as a number, and the other way round. */
static long number_at(const char *data, long place)
{
    if (window.size == 1)
        return data[place];
    if (window.size == 4)
        return ((const int *)data)[place];
    return window.element == MPI_DOUBLE ? (long)((const double *)data)[place] : (long)((const int64_t *)data)[place];
}

static void set_number(char *data, long place, long value)
{
    if (window.size == 1)
        data[place] = value;
    else if (window.size == 4)
        ((int *)data)[place] = value;
    else if (window.element == MPI_DOUBLE)
        ((double *)data)[place] = value;
    else
        ((int64_t *)data)[place] = value;
}

/* What lies at a place of the window, and of a rank's own data, before an epoch that is checked. */
static long at_target(long place) { return 3 * place % 50 + 1; }
static long at_origin(int who, long place) { return 60 + (place + who) % 7; }

static void fill_for_check(void)
{
    for (long place = 0; place < window.half / window.size; place++) {
        set_number(own_half(), place, at_target(place));
        set_number(window.out, place, at_origin(rank, place));
        set_number(window.comparand, place, at_target(place));
        set_number(window.in, place, 0);
    }
}

/* Whether an element of the target is what the operations of its origins make of it. */
static int is_changed_rightly(long found, long target, long origin)
{
    int previous = (rank + ranks - 1) % ranks;
    long sum = at_target(target);
    if (cell.where == NEXT)
        return found == (does(ADDS) ? sum : 0) + at_origin(previous, origin);
    for (int who = 0; who < ranks; who++) {
        sum += at_origin(who, origin);
        if (!does(ADDS) && found == at_origin(who, origin))
            return 1;
    }
    return does(ADDS) && found == sum;
}

/* How many elements are wrong. */
static long wrong_elements(void)
{
    long wrong = 0, next = 0;
    int is_target = does(CHANGES) && (cell.where == NEXT || rank == 0);
    for (int part = 0; part < cell.parts; part++) {
        long first = part * window.span;
        next = first;
        for (long i = 0; i < window.elements; i++, next++) {
            long target = first + place_of(i, is_spread()), origin = first + place_of(i, is_spread_at_origin());
            for (; next < target; next++) /* a gap */
                wrong += number_at(own_half(), next) != at_target(next);
            long found = number_at(own_half(), target);
            wrong += is_target ? !is_changed_rightly(found, target, origin) : found != at_target(target);
            int is_certain = does(READS) && (cell.where == NEXT || !does(CHANGES));
            wrong += is_certain && number_at(window.in, origin) != at_target(target);
        }
        for (; next < first + window.span; next++)
            wrong += number_at(own_half(), next) != at_target(next);
    }
    return wrong;
}

/* What all have done so far can be read, with every synchronisation. */
static void settle_with_all(void)
{
    if (is_passive())
        settle();
    else if (cell.synchronisation == FENCE)
        MPI_Win_fence(0, window.win);
    MPI_Barrier(WORLD);
}

/* Whether an epoch does what it shall do, on all ranks. Nothing is measured. */
static int is_right(void)
{
    call = 0;
    fill_for_check();
    settle_with_all();
    open_access();
    on_windows[cell.operation].run();
    close_access();
    settle_with_all();
    long wrong = wrong_elements(), all;
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, WORLD);
    return all == 0;
}

static void prepare_epochs(void)
{
    MPI_Group all;
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    lay_out(does(INTEGER), does(ONE_ELEMENT));
    window.target = cell.where == NEXT ? next : 0;
    open_window(2 * window.half);
    MPI_Win_get_group(window.win, &all);
    MPI_Group_incl(all, 1, &previous, &window.origins);
    MPI_Group_incl(all, 1, &next, &window.targets);
    MPI_Group_free(&all);
    window.out = buffer_of(window.half), window.in = buffer_of(window.half), window.comparand = buffer_of(window.half);
    if (cell.synchronisation == FLUSH || cell.synchronisation == FLUSH_LOCAL)
        MPI_Win_lock_all(0, window.win);
    if (cell.synchronisation == FENCE)
        MPI_Win_fence(0, window.win);
}

static void finish_epochs(void)
{
    if (cell.synchronisation == FLUSH || cell.synchronisation == FLUSH_LOCAL)
        MPI_Win_unlock_all(window.win);
    if (cell.synchronisation == FENCE)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
    MPI_Group_free(&window.origins);
    MPI_Group_free(&window.targets);
    close_window(2 * window.half);
    if (is_spread())
        MPI_Type_free(&window.target_type);
    free(window.out), free(window.in), free(window.comparand);
}

/* Measures a cell; a figure below zero says that what came was wrong. */
static void measure_window(int number)
{
    if (!wait_at_gate("ready\n"))
        return;
    prepare_epochs();
    double seconds = seconds_behind_gate(number, run_epoch, NULL, NULL, cell.bytes);
    int right = is_right();
    finish_epochs();
    show(cell.name, cell.bytes, right ? 1e6 * seconds : -1, "us");
}

#endif
