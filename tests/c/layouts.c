/* ranks: 2
 * Large data that are not contiguous, on one side or on both: a vector to a
 * vector of another shape, to plain data, a subarray, an indexed type, a
 * structure, a resized column; what lies between stays as it was. */
#include "check.h"

enum { ELEMENTS = 600 * 1000, ROOM = 3 * ELEMENTS };
static int data[ROOM];

static MPI_Datatype made(int kind)
{
    MPI_Datatype type, element;
    switch (kind) {
    case 0: /* plain */
        MPI_Type_contiguous(ELEMENTS, MPI_INT, &type);
        break;
    case 1: /* blocks of 1 at a stride of 3 */
        MPI_Type_vector(ELEMENTS, 1, 3, MPI_INT, &type);
        break;
    case 2: /* blocks of 1000 at a stride of 2500 */
        MPI_Type_vector(ELEMENTS / 1000, 1000, 2500, MPI_INT, &type);
        break;
    case 3: { /* the inside of a box */
        int sizes[3] = {110, 100, 120}, inside[3] = {100, 60, 100}, starts[3] = {7, 11, 13};
        MPI_Type_create_subarray(3, sizes, inside, starts, MPI_ORDER_C, MPI_INT, &type);
        break;
    }
    case 4: { /* a structure of two members, many times */
        int lengths[2] = {1, 2};
        MPI_Aint displacements[2] = {0, 8};
        MPI_Datatype types[2] = {MPI_INT, MPI_INT};
        MPI_Type_create_struct(2, lengths, displacements, types, &element);
        MPI_Type_contiguous(ELEMENTS / 3, element, &type);
        MPI_Type_free(&element);
        break;
    }
    default: { /* from the end to the beginning */
        int *places = malloc(ELEMENTS * sizeof *places);
        for (int index = 0; index < ELEMENTS; index++)
            places[index] = 2 * (ELEMENTS - 1 - index);
        MPI_Type_create_indexed_block(ELEMENTS, 1, places, MPI_INT, &type);
        free(places);
    }
    }
    MPI_Type_commit(&type);
    return type;
}

/* Where element `index` of a type lies, in ints: the type map by hand. */
static long place(int kind, long index)
{
    switch (kind) {
    case 0: return index;
    case 1: return 3 * index;
    case 2: return index / 1000 * 2500 + index % 1000;
    case 3: return ((7 + index / 6000) * 100 + 11 + index / 100 % 60) * 120 + 13 + index % 100;
    case 4: return index / 3 * 4 + index % 3 + (index % 3 > 0);
    default: return 2 * (ELEMENTS - 1 - index);
    }
}
enum { KINDS = 6 };

static void check_received(int kind)
{
    long outside = 0;
    for (long index = 0; index < ELEMENTS; index++) {
        if (data[place(kind, index)] != index + 1) {
            check_failed(__FILE__, __LINE__, "kind %d: element %ld is %d", kind, index,
                         data[place(kind, index)]);
            return;
        }
        data[place(kind, index)] = 0;
    }
    for (long index = 0; index < ROOM; index++)
        outside += data[index] != 0;
    CHECK_EQUAL(outside, 0);
}

static void pair(int from, int to)
{
    MPI_Datatype type = made(rank == 0 ? from : to);
    memset(data, 0, sizeof data);
    if (rank == 0) {
        for (long index = 0; index < ELEMENTS; index++)
            data[place(from, index)] = index + 1;
        MPI_Send(data, 1, type, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Status status;
        int count;
        MPI_Recv(data, 1, type, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_elements(&status, type, &count);
        CHECK_EQUAL(count, ELEMENTS);
        check_received(to);
    }
    MPI_Type_free(&type);
}

/* Fewer elements than the receive has room for: half an item is counted. */
static void partial(void)
{
    MPI_Datatype type;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    int values[40] = {0};
    if (rank == 0) {
        MPI_Send(values, 7, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Status status;
        int count;
        MPI_Recv(values, 10, type, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &count);
        CHECK_EQUAL(count, MPI_UNDEFINED);
        MPI_Get_elements(&status, type, &count);
        CHECK_EQUAL(count, 7);
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int from = 0; from < KINDS; from++)
        for (int to = 0; to < KINDS; to++)
            pair(from, to);
    partial();
    return check_end();
}
