/* ranks: 1 2 4 8 */
/* With SERRIED_REPRODUCIBLE=1 every sum is the number nearest to the true one: for all numbers of ranks up to that of the
 * job, in every order of ranks, for short and long vectors, blocking or not. The true sums are found by another way
 * than the library's: a growing list of numbers that do not overlap (Shewchuk). */
#include "check.h"
#include <complex.h>
#include <math.h>

enum { MOST = 40000 };

static double mine[MOST], sum[MOST], expected[MOST];
static float mine_single[MOST], sum_single[MOST];
static double complex mine_complex[MOST], sum_complex[MOST];

/* A number of a rank: most are taken away by another rank's, and what is left decides. */
static double number(int who, int at)
{
    unsigned long long seed = (who / 2) * 1000003ull + at * 7919ull + 12345;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    double big = ldexp((double)(seed >> 11), (int)(seed % 200) - 100);
    switch (at % 11) {
    case 0: return who % 2 ? -big : big;
    case 1: return 1 + who * 0x1p-53;
    case 2: return who == 0 ? 1 : who == 1 ? 0x1p-53 : 0x1p-1074;
    case 3: return (who % 2 ? -1 : 1) * big + who * 0x1p-200;
    case 4: return who == 1 ? -0x1p-1074 : 0x1p-1060 * who;
    case 5: return -0.0;
    case 6: return at % 2 && who == 1 ? INFINITY : big;
    case 7: return at % 2 ? (who == 1 ? INFINITY : who == 2 ? -INFINITY : 1) : (who == 3 ? NAN : 2);
    default: return ldexp((double)(seed >> 11), -53) - 0.5;
    }
}

/* The sum of numbers, rounded once. */
static double true_sum(const double *numbers, int count)
{
    double part[64], special = 0;
    int parts = 0, all_minus_zero = 1;
    for (int at = 0; at < count; at++) {
        double value = numbers[at];
        all_minus_zero &= value == 0 && signbit(value);
        if (!isfinite(value)) {
            special += value;
            continue;
        }
        int kept = 0;
        for (int other = 0; other < parts; other++) {
            double big = value, small = part[other];
            if (fabs(big) < fabs(small))
                big = part[other], small = value;
            double high = big + small, low = small - (high - big);
            if (low != 0)
                part[kept++] = low;
            value = high;
        }
        part[kept++] = value;
        parts = kept;
    }
    if (special != 0)
        return special;
    if (all_minus_zero)
        return -0.0;
    double high = 0, low = 0;
    while (parts > 0) {
        double before = high, next = part[--parts];
        high = before + next;
        low = next - (high - before);
        if (low != 0)
            break;
    }
    /* A tie is decided by what lies below. */
    if (parts > 0 && ((low < 0 && part[parts - 1] < 0) || (low > 0 && part[parts - 1] > 0))) {
        double twice = low * 2, other = high + twice;
        if (twice == other - high)
            high = other;
    }
    return high;
}

static unsigned long long bits_of(double value)
{
    unsigned long long bits;
    if (isnan(value))
        return 0x7ff8000000000000ull;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void same(const char *what, int ranks, const double *result, int count)
{
    for (int at = 0; at < count; at++)
        if (bits_of(result[at]) != bits_of(expected[at]) || (isnan(result[at]) && signbit(result[at])))
            return check_failed(__FILE__, __LINE__, "%s of %d ranks, %d numbers: number %d is %a, not %a", what, ranks,
                                count, at, result[at], expected[at]);
}

/* The sums of the numbers of ranks `first` up to `end` of those that take part. */
static void expect(int first, int end, int count)
{
    double numbers[64];
    for (int at = 0; at < count; at++) {
        for (int who = first; who < end; who++)
            numbers[who - first] = number(who, at);
        expected[at] = true_sum(numbers, end - first);
    }
}

static void all_of(MPI_Comm comm, int who, int ranks, int count)
{
    MPI_Request request;
    int me;
    MPI_Comm_rank(comm, &me);
    for (int at = 0; at < count; at++)
        mine[at] = number(who, at);
    expect(0, ranks, count);
    for (int turn = 0; turn < 4; turn++) {
        MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, comm);
        same("allreduce", ranks, sum, count);
    }
    memcpy(sum, mine, count * sizeof *sum);
    MPI_Allreduce(MPI_IN_PLACE, sum, count, MPI_DOUBLE, MPI_SUM, comm);
    same("allreduce in place", ranks, sum, count);
    MPI_Iallreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    same("iallreduce", ranks, sum, count);
    MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, ranks - 1, comm);
    if (me == ranks - 1)
        same("reduce", ranks, sum, count);
    if (count % ranks == 0) {
        MPI_Reduce_scatter_block(mine, sum, count / ranks, MPI_DOUBLE, MPI_SUM, comm);
        memmove(expected, expected + me * (count / ranks), count / ranks * sizeof *expected);
        same("reduce_scatter_block", ranks, sum, count / ranks);
    }
}

/* Prefixes depend on the order of ranks; here it is that of the numbers. */
static void prefixes(MPI_Comm comm, int who, int ranks, int count)
{
    expect(0, who + 1, count);
    MPI_Scan(mine, sum, count, MPI_DOUBLE, MPI_SUM, comm);
    same("scan", ranks, sum, count);
    expect(0, who, count);
    MPI_Exscan(mine, sum, count, MPI_DOUBLE, MPI_SUM, comm);
    if (who > 0)
        same("exscan", ranks, sum, count);
}

/* Shorter and complex numbers: the float sum of few is that of doubles, rounded. */
static void other_types(MPI_Comm comm, int who, int ranks, int count)
{
    for (int at = 0; at < count; at++) {
        mine_single[at] = (who % 2 ? -1 : 1) * (float)(1 << 24) + who * 0x1p-10f * (at % 100);
        mine_complex[at] = CMPLX(number(who, at), number(who, at + 1));
    }
    MPI_Allreduce(mine_single, sum_single, count, MPI_FLOAT, MPI_SUM, comm);
    MPI_Allreduce(mine_complex, sum_complex, count, MPI_C_DOUBLE_COMPLEX, MPI_SUM, comm);
    expect(0, ranks, count + 1);
    for (int at = 0; at < count; at++) {
        double right = 0;
        for (int other = 0; other < ranks; other++)
            right += (float)((other % 2 ? -1 : 1) * (float)(1 << 24) + other * 0x1p-10f * (at % 100));
        CHECK(sum_single[at] == (float)right);
        CHECK(bits_of(creal(sum_complex[at])) == bits_of(expected[at]));
        CHECK(bits_of(cimag(sum_complex[at])) == bits_of(expected[at + 1]));
    }
}

int main(int argc, char **argv)
{
    setenv("SERRIED_REPRODUCIBLE", "1", 1);
    check_begin(&argc, &argv);
    static const int counts[] = {1, 6, 120, 512, 840, 5040, MOST - 1};
    for (int ranks = 1; ranks <= size; ranks++) {
        for (int order = 0; order < 2; order++) {
            MPI_Comm comm;
            MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, order ? -rank : rank, &comm);
            if (comm == MPI_COMM_NULL)
                continue;
            for (unsigned at = 0; at < sizeof counts / sizeof *counts; at++) {
                all_of(comm, rank, ranks, counts[at]);
                if (order == 0)
                    prefixes(comm, rank, ranks, counts[at]);
                other_types(comm, rank, ranks, counts[at] < 5040 ? counts[at] : 5040);
            }
            MPI_Comm_free(&comm);
        }
    }
    return check_end();
}
