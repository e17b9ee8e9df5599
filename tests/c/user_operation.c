/* ranks: 1 2 3 5 8
 * A program's own operation that does not commute (the product of matrices)
 * combines in the order of the ranks, in every reducing collective and for
 * every root; the function sees the datatype that the call was given. */
#include "check.h"

enum { PRIME = 10007, LARGEST = 5000 };
typedef struct { int entry[4]; } matrix;

static MPI_Datatype matrix_type;

static matrix product(matrix a, matrix b)
{
    matrix c;
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++)
            c.entry[2 * row + column] = (a.entry[2 * row] * b.entry[column] +
                                         a.entry[2 * row + 1] * b.entry[2 + column]) % PRIME;
    return c;
}

static void multiply(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    CHECK(*datatype == matrix_type);
    matrix *left = in, *right = inout;
    for (int index = 0; index < *length; index++)
        right[index] = product(left[index], right[index]);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    CHECK(*datatype == MPI_INT);
    for (int index = 0; index < *length; index++)
        ((int *)inout)[index] += ((int *)in)[index];
}

/* The matrix of a rank at a place. */
static matrix mine(int who, int index)
{
    return (matrix){{1 + who, 2 + index % 17, 3, 4 + who * index % 11}};
}

/* The product of the matrices of ranks 0 to last. */
static matrix expected(int last, int index)
{
    matrix result = mine(0, index);
    for (int who = 1; who <= last; who++)
        result = product(result, mine(who, index));
    return result;
}

static void check_result(const char *what, const matrix *result, int last, int first, int count)
{
    for (int index = 0; index < count; index++) {
        matrix right = expected(last, first + index);
        if (memcmp(&right, &result[index], sizeof right) != 0) {
            check_failed(__FILE__, __LINE__, "%s, %d elements: element %d is wrong", what, count, index);
            return;
        }
    }
}

static void collectives(MPI_Op op, int count)
{
    matrix *in = malloc(count * size * sizeof *in), *out = calloc(count * size, sizeof *out);
    for (int index = 0; index < count * size; index++)
        in[index] = mine(rank, index);
    for (int root = 0; root < size; root++) {
        MPI_Reduce(in, out, count, matrix_type, op, root, MPI_COMM_WORLD);
        if (rank == root)
            check_result("MPI_Reduce", out, size - 1, 0, count);
    }
    MPI_Allreduce(in, out, count, matrix_type, op, MPI_COMM_WORLD);
    check_result("MPI_Allreduce", out, size - 1, 0, count);
    MPI_Scan(in, out, count, matrix_type, op, MPI_COMM_WORLD);
    check_result("MPI_Scan", out, rank, 0, count);
    MPI_Exscan(in, out, count, matrix_type, op, MPI_COMM_WORLD);
    if (rank > 0)
        check_result("MPI_Exscan", out, rank - 1, 0, count);
    MPI_Reduce_scatter_block(in, out, count, matrix_type, op, MPI_COMM_WORLD);
    check_result("MPI_Reduce_scatter_block", out, size - 1, rank * count, count);
    MPI_Request request;
    MPI_Iallreduce(in, out, count, matrix_type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_result("MPI_Iallreduce", out, size - 1, 0, count);
    MPI_Allreduce(MPI_IN_PLACE, in, count, matrix_type, op, MPI_COMM_WORLD);
    check_result("MPI_Allreduce in place", in, size - 1, 0, count);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Op times, plus;
    int commutes = 1, sum = 0, one = rank + 1;
    MPI_Type_contiguous(4, MPI_INT, &matrix_type);
    MPI_Type_commit(&matrix_type);
    MPI_Op_create(multiply, 0, &times);
    MPI_Op_create(add, 1, &plus);
    MPI_Op_commutative(times, &commutes);
    CHECK_EQUAL(commutes, 0);
    MPI_Op_commutative(plus, &commutes);
    CHECK_EQUAL(commutes, 1);

    matrix left = mine(0, 1), right = mine(1, 1);
    MPI_Reduce_local(&left, &right, 1, matrix_type, times);
    matrix both = product(mine(0, 1), mine(1, 1));
    CHECK(memcmp(&both, &right, sizeof both) == 0);

    static const int counts[] = {0, 1, 3, 100, LARGEST};
    for (int index = 0; index < 5; index++)
        collectives(times, counts[index]);
    MPI_Reduce_local(&one, &sum, 1, MPI_INT, plus);
    CHECK_EQUAL(sum, rank + 1);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, plus, MPI_COMM_WORLD);
    CHECK_EQUAL(sum, size * (size + 1) / 2);
    MPI_Op_free(&times);
    CHECK(times == MPI_OP_NULL);
    MPI_Op_free(&plus);
    MPI_Type_free(&matrix_type);
    return check_end();
}
