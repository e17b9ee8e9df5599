/* ranks: 1 2 3
 * What a window has besides memory: attributes, those of the program with their functions, a name, hints, a group, an
 * error handler, integers for other languages. */
#include "windows.h"
#include <stdint.h>

static int copies, deletes, last_key;
static MPI_Win last_win;

static int copy_value(MPI_Win win, int key, void *extra, void *in, void *out, int *flag)
{
    (void)win, (void)key, (void)extra;
    copies++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_value(MPI_Win win, int key, void *value, void *extra)
{
    int rank_here = -1, known = 0;
    void *still = NULL;
    MPI_Group group;
    deletes += (int)(intptr_t)value;
    last_key = key;
    last_win = win;
    CHECK(extra == &deletes);
    /* The window is still there. */
    MPI_Win_get_attr(win, key, &still, &known);
    CHECK(known && still == value);
    MPI_Win_get_group(win, &group);
    MPI_Group_rank(group, &rank_here);
    CHECK_EQUAL(rank_here, rank);
    MPI_Group_free(&group);
    return MPI_SUCCESS;
}

static int refuse(MPI_Win win, int key, void *value, void *extra)
{
    (void)win, (void)key, (void)value;
    return *(int *)extra ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* The attributes that every window has. */
static void predefined(struct window *w, int unit, int flavor)
{
    void *base = &base;
    MPI_Aint *bytes;
    int *number, known = 0;
    MPI_Win_get_attr(w->win, MPI_WIN_BASE, &base, &known);
    CHECK(known && base == (w->kind == DYNAMIC ? MPI_BOTTOM : w->memory));
    MPI_Win_get_attr(w->win, MPI_WIN_SIZE, &bytes, &known);
    CHECK(known);
    CHECK_EQUAL(*bytes, w->kind == DYNAMIC ? 0 : w->bytes);
    MPI_Win_get_attr(w->win, MPI_WIN_DISP_UNIT, &number, &known);
    CHECK(known);
    CHECK_EQUAL(*number, unit);
    MPI_Win_get_attr(w->win, MPI_WIN_CREATE_FLAVOR, &number, &known);
    CHECK(known);
    CHECK_EQUAL(*number, flavor);
    MPI_Win_get_attr(w->win, MPI_WIN_MODEL, &number, &known);
    CHECK(known);
    CHECK_EQUAL(*number, MPI_WIN_UNIFIED);
}

/* Values of the program, under keys that are freed while they are used. */
static void own_attributes(struct window *w)
{
    int key, other, freed, known = -1;
    void *value = NULL;
    MPI_Win_create_keyval(copy_value, delete_value, &key, &deletes);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &other, NULL);
    MPI_Win_get_attr(w->win, key, &value, &known);
    CHECK(!known);
    MPI_Win_set_attr(w->win, key, (void *)1);
    MPI_Win_set_attr(w->win, other, (void *)7);
    deletes = 0;
    MPI_Win_set_attr(w->win, key, (void *)10);
    CHECK_EQUAL(deletes, 1);
    MPI_Win_get_attr(w->win, key, &value, &known);
    CHECK(known && value == (void *)10);
    MPI_Win_get_attr(w->win, other, &value, &known);
    CHECK(known && value == (void *)7);
    MPI_Win_delete_attr(w->win, key);
    CHECK_EQUAL(deletes, 11);
    MPI_Win_get_attr(w->win, key, &value, &known);
    CHECK(!known);
    MPI_Win_set_attr(w->win, key, (void *)100);
    freed = key;
    MPI_Win_free_keyval(&freed);
    CHECK_EQUAL(freed, MPI_KEYVAL_INVALID);
    MPI_Win_get_attr(w->win, key, &value, &known);
    CHECK(known && value == (void *)100);
    MPI_Win_free_keyval(&other);
    CHECK_EQUAL(copies, 0);
    last_win = MPI_WIN_NULL, last_key = 0;
    MPI_Win win = w->win;
    free_window(w); /* deletes what is left */
    CHECK_EQUAL(deletes, 111);
    CHECK_EQUAL(last_key, key);
    CHECK(last_win == win);
}

/* A delete function that refuses keeps the window. */
static void refused(void)
{
    int key, no = 1;
    char memory[8];
    MPI_Win win, before;
    MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_create_keyval(MPI_WIN_DUP_FN, refuse, &key, &no);
    MPI_Win_set_attr(win, key, &no);
    before = win;
    CHECK(MPI_Win_delete_attr(win, key) != MPI_SUCCESS);
    CHECK(MPI_Win_free(&win) != MPI_SUCCESS && win == before);
    no = 0;
    CHECK_CLASS(MPI_Win_free(&win), MPI_SUCCESS);
    MPI_Win_free_keyval(&key);
}

static void names(struct window *w)
{
    char name[MPI_MAX_OBJECT_NAME], longest[MPI_MAX_OBJECT_NAME + 10];
    int length = -1;
    MPI_Win_get_name(w->win, name, &length);
    CHECK_EQUAL(length, 0);
    CHECK_EQUAL(name[0], 0);
    MPI_Win_set_name(w->win, "halo");
    MPI_Win_get_name(w->win, name, &length);
    CHECK(length == 4 && !strcmp(name, "halo"));
    memset(longest, 'x', sizeof longest);
    longest[MPI_MAX_OBJECT_NAME - 1] = 0;
    MPI_Win_set_name(w->win, longest);
    MPI_Win_get_name(w->win, name, &length);
    CHECK_EQUAL(length, MPI_MAX_OBJECT_NAME - 1);
}

static void groups(struct window *w)
{
    MPI_Group mine, world;
    int same = -1;
    MPI_Win_get_group(w->win, &mine);
    MPI_Comm_group(W, &world);
    MPI_Group_compare(mine, world, &same);
    CHECK_EQUAL(same, MPI_IDENT);
    MPI_Group_free(&mine);
    MPI_Group_free(&world);
}

static const char *hint(MPI_Info info, const char *key)
{
    static char value[MPI_MAX_INFO_VAL];
    int length = sizeof value, known = 0;
    MPI_Info_get_string(info, key, &length, value, &known);
    return known ? value : "(none)";
}

static void hints(enum kind kind)
{
    MPI_Info given, used;
    MPI_Info_create(&given);
    MPI_Info_set(given, "no_locks", "true");
    MPI_Info_set(given, "accumulate_ordering", "none");
    MPI_Info_set(given, "same_size", "true");
    MPI_Info_set(given, "nobody_knows_it", "1");
    struct window w = make_window_with(kind, 64, given);
    MPI_Win_get_info(w.win, &used);
    CHECK(!strcmp(hint(used, "no_locks"), "true"));
    CHECK(!strcmp(hint(used, "accumulate_ordering"), "none"));
    CHECK(!strcmp(hint(used, "accumulate_ops"), "same_op_no_op"));
    CHECK(!strcmp(hint(used, "same_size"), "true"));
    CHECK(!strcmp(hint(used, "same_disp_unit"), "false"));
    CHECK(!strcmp(hint(used, "nobody_knows_it"), "(none)"));
    CHECK(!strcmp(hint(used, "alloc_shared_noncontig"), kind == SHARED ? "false" : "(none)"));
    MPI_Info_free(&used);
    MPI_Info_set(given, "no_locks", "false");
    MPI_Info_set(given, "accumulate_ops", "same_op");
    MPI_Info_set(given, "accumulate_ordering", "by the moon");
    MPI_Win_set_info(w.win, given);
    MPI_Win_get_info(w.win, &used);
    CHECK(!strcmp(hint(used, "no_locks"), "false"));
    CHECK(!strcmp(hint(used, "accumulate_ops"), "same_op"));
    CHECK(!strcmp(hint(used, "accumulate_ordering"), "none"));
    MPI_Win_set_info(w.win, used);
    MPI_Info_free(&used);
    MPI_Info_free(&given);
    free_window(&w);
}

static int handled, handled_class;
static MPI_Win handled_win;

static void handle(MPI_Win *win, int *code, ...)
{
    handled++;
    handled_win = *win;
    handled_class = class_of(*code);
}

static void error_handlers(struct window *w)
{
    MPI_Errhandler mine, found;
    int value = 0;
    MPI_Win_get_errhandler(w->win, &found);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&found);
    MPI_Win_create_errhandler(handle, &mine);
    MPI_Win_set_errhandler(w->win, mine);
    MPI_Win_get_errhandler(w->win, &found);
    CHECK(found == mine);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&mine); /* the window keeps it */
    MPI_Win_call_errhandler(w->win, MPI_ERR_ASSERT);
    CHECK(handled == 1 && handled_class == MPI_ERR_ASSERT && handled_win == w->win);
    MPI_Win_lock_all(0, w->win);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, size, at(w, 0, 0), 1, MPI_INT, w->win), MPI_ERR_RANK);
    MPI_Win_unlock_all(w->win);
    CHECK(handled == 2 && handled_class == MPI_ERR_RANK && handled_win == w->win);
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_unlock(0, w->win), MPI_ERR_RMA_SYNC);
    CHECK_EQUAL(handled, 2);
    /* That of a communicator is none for a window. */
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)handle, &mine);
    CHECK(MPI_Win_set_errhandler(w->win, mine) != MPI_SUCCESS);
    MPI_Errhandler_free(&mine);
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_ARE_FATAL);
}

