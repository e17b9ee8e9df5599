/* A parent that starts children on other hosts, each of which is this program again:
 *
 *     afar WHAT COUNT [KEY VALUE]
 *
 * `talk`: they talk, and the root prints the hosts of the children. `apiece`: they are started one by one. `two`: half of them
 * by another command, which has no key. `hang`: they never end. `leave`: the parent goes at once, and the children stay a while.
 * `fail`: the first child ends with a status. `refused`: the reason is printed. `universe`: so is MPI_UNIVERSE_SIZE. */
#include "talk.h"
#include <unistd.h>

static char *own;

static MPI_Comm spawn(char *what, int count, const char *key, const char *value)
{
    char *argv[] = {"child", what, NULL};
    MPI_Info info = MPI_INFO_NULL;
    if (key) {
        MPI_Info_create(&info);
        MPI_Info_set(info, key, value);
    }
    MPI_Comm children;
    if (strcmp(what, "two") == 0) {
        char **argvs[] = {argv, argv}, *commands[] = {own, own};
        int counts[] = {count / 2, count - count / 2};
        MPI_Info infos[] = {info, MPI_INFO_NULL};
        MPI_Comm_spawn_multiple(2, commands, argvs, counts, infos, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    } else
        MPI_Comm_spawn(own, argv, count, info, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    if (key)
        MPI_Info_free(&info);
    return children;
}

/* What all children say of themselves, in one line of the root. */
static void tell_hosts(MPI_Comm children)
{
    int count;
    MPI_Comm_remote_size(children, &count);
    for (int child = 0; child < count && rank == 0; child++) {
        char name[MPI_MAX_PROCESSOR_NAME];
        MPI_Recv(name, sizeof name, MPI_CHAR, child, 77, children, MPI_STATUS_IGNORE);
        printf("%s ", name);
    }
    fflush(stdout);
}

static int child(const char *what, MPI_Comm parent)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Get_processor_name(name, &length);
    MPI_Send(name, length + 1, MPI_CHAR, 0, 77, parent);
    if (strcmp(what, "hang") == 0)
        MPI_Recv(name, 1, MPI_CHAR, 0, 99, parent, MPI_STATUS_IGNORE);
    if (strcmp(what, "fail") == 0 && rank == 0) {
        printf("a child ends badly\n");
        exit(7);
    }
    if (strcmp(what, "leave") != 0)
        talk(parent, 0);
    MPI_Comm_disconnect(&parent);
    if (strcmp(what, "leave") == 0) {
        sleep(2);
        printf("rank %d was still there\n", rank);
    }
    return check_end();
}

static void refused(int count, const char *key, const char *value)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm made;
    int code = MPI_Comm_spawn(own, MPI_ARGV_NULL, count, info, 0, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE);
    MPI_Error_class(code, &class);
    CHECK_EQUAL(class, MPI_ERR_SPAWN);
    CHECK(made == MPI_COMM_NULL);
    MPI_Error_string(code, text, &length);
    if (rank == 0)
        printf("%s\n", text);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    own = argv[0];
    check_begin(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return child(argv[2], parent);
    char *what = argv[1];
    int count = argc > 2 ? atoi(argv[2]) : 0, each = strcmp(what, "apiece") == 0;
    const char *key = argc > 4 ? argv[3] : NULL, *value = argc > 4 ? argv[4] : NULL;
    if (strcmp(what, "universe") == 0) {
        int *slots, flag;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &slots, &flag);
        CHECK(flag);
        if (rank == 0)
            printf("%d\n", *slots);
        return check_end();
    }
    if (strcmp(what, "refused") == 0) {
        refused(count, key, value);
        return check_end();
    }
    MPI_Comm made[16];
    int jobs = each ? count : 1;
    for (int job = 0; job < jobs; job++) {
        made[job] = spawn(what, each ? 1 : count, key, value);
        tell_hosts(made[job]);
    }
    if (strcmp(what, "hang") == 0)
        MPI_Recv(&count, 1, MPI_INT, 0, 99, made[0], MPI_STATUS_IGNORE);
    for (int job = 0; job < jobs; job++) {
        if (strcmp(what, "leave") != 0)
            talk(made[job], 1);
        MPI_Comm_disconnect(&made[job]);
    }
    return check_end();
}
