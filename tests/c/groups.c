/* ranks: 3 5
 * Communicators of groups that share members, made with one tag one after the other, whoever comes first; by threads
 * with different tags at the same time; and without a parent. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

/* Each member of a communicator of two hears of the other. */
static void check_pair(MPI_Comm pair, int other)
{
    int got = -1;
    CHECK(pair != MPI_COMM_NULL);
    if (pair == MPI_COMM_NULL)
        return;
    int me;
    MPI_Comm_rank(pair, &me);
    MPI_Sendrecv(&rank, 1, MPI_INT, 1 - me, 0, &got, 1, MPI_INT, 1 - me, 0, pair, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, other);
    MPI_Comm_free(&pair);
}

static MPI_Group pair_of(int first, int second)
{
    MPI_Group world, pair;
    int members[2] = {first, second};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, members, &pair);
    MPI_Group_free(&world);
    return pair;
}

/* Every rank with the last one, in order: all first members are leaders. */
static void one_after_the_other(int late, const char *string_tag)
{
    int last = size - 1;
    if (rank == late)
        usleep(50000);
    for (int first = 0; first < last; first++) {
        if (rank != first && rank != last)
            continue;
        MPI_Comm pair;
        MPI_Group group = pair_of(first, last);
        if (string_tag)
            MPI_Comm_create_from_group(group, string_tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &pair);
        else
            MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &pair);
        MPI_Group_free(&group);
        check_pair(pair, rank == last ? first : last);
    }
}

static void *with_a_tag(void *tag)
{
    for (int round = 0; round < 30; round++) {
        int first = (*(int *)tag + round) % (size - 1), last = size - 1;
        if (rank != first && rank != last)
            continue;
        MPI_Comm pair;
        MPI_Group group = pair_of(first, last);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, *(int *)tag, &pair);
        MPI_Group_free(&group);
        check_pair(pair, rank == last ? first : last);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    enum { THREADS = 4 };
    int provided, tags[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int late = 0; late < size; late++) {
        one_after_the_other(late, NULL);
        one_after_the_other(late, "here");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int each = 0; each < THREADS; each++) {
        tags[each] = each;
        pthread_create(&threads[each], NULL, with_a_tag, &tags[each]);
    }
    for (int each = 0; each < THREADS; each++)
        pthread_join(threads[each], NULL);
    return check_end();
}
