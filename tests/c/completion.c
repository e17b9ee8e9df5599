/* ranks: 2
 * Waiting for one, some or all of many requests: each is told once, with its
 * own status; what is not done yet is left; nulls and inactive ones do not
 * count. */
#include "check.h"

enum { MANY = 20 };
static int values[MANY];
static MPI_Request requests[MANY];

/* Rank 1 posts receives for tags 0 to MANY-1, and asks for them by number. */
static void post(void)
{
    for (int index = 0; index < MANY; index++) {
        values[index] = -1;
        MPI_Irecv(&values[index], 1, MPI_INT, 0, index, MPI_COMM_WORLD, &requests[index]);
    }
}

static void ask(int tag)
{
    MPI_Send(&tag, 1, MPI_INT, 0, 1000, MPI_COMM_WORLD);
}

/* Rank 0 sends what it is asked for, until asked for -1. */
static void serve(void)
{
    for (;;) {
        int tag;
        MPI_Recv(&tag, 1, MPI_INT, 1, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (tag < 0)
            return;
        int value = tag * 10;
        MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    }
}

static void one_at_a_time(int testing)
{
    post();
    for (int number = 0; number < MANY; number++) {
        int tag = number * 7 % MANY, index = -1, flag = 0;
        MPI_Status status;
        if (testing) {
            MPI_Testany(MANY, requests, &index, &flag, &status);
            CHECK_EQUAL(flag, 0);
            CHECK_EQUAL(index, MPI_UNDEFINED);
        }
        ask(tag);
        if (testing)
            while (!flag)
                MPI_Testany(MANY, requests, &index, &flag, &status);
        else
            MPI_Waitany(MANY, requests, &index, &status);
        CHECK_EQUAL(index, tag);
        CHECK_EQUAL(status.MPI_TAG, tag);
        CHECK_EQUAL(values[tag], 10 * tag);
        CHECK(requests[tag] == MPI_REQUEST_NULL);
    }
    int index = 0, flag = 0;
    MPI_Waitany(MANY, requests, &index, MPI_STATUS_IGNORE);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    MPI_Testany(MANY, requests, &index, &flag, MPI_STATUS_IGNORE);
    CHECK_EQUAL(flag, 1);
    CHECK_EQUAL(index, MPI_UNDEFINED);
}

static void some(int testing)
{
    int told[MANY] = {0}, left = MANY, indices[MANY], count;
    MPI_Status statuses[MANY];
    post();
    if (testing) {
        MPI_Testsome(MANY, requests, &count, indices, statuses);
        CHECK_EQUAL(count, 0);
    }
    for (int tag = 0; tag < MANY; tag++)
        ask(tag);
    while (left > 0) {
        if (testing)
            MPI_Testsome(MANY, requests, &count, indices, statuses);
        else
            MPI_Waitsome(MANY, requests, &count, indices, statuses);
        CHECK(testing || count > 0);
        for (int number = 0; number < count; number++) {
            CHECK_EQUAL(told[indices[number]]++, 0);
            CHECK_EQUAL(statuses[number].MPI_TAG, indices[number]);
            CHECK_EQUAL(values[indices[number]], 10 * indices[number]);
        }
        left -= count;
    }
    MPI_Waitsome(MANY, requests, &count, indices, statuses);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Testsome(MANY, requests, &count, indices, statuses);
    CHECK_EQUAL(count, MPI_UNDEFINED);
}

static void all(void)
{
    MPI_Status statuses[MANY];
    int flag = 1;
    post();
    for (int tag = 1; tag < MANY; tag++)
        ask(tag);
    MPI_Wait(&requests[MANY - 1], MPI_STATUS_IGNORE);
    /* tag 0 was not sent: nothing is told and nothing is taken */
    MPI_Testall(MANY, requests, &flag, statuses);
    CHECK_EQUAL(flag, 0);
    CHECK(requests[1] != MPI_REQUEST_NULL);
    ask(0);
    flag = 0;
    while (!flag)
        MPI_Testall(MANY, requests, &flag, statuses);
    for (int tag = 0; tag < MANY - 1; tag++)
        CHECK_EQUAL(statuses[tag].MPI_TAG, tag);
    CHECK_EQUAL(statuses[MANY - 1].MPI_TAG, MPI_ANY_TAG);
    CHECK_EQUAL(statuses[MANY - 1].MPI_SOURCE, MPI_ANY_SOURCE);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (rank == 0) {
        serve();
    } else {
        for (int testing = 0; testing < 2; testing++) {
            one_at_a_time(testing);
            some(testing);
        }
        all();
        ask(-1);
    }
    return check_end();
}
