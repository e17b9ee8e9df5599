/* ranks: 1 3
 * What MPI_Info_create_env says is the same before MPI starts and after (MPI-5.0 §11.2.1), and MPI_INFO_ENV too. */
#include "check.h"

static void value_of(MPI_Info info, const char *key, char *value)
{
    int length = MPI_MAX_INFO_VAL, flag = 0;
    MPI_Info_get_string(info, key, &length, value, &flag);
    if (!flag)
        strcpy(value, "(nothing)");
}

int main(int argc, char **argv)
{
    MPI_Info before, after;
    char key[MPI_MAX_INFO_KEY + 1], known[2][MPI_MAX_INFO_VAL + 1], early[MPI_MAX_INFO_VAL + 1], number[16];
    int keys[2];
    MPI_Info_create_env(argc, argv, &before);
    value_of(MPI_INFO_ENV, "maxprocs", early);
    check_begin(&argc, &argv);
    MPI_Info_create_env(argc, argv, &after);
    MPI_Info_get_nkeys(before, &keys[0]);
    MPI_Info_get_nkeys(after, &keys[1]);
    CHECK_EQUAL(keys[0], keys[1]);
    for (int i = 0; i < keys[1]; i++) {
        MPI_Info_get_nthkey(after, i, key);
        value_of(before, key, known[0]);
        value_of(after, key, known[1]);
        if (strcmp(known[0], known[1]))
            check_failed(__FILE__, __LINE__, "%s was %s and is %s", key, known[0], known[1]);
    }
    snprintf(number, sizeof number, "%d", size);
    value_of(before, "maxprocs", known[0]);
    CHECK(!strcmp(known[0], number));
    CHECK(!strcmp(early, number));
    MPI_Info_free(&before);
    MPI_Info_free(&after);
    return check_end();
}
