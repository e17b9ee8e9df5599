/* The ranks of several containers of one machine are one node: `sharing` has them store to a window that all see, and rank 0
 * prints the host of each rank, and the number of the program. */
#include "../c/check.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm node;
    MPI_Win window;
    int *mine, *appnum, flag, local;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &local);
    CHECK_EQUAL(local, size);
    MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, node, &mine, &window);
    MPI_Win_fence(0, window);
    MPI_Aint bytes;
    int unit, *next;
    MPI_Win_shared_query(window, (rank + 1) % size, &bytes, &unit, &next);
    *next = rank;
    MPI_Win_fence(0, window);
    CHECK_EQUAL(*mine, (rank + size - 1) % size);
    MPI_Win_free(&window);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length;
    MPI_Get_processor_name(name, &length);
    snprintf(name + length, sizeof name - length, ":%d", *appnum);
    char *all = malloc(size * sizeof name);
    MPI_Gather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == 0; i++)
        printf("%s%c", all + i * sizeof name, i < size - 1 ? ' ' : '\n');
    free(all);
    return check_end();
}
