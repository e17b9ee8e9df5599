/* What processes of two jobs say to each other, once they have an intercommunicator. */
#include "../c/check.h"

/* Messages of all lengths go both ways, and collectives over both groups and over their union. */
static void talk(MPI_Comm other, int first)
{
    int here, there;
    MPI_Comm_size(other, &here);
    MPI_Comm_remote_size(other, &there);
    MPI_Comm all;
    MPI_Intercomm_merge(other, !first, &all);
    int me, count;
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &count);
    CHECK_EQUAL(count, here + there);
    CHECK_EQUAL(me, rank + (first ? 0 : there));
    static const int lengths[] = {0, 1, 40, 1000, 5000, 70000, 1 << 20, 3 << 20};
    char *out = malloc(3 << 20), *in = malloc(3 << 20);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int peer = 0; peer < count; peer++) {
            memset(out, me * 16 + peer, lengths[i]);
            memset(in, 255, lengths[i]);
            MPI_Status status;
            MPI_Sendrecv(out, lengths[i], MPI_CHAR, peer, i, in, lengths[i], MPI_CHAR, peer, i, all, &status);
            int got;
            MPI_Get_count(&status, MPI_CHAR, &got);
            CHECK_EQUAL(got, lengths[i]);
            int wrong = 0;
            for (int k = 0; k < lengths[i]; k++)
                wrong += in[k] != (char)(peer * 16 + me);
            CHECK_EQUAL(wrong, 0);
        }
    for (int times = 0; times < 20; times++) {
        int sum = 0;
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all);
        CHECK_EQUAL(sum, count * (count - 1) / 2);
    }
    /* Parts of the union: those of each job, and one of both. */
    MPI_Comm part, mixed;
    MPI_Comm_split(all, first, me, &part);
    int size_of_part;
    MPI_Comm_size(part, &size_of_part);
    CHECK_EQUAL(size_of_part, here);
    MPI_Comm_split(all, me % 2, me, &mixed);
    int one = 1, members;
    MPI_Allreduce(&one, &members, 1, MPI_INT, MPI_SUM, mixed);
    CHECK_EQUAL(members, (count + 1 - me % 2) / 2);
    /* The processes of two jobs share no memory. */
    MPI_Comm node;
    int on_node;
    MPI_Comm_split_type(part, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &on_node);
    MPI_Comm_free(&node);
    MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size_of_part);
    CHECK_EQUAL(size_of_part, on_node);
    /* A window over both. */
    int *memory;
    MPI_Win window;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, all, &memory, &window);
    *memory = -1;
    MPI_Win_fence(0, window);
    MPI_Put(&me, 1, MPI_INT, (me + 1) % count, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK_EQUAL(*memory, (me + count - 1) % count);
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
    MPI_Comm_free(&mixed);
    MPI_Comm_free(&part);
    MPI_Comm_disconnect(&all);
    free(out);
    free(in);
}
