/* Parents that start children, each of which is this program again. The first argument says what they do; children get
 * `child` before it. */
#include "talk.h"
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char *own;

static void note_process(const char *who, int number)
{
    char name[64];
    snprintf(name, sizeof name, "ready.%s%d", who, number);
    FILE *file = fopen(name, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
}

static MPI_Comm start(MPI_Comm comm, const char *what, int count, MPI_Info info)
{
    char *argv[] = {"child", (char *)what, NULL};
    int codes[64];
    MPI_Comm children;
    MPI_Comm_spawn(own, argv, count, info, 0, comm, &children, codes);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(codes[i], MPI_SUCCESS);
    return children;
}

static void spawn(MPI_Comm parent)
{
    if (parent != MPI_COMM_NULL) {
        int *universe, flag, parents;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
        MPI_Comm_remote_size(parent, &parents);
        CHECK(flag && *universe >= size + parents);
        talk(parent, 0);
        MPI_Comm_disconnect(&parent);
        MPI_Comm_get_parent(&parent);
        CHECK(parent == MPI_COMM_NULL);
        return;
    }
    for (int times = 0; times < 2; times++) {
        MPI_Comm children = start(MPI_COMM_WORLD, "spawn", 2, MPI_INFO_NULL);
        talk(children, 1);
        MPI_Comm_disconnect(&children);
        CHECK(children == MPI_COMM_NULL);
    }
}

/* A child has a child, and both its parent and its child talk through it. */
static void generations(MPI_Comm parent)
{
    char *argv[] = {"child", "generations", NULL};
    int depth = 0;
    if (parent != MPI_COMM_NULL) {
        MPI_Recv(&depth, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
        depth++;
    }
    if (depth < 3) {
        MPI_Comm child;
        int deepest;
        MPI_Comm_spawn(own, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE);
        MPI_Send(&depth, 1, MPI_INT, 0, 0, child);
        MPI_Recv(&deepest, 1, MPI_INT, 0, 1, child, MPI_STATUS_IGNORE);
        CHECK_EQUAL(deepest, 3);
        depth = deepest;
        MPI_Comm_disconnect(&child);
    }
    if (parent != MPI_COMM_NULL) {
        MPI_Send(&depth, 1, MPI_INT, 0, 1, parent);
        MPI_Comm_disconnect(&parent);
    }
}

static void multiple(MPI_Comm parent)
{
    if (parent != MPI_COMM_NULL) {
        int *appnum, flag;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
        CHECK(flag);
        char folder[256];
        CHECK(getcwd(folder, sizeof folder) != NULL);
        MPI_Errhandler handlers[3];
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handlers[0]);
        MPI_Comm_get_errhandler(MPI_COMM_SELF, &handlers[1]);
        MPI_Comm_get_errhandler(parent, &handlers[2]);
        for (int of = 0; of < 3; of++)
            CHECK(handlers[of] == (*appnum ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL));
        char name[MPI_MAX_INFO_VAL + 1] = "";
        MPI_Info_get(MPI_INFO_ENV, "mpi_initial_errhandler", MPI_MAX_INFO_VAL, name, &flag);
        CHECK(flag == (*appnum > 0) && (!flag || strcmp(name, "mpi_errors_return") == 0));
        int told[3] = {size, *appnum, strcmp(folder, "/") == 0};
        const char *value = getenv("OF_THE_CHILD");
        CHECK(*appnum == 0 || (value && strcmp(value, "one two") == 0));
        MPI_Send(told, 3, MPI_INT, 0, 0, parent);
        MPI_Comm_disconnect(&parent);
        return;
    }
    char *argv[] = {"child", "multiple", NULL}, **argvs[] = {argv, argv}, *commands[] = {own, own};
    int counts[] = {1, 3}, codes[4];
    MPI_Info infos[2] = {MPI_INFO_NULL};
    MPI_Info_create(&infos[1]);
    MPI_Info_set(infos[1], "wdir", "/");
    MPI_Info_set(infos[1], "env", "OF_THE_CHILD=one two");
    MPI_Info_set(infos[1], "host", "localhost");
    MPI_Info_set(infos[1], "soft", "9,2,7:20");
    MPI_Info_set(infos[1], "mpi_initial_errhandler", "mpi_errors_return");
    MPI_Comm children;
    MPI_Comm_spawn_multiple(2, commands, argvs, counts, infos, 0, MPI_COMM_WORLD, &children, codes);
    int many;
    MPI_Comm_remote_size(children, &many);
    CHECK_EQUAL(many, 3);
    for (int child = 0; child < many && rank == 0; child++) {
        int told[3];
        MPI_Recv(told, 3, MPI_INT, child, 0, children, MPI_STATUS_IGNORE);
        CHECK_EQUAL(told[0], 3);
        CHECK_EQUAL(told[1], child > 0);
        CHECK_EQUAL(told[2], child > 0);
    }
    MPI_Info_free(&infos[1]);
    MPI_Comm_disconnect(&children);
}

/* Two jobs of one parent find each other by a published name. */
static void names(MPI_Comm parent)
{
    if (parent == MPI_COMM_NULL) {
        MPI_Comm both[2];
        for (int i = 0; i < 2; i++)
            both[i] = start(MPI_COMM_WORLD, i ? "names" : "server", 2, MPI_INFO_NULL);
        for (int i = 0; i < 2; i++) {
            MPI_Barrier(both[i]);
            MPI_Comm_disconnect(&both[i]);
        }
        return;
    }
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        while (MPI_Lookup_name("a service", MPI_INFO_NULL, port) != MPI_SUCCESS)
            usleep(1000);
    }
    MPI_Comm other;
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    talk(other, 0);
    MPI_Comm_disconnect(&other);
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
}

