/* ranks: 1
 * Handles and statuses as Fortran has them, under every ABI: also in the standard's, where they are inline. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm dup;
    MPI_Datatype type;
    MPI_Status status, back;
    MPI_Fint integers[64];
    int count, in = 7, out = 0;
    check_begin(&argc, &argv);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
    CHECK(PMPI_Message_f2c(PMPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(dup)) == dup);
    MPI_Type_contiguous(3, MPI_INT, &type);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(type)) == type);
    MPI_Sendrecv(&in, 1, MPI_INT, rank, 5, &out, 1, MPI_INT, rank, 5, dup, &status);
    memset(integers, 0, sizeof integers);
    memset(&back, 0, sizeof back);
    CHECK_CLASS(MPI_Status_c2f(&status, integers), MPI_SUCCESS);
    CHECK_CLASS(MPI_Status_f2c(integers, &back), MPI_SUCCESS);
    MPI_Get_count(&back, MPI_INT, &count);
    CHECK(back.MPI_TAG == 5 && back.MPI_SOURCE == rank && count == 1);
    MPI_Type_free(&type);
    MPI_Comm_free(&dup);
    return check_end();
}
