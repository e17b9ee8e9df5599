/* ranks: 1 2 4 5
 * MPI's own operations on many types and counts, checked by their definition;
 * the result is the same on every rank to the last bit. */
#include "check.h"

enum { LARGEST = 20000 };
static const int counts[] = {0, 1, 2, 7, 1000, LARGEST};

/* The value of a rank at a place: small, so that sums are exact. */
#define VALUE(who, index) (((who) * 7 + (index) * 3) % 13 + 1)

#define TEST_TYPE(type, name)                                                              \
    static void test_##name(MPI_Datatype datatype, int count)                              \
    {                                                                                      \
        type *in = malloc((count + 1) * sizeof *in), *out = malloc((count + 1) * sizeof *out); \
        for (int index = 0; index < count; index++)                                        \
            in[index] = VALUE(rank, index);                                                \
        MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};                                        \
        for (int op = 0; op < 3; op++) {                                                   \
            MPI_Allreduce(in, out, count, datatype, ops[op], MPI_COMM_WORLD);              \
            for (int index = 0; index < count; index++) {                                  \
                int right = VALUE(0, index);                                               \
                for (int who = 1; who < size; who++) {                                     \
                    int value = VALUE(who, index);                                         \
                    right = op == 0 ? right + value                                        \
                          : op == 1 ? (value > right ? value : right)                      \
                                    : (value < right ? value : right);                     \
                }                                                                          \
                if (out[index] != (type)right) {                                           \
                    check_failed(__FILE__, __LINE__, #type ", op %d: element %d of %d is wrong", \
                                 op, index, count);                                        \
                    break;                                                                 \
                }                                                                          \
            }                                                                              \
        }                                                                                  \
        free(in);                                                                          \
        free(out);                                                                         \
    }
TEST_TYPE(signed char, schar)
TEST_TYPE(unsigned short, ushort)
TEST_TYPE(int, int)
TEST_TYPE(long long, llong)
TEST_TYPE(float, float)
TEST_TYPE(double, double)
TEST_TYPE(long double, ldouble)

static void locations(int count)
{
    struct pair { double value; int location; } *in, *out;
    in = malloc((count + 1) * sizeof *in);
    out = malloc((count + 1) * sizeof *out);
    for (int index = 0; index < count; index++)
        in[index] = (struct pair){(rank + index) % 3, rank};
    MPI_Allreduce(in, out, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    for (int index = 0; index < count; index++) {
        int best = 0;
        for (int who = 1; who < size; who++)
            if ((who + index) % 3 > (best + index) % 3)
                best = who;
        if (out[index].location != best || out[index].value != (best + index) % 3) {
            check_failed(__FILE__, __LINE__, "MPI_MAXLOC: element %d of %d is wrong", index, count);
            break;
        }
    }
    free(in);
    free(out);
}

/* Sums that rounding makes depend on the order: alike on all ranks, and twice. */
static void repeatable(int count)
{
    double *in = malloc(count * sizeof *in), *out = malloc(count * sizeof *out),
           *first = malloc(count * sizeof *first);
    for (int index = 0; index < count; index++)
        in[index] = 1.0 / (1 + rank * 17 + index);
    MPI_Allreduce(in, first, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(memcmp(out, first, count * sizeof *out) == 0);
    MPI_Bcast(first, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    CHECK(memcmp(out, first, count * sizeof *out) == 0);
    free(in);
    free(out);
    free(first);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int index = 0; index < 6; index++) {
        test_schar(MPI_SIGNED_CHAR, counts[index]);
        test_ushort(MPI_UNSIGNED_SHORT, counts[index]);
        test_int(MPI_INT, counts[index]);
        test_llong(MPI_LONG_LONG, counts[index]);
        test_float(MPI_FLOAT, counts[index]);
        test_double(MPI_DOUBLE, counts[index]);
        test_ldouble(MPI_LONG_DOUBLE, counts[index]);
        locations(counts[index]);
    }
    repeatable(5000);
    return check_end();
}
