/* ranks: 1 2 5
 * Communicators: made, duplicated at once and later, freed while a message is
 * pending, made and freed very often; attributes and their callbacks; error
 * handlers of the program; names; grids. */
#include "check.h"

static void pending_when_freed(void)
{
    MPI_Comm twin;
    MPI_Request requests[2];
    int sent = rank, got = -1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    CHECK_CLASS(MPI_Comm_dup(MPI_COMM_WORLD, &twin), MPI_SUCCESS);
    MPI_Irecv(&got, 1, MPI_INT, before, 0, twin, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, next, 0, twin, &requests[1]);
    CHECK_CLASS(MPI_Comm_free(&twin), MPI_SUCCESS);
    CHECK(twin == MPI_COMM_NULL);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(got, before);
}

static void duplicated_later(void)
{
    enum { MANY = 20 };
    MPI_Comm twins[MANY];
    MPI_Request requests[MANY];
    int result, sum;
    for (int index = 0; index < MANY; index++)
        MPI_Comm_idup(MPI_COMM_WORLD, &twins[index], &requests[index]);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int index = 0; index < MANY; index++) {
        MPI_Allreduce(&rank, &result, 1, MPI_INT, MPI_SUM, twins[index]);
        CHECK_EQUAL(result, sum);
        MPI_Comm_compare(MPI_COMM_WORLD, twins[index], &result);
        CHECK_EQUAL(result, MPI_CONGRUENT);
        MPI_Comm_free(&twins[index]);
    }
}

static void very_often(void)
{
    for (int round = 0; round < 5000; round++) {
        MPI_Comm twin, part;
        int got = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &twin);
        MPI_Comm_split(twin, rank % 2, -rank, &part);
        MPI_Comm_free(&twin);
        if (round % 100 == 0) {
            MPI_Comm_size(part, &got);
            CHECK_EQUAL(got, (size + 1 - rank % 2) / 2);
        }
        MPI_Comm_free(&part);
    }
}

static int copies, deletes;

static int copy_next(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval;
    CHECK(extra == &copies);
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_once(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int members;
    (void)keyval, (void)value, (void)extra;
    CHECK_CLASS(MPI_Comm_size(comm, &members), MPI_SUCCESS);
    deletes++;
    return value == (void *)13 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void attributes(void)
{
    MPI_Comm first, second;
    int keyval, flag, *bound;
    void *value;
    MPI_Comm_create_keyval(copy_next, delete_once, &keyval, &copies);
    MPI_Comm_dup(MPI_COMM_SELF, &first);
    MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN);
    MPI_Comm_set_attr(first, keyval, (void *)41);
    MPI_Comm_dup(first, &second);
    MPI_Comm_get_attr(second, keyval, &value, &flag);
    CHECK(flag && value == (void *)42);
    MPI_Comm_free(&second);
    CHECK_EQUAL(deletes, 1);
    MPI_Comm_set_attr(first, keyval, (void *)13);
    CHECK_EQUAL(deletes, 2);
    CHECK_CLASS(MPI_Comm_free(&first), MPI_ERR_OTHER);
    CHECK(first != MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_set_attr(first, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL);
    MPI_Comm_get_attr(first, MPI_TAG_UB, &bound, &flag);
    CHECK(flag && *bound >= 32767);
    MPI_Comm_free_keyval(&keyval);
    CHECK_EQUAL(keyval, MPI_KEYVAL_INVALID);
    CHECK_CLASS(MPI_Comm_get_attr(first, keyval, &value, &flag), MPI_ERR_KEYVAL);
}

static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm != MPI_COMM_NULL);
    handled = *code;
}

static void errors(void)
{
    MPI_Comm twin, part;
    MPI_Errhandler handler, again;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(twin, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_get_errhandler(twin, &again);
    MPI_Errhandler_free(&again);
    CHECK_CLASS(MPI_Comm_split(twin, -3, 0, &part), MPI_ERR_ARG);
    CHECK_CLASS(handled, MPI_ERR_ARG);
    MPI_Comm_call_errhandler(twin, MPI_ERR_TAG);
    CHECK_EQUAL(handled, MPI_ERR_TAG);
    MPI_Comm_free(&twin);
}

static void grids(void)
{
    MPI_Comm grid, row;
    MPI_Group group, none;
    char name[MPI_MAX_OBJECT_NAME];
    int dims[2] = {0, 0}, rings[2] = {1, 0}, kept[2] = {0, 1}, source, destination, length;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, rings, 1, &grid);
    MPI_Cart_shift(grid, 0, 1, &source, &destination);
    CHECK(source != MPI_PROC_NULL && destination != MPI_PROC_NULL);
    MPI_Cart_shift(grid, 1, dims[1], &source, &destination);
    CHECK(source == MPI_PROC_NULL && destination == MPI_PROC_NULL);
    MPI_Cart_sub(grid, kept, &row);
    MPI_Comm_size(row, &length);
    CHECK_EQUAL(length, dims[1]);
    MPI_Comm_set_name(row, "row");
    MPI_Comm_get_name(row, name, &length);
    CHECK(length == 3 && strcmp(name, "row") == 0);
    MPI_Comm_group(row, &group);
    MPI_Group_incl(group, 0, NULL, &none);
    CHECK(none == MPI_GROUP_EMPTY);
    MPI_Group_free(&none);
    MPI_Group_free(&group);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    pending_when_freed();
    duplicated_later();
    very_often();
    attributes();
    errors();
    grids();
    return check_end();
}
