/* ranks: 2 4
 * Messages of one sender are matched in the order of sending: whatever their
 * size, by receives for any source and any tag, posted before or after; and a
 * receive for one tag leaves the others in their order. */
#include "check.h"

enum { MESSAGES = 300, LARGEST = 70000 };

static size_t size_of_message(int number)
{
    static const size_t sizes[] = {8, 70000, 40, 5000, 41, 20000, 4096};
    return sizes[number % 7];
}

static void send_all(void)
{
    static unsigned char buffers[MESSAGES][8];
    static unsigned char large[LARGEST];
    MPI_Request requests[MESSAGES];
    for (int number = 0; number < MESSAGES; number++) {
        *(int *)large = number;
        if (size_of_message(number) == 8) {
            memcpy(buffers[number], &number, sizeof number);
            MPI_Isend(buffers[number], 8, MPI_BYTE, 0, number % 5, MPI_COMM_WORLD, &requests[number]);
        } else {
            requests[number] = MPI_REQUEST_NULL;
            MPI_Send(large, size_of_message(number), MPI_BYTE, 0, number % 5, MPI_COMM_WORLD);
        }
    }
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

/* Any source, any tag: each sender's messages come by number. */
static void receive_any(void)
{
    static unsigned char buffer[LARGEST];
    int *next = calloc(size, sizeof *next);
    for (int index = 0; index < MESSAGES * (size - 1); index++) {
        MPI_Status status;
        int count;
        MPI_Recv(buffer, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        int number = next[status.MPI_SOURCE]++;
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQUAL(*(int *)buffer, number);
        CHECK_EQUAL(status.MPI_TAG, number % 5);
        CHECK_EQUAL(count, size_of_message(number));
    }
    free(next);
}

/* By source and tag, tags from the last to the first for each group of five. */
static void receive_by_tag(int posted_first)
{
    static unsigned char buffers[MESSAGES][LARGEST];
    for (int source = 1; source < size; source++) {
        MPI_Request requests[MESSAGES];
        int posted = 0, numbers[MESSAGES];
        for (int group = 0; group < MESSAGES; group += 5)
            for (int tag = 4; tag >= 0; tag--) {
                numbers[posted] = group + tag;
                MPI_Irecv(buffers[posted], LARGEST, MPI_BYTE, source, tag, MPI_COMM_WORLD,
                          &requests[posted]);
                posted++;
            }
        if (posted_first)
            MPI_Send(NULL, 0, MPI_BYTE, source, 9, MPI_COMM_WORLD);
        MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
        for (int index = 0; index < posted; index++)
            CHECK_EQUAL(*(int *)buffers[index], numbers[index]);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int posted_first = 0; posted_first < 2; posted_first++) {
        if (rank != 0)
            send_all();
        else
            receive_any();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0) {
            if (posted_first)
                MPI_Recv(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            send_all();
        } else {
            receive_by_tag(posted_first);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return check_end();
}
