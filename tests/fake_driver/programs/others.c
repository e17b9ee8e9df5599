/* ranks: 2 3
 * One-sided operations on memory of the host, files, packing and local reductions, with buffers of every kind of
 * memory. */
#include "other_operations.h"

static void asked(void)
{
    MPI_Info info;
    char kinds[100];
    int length = sizeof kinds, flag;
    WORKS(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    WORKS(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &length, kinds, &flag));
    CHECK(flag && strcmp(kinds, "mpi,system,cuda") == 0);
    WORKS(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Datatype gaps;
    MPI_Type_vector(2, 1, 2, MPI_LONG, &gaps);
    MPI_Type_commit(&gaps);
    WORKS(MPI_Win_allocate(ELEMENTS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window));
    WORKS(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &file));
    int counts[] = {8, 100, 1000};
    for (unsigned which = 0; which < sizeof other_operations / sizeof *other_operations; which++)
        for (int form = 0; form < other_operations[which].forms; form++)
            for (int number = 0; number < 3; number++) {
                struct operation what = {.count = counts[number], .form = form, .comm = MPI_COMM_WORLD};
                what.type = all_draw(2) ? MPI_LONG : gaps;
                twice(other_operations[which].name, other_operations[which].operate, what, (size_t)what.count * 40 + 64);
            }
    WORKS(MPI_File_close(&file));
    WORKS(MPI_Win_free(&window));
    MPI_Type_free(&gaps);
    asked();
    return check_end();
}
