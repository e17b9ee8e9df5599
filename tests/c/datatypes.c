/* ranks: 1
 * Datatypes without messages: bounds, envelope and contents in both forms,
 * packing, external32, counting elements, names, errors. */
#include "check.h"

static void check_bounds(MPI_Datatype type, int size, MPI_Aint lower, MPI_Aint extent,
                         MPI_Aint true_lower, MPI_Aint true_extent)
{
    int found_size;
    MPI_Aint found_lower, found_extent;
    MPI_Count wide_lower, wide_extent;
    MPI_Type_size(type, &found_size);
    CHECK_EQUAL(found_size, size);
    MPI_Type_get_extent(type, &found_lower, &found_extent);
    CHECK_EQUAL(found_lower, lower);
    CHECK_EQUAL(found_extent, extent);
    MPI_Type_get_true_extent_c(type, &wide_lower, &wide_extent);
    CHECK_EQUAL(wide_lower, true_lower);
    CHECK_EQUAL(wide_extent, true_extent);
}

static void bounds(void)
{
    MPI_Datatype type, inner;
    int lengths[2] = {1, 3};
    MPI_Aint displacements[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_CHAR};
    MPI_Type_create_struct(2, lengths, displacements, types, &type);
    check_bounds(type, 11, 0, 16, 0, 11);
    MPI_Type_free(&type);
    MPI_Type_vector(3, 2, -4, MPI_INT, &type);
    check_bounds(type, 24, -32, 40, -32, 40);
    MPI_Type_free(&type);
    MPI_Type_create_resized(MPI_INT, -4, 20, &inner);
    MPI_Type_contiguous(3, inner, &type);
    check_bounds(type, 12, -4, 60, 0, 44);
    MPI_Type_free(&inner);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
    int sizes[2] = {4, 5}, part[2] = {2, 2}, starts[2] = {1, 1};
    MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    check_bounds(type, 16, 0, 80, 20, 24);
    MPI_Type_free(&type);
    MPI_Type_contiguous(0, MPI_INT, &type);
    check_bounds(type, 0, 0, 0, 0, 0);
    MPI_Type_free(&type);
    check_bounds(MPI_DOUBLE_INT, 12, 0, 16, 0, 12);
}

static void check_envelope(MPI_Datatype type, int integers, int addresses, int types, int combiner)
{
    int found[4];
    MPI_Type_get_envelope(type, &found[0], &found[1], &found[2], &found[3]);
    CHECK_EQUAL(found[0], integers);
    CHECK_EQUAL(found[1], addresses);
    CHECK_EQUAL(found[2], types);
    CHECK_EQUAL(found[3], combiner);
}

