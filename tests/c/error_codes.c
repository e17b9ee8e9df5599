/* ranks: 1
 * Error classes and codes of the program (MPI-5.0 §9.5): what is removed makes room, and no number stands for what it
 * stood for before. */
#include "check.h"

static int last_used(void)
{
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
    return flag ? *value : -1;
}

int main(int argc, char **argv)
{
    int class, code, kept, kept_class, found, length, before;
    char text[MPI_MAX_ERROR_STRING];
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    before = last_used();
    CHECK_CLASS(MPI_Add_error_class(&kept_class), MPI_SUCCESS);
    CHECK_CLASS(MPI_Add_error_code(kept_class, &kept), MPI_SUCCESS);
    MPI_Add_error_string(kept, "kept");
    for (int round = 0; round < 20000 && !check_failures; round++) {
        CHECK_CLASS(MPI_Add_error_class(&class), MPI_SUCCESS);
        CHECK_CLASS(MPI_Add_error_code(class, &code), MPI_SUCCESS);
        CHECK(class != code && class > MPI_ERR_LASTCODE && code <= last_used());
        CHECK(class != kept && class != kept_class && code != kept && code != kept_class);
        MPI_Error_string(code, text, &length);
        CHECK_EQUAL(length, 0);
        MPI_Add_error_string(code, "not for long");
        CHECK_CLASS(MPI_Remove_error_class(class), MPI_ERR_ARG);
        CHECK_CLASS(MPI_Remove_error_string(code), MPI_SUCCESS);
        CHECK_CLASS(MPI_Remove_error_code(code), MPI_SUCCESS);
        CHECK_CLASS(MPI_Remove_error_class(class), MPI_SUCCESS);
        CHECK_CLASS(MPI_Error_class(code, &found), MPI_ERR_ARG);
    }
    MPI_Error_class(kept, &found);
    CHECK_EQUAL(found, kept_class);
    MPI_Error_string(kept, text, &length);
    CHECK(!strcmp(text, "kept"));
    MPI_Remove_error_string(kept);
    MPI_Remove_error_code(kept);
    MPI_Remove_error_class(kept_class);
    CHECK_EQUAL(last_used(), before);
    return check_end();
}
