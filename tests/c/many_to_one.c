/* ranks: 2 4 8
 * All ranks send to one at the same time, small and large mixed, while it
 * takes them in whatever order they come; then one sends to all. */
#include "check.h"

enum { ROUNDS = 200, LARGEST = 200000 };

static size_t size_of_message(int source, int round)
{
    static const size_t sizes[] = {0, 4, 41, 3000, 17000, LARGEST};
    return sizes[(source + round) % 6];
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    unsigned char *buffer = malloc(LARGEST);
    int *rounds = calloc(size, sizeof *rounds), count;
    for (int round = 0; rank != 0 && round < ROUNDS; round++) {
        fill(buffer, size_of_message(rank, round), rank + round);
        MPI_Send(buffer, size_of_message(rank, round), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    for (int message = 0; rank == 0 && message < ROUNDS * (size - 1); message++) {
        MPI_Status status;
        MPI_Recv(buffer, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        int source = status.MPI_SOURCE, round = rounds[source]++;
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQUAL(count, size_of_message(source, round));
        CHECK_FILLED(buffer, count, source + round);
    }
    MPI_Request *requests = malloc(size * sizeof *requests);
    fill(buffer, LARGEST, 77);
    for (int peer = 0; peer < size; peer++)
        requests[peer] = MPI_REQUEST_NULL;
    for (int peer = 1; rank == 0 && peer < size; peer++)
        MPI_Isend(buffer, LARGEST, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[peer]);
    if (rank != 0) {
        memset(buffer, 0, LARGEST);
        MPI_Recv(buffer, LARGEST, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
    CHECK_FILLED(buffer, LARGEST, 77);
    free(requests);
    free(rounds);
    free(buffer);
    return check_end();
}