static void contents(void)
{
    MPI_Datatype type, inner[2];
    int integers[16];
    MPI_Aint addresses[4];
    check_envelope(MPI_INT, 0, 0, 0, MPI_COMBINER_NAMED);
    CHECK_CLASS(MPI_Type_get_contents(MPI_INT, 0, 0, 0, integers, addresses, inner), MPI_ERR_TYPE);

    int lengths[2] = {3, 4};
    MPI_Aint displacements[2] = {16, -8};
    MPI_Type_create_hindexed(2, lengths, displacements, MPI_FLOAT, &type);
    check_envelope(type, 3, 2, 1, MPI_COMBINER_HINDEXED);
    MPI_Type_get_contents(type, 3, 2, 1, integers, addresses, inner);
    CHECK_EQUAL(integers[0], 2);
    CHECK_EQUAL(integers[2], 4);
    CHECK_EQUAL(addresses[1], -8);
    CHECK(inner[0] == MPI_FLOAT);
    MPI_Datatype twice;
    MPI_Type_dup(type, &twice);
    check_envelope(twice, 0, 0, 1, MPI_COMBINER_DUP);
    MPI_Type_free(&type);
    MPI_Type_get_contents(twice, 0, 0, 1, integers, addresses, inner);
    check_envelope(inner[0], 3, 2, 1, MPI_COMBINER_HINDEXED);
    MPI_Type_free(&inner[0]);
    MPI_Type_free(&twice);

    int sizes[2] = {8, 9}, kinds[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int arguments[2] = {3, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {2, 3};
    MPI_Type_create_darray(6, 4, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
    check_envelope(type, 12, 0, 1, MPI_COMBINER_DARRAY);
    MPI_Type_get_contents(type, 12, 0, 1, integers, addresses, inner);
    int expected[12] = {6, 4, 2, 8, 9, kinds[0], kinds[1], 3, arguments[1], 2, 3, MPI_ORDER_C};
    for (int index = 0; index < 12; index++)
        CHECK_EQUAL(integers[index], expected[index]);
    check_bounds(type, 3 * 3 * 4, 0, 8 * 9 * 4, (3 * 9 + 3) * 4, (2 * 9 + 3) * 4);
    MPI_Type_free(&type);
}

static void large_contents(void)
{
    MPI_Datatype type, inner[1];
    int integers[2];
    MPI_Aint addresses[1];
    MPI_Count found[4], counts[3];
    int combiner;
    MPI_Type_vector_c(3, 2, 5, MPI_INT, &type);
    MPI_Type_get_envelope_c(type, &found[0], &found[1], &found[2], &found[3], &combiner);
    CHECK_EQUAL(found[0], 0);
    CHECK_EQUAL(found[1], 0);
    CHECK_EQUAL(found[2], 3);
    CHECK_EQUAL(found[3], 1);
    CHECK_EQUAL(combiner, MPI_COMBINER_VECTOR);
    MPI_Type_get_contents_c(type, 0, 0, 3, 1, integers, addresses, counts, inner);
    CHECK_EQUAL(counts[0] * 100 + counts[1] * 10 + counts[2], 325);
    CHECK(inner[0] == MPI_INT);
    int integer_count, address_count, type_count;
    CHECK_CLASS(MPI_Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner),
                MPI_ERR_TYPE);
    MPI_Type_free(&type);

    MPI_Count sizes[1] = {10}, part[1] = {4}, starts[1] = {2};
    MPI_Type_create_subarray_c(1, sizes, part, starts, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_get_contents_c(type, 2, 0, 3, 1, integers, addresses, counts, inner);
    CHECK_EQUAL(integers[0], 1);
    CHECK_EQUAL(integers[1], MPI_ORDER_C);
    CHECK_EQUAL(counts[0] * 100 + counts[1] * 10 + counts[2], 1042);
    MPI_Type_free(&type);

    MPI_Count size;
    int narrow;
    MPI_Type_contiguous_c(3LL << 30, MPI_INT, &type);
    MPI_Type_size_c(type, &size);
    CHECK_EQUAL(size, 12LL << 30);
    MPI_Type_size(type, &narrow);
    CHECK_EQUAL(narrow, MPI_UNDEFINED);
    MPI_Type_free(&type);
}

static void packing(void)
{
    MPI_Datatype column;
    int matrix[4][4], back[4][4] = {{0}}, packed[8], position = 0, size;
    for (int index = 0; index < 16; index++)
        matrix[index / 4][index % 4] = index;
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    CHECK_CLASS(MPI_Pack(matrix, 1, column, packed, sizeof packed, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
    MPI_Type_commit(&column);
    MPI_Pack_size(1, column, MPI_COMM_SELF, &size);
    CHECK_EQUAL(size, 16);
    MPI_Pack(&matrix[0][1], 1, column, packed, sizeof packed, &position, MPI_COMM_SELF);
    MPI_Pack(&matrix[0][3], 1, column, packed, sizeof packed, &position, MPI_COMM_SELF);
    CHECK_EQUAL(position, 32);
    CHECK(MPI_Pack(matrix, 1, column, packed, sizeof packed, &position, MPI_COMM_SELF) != MPI_SUCCESS);
    CHECK_EQUAL(packed[1], 5);
    CHECK_EQUAL(packed[7], 15);
    position = 16;
    MPI_Unpack(packed, sizeof packed, &position, &back[0][2], 1, column, MPI_COMM_SELF);
    CHECK_EQUAL(position, 32);
    CHECK_EQUAL(back[3][2], 15);
    CHECK_EQUAL(back[3][1] + back[3][3], 0);
    MPI_Type_free(&column);
}

static void packing_external(void)
{
    double values[2] = {1.0, -2.0}, back[2] = {0};
    unsigned char packed[16];
    MPI_Aint position = 0, size;
    MPI_Pack_external_size("external32", 2, MPI_DOUBLE, &size);
    CHECK_EQUAL(size, 16);
    MPI_Pack_external("external32", values, 2, MPI_DOUBLE, packed, 16, &position);
    CHECK_EQUAL(position, 16);
    CHECK_EQUAL(packed[0], 0x3f);
    CHECK_EQUAL(packed[8], 0xc0);
    position = 0;
    MPI_Unpack_external("external32", packed, 16, &position, back, 2, MPI_DOUBLE);
    CHECK(back[0] == 1.0 && back[1] == -2.0);
}

static void elements(void)
{
    MPI_Status status;
    MPI_Datatype type;
    int count, lengths[2] = {1, 2};
    MPI_Aint displacements[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
    memset(&status, 0, sizeof status);
    MPI_Type_create_struct(2, lengths, displacements, types, &type);
    MPI_Status_set_elements(&status, MPI_BYTE, 2 * 16 + 12);
    MPI_Get_elements(&status, type, &count);
    CHECK_EQUAL(count, 8);
    MPI_Get_count(&status, type, &count);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Status_set_elements(&status, MPI_BYTE, 13);
    MPI_Get_elements(&status, type, &count);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Status_set_elements(&status, MPI_DOUBLE_INT, 2);
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Type_free(&type);
    MPI_Type_contiguous(0, MPI_INT, &type);
    MPI_Status_set_elements(&status, MPI_BYTE, 0);
    MPI_Get_count(&status, type, &count);
    CHECK_EQUAL(count, 0);
    MPI_Type_free(&type);
}

static void names_and_kinds(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, size;
    MPI_Datatype type, again;
    MPI_Type_get_name(MPI_INT, name, &length);
    CHECK(strcmp(name, "MPI_INT") == 0 && length == 7);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    CHECK_EQUAL(length, 0);
    MPI_Type_set_name(type, "two");
    MPI_Type_get_name(type, name, &length);
    CHECK(strcmp(name, "two") == 0 && length == 3);
    MPI_Type_free(&type);
    MPI_Type_create_f90_real(12, MPI_UNDEFINED, &type);
    MPI_Type_create_f90_real(12, MPI_UNDEFINED, &again);
    CHECK(type == again);
    MPI_Type_size(type, &size);
    CHECK_EQUAL(size, 8);
    check_envelope(type, 2, 0, 0, MPI_COMBINER_F90_REAL);
    CHECK_CLASS(MPI_Type_free(&type), MPI_ERR_TYPE);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type);
    MPI_Type_size(type, &size);
    CHECK_EQUAL(size, 16);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type);
    CHECK(type == MPI_DOUBLE_INT);
}

static void wrong_arguments(void)
{
    MPI_Datatype type = MPI_INT;
    int one = 1;
    CHECK_CLASS(MPI_Type_free(&type), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_subarray(0, &one, &one, &one, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_create_f90_real(500, 1, &type), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 7, &type), MPI_ERR_ARG);
}

static int copied, deleted;

static int copy_attribute(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int keyval, flag;
    void *value;
    MPI_Datatype type, twice;
    MPI_Type_create_keyval(copy_attribute, delete_attribute, &keyval, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, keyval, &copied);
    MPI_Type_dup(type, &twice);
    MPI_Type_get_attr(twice, keyval, &value, &flag);
    CHECK(flag && value == &copied);
    CHECK_EQUAL(copied, 1);
    int no_integers[1];
    MPI_Aint no_addresses[1];
    MPI_Datatype same;
    MPI_Type_get_contents(twice, 0, 0, 1, no_integers, no_addresses, &same);
    MPI_Type_free(&same);
    CHECK_EQUAL(deleted, 0);
    MPI_Type_free(&type);
    CHECK_EQUAL(deleted, 1);
    MPI_Type_free(&twice);
    CHECK_EQUAL(deleted, 2);
    MPI_Type_free_keyval(&keyval);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    bounds();
    contents();
    large_contents();
    packing();
    packing_external();
    elements();
    names_and_kinds();
    wrong_arguments();
    attributes();
    return check_end();
}
