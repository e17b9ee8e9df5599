/* Each rank sends numbers to all others for some seconds, and checks those that come: nothing may be lost, nor come twice.
 *
 *     paths SECONDS
 *     paths missing    all wait for rank 2, are told that it has failed, and go on
 *     paths messages   two that have met before wait for a number of each other, a second after they are there
 *     paths windows    the same by one-sided operations
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 1 << 16 };
static MPI_Win window;

static int missing(int rank)
{
    int nothing;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("all are there\n");
        fflush(stdout);
    }
    if (MPI_Recv(&nothing, 1, MPI_INT, rank == 2 ? 0 : 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        printf("well\n");
    MPI_Finalize();
    return 0;
}

static void exchange(int rank, int is_one_sided, int *number)
{
    static int given;
    int other = 1 - rank;
    given = 7 + rank;
    if (!is_one_sided) {
        MPI_Sendrecv(&given, 1, MPI_INT, other, 7, number, 1, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Fetch_and_op(&given, number, MPI_INT, other, 0, MPI_REPLACE, window);
    MPI_Win_flush(other, window);
}

static int waits(int rank, int is_one_sided)
{
    int number, *mine;
    MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
    *mine = 7 + 1 - rank;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int turn = 0; turn < 2; turn++) {
        exchange(rank, is_one_sided, &number);
        MPI_Barrier(MPI_COMM_WORLD);
        if (turn == 0 && rank == 0) {
            printf("all are there\n");
            fflush(stdout);
        }
        usleep(1000000);
    }
    MPI_Win_unlock_all(window);
    printf(number == (is_one_sided ? 7 + rank : 7 + 1 - rank) ? "well\n" : "wrong\n");
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    static int numbers[LONG], came[LONG];
    int rank, size, round = 0, goes_on = 1;
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "missing") == 0)
        return missing(rank);
    if (argc > 1 && (strcmp(argv[1], "messages") == 0 || strcmp(argv[1], "windows") == 0))
        return waits(rank, strcmp(argv[1], "windows") == 0);
    double end = MPI_Wtime() + seconds;
    while (goes_on) {
        int count = round % 16 == 0 ? LONG : 1 + round % 700;
        for (int i = 0; i < count; i++)
            numbers[i] = round + i;
        for (int apart = 1; apart < size; apart++) {
            int to = (rank + apart) % size, from = (rank + size - apart) % size;
            MPI_Sendrecv(numbers, count, MPI_INT, to, 7, came, LONG, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < count; i++)
                if (came[i] != round + i) {
                    printf("rank %d: in round %d rank %d has sent %d at %d\n", rank, round, from, came[i], i);
                    return 1;
                }
        }
        if (round == 0 && rank == 0) {
            printf("all are there\n");
            fflush(stdout);
        }
        round++;
        usleep(1000);
        goes_on = MPI_Wtime() < end;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    printf("well\n");
    MPI_Finalize();
    return 0;
}
