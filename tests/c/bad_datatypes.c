/* ranks: 1
 * Wrong calls of datatype constructors, packing and their kin. */
#include "bad_input.h"
#include <stdint.h>

static MPI_Datatype t = MPI_DATATYPE_NULL, null = MPI_DATATYPE_NULL, uncommitted;

static void constructors(void)
{
    int one[] = {1, 1}, minus[] = {1, -1}, zero[] = {0, 0}, two[] = {2, 2}, three[] = {3, 3}, refused[] = {1, -3};
    MPI_Aint places[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_DATATYPE_NULL};
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Type_contiguous(-1, MPI_INT, &t));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Type_contiguous_c(-1, MPI_INT, &t));
    BAD(MPI_ERR_TYPE, "oldtype|null", MPI_Type_contiguous(1, null, &t));
    BAD(MPI_ERR_ARG, "newtype|null", MPI_Type_contiguous(1, MPI_INT, NULL));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Type_vector(-1, 1, 1, MPI_INT, &t));
    BAD(MPI_ERR_COUNT, "blocklength|-1", MPI_Type_vector(1, -1, 1, MPI_INT, &t));
    BAD(MPI_ERR_TYPE, "oldtype", MPI_Type_vector(1, 1, 1, null, &t));
    BAD(MPI_ERR_COUNT, "blocklength|-1", MPI_Type_create_hvector(1, -1, 1, MPI_INT, &t));
    BAD(MPI_ERR_COUNT, "count|-1", MPI_Type_indexed(-1, one, zero, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "blocklengths|null", MPI_Type_indexed(1, NULL, zero, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "displacements|null", MPI_Type_indexed(1, one, NULL, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "-1", MPI_Type_indexed(2, minus, zero, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "-1", MPI_Type_create_hindexed(2, minus, places, MPI_INT, &t));
    BAD(MPI_ERR_COUNT, "blocklength|-1", MPI_Type_create_indexed_block(1, -1, zero, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "displacements|null", MPI_Type_create_hindexed_block(1, 1, NULL, MPI_INT, &t));
    BAD(MPI_ERR_TYPE, "types|null", MPI_Type_create_struct(2, one, places, types, &t));
    BAD(MPI_ERR_ARG, "types|null", MPI_Type_create_struct(2, one, places, NULL, &t));
    types[1] = MPI_INT;
    BAD(MPI_ERR_ARG, "-1", MPI_Type_create_struct(2, minus, places, types, &t));
    BAD(MPI_ERR_ARG, "ndims|0", MPI_Type_create_subarray(0, two, one, zero, MPI_ORDER_C, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "order|77", MPI_Type_create_subarray(2, two, one, zero, 77, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "3|2", MPI_Type_create_subarray(2, two, three, zero, MPI_ORDER_C, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "start", MPI_Type_create_subarray(2, two, one, two, MPI_ORDER_C, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "start|-1", MPI_Type_create_subarray(2, two, one, minus, MPI_ORDER_C, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "sizes|null", MPI_Type_create_subarray(2, NULL, one, zero, MPI_ORDER_C, MPI_INT, &t));
    int block[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, wrong[] = {7777, 7777};
    int usual[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    BAD(MPI_ERR_ARG, "rank|4", MPI_Type_create_darray(4, 4, 2, two, block, usual, two, MPI_ORDER_C, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "7777", MPI_Type_create_darray(4, 0, 2, two, wrong, usual, two, MPI_ORDER_C, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "", MPI_Type_create_darray(5, 0, 2, two, block, usual, two, MPI_ORDER_C, MPI_INT, &t));
    BAD(MPI_ERR_ARG, "", MPI_Type_create_darray(4, 0, 2, two, block, refused, two, MPI_ORDER_C, MPI_INT, &t));
    BAD(MPI_ERR_TYPE, "oldtype", MPI_Type_create_resized(null, 0, 8, &t));
    BAD(MPI_ERR_TYPE, "oldtype", MPI_Type_dup(null, &t));
    BAD(MPI_ERR_ARG, "precision|range", MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &t));
    BAD(MPI_ERR_ARG, "100", MPI_Type_create_f90_real(100, MPI_UNDEFINED, &t));
    BAD(MPI_ERR_ARG, "99999", MPI_Type_create_f90_complex(MPI_UNDEFINED, 99999, &t));
    BAD(MPI_ERR_ARG, "99", MPI_Type_create_f90_integer(99, &t));
    BAD(MPI_ERR_ARG, "3", MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &t));
    BAD(MPI_ERR_ARG, "typeclass|7777", MPI_Type_match_size(7777, 4, &t));
    CHECK(t == MPI_DATATYPE_NULL);
}

static void too_large(void)
{
    MPI_Datatype huge = MPI_DATATYPE_NULL;
    MPI_Count most = INT64_MAX;
    CHECK_CLASS(MPI_Type_contiguous_c(most / 16, MPI_DOUBLE, &huge), MPI_SUCCESS);
    BAD(MPI_ERR_COUNT, "", MPI_Type_contiguous_c(most, MPI_DOUBLE, &t));
    BAD(MPI_ERR_COUNT, "", MPI_Type_contiguous_c(64, huge, &t));
    BAD(MPI_ERR_COUNT, "", MPI_Type_vector_c(most / 4, 1, most / 4, MPI_INT, &t));
    MPI_Type_commit(&huge);
    BAD(MPI_ERR_COUNT, "count|64", MPI_Send_c(&huge, 64, huge, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    MPI_Type_free(&huge);
    CHECK_CLASS(MPI_Type_create_resized(MPI_INT, 0, 1 << 30, &huge), MPI_SUCCESS);
    MPI_Type_commit(&huge);
    BAD(MPI_ERR_COUNT, "count", MPI_Send_c(&huge, most, huge, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    BAD(MPI_ERR_COUNT, "", MPI_Type_contiguous_c(most >> 20, huge, &t));
    MPI_Type_free(&huge);
}

static void queries(void)
{
    int number, numbers[4], combiner;
    MPI_Aint lower, extent, addresses[4];
    MPI_Datatype inside[4];
    char name[MPI_MAX_OBJECT_NAME];
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Type_commit(&null));
    BAD(MPI_ERR_ARG, "datatype|null", MPI_Type_commit(NULL));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Type_size(null, &number));
    BAD(MPI_ERR_ARG, "size|null", MPI_Type_size(MPI_INT, NULL));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Type_get_extent(null, &lower, &extent));
    BAD(MPI_ERR_ARG, "lb|null", MPI_Type_get_extent(MPI_INT, NULL, &extent));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Type_get_envelope(null, &number, &number, &number, &combiner));
    BAD(MPI_ERR_TYPE, "MPI_INT|predefined", MPI_Type_get_contents(MPI_INT, 4, 4, 4, numbers, addresses, inside));
    BAD(MPI_ERR_ARG, "max_integers|0", MPI_Type_get_contents(uncommitted, 0, 4, 4, numbers, addresses, inside));
    BAD(MPI_ERR_ARG, "max_datatypes|0", MPI_Type_get_contents(uncommitted, 4, 4, 0, numbers, addresses, inside));
    BAD(MPI_ERR_ARG, "integers|null", MPI_Type_get_contents(uncommitted, 4, 4, 4, NULL, addresses, inside));
    BAD(MPI_ERR_ARG, "type_name|null", MPI_Type_get_name(MPI_INT, NULL, &number));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Type_set_name(null, name));
    BAD(MPI_ERR_ARG, "type_name|null", MPI_Type_set_name(uncommitted, NULL));
    BAD(MPI_ERR_ARG, "address|null", MPI_Get_address(&number, NULL));
}

static void freeing(void)
{
    MPI_Datatype integer = MPI_INT, made, stale;
    BAD(MPI_ERR_TYPE, "MPI_INT|predefined", MPI_Type_free(&integer));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Type_free(&null));
    BAD(MPI_ERR_ARG, "datatype|null", MPI_Type_free(NULL));
    MPI_Type_contiguous(3, MPI_INT, &made);
    stale = made;
    MPI_Type_free(&made);
    BAD(MPI_ERR_TYPE, "freed", MPI_Type_free(&stale));
    BAD(MPI_ERR_TYPE, "freed", MPI_Type_commit(&stale));
    BAD(MPI_ERR_TYPE, "freed", MPI_Type_contiguous(2, stale, &t));
    BAD(MPI_ERR_TYPE, "freed", MPI_Type_dup(stale, &t));
}

static void packing(void)
{
    char data[64], packed[8];
    int at = 0, number;
    MPI_Aint far = 0;
    MPI_Comm w = MPI_COMM_WORLD;
    BAD(MPI_ERR_COUNT, "incount|-1", MPI_Pack(data, -1, MPI_INT, packed, 8, &at, w));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Pack(data, 1, null, packed, 8, &at, w));
    BAD(MPI_ERR_TYPE, "committed", MPI_Pack(data, 1, uncommitted, packed, 8, &at, w));
    BAD(MPI_ERR_BUFFER, "inbuf|null", MPI_Pack(NULL, 1, MPI_INT, packed, 8, &at, w));
    BAD(MPI_ERR_BUFFER, "outbuf|null", MPI_Pack(data, 1, MPI_INT, NULL, 8, &at, w));
    BAD(MPI_ERR_TRUNCATE, "outbuf|8 bytes|12", MPI_Pack(data, 3, MPI_INT, packed, 8, &at, w));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Pack(data, 1, MPI_INT, packed, 8, &at, MPI_COMM_NULL));
    BAD(MPI_ERR_ARG, "position|null", MPI_Pack(data, 1, MPI_INT, packed, 8, NULL, w));
    BAD(MPI_ERR_BUFFER, "inbuf|MPI_IN_PLACE", MPI_Pack(MPI_IN_PLACE, 1, MPI_INT, packed, 8, &at, w));
    at = -1;
    BAD(MPI_ERR_ARG, "position|-1", MPI_Pack(data, 1, MPI_INT, packed, 8, &at, w));
    at = 9;
    BAD(MPI_ERR_ARG, "position|9", MPI_Unpack(packed, 8, &at, data, 1, MPI_INT, w));
    at = 6;
    BAD(MPI_ERR_TRUNCATE, "inbuf|2 bytes|4", MPI_Unpack(packed, 8, &at, data, 1, MPI_INT, w));
    BAD(MPI_ERR_COUNT, "insize|-1", MPI_Unpack(packed, -1, &at, data, 1, MPI_INT, w));
    BAD(MPI_ERR_COUNT, "outcount|-1", MPI_Unpack(packed, 8, &at, data, -1, MPI_INT, w));
    BAD(MPI_ERR_COUNT, "incount|-1", MPI_Pack_size(-1, MPI_INT, w, &number));
    BAD(MPI_ERR_ARG, "datarep|native", MPI_Pack_external("native", data, 1, MPI_INT, packed, 8, &far));
    BAD(MPI_ERR_ARG, "datarep|null", MPI_Pack_external(NULL, data, 1, MPI_INT, packed, 8, &far));
    BAD(MPI_ERR_TRUNCATE, "outbuf|8 bytes|12", MPI_Pack_external("external32", data, 3, MPI_INT, packed, 8, &far));
    BAD(MPI_ERR_ARG, "datarep|native", MPI_Unpack_external("native", packed, 8, &far, data, 1, MPI_INT));
    BAD(MPI_ERR_ARG, "datarep|native", MPI_Pack_external_size("native", 1, MPI_INT, &far));
}

int main(int argc, char **argv)
{
    bad_begin(&argc, &argv);
    MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted);
    constructors();
    too_large();
    queries();
    freeing();
    packing();
    MPI_Type_free(&uncommitted);
    return bad_end(75);
}
