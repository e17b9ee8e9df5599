/* Broadcasts of some lengths over all hosts: broadcasts ROUNDS BYTES... [late RANK] [roots]
 *
 * Rank 0 writes what each length took (the shortest and the median of all rounds, from the root's call until the last rank
 * has it), and what this host has sent meanwhile by what the kernel counts. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long sent_bytes(void) {
    long bytes = -1;
    FILE *file = fopen("/sys/class/net/e0/statistics/tx_bytes", "r");
    if (file && fscanf(file, "%ld", &bytes) != 1) bytes = -1;
    if (file) fclose(file);
    return bytes;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fill(unsigned char *buffer, long bytes, int round) {
    for (long at = 0; at < bytes; at++) buffer[at] = (unsigned char)(at * 7 + at / 251 + round);
}

int main(int argc, char **argv) {
    int rank, size, late = -1, roots = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = atoi(argv[1]);
    double *times = malloc(sizeof(double) * (size_t)rounds);
    for (int word = 2; word < argc; word++) {
        if (!strcmp(argv[word], "late")) late = atoi(argv[word + 1]);
        if (!strcmp(argv[word], "roots")) roots = 1;
    }
    for (int word = 2; word < argc && argv[word][0] >= '0' && argv[word][0] <= '9'; word++) {
        long bytes = atol(argv[word]);
        unsigned char *buffer = malloc((size_t)bytes), *right = malloc((size_t)bytes);
        long before = 0, sent = 0;
        for (int round = -8; round < rounds; round++) {
            int root = roots ? (round + 8) % size : 0;
            fill(right, bytes, round);
            if (rank == root) memcpy(buffer, right, (size_t)bytes);
            else memset(buffer, 0xee, (size_t)bytes);
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == late) usleep(100000);
            if (round == 0) before = sent_bytes();
            /* All hosts of a test have one clock. */
            double times_of[2] = {0, 0}, last[2];
            if (rank == root) times_of[0] = MPI_Wtime();
            MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
            times_of[1] = MPI_Wtime();
            if (memcmp(buffer, right, (size_t)bytes)) {
                printf("rank %d: wrong in round %d of %ld bytes\n", rank, round, bytes);
                fflush(stdout);
                MPI_Abort(MPI_COMM_WORLD, 3);
            }
            if (round == rounds - 1) sent = sent_bytes() - before;
            MPI_Reduce(times_of, last, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (round >= 0) times[round] = (last[1] - last[0]) * 1e6;
        }
        if (rank == 0) {
            qsort(times, (size_t)rounds, sizeof(double), compare);
            printf("bytes %ld shortest %.0f median %.0f sent %.3f\n", bytes, times[0], times[rounds / 2],
                   (double)sent / (double)bytes / rounds);
            fflush(stdout);
        }
        free(buffer);
        free(right);
    }
    free(times);
    MPI_Finalize();
    return 0;
}
