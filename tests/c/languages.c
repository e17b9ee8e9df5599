/* ranks: 1
 * What Fortran libraries ask of the C library: attributes that are integers of Fortran, which C sees as their
 * addresses (MPI-5.0 §19.3.7); callbacks with a word of the program's own. */
#include "check.h"
#include <stdint.h>

/* Not every header declares them, and not all alike. */
int get_attr(MPI_Comm, int, void *, int *, int) __asm__("MPII_Comm_get_attr");
int set_attr(MPI_Comm, int, void *, int) __asm__("MPII_Comm_set_attr");
int set_proxy(int, const void *, const void *) __asm__("MPII_Keyval_set_proxy");
int op_create_x(const void *, const void *, int, void *, MPI_Op *) __asm__("MPIX_Op_create_x");
int errhandler_x(const void *, const void *, void *, MPI_Errhandler *) __asm__("MPIX_Comm_create_errhandler_x");
enum { OF_C, ADDRESS, DEFAULT = 3 };

static int destroyed, copies, deletes, errors;

static void destroy(void *state) { destroyed += *(int *)state; }

static void add_scaled(void *in, void *inout, MPI_Count length, MPI_Datatype type, void *state)
{
    CHECK(type == MPI_INT);
    for (MPI_Count i = 0; i < length; i++)
        ((int *)inout)[i] += ((int *)in)[i] * *(int *)state;
}

static void count_error(MPI_Comm comm, int code, void *state)
{
    CHECK(comm != MPI_COMM_NULL && code != MPI_SUCCESS);
    errors += *(int *)state;
}

/* A language calls its function: doubles the value, which it gets as it is. */
static int copy_proxy(const void *function, int object, int keyval, void *state, int language, void *value, void **copy, int *flag)
{
    (void)object, (void)keyval;
    CHECK(function == (const void *)&copies && language == ADDRESS && (intptr_t)state == 5);
    copies++;
    *copy = (void *)((intptr_t)value * 2);
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_proxy(const void *function, int object, int keyval, int language, void *value, void *state)
{
    (void)object, (void)keyval, (void)language, (void)value, (void)state;
    CHECK(function == (const void *)&deletes);
    deletes++;
    return MPI_SUCCESS;
}

static int pass_on(MPI_Comm comm, int keyval, void *state, void *value, void *copy, int *flag)
{
    (void)comm, (void)keyval, (void)state;
    *(void **)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static intptr_t seen_by_fortran(MPI_Comm comm, int keyval)
{
    intptr_t value = 0;
    int flag = 0;
    CHECK_CLASS(get_attr(comm, keyval, &value, &flag, ADDRESS), MPI_SUCCESS);
    CHECK(flag);
    return value;
}

static intptr_t seen_by_c(MPI_Comm comm, int keyval)
{
    int64_t *place = NULL;
    int flag = 0;
    CHECK_CLASS(MPI_Comm_get_attr(comm, keyval, &place, &flag), MPI_SUCCESS);
    CHECK(flag);
    return flag ? *place : 0;
}

static void check_attributes(void)
{
    MPI_Comm dup, third;
    int key, value = -1, flag = 0;
    int64_t own = 42;
    MPI_Comm_create_keyval(pass_on, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    CHECK_CLASS(set_attr(MPI_COMM_SELF, key, (void *)-7, ADDRESS), MPI_SUCCESS);
    CHECK_EQUAL(seen_by_fortran(MPI_COMM_SELF, key), -7);
    CHECK_EQUAL(seen_by_c(MPI_COMM_SELF, key), -7);
    CHECK_CLASS(get_attr(MPI_COMM_SELF, key, &value, &flag, DEFAULT), MPI_SUCCESS);
    CHECK_EQUAL(value, -7);
    /* C's function passes the address on; each communicator has a value of its own all the same. */
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    MPI_Comm_dup(dup, &third);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free(&dup);
    CHECK_EQUAL(seen_by_fortran(third, key), -7);
    CHECK_EQUAL(seen_by_c(third, key), -7);
    MPI_Comm_free(&third);
    /* C sets an address, which Fortran gets as an integer. */
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &own);
    CHECK_EQUAL(seen_by_fortran(MPI_COMM_SELF, key), (intptr_t)&own);
    CHECK_EQUAL(seen_by_c(MPI_COMM_SELF, key), 42);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free_keyval(&key);

    MPI_Comm_create_keyval((MPI_Comm_copy_attr_function *)&copies, (MPI_Comm_delete_attr_function *)&deletes, &key, (void *)5);
    CHECK_CLASS(set_proxy(key, copy_proxy, delete_proxy), MPI_SUCCESS);
    set_attr(MPI_COMM_SELF, key, (void *)21, ADDRESS);
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    CHECK_EQUAL(seen_by_fortran(dup, key), 42);
    MPI_Comm_free(&dup);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    CHECK(copies == 1 && deletes == 2);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv)
{
    int one = 1, three = 3, in[2] = {1, 2}, out[2] = {10, 20};
    MPI_Comm dup;
    MPI_Op op;
    MPI_Errhandler handler;
    check_begin(&argc, &argv);
    check_attributes();

    CHECK_CLASS(op_create_x(add_scaled, destroy, 1, &three, &op), MPI_SUCCESS);
    CHECK_CLASS(MPI_Reduce_local(in, out, 2, MPI_INT, op), MPI_SUCCESS);
    CHECK(out[0] == 13 && out[1] == 26);
    MPI_Op_free(&op);
    CHECK_EQUAL(destroyed, 3);

    CHECK_CLASS(errhandler_x(count_error, destroy, &one, &handler), MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    MPI_Comm_set_errhandler(dup, handler);
    MPI_Errhandler_free(&handler);
    CHECK_CLASS(MPI_Send(in, -1, MPI_INT, 0, 0, dup), MPI_ERR_COUNT);
    CHECK_EQUAL(errors, 1);
    CHECK_EQUAL(destroyed, 3);
    MPI_Comm_free(&dup);
    CHECK_EQUAL(destroyed, 4);
    return check_end();
}
