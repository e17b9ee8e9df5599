/* One-sided operations of IMB-RMA: puts and gets of MPI_BYTE under locks.
 *
 * A window's memory is filled when it is made, by rank and place, so a get has the right bytes or not. What is put is
 * fetched back as soon as a flush or an unlock says that it is there. What was put last to a place counts, and what was
 * got last into a buffer: IMB gets from all ranks into one. */
#include "checker.h"

#define MOST_PENDING 64

static struct pending {
    MPI_Win win;
    int target, put;
    MPI_Aint place;
    byte *buffer;
    long bytes;
} pending[MOST_PENDING];
static int count_pending;

/* Puts have a pattern of their own, whoever makes them and wherever they go. */
enum { PUT = 1000, WINDOW = 2000 };

static int replaces(const struct pending *one, const struct pending *other)
{
    if (one->put != other->put || one->win != other->win)
        return 0;
    return one->put ? one->target == other->target && one->place == other->place : one->buffer == other->buffer;
}

static void remember(struct pending one)
{
    int place = 0;
    while (place < count_pending && !replaces(&one, &pending[place]))
        place++;
    if (place < MOST_PENDING)
        pending[place] = one;
    count_pending += place == count_pending && place < MOST_PENDING;
}

static void check_get(const struct pending *one)
{
    check_from("MPI_Get", one->buffer, one->bytes, WINDOW, one->target, one->place);
}

static void check_put(const struct pending *one)
{
    byte *there = malloc(one->bytes + 1);
    poison(there, one->bytes);
    PMPI_Get(there, one->bytes, MPI_BYTE, one->target, one->place, one->bytes, MPI_BYTE, one->win);
    PMPI_Win_flush(one->target, one->win);
    check("MPI_Put", there, one->bytes, PUT, 0);
    free(there);
}

/* Checks what is done with a target (-1: with all); puts only where they are done there. */
static void done(MPI_Win win, int target, int at_target)
{
    for (int index = count_pending; index-- > 0;) {
        struct pending one = pending[index];
        if (one.win != win || (target >= 0 && one.target != target) || (one.put && !at_target))
            continue;
        pending[index] = pending[--count_pending];
        one.put ? check_put(&one) : check_get(&one);
    }
}

int MPI_Win_create(void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    fill(base, bytes, WINDOW, rank_in(comm));
    return PMPI_Win_create(base, bytes, unit, info, comm, win);
}

int MPI_Put(const void *origin, int count, MPI_Datatype type, int target, MPI_Aint place, int target_count,
            MPI_Datatype target_type, MPI_Win win)
{
    if (type == MPI_BYTE) {
        fill((void *)origin, count, PUT, 0);
        remember((struct pending){win, target, 1, place, NULL, count});
    }
    return PMPI_Put(origin, count, type, target, place, target_count, target_type, win);
}

int MPI_Get(void *origin, int count, MPI_Datatype type, int target, MPI_Aint place, int target_count,
            MPI_Datatype target_type, MPI_Win win)
{
    if (type == MPI_BYTE)
        remember((struct pending){win, target, 0, place, origin, count});
    return PMPI_Get(origin, count, type, target, place, target_count, target_type, win);
}

int MPI_Win_flush(int target, MPI_Win win)
{
    int code = PMPI_Win_flush(target, win);
    done(win, target, 1);
    return code;
}

int MPI_Win_flush_all(MPI_Win win)
{
    int code = PMPI_Win_flush_all(win);
    done(win, -1, 1);
    return code;
}

int MPI_Win_flush_local(int target, MPI_Win win)
{
    int code = PMPI_Win_flush_local(target, win);
    done(win, target, 0);
    return code;
}

int MPI_Win_flush_local_all(MPI_Win win)
{
    int code = PMPI_Win_flush_local_all(win);
    done(win, -1, 0);
    return code;
}

int MPI_Win_unlock(int target, MPI_Win win)
{
    PMPI_Win_flush(target, win);
    done(win, target, 1);
    return PMPI_Win_unlock(target, win);
}

int MPI_Win_unlock_all(MPI_Win win)
{
    PMPI_Win_flush_all(win);
    done(win, -1, 1);
    return PMPI_Win_unlock_all(win);
}