static void integers(struct window *w)
{
    CHECK(MPI_Win_fromint(MPI_Win_toint(w->win)) == w->win);
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
#ifdef MPICH_VERSION
    CHECK(MPI_Win_f2c(MPI_Win_c2f(w->win)) == w->win);
#endif
}

/* Many windows at once, and one after the other. */
static void many(void)
{
    MPI_Win wins[40];
    int *bases[40];
    for (int index = 0; index < 40; index++) {
        MPI_Win_allocate(256, 4, MPI_INFO_NULL, W, &bases[index], &wins[index]);
        bases[index][0] = 0;
    }
    for (int index = 0; index < 40; index++) {
        int value = index * 10 + rank;
        MPI_Win_fence(0, wins[index]);
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, wins[index]);
        MPI_Win_fence(0, wins[index]);
        CHECK_EQUAL(bases[index][0], index * 10 + (rank + size - 1) % size);
    }
    for (int index = 40; index-- > 0;)
        MPI_Win_free(&wins[index]);
    for (int round = 0; round < 200; round++) {
        MPI_Win_create(&bases, sizeof bases, 1, MPI_INFO_NULL, round % 2 ? W : MPI_COMM_SELF, &wins[0]);
        MPI_Win_free(&wins[0]);
    }
}

int main(int argc, char **argv)
{
    WITH_STACK_MEMORY();
    const int flavors[] = {MPI_WIN_FLAVOR_CREATE,   MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_CREATE,
                           MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC};
    check_begin(&argc, &argv);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct window w = make_window(kind, 64);
        predefined(&w, 1, flavors[kind]);
        names(&w);
        groups(&w);
        handled = 0;
        error_handlers(&w);
        integers(&w);
        copies = deletes = 0;
        own_attributes(&w);
        hints(kind);
    }
    refused();
    many();
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Win_get_name(MPI_WIN_NULL, name, &length);
    CHECK(!strcmp(name, "MPI_WIN_NULL"));
    return check_end();
}