static void server(MPI_Comm parent)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) {
        MPI_Publish_name("any text", MPI_INFO_NULL, "a-host:122");
        MPI_Lookup_name("any text", MPI_INFO_NULL, port);
        CHECK(strcmp(port, "a-host:122") == 0);
        MPI_Unpublish_name("any text", MPI_INFO_NULL, "a-host:122");
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("a service", MPI_INFO_NULL, port);
    }
    MPI_Comm other;
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    if (rank == 0) {
        MPI_Unpublish_name("a service", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    talk(other, 1);
    MPI_Comm_disconnect(&other);
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
}

/* Wrong calls have errors of the right class, and nothing is started. */
static void wrong(MPI_Comm parent)
{
    CHECK(parent == MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm made = MPI_COMM_WORLD;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", "no-such-host");
    CHECK_CLASS(MPI_Comm_spawn("./no such program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made,
                               MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
    CHECK(made == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_spawn(own, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
    CHECK_CLASS(MPI_Comm_spawn(own, MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE),
                MPI_ERR_SPAWN);
    CHECK_CLASS(MPI_Comm_spawn(own, MPI_ARGV_NULL, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE),
                MPI_ERR_ROOT);
    char port[MPI_MAX_PORT_NAME];
    CHECK_CLASS(MPI_Lookup_name("nobody's", MPI_INFO_NULL, port), MPI_ERR_NAME);
    CHECK_CLASS(MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &made), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Comm_accept("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &made), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Open_port(MPI_INFO_NULL, port), MPI_SUCCESS);
    CHECK_CLASS(MPI_Unpublish_name("nobody's", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    CHECK_CLASS(MPI_Close_port(port), MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Close_port(port), MPI_ERR_PORT);
    MPI_Info_free(&info);
}

/* Ranks in containers with networks of their own: all together have children, and then each of them alone. */
static void networks(MPI_Comm parent)
{
    if (parent == MPI_COMM_NULL) {
        MPI_Comm children = start(MPI_COMM_WORLD, "networks", 2, MPI_INFO_NULL);
        MPI_Barrier(children);
        MPI_Comm_disconnect(&children);
        parent = start(MPI_COMM_SELF, "networks", 2, MPI_INFO_NULL);
    }
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
}

/* Both sides wait for each other for a second: a parent alone, while it computes; then all wait for what never comes. */
static void hang(MPI_Comm parent)
{
    if (parent == MPI_COMM_NULL) {
        parent = start(MPI_COMM_WORLD, "hang", 2, MPI_INFO_NULL);
        note_process("", rank);
    } else
        note_process("1", rank);
    int never;
    MPI_Recv(&never, 1, MPI_INT, 0, 99, parent, MPI_STATUS_IGNORE);
}

/* Children are slow; their parents wait for them, and nobody says that they are stuck. */
static void slow(MPI_Comm parent)
{
    if (parent != MPI_COMM_NULL) {
        sleep(6);
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
        return;
    }
    MPI_Comm children = start(MPI_COMM_WORLD, "slow", 1, MPI_INFO_NULL);
    MPI_Barrier(children);
    MPI_Comm_disconnect(&children);
}

/* Many jobs one after the other: the process does not grow, and keeps no descriptors. */
static int descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 1024; i++)
        count += lseek(i, 0, SEEK_CUR) != -1 || dup2(i, i) == i;
    return count;
}

static void many(MPI_Comm parent)
{
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&parent);
        return;
    }
    int before = 0;
    const char *times = getenv("TIMES");
    for (int i = 0; i < (times ? atoi(times) : 12); i++) {
        MPI_Comm children = start(MPI_COMM_SELF, "many", 1, MPI_INFO_NULL);
        MPI_Comm_disconnect(&children);
        if (i == 3)
            before = descriptors();
    }
    /* The last connections may not have ended. */
    CHECK(descriptors() <= before + 3);
}

static void join(MPI_Comm parent)
{
    CHECK(parent == MPI_COMM_NULL);
    int ends[2] = {0, 0};
    char name[64] = {0}; /* all of the address counts, which begins with a zero */
    snprintf(name + 1, sizeof name - 1, "serried-test-%d", (int)getppid());
    struct { short family; char path[108]; } address = {AF_UNIX, {0}};
    memcpy(address.path, name, 40);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (rank == 0) {
        CHECK_EQUAL(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
        CHECK_EQUAL(listen(listener, 1), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        ends[0] = accept(listener, NULL, NULL);
    else if (rank == 1) {
        ends[0] = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK_EQUAL(connect(ends[0], (struct sockaddr *)&address, sizeof address), 0);
    }
    if (rank < 2) {
        MPI_Comm other;
        MPI_Comm_join(ends[0], &other);
        int told = rank, heard = -1, left;
        MPI_Sendrecv(&told, 1, MPI_INT, 0, 0, &heard, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
        CHECK_EQUAL(heard, 1 - rank);
        /* The socket is as it was. */
        CHECK_EQUAL(send(ends[0], &told, sizeof told, 0), sizeof told);
        CHECK_EQUAL(recv(ends[0], &left, sizeof left, MSG_WAITALL), sizeof left);
        CHECK_EQUAL(left, heard);
        MPI_Comm_disconnect(&other);
    }
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(MPI_Comm); } all[] = {
        {"spawn", spawn}, {"generations", generations}, {"multiple", multiple}, {"names", names}, {"server", server},
        {"wrong", wrong}, {"hang", hang}, {"slow", slow}, {"many", many}, {"join", join},
        {"networks", networks},
    };
    own = argv[0];
    check_begin(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    int child = argc > 1 && strcmp(argv[1], "child") == 0;
    CHECK_EQUAL(parent != MPI_COMM_NULL, child);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 + child && strcmp(argv[1 + child], all[i].name) == 0)
            all[i].run(parent);
    return check_end();
}
