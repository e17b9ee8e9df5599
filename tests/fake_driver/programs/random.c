/* ranks: 3 2 4
 * Any operations one after the other, in any form, of any length up to some 100 KiB, with memory of any kind at each rank and in each
 * call; all drawn by chance. DEVICE_OPERATIONS says how many; a million take some minutes. */
#include "collective_operations.h"
#include "message_operations.h"
#include "other_operations.h"

#define NUMBER_OF(list) (int)(sizeof(list) / sizeof *(list))

/* Mostly few elements, now and then many. */
static int drawn_count(void)
{
    int most[] = {3, 40, 300, 300, 1000};
    return all_draw(200) ? (int)all_draw(most[all_draw(5)]) : (int)all_draw(13000);
}

int main(int argc, char **argv)
{
    int periodic = 1, bytes, *detached;
    MPI_Comm ring;
    MPI_Datatype rows;
    const char *given = getenv("DEVICE_OPERATIONS");
    long operations = given ? atol(given) : 1500;
    check_begin(&argc, &argv);
    twice_begin();
    MPI_Type_vector(3, 2, 3, MPI_INT, &rows);
    MPI_Type_commit(&rows);
    MPI_Type_vector(2, 1, 2, MPI_LONG, &NUMBER);
    MPI_Type_commit(&NUMBER);
    MPI_Op_create(add, 1, &ADD);
    WORKS(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring));
    WORKS(MPI_Buffer_attach(attached, sizeof attached));
    WORKS(MPI_Win_allocate(ELEMENTS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window));
    WORKS(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    for (long done = 0; done < operations && !twice_failed; done++) {
        int which = all_draw(NUMBER_OF(message_operations) + NUMBER_OF(collective_operations) + NUMBER_OF(other_operations));
        int collective = which - NUMBER_OF(message_operations), other = collective - NUMBER_OF(collective_operations);
        struct operation what = {.count = drawn_count(), .comm = MPI_COMM_WORLD};
        struct listed *one;
        size_t room;
        if (other >= 0) {
            one = &other_operations[other];
            what.type = all_draw(2) ? MPI_LONG : NUMBER;
            what.count = 8 + what.count % 993;
            room = (size_t)what.count * 40 + 64;
        } else if (collective >= 0) {
            one = &collective_operations[collective];
            what.type = one->is_plain || all_draw(2) ? MPI_LONG : NUMBER;
            what.comm = one->is_on_ring ? ring : MPI_COMM_WORLD;
            room = (size_t)(what.count + 2) * (size + 2) * 32;
        } else {
            one = &message_operations[which];
            what.type = all_draw(2) ? MPI_INT : rows;
            room = (size_t)what.count * 32 + 64;
        }
        what.form = all_draw(one->forms);
        twice_kinds = all_draw(30) ? VIRTUAL : KINDS; /* pieces of 2 MiB, which the driver fills */
        twice(one->name, one->operate, what, room);
    }
    CHECK(fake_cuda_calls("cuMemHostAlloc") <= 1); /* what a context has for programs of the library is made once */
    WORKS(MPI_File_close(&file));
    WORKS(MPI_Win_free(&window));
    WORKS(MPI_Buffer_detach(&detached, &bytes));
    WORKS(MPI_Comm_free(&ring));
    MPI_Op_free(&ADD);
    MPI_Type_free(&NUMBER);
    MPI_Type_free(&rows);
    return check_end();
}
