/* Writes what calls leave in a status, field by field, as the header that it is compiled with sees it. Run with two
 * libraries of one ABI it must say the same. */
#include <mpi.h>
#include <stdio.h>

static void show(const char *what, const MPI_Status *status)
{
    printf("%s: source %d, tag %d", what, status->MPI_SOURCE == MPI_PROC_NULL ? -1000 : status->MPI_SOURCE,
           status->MPI_TAG == MPI_ANY_TAG ? -2000 : status->MPI_TAG);
#ifdef OPEN_MPI
    printf(", bytes %zu, cancelled %d", status->_ucount, status->_cancelled);
#elif !defined MPI_ABI
    printf(", count %#x %#x", (unsigned)status->count_lo, (unsigned)status->count_hi_and_cancelled);
#endif
    printf("\n");
}

int main(void)
{
    MPI_Status status = {0};
    int sent = 7, received = 0, flag = 0, count = 0;
    MPI_Count elements = 0;

    MPI_Init(NULL, NULL);
    MPI_Recv(&received, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    show("receive from the null process", &status);
    MPI_Sendrecv(&sent, 1, MPI_INT, 0, 12345, &received, 1, MPI_INT, 0, 12345, MPI_COMM_SELF, &status);
    show("message of an int", &status);
    status.MPI_ERROR = 77;
    MPI_Sendrecv(&sent, 1, MPI_INT, 0, 5, &received, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &status);
    printf("error left alone: %d\n", status.MPI_ERROR);
    MPI_Status_set_elements_x(&status, MPI_BYTE, ((MPI_Count)5 << 32) + 3);
    show("many elements", &status);
    MPI_Get_elements_x(&status, MPI_BYTE, &elements);
    printf("elements %lld\n", (long long)elements);
    MPI_Status_set_elements(&status, MPI_INT, 6);
    MPI_Status_set_cancelled(&status, 1);
    show("cancelled", &status);
    MPI_Test_cancelled(&status, &flag);
    MPI_Get_count(&status, MPI_INT, &count);
    printf("cancelled %d, count %d\n", flag, count);
    MPI_Finalize();
    return 0;
}
