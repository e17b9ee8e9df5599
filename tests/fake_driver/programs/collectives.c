/* ranks: 2 3 4
 * All collective operations, blocking, nonblocking and persistent, with buffers of the host, of the
 * device, of pools and managed ones, another kind at each rank. */
#include "collective_operations.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Comm ring;
    int periodic = 1, sizes[] = {1, 7, 300, 5000};
    WORKS(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring));
    MPI_Type_vector(2, 1, 2, MPI_LONG, &NUMBER);
    MPI_Type_commit(&NUMBER);
    MPI_Op_create(add, 1, &ADD);
    for (int round = 0; round < 2; round++)
        for (unsigned which = 0; which < sizeof collective_operations / sizeof *collective_operations; which++)
            for (int form = 0; form < FORMS; form++) {
                struct operation what = {.count = sizes[all_draw(4)], .form = form};
                what.type = collective_operations[which].is_plain || all_draw(2) ? MPI_LONG : NUMBER;
                what.comm = collective_operations[which].is_on_ring ? ring : MPI_COMM_WORLD;
                size_t bytes = (size_t)(what.count + 2) * (size + 2) * 32;
                twice(collective_operations[which].name, collective_operations[which].operate, what, bytes);
            }
    MPI_Op_free(&ADD);
    MPI_Type_free(&NUMBER);
    MPI_Comm_free(&ring);
    return check_end();
}
