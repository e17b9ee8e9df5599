/* Windows of every kind, and every way to open and to close access to their memory. */
#ifndef WINDOWS_H
#define WINDOWS_H

#include "check.h"

#define W MPI_COMM_WORLD

/* Where the memory of a window comes from. */
enum kind { OF_HEAP, OF_STACK, STATIC, ALLOCATED, SHARED, DYNAMIC, KINDS };
static const char *const kind_names[] = {"heap", "stack", "static", "allocated", "shared", "dynamic"};

/* The most bytes of a window on the stack or in a static variable. */
#define MOST 65536
static char static_memory[MOST], *stack_memory;

/* main of a program that makes windows on the stack calls this first. */
#define WITH_STACK_MEMORY() \
    char on_stack[MOST];    \
    stack_memory = on_stack

struct window {
    enum kind kind;
    MPI_Win win;
    char *memory;
    MPI_Aint bytes;
    MPI_Aint *addresses; /* of each rank's memory, for dynamic windows */
};

/* A window of `bytes` zero bytes at each rank, with displacements in bytes. */
static inline struct window make_window_with(enum kind kind, MPI_Aint bytes, MPI_Info info)
{
    if (kind == SHARED && getenv("SERRIED_TRANSPORT"))
        kind = ALLOCATED; /* ranks on several nodes share no memory */
    struct window w = {kind, MPI_WIN_NULL, NULL, bytes, NULL};
    MPI_Aint mine;
    if (kind == OF_STACK || kind == STATIC) {
        CHECK(bytes <= MOST);
        w.memory = kind == STATIC ? static_memory : stack_memory;
    } else if (kind == OF_HEAP || kind == DYNAMIC)
        w.memory = malloc(bytes ? bytes : 1);
    if (kind == ALLOCATED)
        MPI_Win_allocate(bytes, 1, info, W, &w.memory, &w.win);
    else if (kind == SHARED)
        MPI_Win_allocate_shared(bytes, 1, info, W, &w.memory, &w.win);
    else if (kind == DYNAMIC) {
        MPI_Win_create_dynamic(info, W, &w.win);
        MPI_Win_attach(w.win, w.memory, bytes);
        w.addresses = malloc(size * sizeof *w.addresses);
        MPI_Get_address(w.memory, &mine);
        MPI_Allgather(&mine, 1, MPI_AINT, w.addresses, 1, MPI_AINT, W);
    }
    memset(w.memory, 0, bytes);
    if (kind == OF_HEAP || kind == OF_STACK || kind == STATIC)
        MPI_Win_create(w.memory, bytes, 1, info, W, &w.win);
    MPI_Barrier(W);
    return w;
}

static inline struct window make_window(enum kind kind, MPI_Aint bytes)
{
    return make_window_with(kind, bytes, MPI_INFO_NULL);
}

static inline void free_window(struct window *w)
{
    MPI_Barrier(W);
    if (w->kind == DYNAMIC)
        MPI_Win_detach(w->win, w->memory);
    MPI_Win_free(&w->win);
    CHECK(w->win == MPI_WIN_NULL);
    if (w->kind == OF_HEAP || w->kind == DYNAMIC)
        free(w->memory);
    free(w->addresses);
}

/* The displacement of byte `offset` of a rank's memory. */
static inline MPI_Aint at(const struct window *w, int target, MPI_Aint offset)
{
    return w->kind == DYNAMIC ? MPI_Aint_add(w->addresses[target], offset) : offset;
}

/* How a rank gets access to the memory of another. */
enum mode { FENCE, POST_START, LOCK_EXCLUSIVE, LOCK_SHARED, LOCK_ALL, MODES };
static const char *const mode_names[] = {"fence", "post/start", "exclusive lock", "shared lock", "lock_all"};

static inline void open_access(const struct window *w, enum mode mode, int target)
{
    MPI_Group all;
    switch (mode) {
    case FENCE:
        MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
        break;
    case POST_START:
        MPI_Win_get_group(w->win, &all);
        MPI_Win_post(all, 0, w->win);
        MPI_Win_start(all, 0, w->win);
        MPI_Group_free(&all);
        break;
    case LOCK_EXCLUSIVE:
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win);
        break;
    case LOCK_SHARED:
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
        break;
    default:
        MPI_Win_lock_all(0, w->win);
    }
}

/* Afterwards what this rank did is done; with fence and post/start what others did here, too. */
static inline void close_access(const struct window *w, enum mode mode, int target)
{
    switch (mode) {
    case FENCE:
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
        break;
    case POST_START:
        MPI_Win_complete(w->win);
        MPI_Win_wait(w->win);
        break;
    case LOCK_EXCLUSIVE:
    case LOCK_SHARED:
        MPI_Win_unlock(target, w->win);
        break;
    default:
        MPI_Win_unlock_all(w->win);
    }
}

/* Afterwards what any rank did is done, and can be read by plain loads. */
static inline void settle(const struct window *w)
{
    MPI_Barrier(W);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w->win);
    MPI_Win_sync(w->win);
    MPI_Win_unlock(rank, w->win);
}

#endif
