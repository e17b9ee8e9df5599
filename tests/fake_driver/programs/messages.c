/* ranks: 2 3
 * Messages of every mode and form round a ring, with buffers of the host, of the device, of pools and
 * managed ones, another kind at each rank. */
#include "message_operations.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    twice_begin();
    WORKS(MPI_Buffer_attach(attached, sizeof attached));
    MPI_Datatype gaps;
    MPI_Type_vector(3, 2, 3, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    int counts[] = {0, 1, 100, 2000, 30000}, *detached;
    for (unsigned which = 0; which < sizeof message_operations / sizeof *message_operations; which++)
        for (int form = 0; form < message_operations[which].forms; form++)
            for (int number = 0; number < 5; number++) {
                struct operation what = {.count = counts[number], .form = form, .comm = MPI_COMM_WORLD};
                what.type = all_draw(2) ? MPI_INT : gaps;
                twice(message_operations[which].name, message_operations[which].operate, what, (size_t)what.count * 32 + 64);
            }
    int bytes;
    WORKS(MPI_Buffer_detach(&detached, &bytes));
    MPI_Type_free(&gaps);
    return check_end();
}
