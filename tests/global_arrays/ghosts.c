/* ranks: 1 2 3 4 8
 * Ghost cells of arrays of one to three dimensions: all of them at once, direction by direction, nonblocking. */
#include "ga_check.h"

static const int SHAPES[3][3] = {{64}, {40, 36}, {24, 20, 18}};
static const int WIDTHS[3][3] = {{2}, {2, 1}, {1, 2, 1}};

static double value(int n, const int dims[], const int at[])
{
    double place = 0;
    for (int i = 0; i < n; i++)
        place = place * dims[i] + (at[i] + dims[i]) % dims[i];
    return place;
}

/* Compares the own block and its ghosts, which wrap around. */
static int wrong_ghosts(int array, int n, int dims[], const int width[])
{
    int lo[3], hi[3], with_ghosts[3], ld[3], wrong = 0;
    double *cells;
    NGA_Distribution(array, rank, lo, hi);
    NGA_Access_ghosts(array, with_ghosts, &cells, ld);
    for (int i = n; i < 3; i++)
        with_ghosts[i] = 1;
    for (int i = 0; i < with_ghosts[0]; i++)
        for (int j = 0; j < with_ghosts[1]; j++)
            for (int k = 0; k < with_ghosts[2]; k++) {
                int cell[3] = {i, j, k}, at[3];
                long place = cell[0];
                for (int d = 0; d < n; d++) {
                    at[d] = lo[d] + cell[d] - width[d];
                    if (d > 0)
                        place = place * ld[d - 1] + cell[d];
                }
                wrong += cells[place] != value(n, dims, at);
            }
    NGA_Release_ghosts(array);
    return wrong;
}

static void fill_own(int array, int n, int dims[])
{
    int lo[3], hi[3], ld[3] = {1, 1, 1};
    double *cells;
    NGA_Distribution(array, rank, lo, hi);
    NGA_Access(array, lo, hi, &cells, ld);
    for (int d = n; d < 3; d++)
        lo[d] = hi[d] = 0;
    for (int i = lo[0]; i <= hi[0]; i++)
        for (int j = lo[1]; j <= hi[1]; j++)
            for (int k = lo[2]; k <= hi[2]; k++) {
                int at[3] = {i, j, k};
                long place = i - lo[0];
                for (int d = 1; d < n; d++)
                    place = place * ld[d - 1] + at[d] - lo[d];
                cells[place] = value(n, dims, at);
            }
    NGA_Release_update(array, lo, hi);
    GA_Sync();
}

int main(int argc, char **argv)
{
    ga_begin(&argc, &argv);
    for (int n = 1; n <= 3; n++) {
        int dims[3], width[3];
        memcpy(dims, SHAPES[n - 1], sizeof dims);
        memcpy(width, WIDTHS[n - 1], sizeof width);
        for (int way = 0; way < 3; way++) {
            int array = NGA_Create_ghosts(C_DBL, n, dims, width, "ghosts", NULL);
            CHECK(array != 0);
            CHECK(GA_Has_ghosts(array));
            GA_Zero(array);
            fill_own(array, n, dims);
            ga_nbhdl_t handle;
            switch (way) {
            case 0:
                GA_Update_ghosts(array);
                break;
            case 1:
                for (int d = 0; d < n; d++)
                    for (int direction = -1; direction <= 1; direction += 2)
                        CHECK(NGA_Update_ghost_dir(array, d, direction, 1));
                break;
            default:
                NGA_Update_ghosts_nb(array, &handle);
                NGA_NbWait(&handle);
            }
            GA_Sync();
            CHECK_EQUAL(wrong_ghosts(array, n, dims, width), 0);
            /* The cells themselves are as they were. */
            int lo[3], hi[3], ld[3] = {1, 1, 1}, single[3] = {1, 1, 1};
            NGA_Distribution(array, (rank + 1) % size, lo, hi);
            double first, last;
            NGA_Get(array, lo, lo, &first, single);
            NGA_Get(array, hi, hi, &last, ld);
            CHECK(first == value(n, dims, lo) && last == value(n, dims, hi));
            GA_Sync();
            GA_Destroy(array);
        }
    }
    return ga_end();
}
