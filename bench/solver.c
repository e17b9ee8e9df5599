/* Conjugate gradients on the Laplacian of a cube, in slabs: what a solver does between its messages. The slabs are uneven,
 * as the parts of real meshes are: the last rank has half as much as the first.
 * Arguments: points along an edge, iterations. Rank 0 writes the seconds and the square of the norm that is left. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks, edge, planes, plane; /* plane: points of one */
static double *x, *r, *p, *q;                /* p has a plane of each neighbour around it */

static double dot(const double *a, const double *b)
{
    double own = 0, all;
    for (int i = 0; i < planes * plane; i++)
        own += a[i] * b[i];
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void exchange_planes(void)
{
    int below = rank > 0 ? rank - 1 : MPI_PROC_NULL, above = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(p, plane, MPI_DOUBLE, below, 0, p + planes * plane, plane, MPI_DOUBLE, above, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(p + (planes - 1) * plane, plane, MPI_DOUBLE, above, 1, p - plane, plane, MPI_DOUBLE, below, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void apply(void)
{
    exchange_planes();
    for (int k = 0; k < planes; k++)
        for (int j = 0; j < edge; j++)
            for (int i = 0; i < edge; i++) {
                int at = (k * edge + j) * edge + i;
                q[at] = 6 * p[at] - p[at - plane] - p[at + plane] - (i ? p[at - 1] : 0) - (i < edge - 1 ? p[at + 1] : 0) -
                        (j ? p[at - edge] : 0) - (j < edge - 1 ? p[at + edge] : 0);
            }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    edge = argc > 1 ? atoi(argv[1]) : 48, plane = edge * edge;
    int iterations = argc > 2 ? atoi(argv[2]) : 2000;
    /* Shares from 1 down to 1/2. */
    double before = 0, all = 0;
    for (int i = 0; i < ranks; i++) {
        before = i == rank ? all : before;
        all += 1 - 0.5 * i / (ranks > 1 ? ranks - 1 : 1);
    }
    double share = 1 - 0.5 * rank / (ranks > 1 ? ranks - 1 : 1);
    planes = (int)(edge * (before + share) / all + 0.5) - (int)(edge * before / all + 0.5);
    long points = (long)planes * plane;
    x = calloc(points, 8), r = calloc(points, 8), q = calloc(points, 8);
    p = (double *)calloc(points + 2 * plane, 8) + plane;
    for (long i = 0; i < points; i++)
        p[i] = r[i] = 1 + i % 7;
    double began = MPI_Wtime(), old = dot(r, r), now = old;
    for (int step = 0; step < iterations; step++) {
        apply();
        double alpha = old / dot(p, q);
        for (long i = 0; i < points; i++)
            x[i] += alpha * p[i], r[i] -= alpha * q[i];
        now = dot(r, r);
        for (long i = 0; i < points; i++)
            p[i] = r[i] + now / old * p[i];
        old = now;
    }
    if (rank == 0)
        printf("figure solver %.6f %.17g\n", MPI_Wtime() - began, now);
    return MPI_Finalize();
}
