/* ranks: 1 2 3 4 8
 * Whole arrays: products, transposition, patches copied, sums, scans, packing, solving. */
#include "ga_check.h"

#define N 48

static double a[N][N], b[N][N], c[N][N], got[N][N];
static int zero[2] = {0, 0}, last[2] = {N - 1, N - 1}, ld = N;

static int square(const char *name, double content[N][N])
{
    int dims[2] = {N, N}, array = new_array(C_DBL, 2, dims, name);
    if (rank == 0 && content)
        NGA_Put(array, zero, last, content, &ld);
    GA_Sync();
    return array;
}

static int differs(int array, double expected[N][N])
{
    int wrong = 0;
    NGA_Get(array, zero, last, got, &ld);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double difference = got[i][j] - expected[i][j];
            wrong += difference > 1e-8 || difference < -1e-8;
        }
    GA_Sync();
    return wrong;
}

static void products(int g_a, int g_b)
{
    int g_c = square("c", NULL), g_t = square("t", NULL);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            c[i][j] = 0;
            for (int k = 0; k < N; k++)
                c[i][j] += 2 * a[i][k] * b[k][j];
        }
    GA_Dgemm('n', 'n', N, N, N, 2.0, g_a, g_b, 0.0, g_c);
    CHECK_EQUAL(differs(g_c, c), 0);
    double alpha = 2, beta = 0;
    GA_Zero(g_c);
    NGA_Matmul_patch('n', 'n', &alpha, &beta, g_a, zero, last, g_b, zero, last, g_c, zero, last);
    CHECK_EQUAL(differs(g_c, c), 0);
    GA_Transpose(g_a, g_t);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            c[i][j] = a[j][i];
    CHECK_EQUAL(differs(g_t, c), 0);
    GA_Copy(g_a, g_t);
    GA_Symmetrize(g_t);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            c[i][j] = (a[i][j] + a[j][i]) / 2;
    CHECK_EQUAL(differs(g_t, c), 0);
    double three = 3, four = -4;
    GA_Add(&three, g_a, &four, g_b, g_c);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            c[i][j] = 3 * a[i][j] - 4 * b[i][j];
    CHECK_EQUAL(differs(g_c, c), 0);
    GA_Elem_multiply(g_a, g_b, g_c);
    double sum = 0, norm = 0, found_norm;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            c[i][j] = a[i][j] * b[i][j], sum += c[i][j];
    CHECK_EQUAL(differs(g_c, c), 0);
    double dot = GA_Ddot(g_a, g_b);
    CHECK(dot - sum < 1e-6 && sum - dot < 1e-6);
    GA_Norm1(g_a, &found_norm);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            norm += a[i][j] < 0 ? -a[i][j] : a[i][j]; /* that of one long vector */
    CHECK(found_norm - norm < 1e-6 && norm - found_norm < 1e-6);
    GA_Destroy(g_t);
    GA_Destroy(g_c);
}

static void patches(int g_a)
{
    int from_lo[2] = {3, 5}, from_hi[2] = {20, 34}, to_lo[2] = {10, 2}, to_hi[2] = {39, 19};
    int g_c = square("patches", NULL);
    double seven = 7;
    GA_Fill(g_c, &seven);
    NGA_Copy_patch('t', g_a, from_lo, from_hi, g_c, to_lo, to_hi);
    int hole_lo[2] = {0, 0}, hole_hi[2] = {4, 4};
    NGA_Zero_patch(g_c, hole_lo, hole_hi);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int inside = i >= 10 && i <= 39 && j >= 2 && j <= 19;
            c[i][j] = inside ? a[j - 2 + 3][i - 10 + 5] : i < 5 && j < 5 ? 0 : 7;
        }
    CHECK_EQUAL(differs(g_c, c), 0);
    GA_Destroy(g_c);
}

static void scans(void)
{
    int dims = 600, first = 0, end = 599, one = 1, count = -1;
    static int source[600], mask[600], target[600], packed[600];
    int g_s = new_array(C_INT, 1, &dims, "source"), g_m = new_array(C_INT, 1, &dims, "mask");
    int g_t = new_array(C_INT, 1, &dims, "target");
    int start = 5, step = 3, sum = 0, marks = 0;
    GA_Patch_enum(g_s, 0, 599, &start, &step);
    for (int i = 0; i < 600; i++) {
        source[i] = 5 + 3 * i;
        mask[i] = i % 37 == 0;
    }
    if (rank == size - 1)
        NGA_Put(g_m, &first, &end, mask, &one);
    GA_Sync();
    GA_Scan_add(g_s, g_t, g_m, 0, 599, 0);
    NGA_Get(g_t, &first, &end, target, &one);
    int wrong = 0;
    for (int i = 0; i < 600; i++) {
        sum = mask[i] ? source[i] : sum + source[i];
        wrong += target[i] != sum;
    }
    CHECK_EQUAL(wrong, 0);
    GA_Sync();
    GA_Scan_copy(g_s, g_t, g_m, 0, 599);
    NGA_Get(g_t, &first, &end, target, &one);
    for (int i = 0, held = 0; i < 600; i++) {
        held = mask[i] ? source[i] : held;
        wrong += target[i] != held;
    }
    CHECK_EQUAL(wrong, 0);
    GA_Sync();
    GA_Zero(g_t);
    GA_Pack(g_s, g_t, g_m, 0, 599, &count);
    NGA_Get(g_t, &first, &end, packed, &one);
    for (int i = 0; i < 600; i++)
        if (mask[i])
            wrong += packed[marks++] != source[i];
    CHECK_EQUAL(count, marks);
    CHECK_EQUAL(wrong, 0);
    GA_Sync();
    GA_Destroy(g_t);
    GA_Destroy(g_m);
    GA_Destroy(g_s);
}

/* What is a row here is a column for the library. */
static void solving(int g_a)
{
    int dims[2] = {1, N}, g_x = NGA_Create(C_DBL, 2, dims, "x", NULL), hi[2] = {0, N - 1};
    double x[N], y[N];
    for (int i = 0; i < N; i++) {
        y[i] = 0;
        for (int j = 0; j < N; j++)
            y[i] += a[j][i] * (j + 1);
    }
    if (rank == 0)
        NGA_Put(g_x, zero, hi, y, &ld);
    GA_Sync();
    int copy = GA_Duplicate(g_a, "copy");
    GA_Copy(g_a, copy);
    GA_Lu_solve('n', copy, g_x);
    NGA_Get(g_x, zero, hi, x, &ld);
    for (int i = 0; i < N; i++)
        CHECK(x[i] - (i + 1) < 1e-6 && i + 1 - x[i] < 1e-6);
    GA_Sync();
    GA_Destroy(copy);
    GA_Destroy(g_x);
}

int main(int argc, char **argv)
{
    ga_begin(&argc, &argv);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = (i * 7 + j * 3) % 11 - 5 + (i == j ? 60 : 0);
            b[i][j] = (i * 5 + j) % 13 - 6;
        }
    int g_a = square("a", a), g_b = square("b", b);
    products(g_a, g_b);
    patches(g_a);
    scans();
    solving(g_a);
    GA_Destroy(g_b);
    GA_Destroy(g_a);
    return ga_end();
}
