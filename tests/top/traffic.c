/* traffic SECONDS [SLOW]: every 10 ms each rank sends rank + 1 messages of 64 * (rank + 1) bytes to the next rank
 * and one of 20,000 bytes to the third next, and all meet in a barrier. Rank SLOW computes for 5 ms of each step.
 * All end after the time, or when a signal (SIGUSR1) has told one of them to.
 * After each step a rank says what it has sent, and from when to when: "RANK BEGIN END MESSAGES BYTES". In the end all
 * that was received has been checked. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEP = 10000000, LONG = 20000, MOST = 64 };

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void compute(double seconds)
{
    double end = now(CLOCK_MONOTONIC) + seconds;
    while (now(CLOCK_MONOTONIC) < end)
        ;
}

static volatile sig_atomic_t told_to_end;

static void hear(int sign)
{
    told_to_end = sign == SIGUSR1;
}

/* All meet; whether one of them was told to end. */
static int meet(void)
{
    int mine = told_to_end, ends = 0;
    MPI_Allreduce(&mine, &ends, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return ends;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double seconds = argc > 1 ? atof(argv[1]) : 5;
    int slow = argc > 2 ? atoi(argv[2]) : -1;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int third = (rank + 3) % size, third_before = (rank + size - 3 % size) % size;
    static char out[MOST * 64], in[MOST][MOST * 64], long_out[LONG], long_in[LONG];
    long messages = 0, bytes = 0, wrong = 0, received = 0;
    memset(out, rank + 1, sizeof out);
    memset(long_out, rank + 1, sizeof long_out);
    struct timespec wake;
    clock_gettime(CLOCK_MONOTONIC, &wake);
    MPI_Bcast(&wake, sizeof wake, MPI_BYTE, 0, MPI_COMM_WORLD);
    long steps = (long)(seconds * 1e9 / STEP);
    signal(SIGUSR1, hear);
    for (long step = 0, ends = 0; step < steps && !ends; step++) {
        MPI_Request requests[2 * MOST + 2];
        int count = 0;
        for (int i = 0; i <= previous; i++)
            MPI_Irecv(in[i], 64 * (previous + 1), MPI_BYTE, previous, 1, MPI_COMM_WORLD, &requests[count++]);
        MPI_Irecv(long_in, LONG, MPI_BYTE, third_before, 2, MPI_COMM_WORLD, &requests[count++]);
        if (rank == slow)
            compute(STEP / 2e9);
        double begin = now(CLOCK_REALTIME);
        for (int i = 0; i <= rank; i++)
            MPI_Isend(out, 64 * (rank + 1), MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[count++]);
        MPI_Isend(long_out, LONG, MPI_BYTE, third, 2, MPI_COMM_WORLD, &requests[count++]);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        double end = now(CLOCK_REALTIME);
        messages += rank + 2;
        bytes += 64L * (rank + 1) * (rank + 1) + LONG;
        received += previous + 2;
        for (int i = 0; i <= previous; i++)
            wrong += in[i][0] != previous + 1 || in[i][64 * (previous + 1) - 1] != previous + 1;
        wrong += long_in[0] != third_before + 1 || long_in[LONG - 1] != third_before + 1;
        ends = meet();
        printf("%d %.6f %.6f %ld %ld\n", rank, begin, end, messages, bytes);
        if (step % 10 == 9)
            fflush(stdout);
        wake.tv_nsec += STEP;
        if (wake.tv_nsec >= 1000000000) {
            wake.tv_nsec -= 1000000000;
            wake.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    }
    long sums[2] = {received, wrong}, all[2];
    MPI_Reduce(sums, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("received %ld wrong %ld\n", all[0], all[1]);
    MPI_Finalize();
    return 0;
}
